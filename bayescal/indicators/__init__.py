"""Reliability indicators: what says of a document how far classifiers are to be trusted on it.

One file for each source: words (`document`, `feature_selection`), a kind of classifier (`unigram`,
`bernoulli`, `neighbours`, `support_vectors`, `tree`), several classifiers (`votes`), the task
(`task`), and the posterior of a classifier's calibration (`posterior`).
"""

from bayescal.indicators.transformer import ReliabilityIndicators as ReliabilityIndicators

"""Reliability indicators: what says of a document how far classifiers are to be trusted on it.

One file for each source: words (`document`, `feature_selection`), a kind of classifier (`unigram`,
`bernoulli`, `neighbours`, `support_vectors`, `tree`), several classifiers (`votes`), the task
(`task`), and the posterior of a classifier's calibration (`posterior`).
"""

from bayescal.indicators.posterior import ScorePosterior as ScorePosterior
from bayescal.indicators.posterior import conflict as conflict
from bayescal.indicators.posterior import conflicts as conflicts
from bayescal.indicators.posterior import posterior_indicators as posterior_indicators
from bayescal.indicators.transformer import ReliabilityIndicators as ReliabilityIndicators

"""Reliability indicators: features of a document that predict how reliable each classifier is.

A module for each source: words (`words`), linear classifiers and trees (`models`), neighbours
(`neighbours`), several classifiers and the task (`transformer`), and the posterior of a
classifier's calibration (`posterior`).
"""

from bayescal.combining.indicators.posterior import ScorePosterior as ScorePosterior
from bayescal.combining.indicators.posterior import conflict as conflict
from bayescal.combining.indicators.posterior import conflicts as conflicts
from bayescal.combining.indicators.posterior import posterior_indicators as posterior_indicators
from bayescal.combining.indicators.transformer import ReliabilityIndicators as ReliabilityIndicators

"""Reliability indicators: features of a document that predict how reliable each classifier is.

A module for each source: words (`words`), linear classifiers and trees (`models`), neighbours
(`neighbours`), and several classifiers (`transformer`).
"""

from bayescal.combining.indicators.transformer import ReliabilityIndicators as ReliabilityIndicators

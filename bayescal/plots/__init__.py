"""Plots: displays after scikit-learn's, each with its data in an xarray Dataset."""

from bayescal.plots.classes import ClassReliabilityDisplay, ConfusionDisplay
from bayescal.plots.curve import LogOddsDisplay, ProbabilityDisplay
from bayescal.plots.decision import DecisionDisplay
from bayescal.plots.densities import ClassDensityDisplay
from bayescal.plots.likelihood_ratio import (
    ConsistencyDisplay,
    CrossEntropyDisplay,
    LikelihoodRatioDisplay,
    PavDisplay,
    TippettDisplay,
)
from bayescal.plots.monitoring import (
    CalibrationCurveDisplay,
    DriftDisplay,
    NetBenefitDisplay,
    SitesDisplay,
)
from bayescal.plots.ranking import RankingDisplay
from bayescal.plots.reliability import ReliabilityDisplay
from bayescal.plots.selective import PredictionSetDisplay, RiskCoverageDisplay
from bayescal.plots.topic_forest import TopicForestDisplay

__all__ = [
    "CalibrationCurveDisplay",
    "ClassDensityDisplay",
    "ClassReliabilityDisplay",
    "ConfusionDisplay",
    "ConsistencyDisplay",
    "CrossEntropyDisplay",
    "DecisionDisplay",
    "DriftDisplay",
    "LikelihoodRatioDisplay",
    "LogOddsDisplay",
    "NetBenefitDisplay",
    "PavDisplay",
    "PredictionSetDisplay",
    "ProbabilityDisplay",
    "RankingDisplay",
    "ReliabilityDisplay",
    "RiskCoverageDisplay",
    "SitesDisplay",
    "TippettDisplay",
    "TopicForestDisplay",
]

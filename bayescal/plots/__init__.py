"""Plots: displays after scikit-learn's, each with its data in an xarray Dataset."""

from bayescal.plots.audit import (
    CalibrationCurveDisplay,
    ModelProbabilityDisplay,
    NetBenefitDisplay,
    SitesDisplay,
)
from bayescal.plots.calibration_curve import LogOddsDisplay, ProbabilityDisplay
from bayescal.plots.comparison import ComparisonDisplay
from bayescal.plots.decision import DecisionDisplay
from bayescal.plots.densities import ClassDensityDisplay
from bayescal.plots.drift import DriftDisplay
from bayescal.plots.learning_curve import LearningCurveDisplay
from bayescal.plots.likelihood_ratio import (
    ConsistencyDisplay,
    CrossEntropyDisplay,
    LikelihoodRatioDisplay,
    PavDisplay,
    TippettDisplay,
)
from bayescal.plots.predictive_check import PredictiveCheckDisplay
from bayescal.plots.ranking import RankingDisplay
from bayescal.plots.reliability import ReliabilityDisplay
from bayescal.plots.topic_forest import TopicForestDisplay

__all__ = [
    "CalibrationCurveDisplay",
    "ClassDensityDisplay",
    "ComparisonDisplay",
    "ConsistencyDisplay",
    "CrossEntropyDisplay",
    "DecisionDisplay",
    "DriftDisplay",
    "LearningCurveDisplay",
    "LikelihoodRatioDisplay",
    "LogOddsDisplay",
    "ModelProbabilityDisplay",
    "NetBenefitDisplay",
    "PavDisplay",
    "PredictiveCheckDisplay",
    "ProbabilityDisplay",
    "RankingDisplay",
    "ReliabilityDisplay",
    "SitesDisplay",
    "TippettDisplay",
    "TopicForestDisplay",
]

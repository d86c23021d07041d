"""Plots: displays after scikit-learn's, each with its data in an xarray Dataset."""

from bayescal.plots.audit import (
    CalibrationCurveDisplay,
    ModelProbabilityDisplay,
    NetBenefitDisplay,
    SitesDisplay,
)
from bayescal.plots.calibration_curve import LogOddsDisplay, ProbabilityDisplay
from bayescal.plots.class_reliability import ClassReliabilityDisplay
from bayescal.plots.comparison import ComparisonDisplay
from bayescal.plots.confusion import ConfusionDisplay
from bayescal.plots.decision import DecisionDisplay
from bayescal.plots.densities import ClassDensityDisplay
from bayescal.plots.drift import DriftDisplay
from bayescal.plots.estimates import EstimatesDisplay
from bayescal.plots.learning_curve import LearningCurveDisplay
from bayescal.plots.likelihood_ratio import LikelihoodRatioDisplay
from bayescal.plots.likelihood_ratio_validation import (
    ConsistencyDisplay,
    CrossEntropyDisplay,
    PavDisplay,
    TippettDisplay,
)
from bayescal.plots.prediction_sets import PredictionSetDisplay
from bayescal.plots.predictive_check import PredictiveCheckDisplay
from bayescal.plots.ranking import RankingDisplay
from bayescal.plots.reliability import ReliabilityDisplay
from bayescal.plots.risk_coverage import RiskCoverageDisplay
from bayescal.plots.topic_forest import TopicForestDisplay

__all__ = [
    "CalibrationCurveDisplay",
    "ClassDensityDisplay",
    "ClassReliabilityDisplay",
    "ComparisonDisplay",
    "ConfusionDisplay",
    "ConsistencyDisplay",
    "CrossEntropyDisplay",
    "DecisionDisplay",
    "DriftDisplay",
    "EstimatesDisplay",
    "LearningCurveDisplay",
    "LikelihoodRatioDisplay",
    "LogOddsDisplay",
    "ModelProbabilityDisplay",
    "NetBenefitDisplay",
    "PavDisplay",
    "PredictionSetDisplay",
    "PredictiveCheckDisplay",
    "ProbabilityDisplay",
    "RankingDisplay",
    "ReliabilityDisplay",
    "RiskCoverageDisplay",
    "SitesDisplay",
    "TippettDisplay",
    "TopicForestDisplay",
]

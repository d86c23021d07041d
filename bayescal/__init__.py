"""bayescal: Bayesian calibration of classifier scores.

Public names are imported when they are first used: `import bayescal` itself needs numpy and
scipy only, and takes no longer.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bayescal.calibrated_classifier import CalibratedClassifier as CalibratedClassifier
    from bayescal.combined_classifier import CombinedClassifier as CombinedClassifier
    from bayescal.experts.online_combiner import OnlineCombiner as OnlineCombiner
    from bayescal.loading import load as load
    from bayescal.prior_knowledge import Population as Population
    from bayescal.score_calibrator import ScoreCalibrator as ScoreCalibrator
    from bayescal.topic_calibrator import TopicCalibrator as TopicCalibrator

__version__ = "0.1.0"

_HOMES = {
    "CalibratedClassifier": "bayescal.calibrated_classifier",
    "CombinedClassifier": "bayescal.combined_classifier",
    "OnlineCombiner": "bayescal.experts.online_combiner",
    "Population": "bayescal.prior_knowledge",
    "ScoreCalibrator": "bayescal.score_calibrator",
    "TopicCalibrator": "bayescal.topic_calibrator",
    "load": "bayescal.loading",
}

__all__ = [
    "CalibratedClassifier",
    "CombinedClassifier",
    "OnlineCombiner",
    "Population",
    "ScoreCalibrator",
    "TopicCalibrator",
    "__version__",
    "load",
]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    try:
        return import_module(f"bayescal.{name}")
    except ModuleNotFoundError as err:
        if err.name != f"bayescal.{name}":
            raise
        raise AttributeError(f"module 'bayescal' has no attribute {name!r}") from None


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOMES])

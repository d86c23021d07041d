"""bayescal: Bayesian calibration of classifier scores.

Public names are imported when they are first used: `import bayescal` itself needs numpy and
scipy only, and takes no longer.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bayescal.calibrators.calibrated_classifier import (
        CalibratedClassifier as CalibratedClassifier,
    )
    from bayescal.calibrators.loading import load as load
    from bayescal.calibrators.multiclass_calibrator import (
        MulticlassCalibrator as MulticlassCalibrator,
    )
    from bayescal.calibrators.ordinal_calibrator import OrdinalCalibrator as OrdinalCalibrator
    from bayescal.calibrators.score_calibrator import ScoreCalibrator as ScoreCalibrator
    from bayescal.calibrators.topic_calibrator import TopicCalibrator as TopicCalibrator
    from bayescal.combining.combined_classifier import CombinedClassifier as CombinedClassifier
    from bayescal.combining.online.online_combiner import OnlineCombiner as OnlineCombiner
    from bayescal.fitting.parts.configured import NUTS as NUTS
    from bayescal.fitting.parts.configured import Densities as Densities
    from bayescal.fitting.parts.configured import Density as Density
    from bayescal.fitting.parts.configured import Identity as Identity
    from bayescal.fitting.parts.configured import Learned as Learned
    from bayescal.fitting.parts.configured import Logistic as Logistic
    from bayescal.fitting.parts.configured import Monotone as Monotone
    from bayescal.fitting.parts.configured import Program as Program
    from bayescal.fitting.parts.configured import Recalibrated as Recalibrated
    from bayescal.fitting.population import Population as Population
    from bayescal.fitting.program_check import check_program as check_program
    from bayescal.fitting.results.diagnostics import ConvergenceWarning as ConvergenceWarning
    from bayescal.support.condensing import condense as condense
    from bayescal.support.score_checks import ScoresWarning as ScoresWarning

__version__ = "1.0.0"

_CONFIGURED = "bayescal.fitting.parts.configured"
_HOMES = {
    "CalibratedClassifier": "bayescal.calibrators.calibrated_classifier",
    "CombinedClassifier": "bayescal.combining.combined_classifier",
    "ConvergenceWarning": "bayescal.fitting.results.diagnostics",
    "Densities": _CONFIGURED,
    "Density": _CONFIGURED,
    "Identity": _CONFIGURED,
    "Learned": _CONFIGURED,
    "Logistic": _CONFIGURED,
    "Monotone": _CONFIGURED,
    "NUTS": _CONFIGURED,
    "MulticlassCalibrator": "bayescal.calibrators.multiclass_calibrator",
    "OnlineCombiner": "bayescal.combining.online.online_combiner",
    "OrdinalCalibrator": "bayescal.calibrators.ordinal_calibrator",
    "Population": "bayescal.fitting.population",
    "Program": _CONFIGURED,
    "Recalibrated": _CONFIGURED,
    "ScoreCalibrator": "bayescal.calibrators.score_calibrator",
    "ScoresWarning": "bayescal.support.score_checks",
    "TopicCalibrator": "bayescal.calibrators.topic_calibrator",
    "check_program": "bayescal.fitting.program_check",
    "condense": "bayescal.support.condensing",
    "load": "bayescal.calibrators.loading",
}

__all__ = ["__version__", *_HOMES]


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

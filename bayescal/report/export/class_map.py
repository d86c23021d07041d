"""The map of several classes in exported files: its draws, constants and facts."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayescal.fitting.class_scores import PROBABILITIES
from bayescal.fitting.engines.multiclass.features import DEEPEST, EXCLUDED, LEAST_REST, NO_WARP
from bayescal.fitting.fitted_classes import FittedClasses, read_maps
from bayescal.fitting.results.tree import ESTIMATOR, Results
from bayescal.support.validation import SMALLEST_PROBABILITY, Floats, as_reals


def read_text(name: str) -> str:
    """Return the text of a file beside this one."""
    return files("bayescal.report.export").joinpath(name).read_text(encoding="utf-8")


TOLERANCE = 1e-4  # in probability, of an exported map
MOST_CHECKED = 300  # documents

# The map in numpy: a part of the module in Python, and the reference of every file.
MAP = read_text("class_map.txt")


@dataclass(frozen=True)
class ClassContent:
    """The contents of an exported file of several classes."""

    arrays: dict[str, Any]  # by their names in MAP, draws first; COMPONENTS may be None
    constants: dict[str, Any]  # by their names in MAP
    facts: dict[str, Any]  # for readers, as JSON: classes, level, error, provenance
    column: str  # name of the scores in the file

    @property
    def fact_lines(self) -> list[str]:
        """Return the facts, a line each."""
        return [f"{name}: {json.dumps(value)}" for name, value in self.facts.items()]

    def draws(self, scores: Floats) -> Floats:
        """Return probabilities of the exported map, shape (draws, documents, classes)."""
        names: dict[str, Any] = {"np": np, **self.arrays, **self.constants}
        exec(MAP, names)
        drawn: Floats = names["draws"](scores)
        return drawn


def make_class_content(
    calibrator: Any, level: float | None, prior: Any, column: str
) -> ClassContent:
    """Return the map of a fitted MulticlassCalibrator, checked against it."""
    fitted = FittedClasses.from_results(Results.of_tree(calibrator.results_))
    design, maps = read_maps(fitted.results.groups)
    raw = design.coefficients(maps.theta)
    log_gain, power, asymmetry = maps.globals_.T
    anchor = [float(np.exp(design.anchor[0])), *map(float, design.anchor[1:])]
    anchor[1] = NO_WARP if abs(anchor[1]) < NO_WARP else anchor[1]
    data = fitted.documents()
    arrays: dict[str, Any] = {
        "GAIN": np.exp(log_gain),
        "POWER": np.where(np.abs(power) < NO_WARP, NO_WARP, power),
        "ASYMMETRY": asymmetry,
        "LAPSE": 1.0 / (1.0 + np.exp(-maps.lapse_logit)),
        "BIAS": raw[:, 0],
        "SLOPE": raw[:, 1],
        "CERTAINTY": raw[:, 2],
        "CONFUSION": raw[:, 3:],
        "ANCHOR": np.array(anchor),
        "TILT": _tilt(prior, calibrator),
        "CENTRE": design.component_centre,
        "COMPONENTS": design.components,
    }
    constants = {
        "CLASSES": fitted.classes.tolist(),
        "ARE_PROBABILITIES": fitted.scores_are == PROBABILITIES,
        "FLOOR": data.scores.floor,
        "ZERO": data.scores.floor or SMALLEST_PROBABILITY,
        "FACTOR": data.scores.factor,
        "UNIT": design.unit,
        "EXCLUDED": EXCLUDED,
        "LEAST_REST": LEAST_REST,
        "DEEPEST": DEEPEST,
    }
    attrs = calibrator.results_.attrs
    content = ClassContent(arrays, constants, {}, column)
    off = _difference(content, calibrator, prior, data.scores.given)
    if off > TOLERANCE:
        raise RuntimeError(f"the exported map is {off:g} from the calibrator: please report this.")
    facts = {
        "classes": constants["CLASSES"],
        "documents_fitted": np.bincount(data.label, minlength=fitted.classes.size).tolist(),
        "scores_are": fitted.scores_are,
        "level": level,
        "prior": None if prior is None else (arrays["TILT"] * calibrator.share_).tolist(),
        "draws": int(log_gain.size),
        "error": TOLERANCE,
        "largest_difference_found": off,
        "problems": list(calibrator.diagnostics_.problems),
        "estimator": attrs[ESTIMATOR],
        "parameters": json.loads(attrs["bayescal_parameters"]),
        "versions": json.loads(attrs["bayescal_versions"]),
    }
    return ClassContent(arrays, constants, facts, column)


def _tilt(prior: Any, calibrator: Any) -> Floats:
    """Return the ratio of new to fitted shares of the classes."""
    if prior is None:
        return np.ones(calibrator.classes_.size)
    if isinstance(prior, Mapping):
        prior = [prior.get(name, np.nan) for name in calibrator.classes_.tolist()]
    return np.asarray(as_reals(prior, "prior") / calibrator.share_)


def _difference(
    content: ClassContent, calibrator: Any, prior: Any, log_p: NDArray[np.float64]
) -> float:
    """Return the largest difference in probability, at fitted and at more extreme scores."""
    some = log_p[:: 1 + len(log_p) // MOST_CHECKED]
    tried = np.concatenate([some, 3.0 * some, 0.1 * some])
    if content.constants["ARE_PROBABILITIES"]:
        tried = np.exp(tried)
        tried /= tried.sum(axis=1, keepdims=True)
    found = content.draws(tried).mean(axis=0)
    return float(np.abs(found - calibrator.predict_proba(tried, prior)).max())

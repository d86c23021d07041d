"""Every engine, family and model of one problem."""

from functools import partial

import numpy as np

from bayescal import Densities, Monotone, ScoreCalibrator
from bayescal.families import FAMILIES
from bayescal.fitting.parts.part import all_paths, flat

SHOWN = [-4.0, -1.0, 0.0, 0.7, 2.0, 9.0]
SMALL = {"draws": 60, "chains": 2, "random_state": 0}
LABELS = np.repeat([0, 1], [40, 12])
SCORES = np.random.default_rng(0).laplace(2.0 * LABELS - 1.0)
WEIGHTS = np.random.default_rng(1).integers(0, 3, LABELS.size)

MODELS = {
    "combined": {},
    "combined, log-odds": {"scores_are": "log_odds"},
    "combined, monotone": {"parts": ["combined", Densities(monotone=True)]},
    "combined, hyperparameters": {
        "parts": [
            "combined",
            Densities(hyperparameters={"theta_scale": 2.0}),
            Monotone(n_segments=3),
        ]
    },
    "combined, median": {"point": "median"},
    "average": {"parts": "average"},
    "average, evidence": {"parts": Densities("average", averaging="evidence")},
    "monotone": {"parts": "monotone"},
    "monotone, warp": {"parts": Monotone(warp=2.0)},
    "logistic": {"parts": "logistic"},
    "recalibrated": {"parts": "recalibrated"},
    "average, monotone": {"parts": Densities("average", monotone=True)},
    "gaussian, warp": {"parts": Densities("gaussian", warp="average")},
    **{f"{name}, exact": {"parts": name} for name in FAMILIES},
    **{f"{name}, mle": {"parts": name, "inference": "mle"} for name in FAMILIES},
}


def numbers_of(calibrator, *where, band=True):
    """Return probabilities, and bands, at a few scores."""
    said = {"proba": calibrator.predict_proba(SHOWN, *where)[:, 1].tolist()}
    if band:
        said["interval"] = calibrator.predict_interval(SHOWN, *where).tolist()
    return said


def of_model(name):
    """Return a model's results on one problem."""
    calibrator = ScoreCalibrator(**SMALL, **MODELS[name]).fit(SCORES, LABELS, WEIGHTS)
    said = numbers_of(calibrator, band=calibrator.inference_ == "exact")
    return said | _evidence(flat(calibrator.results_))


def _evidence(groups):
    """Return the log evidence of everything that is compared within the first part."""
    found = all_paths(groups)
    if not found:
        return {}
    return {"evidence": np.ravel(groups[found[0].evidence]["log_evidence"].values).tolist()}


CASES = {name: partial(of_model, name) for name in MODELS}

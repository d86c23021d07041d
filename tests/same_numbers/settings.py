"""Parameters of calibrators that do not go together, and the errors that say so."""

import numpy as np

from bayescal import NUTS, Densities, Logistic, Monotone, Program, ScoreCalibrator
from tests.same_numbers.plain import outcome

SCORES = np.array([-1.3, -0.4, 0.1, 0.5, 0.9, 2.2])
LABELS = np.array([0, 0, 1, 0, 1, 1])
REFUSED = {
    "lapse of one": {"parts": "gaussian", "lapse": 0.02},
    "lapse of mle": {"inference": "mle", "lapse": 0.02},
    "lapse at 0": {"parts": "gaussian", "lapse": 0.0},
    "lapse, text": {"lapse": "some"},
    "lapse, flag": {"lapse": True},
    "alone": {"parts": ["recalibrated", Densities("average", monotone=True)]},
    **{f"{n}, never falls": {"parts": Densities(n, monotone=True)} for n in ("hybrid", "laplace")},
    "never falls, warped": {"parts": Densities("gaussian", warp=2.0, monotone=True)},
    "flag": {"parts": Densities(monotone=1)},
    "mle of a program": {"parts": Program("logistic"), "inference": "mle"},
    "exact program": {"parts": Program("logistic"), "inference": "exact"},
    "map of several": {"parts": [Program("logistic"), "laplace"], "inference": "map"},
    "nuts of several": {"parts": "combined", "inference": "nuts"},
    "nuts of log-odds": {"parts": "monotone", "inference": NUTS()},
    "map of several parts": {"parts": "combined", "inference": "map"},
    "mle of log-odds": {"parts": "logistic", "inference": "mle"},
    "mle of average": {"parts": "average", "inference": "mle"},
    "spread": {"units": {"centre": 0.0, "spread": 0.0}},
    "centre": {"units": {"centre": np.inf, "spread": 1.0}},
    "units": {"units": [0.0, 1.0]},
    "identity": {"parts": ["identity", "logistic"]},
    "identity of log-odds": {"parts": ["identity", "logistic"], "scores_are": "log_odds"},
    "identity alone": {"parts": "identity", "scores_are": "log_odds"},
    "families": {"parts": ["gaussian", "laplace"]},
    "twice": {"parts": ["logistic", Logistic()]},
    "none": {"parts": []},
    "number": {"parts": 3},
    "learned, vague": {"parts": ["learned", "logistic"], "prior_knowledge": "vague"},
    "no populations": {"parts": "gaussian", "prior_knowledge": "missing.json"},
    "draws": {"draws": 2.5},
    "chains": {"chains": True},
    "seed": {"random_state": "x"},
    "point of mle": {"parts": "gaussian", "inference": "mle", "point": "mean"},
    "hyperparameters": {"parts": Densities(hyperparameters={"nu": 1.0})},
    "negative": {"parts": Densities(hyperparameters={"theta_scale": -1.0})},
    "of log-odds": {"parts": Monotone(hyperparameters={"theta_scale": 1.0})},
    "segments": {"parts": Monotone(n_segments=0)},
    "warp": {"parts": Densities("gaussian", warp=-1.0)},
    "warp, text": {"parts": Monotone(warp="much")},
    "warp of combined": {"parts": ["combined", Densities(warp=2.0)]},
    "averaging": {"parts": Densities("average", averaging="mean")},
    "averaging of one": {"parts": Densities("gaussian", averaging="evidence")},
    "candidates": {"parts": Densities("gaussian", candidates="all")},
    "floor": {"parts": Densities("gaussian", scale_floor=-1.0)},
}


def asked(parameters):
    """Return the error of a fit, or what it answers, with its warnings."""
    calibrator = ScoreCalibrator(**{"draws": 8, "chains": 2, "random_state": 1} | parameters)
    return outcome(lambda: calibrator.fit(SCORES, LABELS).predict_proba(SCORES)[:, 1])


CASES = {name: (lambda each=each: asked(each)) for name, each in REFUSED.items()}

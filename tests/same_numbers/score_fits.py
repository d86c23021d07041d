"""Fits of one problem: their whole results, notes, warnings and errors."""

from functools import cache, partial

import numpy as np
from scipy import special

from bayescal import Densities, Logistic, Monotone, ScoreCalibrator
from tests.same_numbers.plain import every_group, every_name, outcome

RNG = np.random.default_rng(21)
LABELS = np.repeat([0, 1], [31, 14])
SCORES = np.r_[RNG.gamma(2.0, 1.1, 31) - 3.0, RNG.laplace(1.2, 0.8, 14)].round(2)
WEIGHTS = RNG.integers(0, 4, LABELS.size) / 2.0
INCLUSION = np.where(SCORES > 0.4, 1.0, 0.3)
# Shares of votes, with ends that say something else than their neighbours.
SHARES = np.r_[np.zeros(12), np.linspace(0.05, 0.8, 19), np.linspace(0.3, 0.95, 8), np.ones(6)]
SHARE_LABELS = np.r_[np.zeros(31, int), np.ones(14, int)]
SHARE_LABELS[[0, 25]], SHARE_LABELS[[33, 44]] = 1, 0
WORDS = np.where(LABELS == 1, "ham", "spam")
SMALL = {"draws": 30, "chains": 2, "random_state": 4}

# By name: parameters, and what `fit` takes.
FITS = {
    "combined": ({}, {}),
    "weighted": ({"lapse": 0.02, "prior_knowledge": "vague"}, {"sample_weight": WEIGHTS}),
    "inclusion": ({"point": "mean", "parts": ["combined"]}, {"inclusion": INCLUSION}),
    "probabilities": ({"scores_are": "probabilities"}, {"scores": SHARES, "y": SHARE_LABELS}),
    "words": ({"positive": "ham", "point": "median", "scores_are": "scores"}, {"y": WORDS}),
    "reversed words": ({"scores_are": "log_odds", "lapse": 0}, {"y": WORDS, "scores": -SCORES}),
    "units": ({"parts": "average", "units": {"centre": 1.5, "spread": 0.5}}, {}),
    "gaussian": ({"parts": Densities("gaussian", warp=1.5, scale_floor=0.4)}, {}),
    "evidence": ({"parts": Densities("average", averaging="evidence", monotone=True)}, {}),
    "logistic": ({"parts": Logistic(hyperparameters={"slope_scale": 0.5})}, {}),
    "monotone": ({"parts": ["combined", Monotone(n_segments=4, warp=1.0)]}, {}),
    "mle": ({"parts": Densities("hybrid", candidates="bennett"), "inference": "mle"}, {}),
    "recalibrated": ({"parts": "recalibrated", "scores_are": "log_odds"}, {}),
    "few": ({}, {"scores": [-1.0, 0.5, 0.6, 2.0], "y": [0, 0, 1, 1]}),
    "one positive": ({}, {"scores": SCORES[:32], "y": LABELS[:32]}),
    "separated": ({"parts": "laplace"}, {"scores": LABELS * 3.0 + SCORES / 9.0}),
}
REFUSED = {
    "one class": ({}, {"y": np.zeros(45, int)}),
    "lengths": ({}, {"y": LABELS[1:]}),
    "not a number": ({}, {"scores": np.r_[np.nan, SCORES[1:]]}),
    "parts": ({"parts": "cubic"}, {}),
    "inference": ({"inference": "vb"}, {}),
    "draws": ({"draws": 0}, {}),
    "chains": ({"chains": 0}, {}),
    "point": ({"point": "mode"}, {}),
    "lapse": ({"lapse": 1.0}, {}),
    "units": ({"units": {"centre": 0.0}}, {}),
    "scores_are": ({"scores_are": "odds"}, {}),
    "beyond 1": ({"scores_are": "probabilities"}, {}),
    "positive": ({"positive": 3}, {}),
    "knowledge": ({"prior_knowledge": "none"}, {}),
    "both": ({}, {"sample_weight": WEIGHTS, "inclusion": INCLUSION}),
    "negative weight": ({}, {"sample_weight": -WEIGHTS}),
    "no weight": ({}, {"sample_weight": 0.0 * WEIGHTS}),
    "inclusion": ({}, {"inclusion": 2.0 * INCLUSION}),
    "reversed": ({"parts": "gaussian"}, {"scores": -SCORES}),
    "uninformative": ({"parts": "gaussian"}, {"scores": np.tile([0.1, 0.3, 0.2], 15)}),
    "look like": ({"parts": "gaussian"}, {"scores": special.expit(SCORES)}),
}
OWN = ("log_evidence_", "family_weight_", "family_probability_", "warp_weight_", "combination_",
       "lapse_", "monotone_probability_", "prequential_")  # fmt: skip


@cache
def fitted(name):
    """Return the calibrator of one of the fits."""
    parameters, data = FITS[name]
    return ScoreCalibrator(**SMALL | parameters).fit(**{"scores": SCORES, "y": LABELS} | data)


def results_of(name):
    """Return the groups of a fit and its attributes."""
    calibrator = fitted(name)
    return {
        "groups": every_group(calibrator.results_),
        "classes": calibrator.classes_,
        "inference": calibrator.inference_,
        "mle": calibrator.mle_.prior,
        "problems": calibrator.score_problems_,
        "diagnostics": calibrator.diagnostics_,
        "units": calibrator.units_,
        **{each: _attribute(calibrator, each) for each in OWN},
    }


def _attribute(calibrator, name):
    said = outcome(getattr, calibrator, name)
    return said.get("answer", said.get("error"))


def names_of():
    """Return the names in the groups of a fit and its attributes."""
    return every_name(fitted("monotone").results_)


def refusals():
    """Return the errors and warnings of fits."""
    said = {}
    for name, (parameters, data) in REFUSED.items():
        calibrator = ScoreCalibrator(**SMALL | parameters)
        answer = outcome(calibrator.fit, **{"scores": SCORES, "y": LABELS} | data)
        said[name] = {each: text for each, text in answer.items() if each != "answer"}
    calibrator = fitted("combined")
    return said | {
        "level": outcome(calibrator.predict_interval, SCORES[:3], 1.0),
        "kind": outcome(calibrator.predict_interval, SCORES[:3], 0.9, "both"),
        "prior": outcome(calibrator.predict_proba, SCORES[:3], 1.0),
        "prior of classes": outcome(calibrator.predict_proba, SCORES[:3], [0.2, 0.8]),
        "fewer draws": outcome(calibrator.sample_proba, SCORES[:3], 0),
        "not fitted": outcome(ScoreCalibrator().predict, SCORES[:3]),
        "densities": outcome(fitted("monotone").class_densities, SCORES[:3]),
    }


CASES = {
    **{name: partial(results_of, name) for name in FITS},
    "names": names_of,
    "refusals": refusals,
}

"""Fits of several classes: their whole results, answers, decisions, notes and errors."""

import tempfile
from functools import cache, partial
from pathlib import Path

import numpy as np
from scipy import special

from bayescal import MulticlassCalibrator, load
from bayescal.calibrators.comparison import leave_one_out
from tests.same_numbers.plain import every_group, every_name, outcome

RNG = np.random.default_rng(44)
CLASSES = np.array(["cat", "dog", "eel", "fox"])
TRUTH = RNG.choice(4, 60, p=[0.4, 0.3, 0.2, 0.1])
LOGITS = (2.0 * np.eye(4)[TRUTH] + RNG.normal(0.0, 1.3, (60, 4)) + [0.3, 0.0, -0.2, 0.1]).round(2)
LOGITS[7] = LOGITS[8] = [1.0, 1.0, 0.0, 1.0]  # tied
WORDS = CLASSES[TRUTH]
WEIGHTS = RNG.integers(0, 3, 60) / 2.0
INCLUSION = np.where(LOGITS[:, 0] > 0.5, 1.0, 0.4)
SHARES = special.softmax(2.0 * LOGITS, axis=1).round(3)
SHARES = SHARES / SHARES.sum(axis=1, keepdims=True)
SHOWN = np.array(
    [[0.0, 0.0, 0.0, 0.0], [4.0, 1.0, -1.0, 0.5], [-2.0, 0.4, 0.5, 0.3], [0, 9, 0, 1.0]]
)
AT_ENDS = np.array([[0.25] * 4, [1.0, 0.0, 0.0, 0.0], [0.0, 0.5, 0.5, 0.0], [0.7, 0.1, 0.1, 0.1]])
SMALL = {"draws": 15, "chains": 2, "random_state": 8}
COSTS = np.array([[0.0, 1.0, 2.0, 9.0], [1.0, 0.0, 1.0, 9.0], [5.0, 1.0, 0.0, 1.0], [1, 1, 1, 0.0]])
PRIOR = [0.1, 0.2, 0.3, 0.4]
FITS = {
    "logits": ({}, {}),
    "weighted": ({"exchangeable": True}, {"sample_weight": WEIGHTS}),
    "probabilities": ({"scores_are": "probabilities"}, {"scores": SHARES}),
    "inclusion": ({}, {"inclusion": INCLUSION}),
    "positions": (
        {"position_bias": True, "exchangeable": True},
        {"scores": LOGITS[:, :3], "y": TRUTH % 3},
    ),
    "more classes": ({}, {"y": WORDS[TRUTH < 3], "scores": LOGITS[TRUTH < 3], "classes": CLASSES}),
}
REFUSED = {
    "columns": ({}, {"scores": LOGITS[:, :2]}),
    "one column": ({}, {"scores": LOGITS[:, 0]}),
    "lengths": ({}, {"y": WORDS[1:]}),
    "unknown class": ({}, {"classes": CLASSES[:3]}),
    "scores_are": ({"scores_are": "odds"}, {}),
    "sums": ({"scores_are": "probabilities"}, {"scores": np.abs(LOGITS)}),
    "nan": ({}, {"scores": np.where(LOGITS > 3.0, np.nan, LOGITS)}),
    "draws": ({"draws": 0}, {}),
    "positions": ({"position_bias": True}, {}),
    "flags": ({"exchangeable": 1}, {}),
    "both weights": ({}, {"sample_weight": WEIGHTS, "inclusion": INCLUSION}),
    "one class": ({}, {"y": WORDS[TRUTH == 0], "scores": LOGITS[TRUTH == 0]}),
    "look like": ({}, {"scores": SHARES}),
}


@cache
def fitted(name):
    """Return the calibrator of one of the fits."""
    parameters, data = FITS[name]
    return MulticlassCalibrator(**SMALL | parameters).fit(**{"scores": LOGITS, "y": WORDS} | data)


def results_of(name):
    """Return the groups of a fit, its attributes and tables."""
    calibrator = fitted(name)
    return {
        "groups": every_group(calibrator.results_),
        "classes": calibrator.classes_,
        "scores_are": calibrator.scores_are_,
        "share": calibrator.share_,
        "diagnostics": calibrator.diagnostics_,
        "summary": calibrator.summary(0.8),
        "findings": calibrator.findings(0.7),
        "several": calibrator.several_classes,
    }


def answers_of(name):
    """Return the predictions of a fit: probabilities, intervals, draws, sets, decisions."""
    calibrator = fitted(name)
    at = AT_ENDS if name == "probabilities" else SHOWN[:, : len(calibrator.classes_)]
    prior, costs = PRIOR[: at.shape[1]], COSTS[: at.shape[1], : at.shape[1]]
    prior = np.divide(prior, np.sum(prior))
    return {
        "proba": calibrator.predict_proba(at),
        "prior": calibrator.predict_proba(at, prior),
        "log proba": calibrator.predict_log_proba(at),
        "predict": calibrator.predict(at),
        "predict, prior": calibrator.predict(at, prior),
        "interval": calibrator.predict_interval(at, 0.7),
        "hdi": calibrator.predict_interval(at[1:], 0.8, "hdi", prior),
        "sample": calibrator.sample_proba(at[1:3], 2, 1),
        "all": calibrator.sample_proba(at, prior=prior),
        "top": calibrator.predict_top(at, 0.8),
        "top, prior": calibrator.predict_top(at, prior=prior),
        "set": calibrator.predict_set(at, 0.7),
        "set of a document": calibrator.predict_set(at, 0.95, "document"),
        "decide": calibrator.decide(at, costs, level=0.7),
        "decide, prior": calibrator.decide(at, costs, prior=prior),
    }


def kept():
    """Return updates, files and leave-one-out scores of several classes."""
    calibrator = MulticlassCalibrator(**SMALL).fit(LOGITS[:40], WORDS[:40])
    elpd = outcome(lambda: float(leave_one_out(fitted("logits"), draws=20).elpd))
    calibrator.update(LOGITS[40:50], WORDS[40:50])
    calibrator.update(LOGITS[50:], WORDS[50:], WEIGHTS[50:], forgetting=0.7)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "fit.nc"
        fitted("weighted").save(path)
        loaded = load(path)
    return {
        "elpd": elpd,
        "updated": every_group(calibrator.results_),
        "proba": calibrator.predict_proba(SHOWN),
        "loaded": loaded.predict_proba(SHOWN),
        "names": every_name(loaded.results_),
        "forgetting": outcome(calibrator.update, LOGITS[:2], WORDS[:2], forgetting=0.0),
        "new class": outcome(calibrator.update, LOGITS[:2], ["gnu", "cat"]),
    }


def refusals():
    """Return the errors and warnings of fits and of questions."""
    said = {}
    for name, (parameters, data) in REFUSED.items():
        given = {"scores": LOGITS, "y": WORDS} | data
        answer = outcome(MulticlassCalibrator(**SMALL | parameters).fit, **given)
        said[name] = {each: text for each, text in answer.items() if each != "answer"}
    calibrator = fitted("logits")
    return said | {
        "columns asked": outcome(calibrator.predict, SHOWN[:, :3]),
        "prior": outcome(calibrator.predict_proba, SHOWN, [0.5, 0.5, 0.1, 0.1]),
        "prior of two": outcome(calibrator.predict_proba, SHOWN, 0.3),
        "prior by name": outcome(calibrator.predict, SHOWN, dict(zip(CLASSES, PRIOR, strict=True))),
        "level": outcome(calibrator.predict_interval, SHOWN, 0.0),
        "kind": outcome(calibrator.predict_interval, SHOWN, 0.9, "simultaneous"),
        "summary": outcome(calibrator.summary, 1.0),
        "findings": outcome(calibrator.findings, 1.0),
        "coverage": outcome(calibrator.predict_set, SHOWN, 1.0),
        "set": outcome(calibrator.predict_set, SHOWN, 0.9, "all"),
        "costs": outcome(calibrator.decide, SHOWN, COSTS[:, :2]),
        "reject": outcome(calibrator.decide, SHOWN, np.c_[COSTS, [0.3] * 4]),
        "draws asked": outcome(calibrator.sample_proba, SHOWN, 31),
        "not fitted": outcome(MulticlassCalibrator().predict, SHOWN),
    }


CASES = {
    **{name: partial(results_of, name) for name in FITS},
    **{f"{name}, answers": partial(answers_of, name) for name in FITS},
    "kept": kept,
    "refusals": refusals,
}

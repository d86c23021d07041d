"""Metrics of probabilities: losses, calibration errors, reliability curves, intervals, evidence."""

from functools import partial

import numpy as np
from sklearn.metrics import roc_auc_score

from bayescal import metrics
from bayescal.metrics import changes, inputs, sign_test
from bayescal.metrics import reliability as curves
from tests.same_numbers.plain import answer_of

RNG = np.random.default_rng(7)
# Uneven, with ties, and with both labels on either side of 1/2 and at it.
P = np.round(RNG.beta(0.8, 1.7, 37), 2)
P[[3, 11, 19]] = 0.5
P[[5, 6, 7, 8]] = 0.23
TRUTH = RNG.random(P.size) < 0.15 + 0.6 * P
TRUTH[[3, 11, 19]] = True, False, True
COUNTS = RNG.integers(0, 4, P.size)
INCLUSION = np.where(TRUTH, 0.9, 0.2) * RNG.choice([1.0, 0.5], P.size)
WEIGHTED = {
    "": {},
    ", counts": {"sample_weight": COUNTS},
    ", parts": {"sample_weight": 0.3 + COUNTS},
    ", inclusion": {"inclusion": INCLUSION},
}
ENDS = {"y_true": [0, 1, 0, 1, 1, 0, 1], "y_prob": [0.0, 1.0, 0.4, 0.9, 1.0, 0.0, 0.3]}
WRONG_ENDS = {
    "y_true": [1, 0, 0, 1, 1, 1, 0, 1, 1],
    "y_prob": [0.0, 1.0, 0.4, 0.9, 0.0, 0.0, 1.0, 0.0, 0.2],
}
EQUAL = {"y_true": [0, 1, 0, 0, 0], "y_prob": [0.3] * 5}
FEW = 20  # documents of curves whose every point is shown
CLASSES = ["b", "a", "c"]
CLASS_P = np.round(RNG.dirichlet([1.0, 0.6, 0.4], 23), 3)
CLASS_P[:, 2] = 1.0 - CLASS_P[:, :2].sum(axis=1)
CLASS_P[:2] = [[0.5, 0.5, 0.0], [0.25, 0.25, 0.5]]
LABEL = np.array([2, 1, *RNG.integers(0, 3, 21)])
NAMES = np.array(CLASSES)[LABEL]
CLASS_WEIGHTED = {
    "": {},
    ", counts": {"sample_weight": COUNTS[:23]},
    ", inclusion": {"inclusion": INCLUSION[:23]},
}


def _of_weights(function, y_true=TRUTH, y_prob=P, weighted=WEIGHTED, **options):
    """Return a metric with each kind of weights."""
    return {
        name: answer_of(function, y_true, y_prob, **options, **weights)
        for name, weights in weighted.items()
    }


def _weighted_gap(y_true, y_prob, *, sample_weight=None):
    """Return a metric that takes no time: the mean outcome less the mean probability."""
    return np.average(y_true - y_prob, weights=sample_weight)


def _many(n=6000):
    """Return many probabilities, which share cells, and labels."""
    rng = np.random.default_rng(3)
    p = rng.beta(0.7, 2.0, n)
    return rng.random(n) < p**1.2, p


LOSSES = {
    "log": metrics.log_loss,
    "log, bits": partial(metrics.log_loss, base=2.0),
    "brier": metrics.brier_score,
    "smooth error": metrics.smooth_calibration_error,
}
ERRORS = [(bins, strategy) for strategy in ("quantile", "uniform", "sweep") for bins in (4, 15)]
ROWS = {"y_true": NAMES, "y_prob": CLASS_P, "weighted": CLASS_WEIGHTED, "classes": CLASSES}


def losses_of_two_classes():
    """Return mean losses of every kind, also at both ends, and losses of documents."""
    mean = {name: _of_weights(each) for name, each in LOSSES.items()}
    ends = {
        name: [answer_of(each, **some) for some in (ENDS, WRONG_ENDS, EQUAL)]
        for name, each in LOSSES.items()
    }
    each = [
        metrics.pointwise_losses(some["y_true"], some["y_prob"], *loss)
        for loss in ((), ("log",), ("brier",), ("error",))
        for some in ({"y_true": TRUTH, "y_prob": P}, WRONG_ENDS)
    ]
    return {"mean": mean, "ends": ends, "each": each}


def losses_of_classes():
    """Return losses of several classes: in any base, by document, and with weights."""
    losses = {name: LOSSES[name] for name in ("log", "log, bits", "brier")}
    return {
        "mean": {name: _of_weights(each, **ROWS) for name, each in losses.items()},
        "by position": [metrics.log_loss(LABEL, CLASS_P), metrics.brier_score(LABEL, CLASS_P)],
        "each": [
            metrics.pointwise_losses(NAMES, CLASS_P, loss, classes=CLASSES)
            for loss in ("log", "brier", "error")
        ],
        "top label": metrics.top_label(LABEL, CLASS_P),
    }


def losses_of_log_odds():
    """Return totals of losses of log-odds, which do not round."""
    odds = [-800.0, -3.0, 0.0, 0.0, 0.7, 2.0, 40.0, -0.4]
    truth = [False, True, True, False, False, True, True, False]
    weight = [1, 0.5, 2, 3, 0, 1, 7, 1]
    return [metrics.losses(odds, truth), metrics.losses(odds, truth, weight)]


def errors_in_bins():
    """Return calibration errors of every norm and kind of bins, with chance and without."""
    return {
        f"{bins} {strategy}, {norm}, {debias}": _of_weights(
            metrics.calibration_error, n_bins=bins, strategy=strategy, norm=norm, debias=debias
        )
        for bins, strategy in ERRORS
        for norm in ("l1", "l2", "max")
        for debias in (False, True)
        if norm != "max" or not debias
    } | {
        "defaults": metrics.calibration_error(TRUTH, P),
        "many": metrics.calibration_error(*_many()),
        "many, sweep": metrics.calibration_error(*_many(), strategy="sweep"),
        "smooth, many": metrics.smooth_calibration_error(*_many()),
        "refused": [
            answer_of(metrics.calibration_error, TRUTH, P, norm="max", debias=True),
            answer_of(metrics.calibration_error, [0, 1], [0.2, 0.7], n_bins=2, debias=True),
            answer_of(metrics.calibration_error, TRUTH, P, norm="l3"),
            answer_of(metrics.calibration_error, TRUTH, P, strategy="all"),
            answer_of(metrics.calibration_error, TRUTH, P, debias=1),
            answer_of(metrics.calibration_error, TRUTH, P, n_bins=0),
        ],
    }


def reliability(method, band):
    """Return a reliability curve with its band, for each kind of weights."""
    some = {"method": method, "band": band, "resamples": 40, "n_bins": 5, "rng": 3}
    few = {
        name: {kind: values[:FEW] for kind, values in weights.items()}
        for name, weights in WEIGHTED.items()
    }
    return _of_weights(metrics.reliability_curve, TRUTH[:FEW], P[:FEW], few, **some)


def reliability_by_default():
    """Return curves with options left out, and those of few documents or labels that agree."""
    return [
        metrics.reliability_curve(TRUTH, P, band=None),
        metrics.reliability_curve(TRUTH, P, rng=0),
        metrics.reliability_curve(TRUTH, P, method="quantile", rng=0),
        metrics.reliability_curve(TRUTH, P, method="corp", band="confidence", level=0.6),
        metrics.reliability_curve(TRUTH, P, method="uniform", band="confidence", level=0.6),
        metrics.reliability_curve([1, 1, 1, 0], [0.2, 0.6, 0.6, 0.1], band="confidence"),
        metrics.reliability_curve([0, 0], [0.2, 0.6], method="uniform", band="confidence"),
        metrics.reliability_curve([1], [0.2], rng=0, resamples=7),
        answer_of(metrics.reliability_curve, TRUTH, P, band="all"),
        answer_of(metrics.reliability_curve, TRUTH, P, resamples=0),
    ]


def decomposition():
    """Return the decompositions of scores."""
    scores = {"brier": {}, "log": {"score": metrics.log_loss}}
    return {
        name: _of_weights(metrics.score_decomposition, **some) for name, some in scores.items()
    } | {"ends": [metrics.score_decomposition(**each) for each in (ENDS, EQUAL)]}


def groups_in_bins():
    """Return the bins of documents at their edges, and weighted quantiles."""
    edges = inputs.read_outcomes([0, 1, 0, 1, 1, 0], [0.0, 0.25, 0.5, 0.7, 0.75, 1.0])
    values = np.array([3.0, 1.0, 1.0, 7.0, 4.0])
    weight = np.array([2.0, 0.5, 1.5, 1.0, 3.0])
    levels, truth = np.linspace(0.0, 1.0, 9), np.ones(5, dtype=bool)
    kinds = ((None, False), (weight, False), (weight, True))
    return {
        "uniform": curves.bin_index(edges, 4, "uniform"),
        "quantile": curves.bin_index(edges, 4, "quantile"),
        "bins": curves.bin_outcomes(edges, 3, "uniform"),
        "quantiles": [
            curves.quantiles(inputs.Forecasts(truth, values, *kind), levels) for kind in kinds
        ],
        "levels": curves.levels_of(inputs.read_outcomes(TRUTH, P, COUNTS + 1)),
    }


def bootstrap():
    """Return bootstrap intervals of each kind."""
    some = {"resamples": 12, "rng": 4, "level": 0.8}
    found = {
        kind: _of_weights(
            partial(metrics.bootstrap_interval, metrics.brier_score), kind=kind, **some
        )
        for kind in ("percentile", "basic")
    }
    classes = _of_weights(partial(metrics.bootstrap_interval, metrics.brier_score),
                          LABEL, CLASS_P, CLASS_WEIGHTED, **some)  # fmt: skip
    return found | {
        "classes": classes,
        "default": metrics.bootstrap_interval(_weighted_gap, TRUTH, P, rng=0),
        "light": metrics.bootstrap_interval(
            metrics.brier_score, TRUTH, P, sample_weight=0.005 * (COUNTS + 1), **some
        ),
        "of a metric elsewhere": metrics.bootstrap_interval(
            roc_auc_score, TRUTH, P, level=0.8, resamples=8, rng=4
        ),
    }


def posterior():
    """Return posterior intervals, of given documents and of others like them."""
    logits = np.random.default_rng(5).normal(size=(15, 1)) + np.log(P + 0.05) - np.log(1.05 - P)
    draws = 1.0 / (1.0 + np.exp(-logits))
    rows = np.random.default_rng(6).dirichlet([1.0, 2.0, 0.5], (15, LABEL.size))
    found = {
        resample: _of_weights(
            partial(metrics.posterior_interval, metrics.brier_score), TRUTH, draws,
            resample=resample, level=0.7, rng=3,
        )
        for resample in (False, True)
    }  # fmt: skip
    return found | {
        "classes": [
            metrics.posterior_interval(
                metrics.log_loss, LABEL, rows, resample=resample, rng=1, **weights
            )
            for resample in (False, True)
            for weights in CLASS_WEIGHTED.values()
        ],
        "default": metrics.posterior_interval(metrics.log_loss, TRUTH, draws),
    }


def evidence():
    """Return tests of calibration and the evidence for and against it."""
    of = metrics.calibration_evidence
    methods = [{}, {"method": "average"}, {"method": "bic"}, {"method": "bic", "prior": 0.7}]
    other = [ENDS, WRONG_ENDS, EQUAL]
    return {
        "spiegelhalter": _of_weights(metrics.spiegelhalter_test),
        "spiegelhalter, others": [answer_of(metrics.spiegelhalter_test, **each) for each in other]
        + [answer_of(metrics.spiegelhalter_test, [0, 1, 1], [0.0, 0.5, 1.0])],
        "evidence": [_of_weights(of, **method) for method in methods],
        "evidence, others": [answer_of(of, **each, **m) for each in other for m in methods[1:3]],
        "evidence, many": of(*_many()),
        "sign test": [
            sign_test.sign_test(*wins, alternative=side)
            for wins in ((7, 3), (3, 7), (0, 0), (5, 5), (0, 4), (12, 1))
            for side in ("two-sided", "greater", "less")
        ] + [sign_test.sign_test(7, 2), answer_of(sign_test.sign_test, -1, 2),
             answer_of(sign_test.sign_test, 2, 1.5)],
    }  # fmt: skip


def changes_of_log_odds():
    """Return posteriors of changes: their regressions, draws and predictions."""
    truth, p = _many(4500)
    odds = changes.clipped_log_odds([0.0, 1.0, 0.3, 1e-12, 2e-9])
    cells = {
        name: changes.LogOddsCells.of(changes.clipped_log_odds(each), y, weight)
        for name, each, y, weight in (
            ("few", P, TRUTH, None), ("weighted", P, TRUTH, 0.5 + COUNTS), ("many", p, truth, None)
        )
    }  # fmt: skip
    fits = {name: changes.fit_changes(each) for name, each in cells.items()}
    at = np.array([-6.0, -1.3, 0.0, 0.4, 2.2, 8.0])
    few = fits["few"]
    rng = np.random.default_rng(8)
    return {
        "regressions": changes.REGRESSIONS,
        "clipped": odds,
        "cells": cells,
        "frames": [each.frame for each in cells.values()],
        "features": cells["few"].frame.features(at),
        "log evidence": [each.log_evidence for each in fits.values()],
        "weight": [each.weight for each in fits.values()],
        "probability": [each.probability for each in fits.values()],
        "modes": [fit.mode for _, fit in few.fits[:6]],
        "covariance": [fit.covariance for _, fit in few.fits[:6]],
        "predicted": [each.predict(at) for each in fits.values()],
        "alone": [few.alone(kind).predict(at) for kind in changes.KINDS],
        "drawn": few.draw(7, rng)[:, :3],
        "of some kinds": changes.fit_changes(cells["few"], kinds=("as is", "slope")).weight,
    }


def inputs_of_metrics():
    """Return answers of outcome checks at the limits of their input."""
    sampled = inputs.read_outcomes(TRUTH, P, inclusion=INCLUSION)
    read = {
        "labels": ([0, 1, 1], [-1, 1, -1], [True, False, True], [1.0, 0.0, 1.0], [1, 1, 1],
                   [-1, -1, -1], [0, 2, 1], [-1, 0, 1], ["a", "b", "a"], [[0, 1, 1]], [0, 1]),
        "probabilities": ([0.0, 1.0, 0.5], [0.2, -1e-9, 0.5], [0.2, 1.0 + 1e-9, 2.0],
                          [0.2, np.nan, 0.5]),
    }  # fmt: skip
    draws = [
        [[0.0, 1.0], [0.2, 0.4]], [[0.0, 1.01], [0.2, 0.4]], [[-0.1, 1.0]], [[0.3], [0.4]],
        [0.2, 0.3], np.empty((0, 2)), np.ma.masked_equal([[0.2, 0.4]], 0.4), [[1, 0]],
    ]  # fmt: skip
    rows = [
        [[0.4, 0.6]], [[0.4, 0.6009]], [[0.4, 0.6011]], [[1.1, -0.1]], [[1.0]], [[0.2, np.nan]],
        np.empty((0, 2)), [0.4, 0.6],
    ]  # fmt: skip
    return {
        "labels": [answer_of(inputs.read_outcomes, y, [0.2, 0.7, 0.4]) for y in read["labels"]],
        "probabilities": [
            answer_of(inputs.read_outcomes, [0, 1, 1], p) for p in read["probabilities"]
        ],
        "draws": [answer_of(inputs.as_draws, each, 2) for each in draws],
        "rows": [answer_of(inputs.read_class_outcomes, [1], each, None) for each in rows]
        + [answer_of(inputs.read_class_outcomes, y, [[0.4, 0.6]] * 2, ["n", "p"])
           for y in (["p", "n"], ["p", "q"], ["p"], [["p"], ["n"]])],
        "sampled": [sampled.odds, sampled.by_class, sampled.variance, sampled.effective],
        "counted": [each.counted() for each in (sampled, inputs.read_outcomes(TRUTH, P, COUNTS))],
        "impossible": [
            inputs.name_impossible(inputs.read_outcomes(*each.values())._replace(weight=weight))
            for each in (ENDS, WRONG_ENDS)
            for weight in (None, np.arange(len(each["y_true"]), dtype=float))
        ],
        "many impossible": [
            inputs.name_impossible(inputs.read_outcomes([1] * n, [0.0] * n)) for n in (5, 6, 1007)
        ],
        "top label": [
            answer_of(metrics.top_label, y, p)
            for y, p in (
                ([0], [[0.4, 0.6]]), ([2], [[0.4, 0.6]]), ([-1], [[0.4, 0.6]]), ([1], [0.4, 0.6]),
                ([1, 0], [[0.5, 0.5]]), ([1.0], [[0.4, 0.6]]),
            )
        ],
        "base": [
            answer_of(metrics.log_loss, [0, 1], [0.2, 0.6], base=base)
            for base in (0.5, 1.0, 0.0, np.inf, 10)
        ],
        "kinds of weights": answer_of(
            metrics.log_loss, TRUTH, P, sample_weight=COUNTS, inclusion=INCLUSION
        ),
        "included": inputs.given_included(
            np.array([0.0, 0.2, 1.0, 0.5]), np.array([2.0, 3.0, 0.0, 0.0]),
            np.array([1.0, 5.0, 0.0, 2.0]),
        ),
    }  # fmt: skip


CASES = {
    "losses": losses_of_two_classes,
    "losses of classes": losses_of_classes,
    "losses of log-odds": losses_of_log_odds,
    "errors in bins": errors_in_bins,
    **{
        f"reliability, {method}, {band}": partial(reliability, method, band)
        for method in ("corp", "uniform", "quantile")
        for band in ("consistency", "confidence")
    },
    "reliability by default": reliability_by_default,
    "decomposition": decomposition,
    "groups in bins": groups_in_bins,
    "bootstrap": bootstrap,
    "posterior": posterior,
    "evidence": evidence,
    "changes of log-odds": changes_of_log_odds,
    "inputs": inputs_of_metrics,
}

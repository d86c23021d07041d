"""Metrics against scikit-learn, model-diagnostics, published figures and plain arithmetic."""

import functools

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn.calibration import calibration_curve
from sklearn.metrics import brier_score_loss
from sklearn.metrics import log_loss as sklearn_log_loss

from bayescal import metrics
from bayescal.support.labels import encode_labels
from bayescal.support.numerics import (
    class_prior,
    log_odds,
    log_probabilities,
    probabilities,
    probability,
)

RNG = np.random.default_rng(11)
P = np.round(RNG.beta(1, 2, 400), 2)  # with ties
Y = RNG.random(400) < P**1.3
WEIGHT = RNG.integers(0, 4, 400)
METRICS = {
    "log_loss": metrics.log_loss,
    "log_loss in bits": functools.partial(metrics.log_loss, base=2),
    "brier_score": metrics.brier_score,
    "ece": metrics.calibration_error,
    "ece uniform": functools.partial(metrics.calibration_error, strategy="uniform"),
    "rms": functools.partial(metrics.calibration_error, norm="l2"),
    "rms debiased": functools.partial(metrics.calibration_error, norm="l2", debias=True),
    "smooth": metrics.smooth_calibration_error,
    "miscalibration": lambda *a, **k: metrics.score_decomposition(*a, **k).miscalibration,
    "discrimination": lambda *a, **k: metrics.score_decomposition(*a, **k).discrimination,
    "spiegelhalter": lambda *a, **k: metrics.spiegelhalter_test(*a, **k).statistic,
}


@pytest.mark.parametrize("name", METRICS)
def test_a_weight_is_a_repetition(name):
    metric = METRICS[name]
    repeated = metric(np.repeat(Y, WEIGHT), np.repeat(P, WEIGHT))
    assert metric(Y, P, sample_weight=WEIGHT) == pytest.approx(repeated, rel=1e-9)
    assert metric(Y, P, sample_weight=np.ones(Y.size)) == pytest.approx(metric(Y, P), rel=1e-9)
    assert metric(Y, P) != pytest.approx(repeated, rel=1e-4)


def test_smooth_error_of_probabilities_that_are_as_wrong_as_can_be():
    for n in (1, 50):
        assert metrics.smooth_calibration_error(np.ones(n), np.zeros(n)) == pytest.approx(1.0)


@pytest.mark.parametrize("name", METRICS)
@pytest.mark.parametrize("change", [{"y_true": Y[:3]}, {"y_prob": P * 2}, {"y_true": Y + 1}])
def test_bad_input_is_refused(name, change):
    arguments = {"y_true": Y, "y_prob": P} | change
    with pytest.raises(ValueError, match=r"same length|between 0 and 1, got|-1 and 1, got 2"):
        METRICS[name](arguments["y_true"], arguments["y_prob"])
    with pytest.raises(ValueError, match="sample_weight must have shape"):
        METRICS[name](Y, P, sample_weight=[1, 2])


def test_a_refusal_shows_a_value_that_is_outside():
    with pytest.raises(ValueError, match=r"between 0 and 1, got 1\.5"):
        metrics.brier_score([1, 1, 0], [1.0, 1.5, 0.0])


def test_labels_of_every_binary_kind_agree():
    kinds = [Y, Y.astype(int), np.where(Y, 1, -1), Y.astype(float).tolist()]
    assert len({metrics.brier_score(y, P) for y in kinds}) == 1
    for odd, shown in ((np.where(Y, "spam", "ham"), "'ham'|'spam'"), (np.r_[Y[:-1], 0.5], "0.5")):
        with pytest.raises(ValueError, match=f"got ({shown}): pass y == positive label"):
            metrics.brier_score(odd, P)
    with pytest.raises(ValueError, match="booleans, 0 and 1, or -1 and 1"):
        metrics.brier_score(np.where(Y, 0, -1), P)


@pytest.mark.parametrize("base", [2, 10, np.e])
def test_log_loss_is_that_of_scikit_learn_in_any_base(base):
    expected = sklearn_log_loss(Y, P, sample_weight=WEIGHT) / np.log(base)
    assert metrics.log_loss(Y, P, base=base, sample_weight=WEIGHT) == pytest.approx(expected)
    assert metrics.log_loss([1, 1], [0.5, 0.25], base=2) == pytest.approx(1.5)  # one class alone
    with pytest.raises(ValueError, match=r"base must (be positive|not be 1)"):
        metrics.log_loss(Y, P, base=1)


def test_pointwise_losses_average_to_the_scores():
    inside = np.clip(P, 0.01, 0.99)
    bits = metrics.pointwise_losses(Y, inside)
    assert bits.mean() == pytest.approx(metrics.log_loss(Y, inside, base=2))
    assert metrics.pointwise_losses(Y, P, "brier").mean() == pytest.approx(
        metrics.brier_score(Y, P)
    )
    assert metrics.pointwise_losses(Y, P, "error").sum() == np.sum((P > 0.5) != Y)
    assert metrics.pointwise_losses([1, 0], [0.0, 0.0]).tolist() == [np.inf, 0.0]


def test_losses_take_weights():
    log_odds = np.linspace(-3, 3, 400)
    found = metrics.losses(log_odds, Y, WEIGHT)
    repeated = metrics.losses(np.repeat(log_odds, WEIGHT), np.repeat(Y, WEIGHT))
    assert found.n == repeated.n
    assert found.errors == repeated.errors
    assert found.log_loss == pytest.approx(repeated.log_loss)
    assert found.squared_error == pytest.approx(repeated.squared_error)
    p = probability(log_odds)
    assert found.log_loss / found.n == pytest.approx(
        metrics.log_loss(Y, p, base=2, sample_weight=WEIGHT)
    )


@pytest.mark.parametrize("weight", [None, WEIGHT + 0.5])
def test_decomposition_is_that_of_model_diagnostics(weight):
    from model_diagnostics.scoring import LogLoss, SquaredError, decompose

    inside = np.clip(P, 0.01, 0.99)
    for score, function in ((metrics.brier_score, SquaredError()), (metrics.log_loss, LogLoss())):
        found = metrics.score_decomposition(Y, inside, score=score, sample_weight=weight)
        expected = decompose(Y.astype(float), inside, weights=weight, scoring_function=function)
        for name in ("score", "miscalibration", "discrimination", "uncertainty"):
            assert getattr(found, name) == pytest.approx(expected[name][0], rel=1e-6), name


@pytest.mark.parametrize("strategy", ["uniform", "quantile"])
def test_curve_in_bins_is_that_of_scikit_learn(strategy):
    expected = calibration_curve(Y, P, n_bins=8, strategy=strategy)
    found = metrics.reliability_curve(Y, P, method=strategy, n_bins=8, band=None)
    assert found.prob_true == pytest.approx(expected[0])
    assert found.prob_pred == pytest.approx(expected[1])
    assert found.weight.sum() == 400


@pytest.mark.parametrize("method", ["corp", "uniform", "quantile"])
def test_curve_with_weights_is_that_of_repeated_documents(method):
    found = metrics.reliability_curve(Y, P, method=method, band=None, sample_weight=WEIGHT)
    y, p = np.repeat(Y, WEIGHT), np.repeat(P, WEIGHT)
    repeated = metrics.reliability_curve(y, p, method=method, band=None)
    for name in ("prob_pred", "prob_true", "weight"):
        assert getattr(found, name) == pytest.approx(getattr(repeated, name)), name


@pytest.mark.parametrize("method", ["corp", "uniform", "quantile"])
@pytest.mark.parametrize("band", ["consistency", "confidence"])
def test_a_document_of_no_weight_might_as_well_be_missing(method, band):
    options = {"method": method, "band": band, "resamples": 20, "rng": 0}
    weight = WEIGHT * (np.arange(Y.size) % 7 > 0)
    with_all = metrics.reliability_curve(Y, P, sample_weight=weight, **options)
    kept = weight > 0
    without = metrics.reliability_curve(Y[kept], P[kept], sample_weight=weight[kept], **options)
    for name in ("prob_pred", "prob_true", "weight", "lower", "upper"):
        np.testing.assert_array_equal(getattr(with_all, name), getattr(without, name))


def test_the_band_of_the_negatives_mirrors_that_of_the_positives():
    own, other = (
        metrics.reliability_curve(y, p, band="confidence") for y, p in ((Y, P), (1 - Y, 1.0 - P))
    )
    for one, mirrored in ((own.lower, other.upper), (own.upper, other.lower)):
        np.testing.assert_allclose(one, 1.0 - mirrored[::-1], atol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("method", ["corp", "quantile"])
@pytest.mark.parametrize("band", ["consistency", "confidence"])
def test_bands_hold_what_they_promise(method, band):
    rng = np.random.default_rng(1)
    p = np.linspace(0.05, 0.95, 300)
    inside = []
    for _ in range(60):
        y = rng.random(p.size) < p
        curve = metrics.reliability_curve(
            y, p, method=method, n_bins=5, band=band, resamples=100, rng=rng
        )
        truth = curve.prob_pred if band == "confidence" else curve.prob_true
        inside.append(np.mean((curve.lower <= truth) & (truth <= curve.upper)))
    # A band of 90 %, points near the ends left in, and of steps: between 80 and 99 %.
    assert 0.8 < np.mean(inside) < 0.99


def test_consistency_band_rejects_probabilities_that_are_wrong():
    p = np.linspace(0.05, 0.95, 500)
    y = np.random.default_rng(2).random(p.size) < p**2
    curve = metrics.reliability_curve(y, p, rng=0)
    assert np.mean(curve.prob_true < curve.lower) > 0.5
    assert metrics.reliability_curve(y, p, rng=0).lower == pytest.approx(curve.lower)


def test_calibration_errors_by_hand():
    y, p = [0, 1, 1, 1, 0, 1, 1, 1], [0.5, 0.5, 0.75, 0.75, 0.125, 0.125, 0.875, 0.875]
    found = functools.partial(metrics.calibration_error, y, p, n_bins=4)
    # Differences in bins of two: 0, -1/4, -3/8, -1/8.
    assert found() == pytest.approx((0.25 + 0.375 + 0.125) / 4)
    assert found(norm="l2") == pytest.approx(np.sqrt((0.25**2 + 0.375**2 + 0.125**2) / 4))
    # Kumar et al.: the variances 1/4, 0, 1/4, 0 of each bin's share, by n_b - 1 = 1, taken off.
    expected = (0.25**2 + 0.375**2 + 0.125**2 - 0.25 - 0.25) / 4
    assert expected < 0.0
    assert found(norm="l2", debias=True) == 0.0
    one = functools.partial(metrics.calibration_error, [0, 1, 1, 1], [0.1] * 4, n_bins=1)
    assert one(norm="l2", debias=True) == pytest.approx(0.6)  # .65^2 - .75 (.25) / 3


def test_debiased_error_is_that_of_kumar_liang_and_ma():
    rng = np.random.default_rng(7)
    p = rng.beta(2, 5, 3000)
    y = rng.random(p.size) < 0.5 * p + 0.25
    order = np.argsort(p)
    expected = 0.0
    for group in np.array_split(order, 15):
        mean, size = y[group].mean(), group.size
        expected += size / p.size * ((p[group].mean() - mean) ** 2 - mean * (1 - mean) / (size - 1))
    found = metrics.calibration_error(y, p, norm="l2", debias=True)
    assert found == pytest.approx(np.sqrt(expected), rel=1e-3)  # the groups' ends differ by one


def test_calibration_error_refuses():
    for arguments, message in (
        ({"debias": True}, "debias needs norm='l2'"),
        ({"n_bins": 0}, "n_bins must be a positive whole number"),
        ({"strategy": "equal"}, "strategy must be one of"),
        (
            {"norm": "l2", "debias": True, "sample_weight": np.full(400, 1 / 400)},
            "more than one document",
        ),
    ):
        with pytest.raises(ValueError, match=message):
            metrics.calibration_error(Y, P, **arguments)


def test_top_label_serves_several_classes():
    p = np.array([[0.2, 0.5, 0.3], [0.6, 0.2, 0.2], [0.1, 0.1, 0.8]])
    correct, confidence = metrics.top_label([1, 2, 2], p)
    assert correct.tolist() == [True, False, True]
    assert metrics.calibration_error(correct, confidence, n_bins=1) == pytest.approx(
        abs(2 / 3 - np.mean([0.5, 0.6, 0.8]))
    )
    with pytest.raises(ValueError, match="positions of columns, 0 to 2"):
        metrics.top_label([1, 2, 3], p)
    with pytest.raises(ValueError, match="shape"):
        metrics.top_label([1, 2, 1], p[0])


CLASSES = np.array(["a", "b", "c"])
OF_CLASSES = RNG.dirichlet([0.5, 1.0, 2.0], 400)
CLASS = CLASSES[(OF_CLASSES.cumsum(axis=1) < RNG.random((400, 1))).sum(axis=1)]


def test_ranked_score_is_the_sum_of_brier_scores_of_thresholds():
    p = RNG.dirichlet(np.ones(4), size=50)
    y, weight = RNG.integers(4, size=50), RNG.integers(1, 4, 50)
    reached = p[:, ::-1].cumsum(axis=1)[:, ::-1]
    expected = sum(
        metrics.brier_score(y >= k, np.minimum(reached[:, k], 1.0), sample_weight=weight)
        for k in (1, 2, 3)
    )
    assert metrics.ranked_probability_score(y, p, sample_weight=weight) == pytest.approx(expected)
    names = np.array(["none", "poor", "good", "best"])
    named = metrics.ranked_probability_score(names[y], p, classes=names, sample_weight=weight)
    assert named == pytest.approx(expected)
    of_two = metrics.ranked_probability_score([0, 1], [[0.7, 0.3], [0.4, 0.6]])
    assert of_two == pytest.approx(metrics.brier_score([0, 1], [0.3, 0.6]))
    with pytest.raises(ValueError, match="y_true must hold classes"):
        metrics.ranked_probability_score([0, 4], [[0.7, 0.3], [0.4, 0.6]])


def test_losses_of_several_classes_are_those_of_scikit_learn():
    expected = sklearn_log_loss(CLASS, OF_CLASSES, sample_weight=WEIGHT, labels=CLASSES)
    options = {"classes": CLASSES, "sample_weight": WEIGHT}
    assert metrics.log_loss(CLASS, OF_CLASSES, **options) == pytest.approx(expected)
    assert metrics.log_loss(CLASS, OF_CLASSES, base=2, **options) == pytest.approx(
        expected / np.log(2)
    )
    squares = ((OF_CLASSES - (CLASS[:, None] == CLASSES)) ** 2).sum(axis=1)
    each = metrics.pointwise_losses(CLASS, OF_CLASSES, "brier", classes=CLASSES)
    np.testing.assert_allclose(each, squares)
    assert metrics.brier_score(CLASS, OF_CLASSES, **options) == pytest.approx(
        np.average(squares, weights=WEIGHT)
    )
    wrong = metrics.pointwise_losses(CLASS, OF_CLASSES, "error", classes=CLASSES)
    assert wrong.mean() == (CLASSES[OF_CLASSES.argmax(axis=1)] != CLASS).mean()
    table = pd.DataFrame(OF_CLASSES, columns=CLASSES)[CLASSES[::-1]]
    assert metrics.log_loss(CLASS, table, **options) == pytest.approx(expected)
    with pytest.raises(ValueError, match="must name every class once"):
        metrics.log_loss(CLASS, OF_CLASSES, classes=[CLASSES[0], *CLASSES[:-1]])
    two = np.column_stack([1.0 - P, P])
    assert metrics.log_loss(Y, two) == pytest.approx(metrics.log_loss(Y, P))
    assert metrics.brier_score(Y, two) == pytest.approx(2.0 * metrics.brier_score(Y, P))
    np.testing.assert_allclose(metrics.pointwise_losses(Y, two), metrics.pointwise_losses(Y, P))
    with pytest.raises(ValueError, match="y_true must hold classes"):
        metrics.log_loss(CLASS, OF_CLASSES)
    with pytest.raises(ValueError, match="must hold probabilities from 0 to 1"):
        metrics.brier_score(CLASS, 2.0 * OF_CLASSES / OF_CLASSES.max(), classes=CLASSES)


# The smooth calibration error against its definition, written out kernel by kernel

KERNEL_RNG = np.random.default_rng(3)


def at_width(sigma, y, p, weight=None):
    """Every reflection of every kernel, on the midpoints of a fine grid of [0, 1]."""
    weight = np.ones(p.size) if weight is None else weight
    residual = weight / weight.sum() * (y - p)
    t = (np.arange(4000) + 0.5) / 4000
    images = np.concatenate([2.0 * k + sign * p for k in range(-2, 3) for sign in (-1, 1)])
    kernel = stats.norm.pdf(t[:, None], images, sigma).reshape(t.size, -1, p.size).sum(axis=1)
    return np.abs(kernel @ residual).mean()


CASES = {
    "right": (KERNEL_RNG.random(60), 1.0),
    "too sure": (KERNEL_RNG.random(60), 0.4),
    "rare": (KERNEL_RNG.beta(0.5, 20.0, 80), 2.0),
    "at the ends": (np.repeat([0.0, 0.02, 0.97, 1.0], 10), 1.0),
    "one value": (np.full(30, 0.2), 0.5),
}


@pytest.mark.parametrize("name", CASES)
def test_it_is_what_the_definition_says(name):
    p, power = CASES[name]
    y = np.random.default_rng(1).random(p.size) < p**power
    weight = np.random.default_rng(2).random(p.size)
    for given in (None, weight):
        found = metrics.smooth_calibration_error(y, p, sample_weight=given)
        # The error falls with the width, so the exact value is at least as near.
        assert at_width(found, y, p, given) == pytest.approx(found, abs=2e-4)


def test_it_is_that_of_relplot():
    # relplot 1.0.3, run by hand: smECE(p, y); its grids of 2,000 and 200 points cost up to 3e-4.
    p = np.round(np.random.default_rng(0).beta(1, 3, 2000), 6)
    y = np.random.default_rng(1).random(2000) < p**1.5
    assert metrics.smooth_calibration_error(y, p) == pytest.approx(0.09855, abs=5e-4)


def test_edges():
    certain = np.array([0.0, 1.0, 1.0])
    assert metrics.smooth_calibration_error([0, 1, 1], certain) == 0.0
    tiny = np.full(100, 1e-7)  # all negative: the error is the residual itself
    assert metrics.smooth_calibration_error(np.zeros(100), tiny) == pytest.approx(1e-7, abs=2e-7)


def test_it_tells_right_probabilities_from_wrong_ones_and_forgives_small_moves():
    p = KERNEL_RNG.random(20_000)
    y = KERNEL_RNG.random(p.size) < p
    right = metrics.smooth_calibration_error(y, p)
    assert right < 0.02
    assert metrics.smooth_calibration_error(y, p**2) > 0.1
    half = np.repeat([0.0, 1.0], 500)
    moved = np.where(half > 0.0, 0.499, 0.501)  # right at 1/2, and far off at these two in bins
    assert metrics.smooth_calibration_error(half, moved) < 0.03
    assert metrics.calibration_error(half, moved, n_bins=2) > 0.4


# Bayes' rule in log-odds, the losses and labels

LOG_ODDS = np.random.default_rng(4).normal(0, 3, 200)
POSITIVE = np.random.default_rng(5).random(200) < 0.4


def test_log_odds_are_those_of_the_joint_probabilities():
    s = np.linspace(-2, 2, 9)
    positive, negative = stats.norm(1, 1).pdf(s), stats.norm(-1, 2).pdf(s)
    expected = 0.3 * positive / (0.3 * positive + 0.7 * negative)
    found = probability(log_odds(0.3, np.log(positive), np.log(negative)))
    assert found == pytest.approx(expected, rel=1e-12)


def test_log_odds_survive_where_probabilities_do_not():
    assert log_odds(0.5, -1e5, -2e5) == 1e5
    assert probability(-800.0) == 0.0  # what is lost by asking for a probability


def test_both_classes_are_reported_where_one_is_certain():
    far = np.array([-700.0, -40.0, 0.0, 40.0, 700.0, np.inf])
    given, found = far.copy(), probabilities(far)
    tail = np.exp([-700.0, -40.0])  # 1 + exp(-40) is 1
    assert found[:, 1] == pytest.approx([*tail, 0.5, 1.0, 1.0, 1.0], rel=1e-15)
    assert found[:, 0] == pytest.approx([1.0, 1.0, 0.5, *tail[::-1], 0.0], rel=1e-15)
    assert log_probabilities(far)[:, 0] == pytest.approx(
        [-tail[0], -tail[1], -np.log(2), -40.0, -700.0, -np.inf], rel=1e-15
    )
    assert np.array_equal(far, given)


@pytest.mark.parametrize(("positive", "total"), [(0, 0), (3, 8), (7, 7)])
def test_class_prior_is_the_mean_of_a_beta_posterior(positive, total):
    expected = stats.beta(1 + positive, 1 + total - positive).mean()
    assert class_prior(positive, total) == pytest.approx(expected)


def test_losses_are_those_of_scikit_learn():
    found = metrics.losses(LOG_ODDS, POSITIVE)
    p = probability(LOG_ODDS)
    assert found.n == 200
    assert found.log_loss == pytest.approx(
        sklearn_log_loss(POSITIVE, p, normalize=False) / np.log(2)
    )
    assert found.squared_error == pytest.approx(200 * brier_score_loss(POSITIVE, p))
    assert found.errors == np.sum((p > 0.5) != POSITIVE)


def test_a_loss_beyond_rounding_is_finite_and_right():
    found = metrics.losses([1000.0, -1000.0], [False, True])
    assert found.log_loss == pytest.approx(2000 / np.log(2))
    assert found.squared_error == 2.0
    assert found.errors == 2


@pytest.mark.parametrize(
    ("values", "truth", "message"),
    [
        ([0.0, np.inf], [True, False], "log_odds must be finite"),
        ([0.0], [True, False], "same length, got 1 and 2"),
    ],
)
def test_losses_refuse(values, truth, message):
    with pytest.raises(ValueError, match=message):
        metrics.losses(values, truth)


def test_labels_keep_their_type_and_order():
    classes, positive = encode_labels(np.array([5, 2, 5]))
    assert classes.tolist() == [2, 5]
    assert positive.tolist() == [True, False, True]


def test_many_values_are_called_continuous():
    with pytest.raises(ValueError, match="continuous values"):
        encode_labels(np.linspace(0, 1, 30))

"""Sampling weights: documents drawn with unequal probabilities, by score and by class."""

import functools
import warnings

import numpy as np
import pytest
from scipy import special, stats
from sklearn.naive_bayes import GaussianNB

from bayescal import (
    CalibratedClassifier,
    CombinedClassifier,
    MulticlassCalibrator,
    ScoreCalibrator,
    TopicCalibrator,
    metrics,
    monitoring,
)
from bayescal.metrics.inputs import Forecasts
from bayescal.support.weighting import effective_weights, ratio_of_weights


@pytest.mark.parametrize(
    ("weight", "warns"),
    [
        (np.full(300, 66.7), True),
        (np.full(300, 67), True),
        (np.repeat([1, 100], [100, 200]), True),
        (1.0 / np.random.default_rng(0).uniform(0.01, 1.0, 300), True),
        (np.random.default_rng(0).poisson(2.0, 300), False),
        (np.random.default_rng(0).geometric(0.01, 300), False),
        (np.repeat([5 / 3, 5 / 7], [90, 210]), False),  # class_weight="balanced"
        (np.random.default_rng(0).uniform(0.0, 1.0, 300), False),  # confidence in each label
        (np.ones(300), False),
        (np.repeat([1, 2], 150), False),
        ([40, 60], False),
    ],
)
def test_weights_that_do_not_look_like_counts_are_warned_of(weight, warns):
    n = len(weight)
    if warns:
        with pytest.warns(UserWarning, match="pass inclusion=1"):
            effective_weights(weight, None, n)
    else:
        assert effective_weights(weight, None, n).tolist() == np.asarray(weight).tolist()


def test_weights_of_inclusion_probabilities_sum_to_the_effective_size_at_any_scale():
    weight = np.array([1.0, 1.0, 1.0, 7.0])
    expected = weight * weight.sum() / (weight @ weight)
    for scale in (1.0, 0.1, 1e-6):
        assert effective_weights(None, scale / weight, 4) == pytest.approx(expected)
    assert effective_weights(None, np.full(5, 0.0125), 5) == pytest.approx(np.ones(5))


@pytest.mark.parametrize("p", [0.3, 0.9])
def test_tests_of_a_sample_by_neither_class_nor_probability_have_its_effective_size(p):
    weight = np.repeat([1.0, 2.0, 9.0], 2)
    p = p + np.repeat([0.0, 1e-9, 2e-9], 2)  # so that weights of both classes go in pairs
    outcomes = Forecasts(np.arange(6) % 2 == 0, p, weight, sampled=True)
    size = weight.sum() ** 2 / (weight @ weight)
    np.testing.assert_allclose(outcomes.effective, weight * size / weight.sum())
    counted = Forecasts(np.arange(6) % 2 == 0, p, weight, sampled=False)
    np.testing.assert_array_equal(counted.effective, weight)


def test_only_one_kind_of_weights():
    with pytest.raises(ValueError, match="either sample_weight or inclusion must be None"):
        effective_weights([1, 1], [1, 1], 2)
    with pytest.raises(ValueError, match="inclusion must have shape"):
        effective_weights(None, [1, 1, 1], 2)
    assert effective_weights(None, None, 2) is None


# Documents included with unequal probabilities. Bounds are three standard errors; seeds are fixed.

DESIGNS = {
    "by score": lambda z, y: np.where(z > np.quantile(z, 0.95), 1.0, 0.03),
    "by class": lambda z, y: np.where(y, 0.5, 0.02),
    "by both": lambda z, y: np.clip(special.expit(z + 1.0), 0.02, 1.0) * np.where(y, 1.0, 0.3),
}


def included(design, mean, rng, *, change=lambda z: z, n=10_000):
    """Return labels, log-odds and sampling weights of the labelled documents of a collection."""
    z = mean + 2.0 * rng.normal(size=n)
    y = rng.random(n) < special.expit(change(z))
    chance = DESIGNS[design](z, y)
    kept = rng.random(n) < chance
    return y[kept], z[kept], 1.0 / chance[kept]


@pytest.mark.slow
@pytest.mark.parametrize("design", DESIGNS)
def test_right_probabilities_of_a_designed_sample_are_seldom_called_off(design):
    rng, off, as_counts, inside, low = np.random.default_rng(1), [], [], [], []
    for _ in range(60):
        y, z, weight = included(design, -3.0, rng)
        p = special.expit(z)
        found = metrics.calibration_verdict(y, p, inclusion=1.0 / weight)
        off.append(not found.calibrated)
        inside.append(found.lower <= found.observed <= found.upper)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            counted = metrics.calibration_verdict(y, p, sample_weight=weight)
        as_counts.append(not counted.calibrated)
        low.append(metrics.spiegelhalter_test(y, p, inclusion=1.0 / weight).pvalue < 0.05)
    assert np.mean(off) < 0.05 + 3.0 * np.sqrt(0.05 * 0.95 / 60)
    assert np.mean(low) < 0.05 + 3.0 * np.sqrt(0.05 * 0.95 / 60)
    assert np.mean(inside) > 0.95 - 3.0 * np.sqrt(0.05 * 0.95 / 60)
    assert np.mean(as_counts) > 0.25  # what the weights are if taken for counts


@pytest.mark.parametrize("design", DESIGNS)
def test_wrong_probabilities_of_a_designed_sample_are_called_off(design):
    rng = np.random.default_rng(0)  # one in twenty straight lines is called bent by chance
    for change, cause in ((lambda z: z + 1.5, "base rate"), (lambda z: 0.4 * z, "slope")):
        y, z, weight = included(design, -2.0, rng, change=change)
        found = metrics.calibration_verdict(y, special.expit(z), inclusion=1.0 / weight)
        assert (found.outcome, found.cause) == ("off", cause)
    assert found.slope == pytest.approx(0.4, abs=0.2)


def test_the_scale_of_inclusion_probabilities_changes_no_test():
    y, z, weight = included("by class", -2.0, np.random.default_rng(3))
    p = special.expit(z)
    one, other = (
        metrics.calibration_verdict(y, p, inclusion=scale / weight) for scale in (1e-3, 1.0)
    )
    assert one.pvalue == other.pvalue
    assert one.expected == pytest.approx(1e3 * other.expected)
    for name in ("intercept", "slope", "shift", "detectable"):
        assert getattr(one, name) == pytest.approx(getattr(other, name)), name
    equal = metrics.calibration_verdict(y, p, inclusion=np.full(y.size, 1.0 / 60.0))
    plain = metrics.calibration_verdict(y, p)
    assert (equal.pvalue, equal.observed) == (plain.pvalue, 60.0 * plain.observed)


def test_the_scale_of_inclusion_probabilities_changes_no_bin():
    rng = np.random.default_rng(1)
    p, inclusion = np.round(rng.beta(1.0, 3.0, 400), 2), rng.uniform(0.1, 1.0, 400)
    y = rng.random(400) < p
    error = functools.partial(metrics.calibration_error, y, p)
    assert error(inclusion=0.37) == pytest.approx(error(), rel=1e-12)
    assert error(inclusion=inclusion) == pytest.approx(error(inclusion=0.37 * inclusion), rel=1e-12)


def test_the_order_of_tied_documents_changes_no_test():
    rng = np.random.default_rng(2)
    p, inclusion = np.round(rng.beta(1.0, 3.0, 200), 1), rng.uniform(0.1, 1.0, 200)
    y, order = rng.random(200) < p, rng.permutation(200)
    for test in (metrics.spiegelhalter_test, metrics.calibration_verdict):
        one = test(y, p, inclusion=inclusion).pvalue
        assert test(y[order], p[order], inclusion=inclusion[order]).pvalue == pytest.approx(one)


@pytest.mark.slow
@pytest.mark.parametrize("method", ["quantile", "corp"])
@pytest.mark.parametrize("design", [None, *DESIGNS])
def test_confidence_bands_hold_where_positives_are_rare(design, method):
    rng, inside = np.random.default_rng(4), []
    for _ in range(25):
        if design is None:
            z, weight = -5.2 + 2.0 * rng.normal(size=600), None
            y = rng.random(600) < special.expit(z)
        else:
            y, z, weight = included(design, -4.5, rng, n=8_000)
        p = special.expit(z)
        curve = metrics.reliability_curve(
            y,
            p,
            method=method,
            band="confidence",
            inclusion=None if design is None else 1.0 / weight,
        )
        inside.append(np.mean((curve.lower <= curve.prob_pred) & (curve.prob_pred <= curve.upper)))
        assert (curve.upper > curve.lower).all()
        assert ((curve.lower <= curve.prob_true) & (curve.prob_true <= curve.upper)).all()
    # Of 90 %; standard errors of 25 curves are some 2 %.
    assert np.mean(inside) > 0.85
    assert np.mean(inside) < 1.0 or method == "corp"


def test_a_bin_whose_labels_agree_has_a_band():
    for label in (0, 1):
        for method in ("uniform", "corp"):
            curve = metrics.reliability_curve(
                np.full(50, label), np.full(50, 0.5), method=method, band="confidence"
            )
            ends = sorted([abs(curve.lower[0] - label), abs(curve.upper[0] - label)])
            assert ends == pytest.approx([0.0, stats.beta.ppf(0.95, 0.5, 50.5)])


def test_bands_of_uneven_weights_reach_the_end_where_labels_agree_and_not_beyond():
    rng = np.random.default_rng(0)
    for _ in range(5):
        p, y = np.sort(rng.uniform(0.01, 0.99, 150)), np.arange(150) >= 140
        curve = metrics.reliability_curve(
            y, p, band="confidence", inclusion=rng.uniform(0.03, 1.0, 150)
        )
        assert (curve.lower[0], curve.upper[-1]) == (0.0, 1.0)
        assert curve.lower.min() >= 0.0
        assert curve.upper.max() <= 1.0


def test_a_window_of_positives_alone_has_a_band_up_to_one():
    rng = np.random.default_rng(55)
    p = np.sort(rng.uniform(0.01, 0.99, 30))
    y, inclusion = rng.random(30) < p**3, rng.uniform(0.03, 1.0, 30)
    # Differences of running sums leave the share of positives next to 1, and not at it.
    curve = metrics.reliability_curve(y, p, band="confidence", inclusion=inclusion, method="corp")
    assert curve.upper[25] == 1.0


def test_the_ratio_of_the_classes_weights_is_to_the_geometric_mean_of_tied_documents():
    weight, positive = np.array([6.0, 1.0, 4.0, 9.0]), np.array([True, False, False, False])
    found = ratio_of_weights(weight, positive, np.array([0.0, 0.0, 0.0, 1.0]))
    assert found == pytest.approx(3.0)


def test_a_band_of_shares_that_fall_has_a_width():
    p = np.linspace(0.1, 0.9, 60)
    curve = metrics.reliability_curve(p < 0.5, p, band="confidence")
    assert (curve.upper > curve.lower + 0.05).all()
    assert ((curve.lower <= curve.prob_true) & (curve.prob_true <= curve.upper)).all()


@pytest.mark.slow
def test_counts_are_repetitions_in_bands_and_intervals():
    rng = np.random.default_rng(5)
    p, count = np.linspace(0.05, 0.5, 40), rng.integers(1, 6, 40)
    y = rng.random(40) < p
    repeated = np.repeat(y, count), np.repeat(p, count)
    for method in ("corp", "quantile"):
        for band in ("confidence", "consistency"):
            options = {"method": method, "n_bins": 4, "band": band, "resamples": 500, "rng": 0}
            one = metrics.reliability_curve(y, p, sample_weight=count, **options)
            other = metrics.reliability_curve(*repeated, **options)
            np.testing.assert_allclose(one.lower, other.lower, atol=0.1)
            np.testing.assert_allclose(one.upper, other.upper, atol=0.1)
    one = metrics.bootstrap_interval(metrics.brier_score, y, p, sample_weight=count, rng=0)
    other = metrics.bootstrap_interval(metrics.brier_score, *repeated, rng=1)
    assert one.upper - one.lower == pytest.approx(other.upper - other.lower, rel=0.1)
    sampled = metrics.bootstrap_interval(metrics.brier_score, y, p, inclusion=1.0 / count, rng=0)
    assert sampled.upper - sampled.lower > 1.4 * (one.upper - one.lower)
    one, sampled = (
        metrics.posterior_interval(metrics.brier_score, y, np.tile(p, (1000, 1)), **own)
        for own in (
            {"resample": True, "sample_weight": count, "rng": 0},
            {"resample": True, "inclusion": 1.0 / count, "rng": 0},
        )
    )
    assert one.upper - one.lower == pytest.approx(other.upper - other.lower, rel=0.1)
    assert sampled.upper - sampled.lower > 1.4 * (one.upper - one.lower)


@pytest.mark.parametrize(
    "metric",
    [
        metrics.log_loss,
        metrics.brier_score,
        functools.partial(metrics.calibration_error, strategy="uniform"),
        metrics.smooth_calibration_error,
        lambda *a, **k: metrics.score_decomposition(*a, **k).miscalibration,
    ],
)
def test_points_take_either_kind_of_weights_and_never_both(metric):
    y, z, weight = included("by class", -2.0, np.random.default_rng(6))
    p = special.expit(z)
    assert metric(y, p, inclusion=1.0 / weight) == pytest.approx(metric(y, p, sample_weight=weight))
    with pytest.raises(ValueError, match="must be None, got both"):
        metric(y, p, inclusion=1.0 / weight, sample_weight=weight)


@pytest.mark.parametrize(
    "measure",
    [
        metrics.calibration_verdict,
        metrics.spiegelhalter_test,
        metrics.reliability_curve,
        functools.partial(metrics.calibration_error, norm="l2", debias=True),
        functools.partial(metrics.bootstrap_interval, metrics.brier_score, resamples=2),
    ],
)
def test_whatever_measures_uncertainty_warns_of_weights_that_are_not_counts(measure):
    y, z, weight = included("by score", -2.0, np.random.default_rng(7))
    with pytest.warns(UserWarning, match="pass inclusion=1"):
        measure(y, special.expit(z), sample_weight=weight)


@pytest.mark.parametrize(
    "fit",
    [
        lambda s, y, w: ScoreCalibrator().fit(s, y, w),
        lambda s, y, w: TopicCalibrator().fit(s, y, np.arange(s.size) % 2, sample_weight=w),
        lambda s, y, w: MulticlassCalibrator().fit(np.stack([-s, s], axis=1), y, sample_weight=w),
        lambda s, y, w: CalibratedClassifier(GaussianNB()).fit(s[:, None], y, sample_weight=w),
        lambda s, y, w: CombinedClassifier([("a", GaussianNB())]).fit(s[:, None], y, w),
        lambda s, y, w: monitoring.Recalibrator().fit(special.expit(s), y, sample_weight=w),
        lambda s, y, w: monitoring.audit(y, special.expit(s), sample_weight=w),
    ],
)
def test_whatever_is_fitted_warns_of_weights_that_are_not_counts(fit):
    y, s, weight = included("by score", -2.0, np.random.default_rng(7))
    # Warnings are errors here: nothing is fitted.
    with pytest.raises(UserWarning, match="pass inclusion=1"):
        fit(s, y, weight)

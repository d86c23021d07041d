"""The verdict on probabilities of several classes."""

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
import xarray as xr
from scipy import optimize, special, stats

from bayescal.metrics import class_verdict
from bayescal.metrics.class_test import RaoScores, RaoTest
from bayescal.metrics.classes import _likeliest_change, _ratios


def drawn(p, rng):
    return np.array([rng.choice(len(each), p=each) for each in p])


@pytest.fixture(scope="module")
def right():
    rng = np.random.default_rng(2)
    p = rng.dirichlet([0.3, 1.0, 0.6], size=400)
    return p, drawn(p, rng)


def test_false_alarms_are_as_rare_as_stated():
    rng = np.random.default_rng(3)
    outcomes = []
    for _ in range(60):
        p = rng.dirichlet([0.3, 1.0, 0.1, 0.02], size=30)
        outcomes.append(class_verdict(drawn(p, rng), p, level=0.8).outcome)
    alarms = 60 - outcomes.count("right")
    # 99.9 % of binomial numbers of 60 false alarms at 20 %.
    assert stats.binom.ppf(0.0005, 60, 0.2) <= alarms <= stats.binom.ppf(0.9995, 60, 0.2)


def test_counts_documents_once(right):
    p, y = right
    found = class_verdict(y, p)
    assert found.documents == 400 == found.observed.sum()
    np.testing.assert_allclose(found.expected, p.sum(axis=0))
    top = p.argmax(axis=1)
    expected = [[p[top == j, k].sum() for k in range(3)] for j in range(3)]
    observed = [[((top == j) & (y == k)).sum() for k in range(3)] for j in range(3)]
    np.testing.assert_allclose(found.confusion_expected, expected)
    np.testing.assert_array_equal(found.confusion, observed)
    assert found.accuracy == (top == y).mean()
    np.testing.assert_allclose(found.accuracy_expected, p.max(axis=1).mean())
    np.testing.assert_allclose(found.log_loss, -np.log(p[np.arange(400), y]).mean())
    assert ((found.lower <= found.observed) & (found.observed <= found.upper)).all()
    # Binomial counts of one cell, by its own exact distribution of a sum of Bernoullis.
    sd = np.sqrt((p * (1.0 - p)).sum(axis=0))
    np.testing.assert_allclose(found.upper - found.lower, 2 * 1.96 * sd, rtol=0.15)


def test_the_covariance_is_that_of_labels_drawn(right):
    p, y = right
    test = RaoTest(RaoScores(y, p, p[None], np.ones_like(p)).sums)
    sampled = np.cov(test.samples.T)
    sd = np.sqrt(np.diag(sampled))
    # Correlations of 999 samples are within .1 of their own, four standard errors or more.
    np.testing.assert_allclose(
        test.covariance / np.outer(sd, sd), np.corrcoef(test.samples.T), atol=0.13
    )


@pytest.mark.parametrize(("power", "slope"), [(2.0, 0.5), (0.5, 2.0)])
def test_finds_confidence_that_is_off(right, power, slope):
    p, y = right
    wrong = p**power / (p**power).sum(axis=1, keepdims=True)
    found = class_verdict(y, wrong)
    assert (found.outcome, found.cause) == ("off", "slope")
    assert abs(found.slope / slope - 1.0) < 0.25
    assert ("over" if power > 1 else "under") + "-confident" in found.text


@pytest.mark.parametrize("power", [0.05, 0.9, 12.0])
def test_the_slope_is_the_likeliest_power(right, power):
    p, y = right
    log_p = power * np.log(p)

    def loss(at):
        own = special.log_softmax(np.exp(at) * log_p, axis=1)[np.arange(len(y)), y]
        return 0.5 * at**2 - own.sum()

    expected = optimize.minimize_scalar(loss, bounds=(-4.0, 4.0), options={"xatol": 1e-9}).x
    assert class_verdict(y, special.softmax(log_p, axis=1)).slope == pytest.approx(
        np.exp(expected), rel=2e-5
    )


def test_the_change_of_all_classes_is_the_likeliest(right):
    p, y = right
    log_p = special.log_softmax(2.0 * np.log(p), axis=1)

    def changed(change):
        return special.softmax((1.0 + change[-1]) * log_p + change[:-1], axis=1)

    def loss(change):
        return 0.5 * change @ change - np.log(changed(change)[np.arange(y.size), y]).sum()

    expected = changed(optimize.minimize(loss, np.zeros(p.shape[1] + 1)).x)
    np.testing.assert_allclose(_likeliest_change(y, np.exp(log_p)), expected, atol=1e-3)


def test_finds_shares_that_changed(right):
    p, y = right
    tilted = p * [3.0, 1.0, 1.0]
    found = class_verdict(y, tilted / tilted.sum(axis=1, keepdims=True))
    assert (found.outcome, found.cause) == ("off", "shares")
    assert "that of 0" in found.finding
    # One class alone also looks like a slope: the text names both.
    alone = class_verdict(np.zeros(len(p), dtype=int), p)
    assert alone.cause == "slope"
    assert "most of all that of 0" in alone.finding
    assert "prior=" in found.advice


def test_bands_excuse_what_they_allow(right):
    p, y = right
    power = np.random.default_rng(0).lognormal(np.log(1.5), 0.4, size=(200, 1, 1))
    draws = p**power / (p**power).sum(axis=2, keepdims=True)
    mean = draws.mean(axis=0)
    found = class_verdict(y, mean, draws=draws)
    assert found.pvalue > found.pvalue_of_point
    assert (found.outcome, found.calibrated) == ("uncertain", True)
    assert class_verdict(y, mean).outcome == "off"


@pytest.mark.parametrize("designed", [False, True])
def test_orders_of_rows_and_of_classes_change_no_number(right, designed):
    p, y = (each[:300] for each in right)
    rng = np.random.default_rng(0)
    inclusion = rng.uniform(0.2, 1.0, 300) if designed else None
    rows, classes = rng.permutation(300), rng.permutation(p.shape[1])
    first = class_verdict(y, p, inclusion=inclusion)
    again = class_verdict(
        np.argsort(classes)[y][rows],
        p[rows][:, classes],
        inclusion=None if inclusion is None else inclusion[rows],
    )
    for name in ("observed", "expected", "lower", "upper", "class_errors"):
        np.testing.assert_allclose(
            getattr(again, name), getattr(first, name)[classes], rtol=1e-9, err_msg=name
        )
    for name in ("pvalue", "slope", "error", "log_loss", "brier"):
        assert getattr(again, name) == pytest.approx(getattr(first, name), rel=1e-7), name


def test_impossible_classes(right):
    p, y = right
    zero = np.where(np.eye(3)[y] * (np.arange(400) == 5)[:, None], 0.0, p)
    found = class_verdict(y, zero / zero.sum(axis=1, keepdims=True))
    assert (found.outcome, found.cause, found.pvalue) == ("off", "impossible", 0.0)


def test_few_documents_are_uninformative():
    found = class_verdict([0, 1], [[0.5, 0.3, 0.2], [0.4, 0.4, 0.2]])
    assert found.outcome == "right"
    assert not found.informative
    assert "too few" in found.text


@pytest.mark.parametrize(
    ("y", "p", "classes", "message"),
    [
        ([0], [[0.5, 0.4]], None, "sum to 1 over the classes, got 0.9 at position 0"),
        ([0], [[1.5, -0.5]], None, "from 0 to 1"),
        ([2], [[0.5, 0.5]], None, "y_true must hold classes, 0, 1; got 2"),
        (["c"], [[0.5, 0.5]], ["a", "b"], "'a', 'b'; got 'c'"),
        ([0, 1], [[0.5, 0.5]], None, "same length"),
        ([0], [[0.5, 0.5]], ["a"], "name the 2 columns"),
        ([0], [0.5], None, r"shape \(n, classes\)"),
    ],
)
def test_bad_inputs(y, p, classes, message):
    with pytest.raises(ValueError, match=message):
        class_verdict(y, p, classes)


def test_bad_draws(right):
    p, y = right
    with pytest.raises(ValueError, match="draws must have shape"):
        class_verdict(y, p, draws=p)
    for wrong in (-1e-9, 1.0 + 1e-9):
        with pytest.raises(ValueError, match="draws must hold probabilities"):
            class_verdict(y, p, draws=np.where(np.arange(3) == 0, wrong, p)[None])
    ends = np.eye(3)[y]  # 0 and 1 themselves are probabilities
    assert class_verdict(y, p, draws=np.stack([p, ends])).with_bands


def test_a_weight_is_a_repetition(right):
    p, y = right
    weight = np.arange(400) % 3
    repeated = np.repeat(np.arange(400), weight)
    draws = np.stack([p, p[:, ::-1]])
    found = class_verdict(y, p, draws=draws, sample_weight=weight)
    expected = class_verdict(y[repeated], p[repeated], draws=draws[:, repeated])
    assert found.documents == weight.sum()
    for name, value in vars(expected).items():
        np.testing.assert_array_equal(getattr(found, name), value)
    with pytest.raises(ValueError, match=r"whole numbers, .* got 0\.5"):
        class_verdict(y, p, sample_weight=np.full(400, 0.5))


NAMES = ["bird", "cat", "dog"]
FORMS = {
    1: lambda p, y: (da.from_array(y, chunks=400), da.from_array(p, chunks=(400, 2))),
    3: lambda p, y: (
        dd.from_pandas(pd.Series(y), npartitions=3),
        dd.from_pandas(pd.DataFrame(p), npartitions=3),
    ),
    7: lambda p, y: (da.from_array(y, chunks=400), xr.DataArray(da.from_array(p, chunks=(58, 2)))),
}
DRAWN = {"lower", "upper", "confusion_lower", "confusion_upper", "pvalue", "pvalue_of_point"}


def check_but_for_samples(found, expected, p):
    """Compare the verdict of 199 samples of labels drawn from p with that of 999."""
    for name in vars(expected).keys() - DRAWN:
        own, other = getattr(found, name), getattr(expected, name)
        if np.asarray(other).dtype.kind == "f":
            np.testing.assert_allclose(own, other, rtol=1e-6, atol=1e-7, err_msg=name)
        else:
            np.testing.assert_array_equal(own, other, err_msg=name)
    # Four standard errors of p-values and of ends, which are whole numbers.
    for name in ("pvalue", "pvalue_of_point"):
        own, other = getattr(found, name), getattr(expected, name)
        assert abs(own - other) < 4.0 * np.sqrt(other * (1.0 - other) * (1 / 199 + 1 / 999)) + 1e-9
    variance, top = p * (1.0 - p), np.eye(p.shape[1])[p.argmax(axis=1)]
    for prefix, sd in (
        ("", np.sqrt(variance.sum(axis=0))),
        ("confusion_", np.sqrt(top.T @ variance)),
    ):
        for name in (f"{prefix}lower", f"{prefix}upper"):
            away = np.abs(getattr(found, name) - getattr(expected, name))
            assert (away <= 4.0 * np.hypot(0.2, 0.09) * sd + 1.0).all(), name


@pytest.mark.parametrize("power", [1.0, 1.15, 2.0])
@pytest.mark.parametrize("blocks", FORMS)
def test_a_collection_has_the_verdict_of_its_rows(right, blocks, power):
    p, y = right
    p = p**power / (p**power).sum(axis=1, keepdims=True)
    expected = class_verdict(np.take(NAMES, y), p, NAMES)
    assert expected.cause == ("slope" if power == 2.0 else "none")
    labels, probabilities = FORMS[blocks](p, np.take(NAMES, y))
    assert len(getattr(probabilities, "data", probabilities).to_delayed()) == blocks
    found = class_verdict(labels, probabilities, NAMES)
    check_but_for_samples(found, expected, p)
    assert class_verdict(labels, probabilities, NAMES).pvalue == found.pvalue


def test_blocks_draw_independent_samples():
    """With one seed for all of 16 equal blocks, intervals would be four times as wide."""
    p = np.tile([[0.5, 0.3, 0.2]], (1600, 1))
    found = class_verdict(da.zeros(1600, chunks=100, dtype=int), da.from_array(p, chunks=(100, 3)))
    sd = np.sqrt(1600 * p[0] * (1.0 - p[0]))
    np.testing.assert_allclose((found.upper - found.lower) / sd, 2 * 1.96, atol=4 * 0.2 * 2**0.5)


def test_weights_and_empty_blocks_of_a_collection(right):
    p, y = right
    weight, kept = np.arange(400) % 3, np.arange(400) // 100 != 2
    lazy = [da.from_array(each, chunks=100) for each in (y, p, weight)]
    rows = da.from_array(kept, chunks=100)
    labels, probabilities, weights = (each[rows] for each in lazy)
    assert [len(each.compute()) for each in labels.blocks] == [100, 100, 0, 100]
    found = class_verdict(labels, probabilities, sample_weight=weights)
    expected = class_verdict(y[kept], p[kept], sample_weight=weight[kept])
    check_but_for_samples(found, expected, np.repeat(p[kept], weight[kept], axis=0))
    with pytest.raises(ValueError, match="y_prob must hold at least one document, got none"):
        class_verdict(labels[labels > 2], probabilities[labels > 2])


def test_arguments_that_sums_of_blocks_cannot_hold_are_refused_by_name(right):
    p, y = right
    labels, probabilities = da.from_array(y, chunks=100), da.from_array(p, chunks=(100, 3))
    for name, values in (
        ("draws", p[None]),
        ("draws", probabilities[None]),
        ("inclusion", np.ones(400)),
        ("clusters", y),
    ):
        with pytest.raises(
            ValueError, match=f"{name} must be None where an argument is a Dask coll"
        ):
            class_verdict(labels, probabilities, **{name: values})
    for one, other, message in (
        (y, probabilities, "y_true must be a Dask collection .*, got ndarray"),
        (labels, p, "y_prob must be a Dask collection if y_true or sample_weight is one"),
        (labels[:200], probabilities, "y_true must have the blocks of scores, 4, got 2"),
    ):
        with pytest.raises(ValueError, match=message):
            class_verdict(one, other)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"y": 3}, "y_true must hold classes, 0, 1, 2; got 3"),
        ({"p": 0.5}, "y_prob must .*sum to 1 over the classes, got 1.5 at position 30"),
        ({"p": np.nan}, "y_prob must hold probabilities from 0 to 1, got nan"),
        ({"weight": 0.5}, "sample_weight must hold whole numbers, .* got 0.5"),
        ({"weight": -1.0}, "sample_weight must not be negative, got -1"),
    ],
)
def test_bad_rows_of_a_collection_are_named_by_block(right, wrong, message):
    given = {"y": right[1].copy(), "p": right[0].copy(), "weight": np.ones(400)}
    for name, value in wrong.items():
        given[name][230] = value
    y, p, weight = (da.from_array(each, chunks=100) for each in given.values())
    with pytest.raises(ValueError, match=rf"{message}.* This is in block 2 \(counted from 0\)"):
        class_verdict(y, p, sample_weight=weight)


CHANCE = np.array([1.0, 0.25, 0.04])
DESIGNS = {
    "by class": lambda p, y: CHANCE[y],
    "by scores": lambda p, y: np.where(p.max(axis=1) < 0.6, 1.0, 0.1),
    "by both": lambda p, y: np.where(p.max(axis=1) < 0.6, 1.0, 0.3) * CHANCE[y],
}


def labelled(design, rng, power=1.0, tilt=(1.0, 1.0, 1.0), n=3000):
    """Return claimed probabilities, classes and inclusion probabilities of labelled documents."""
    p = rng.dirichlet([0.3, 1.0, 1.5], size=n)
    true = p**power * tilt
    y = drawn(true / true.sum(axis=1, keepdims=True), rng)
    chance = DESIGNS[design](p, y)
    kept = rng.random(len(p)) < chance
    return p[kept], y[kept], chance[kept]


@pytest.mark.slow
@pytest.mark.parametrize("design", DESIGNS)
def test_right_probabilities_of_a_designed_sample_are_seldom_called_off(design):
    rng, off, inside, as_counts = np.random.default_rng(1), [], [], []
    for k in range(30):
        p, y, chance = labelled(design, rng, n=1200)
        found = class_verdict(y, p, inclusion=chance)
        off.append(not found.calibrated)
        inside.append((found.lower <= found.observed) & (found.observed <= found.upper))
        np.testing.assert_allclose(found.observed.sum(), found.documents)
        if k < 10:
            as_counts.append(not class_verdict(y, p).calibrated)
    # Three standard errors of 30 right ones at 5 %.
    assert np.mean(off) < 0.05 + 3.0 * np.sqrt(0.05 * 0.95 / 30)
    assert (np.mean(inside, axis=0) > 0.95 - 3.0 * np.sqrt(0.05 * 0.95 / 30)).all()
    # Classes labelled unequally look off where inclusion is left out.
    assert np.mean(as_counts) > 0.9 or design == "by scores"


@pytest.mark.parametrize("design", DESIGNS)
def test_wrong_probabilities_of_a_designed_sample_are_called_off(design):
    rng = np.random.default_rng(0)
    p, y, chance = labelled(design, rng, power=0.4)
    found = class_verdict(y, p, inclusion=chance)
    assert (found.outcome, found.cause) == ("off", "slope")
    assert abs(found.slope - 0.4) < 0.15
    p, y, chance = labelled(design, rng, tilt=(1.0, 1.0, 2.0))
    found = class_verdict(y, p, inclusion=chance)
    assert (found.outcome, found.cause) == ("off", "shares")


def test_the_covariance_of_a_designed_sample_is_that_of_labels_drawn():
    p, y, chance = labelled("by both", np.random.default_rng(2))
    weight = _ratios(1.0 / chance, y, p) / chance[:, None]
    test = RaoTest(RaoScores(y, p, p[None], weight).sums)
    sd = np.sqrt(np.diag(test.covariance))
    # Correlations of 999 samples within .13 of their own, four standard errors.
    np.testing.assert_allclose(
        np.cov(test.samples.T) / np.outer(sd, sd), test.covariance / np.outer(sd, sd), atol=0.2
    )
    np.testing.assert_allclose(test.samples.mean(axis=0) / sd, 0.0, atol=4.0 / np.sqrt(999))
    np.testing.assert_allclose(test.centre / sd, 0.0, atol=1e-9)


def test_ratios_of_weights_by_class_are_found():
    p, y, chance = labelled("by class", np.random.default_rng(3))
    found = _ratios(1.0 / chance, y, p)
    np.testing.assert_allclose(found, CHANCE[y, None] / CHANCE)
    assert (_ratios(np.full(y.size, 60.0), y, p) == 1.0).all()


def test_the_scale_of_inclusion_probabilities_changes_no_test(right):
    p, y = right
    chance = CHANCE[y]
    one, other = (class_verdict(y, p, inclusion=scale * chance) for scale in (1.0, 1e-3))
    assert one.pvalue == other.pvalue
    np.testing.assert_allclose([one.slope, one.log_loss], [other.slope, other.log_loss])
    np.testing.assert_allclose(1e3 * one.upper, other.upper)
    equal, plain = class_verdict(y, p, inclusion=np.full(400, 0.1)), class_verdict(y, p)
    assert equal.pvalue == plain.pvalue
    np.testing.assert_allclose(equal.confusion_upper, 10.0 * plain.confusion_upper)
    np.testing.assert_allclose(equal.class_errors, plain.class_errors)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ({"inclusion": [0.5, 2.0]}, "above 0 and at most 1, got 2"),
        ({"inclusion": [0.5]}, "one probability a document"),
        ({"inclusion": [0.5, 0.5], "sample_weight": [1, 1]}, "either sample_weight or inclusion"),
    ],
)
def test_bad_inclusion(weights, message):
    with pytest.raises(ValueError, match=message):
        class_verdict([0, 1], [[0.5, 0.5]] * 2, **weights)


def test_few_draws_do_not_call_right_probabilities_off():
    """Centre and covariance of 15 draws fit these better than the truth; a true size of 5 %."""
    off, repeats = 0, 80
    for seed in range(repeats):
        rng = np.random.default_rng(seed)
        scores = rng.normal(0.0, 1.5, (50, 4))
        slopes, shifts = np.exp(rng.normal(0.0, 0.5, 16)), rng.normal(0.0, 0.8, (16, 1, 4))
        every = special.softmax(slopes[:, None, None] * scores + shifts, axis=2)
        truth, draws = every[-1], every[:-1]
        label = (truth.cumsum(axis=1)[:, :-1] < rng.random((50, 1))).sum(axis=1)
        off += class_verdict(label, draws.mean(axis=0), draws=draws).outcome == "off"
    assert off <= stats.binom.ppf(0.999, repeats, 0.05)


def test_a_sample_is_compared_with_the_other_draws():
    """By centre and covariance computed anew from the draws that it does not come from."""
    rng = np.random.default_rng(0)
    draws = special.softmax(rng.normal(size=(5, 40, 3)), axis=2)
    label, p = rng.integers(3, size=40), draws.mean(axis=0)
    documents = RaoScores(label, p, draws, np.ones_like(p))
    test = RaoTest(documents.sums)
    centres = np.stack([documents._mean_score(each) for each in draws])
    of_labels = test.covariance - np.cov(centres.T)
    for own, sample, found in zip(
        test.drawn_from, test.samples[:20], test._of_samples(), strict=False
    ):
        others = np.delete(centres, own, axis=0)
        away = sample - others.mean(axis=0)
        # Covariances of all draws and of the others have one divisor.
        spread = np.cov(others.T) * (len(others) - 1.0) / (len(draws) - 1.0)
        expected = away @ np.linalg.pinv(of_labels + spread, hermitian=True) @ away
        assert found == pytest.approx(expected, rel=1e-6)

"""The verdict on probabilities of several classes."""

import numpy as np
import pytest
from scipy import stats

from bayescal.metrics import class_verdict
from bayescal.metrics.classes import _ClassTest

pytestmark = pytest.mark.one_era


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
    test = _ClassTest(y, p, p[None])
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


def test_finds_shares_that_changed(right):
    p, y = right
    tilted = p * [3.0, 1.0, 1.0]
    found = class_verdict(y, tilted / tilted.sum(axis=1, keepdims=True))
    assert (found.outcome, found.cause) == ("off", "shares")
    assert "that of 0" in found.finding
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
        ([0], [[0.5, 0.4]], None, "sum to 1 over the classes, row 0 sums to 0.9"),
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

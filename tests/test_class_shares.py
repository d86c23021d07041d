"""Shares of several classes in a new collection."""

import numpy as np
import pandas as pd
import pytest
from scipy import special, stats

from bayescal import MulticlassCalibrator, ScoreCalibrator
from bayescal.monitoring import estimate_prior, estimate_shares
from bayescal.monitoring.class_shares import shares_of

SHARES = np.array([0.7, 0.25, 0.05])


def shares_posterior(ratio, concentration=1.0, level=0.9, rng=None):
    return shares_of(ratio, np.arange(3), concentration, level, rng)


def simulated(n, shares, rng):
    """Return scores and labels of three normal classes, and exact P(class | scores)."""
    y = rng.choice(3, p=shares, size=n)
    scores = 2.0 * np.eye(3)[y] + rng.normal(size=(n, 3))
    return scores, y


def exact(scores, shares):
    # Normal densities of unit variance around 2 e_c: log ratios 2 s_c, whatever the others.
    return special.softmax(2.0 * scores + np.log(shares), axis=1)


def test_without_overlap_it_is_a_dirichlet_distribution():
    ratio = np.eye(3)[np.repeat([0, 1, 2], [3, 10, 40])] + 1e-300
    found = shares_posterior(np.tile(ratio, (1200, 1, 1)), rng=0)
    alpha = np.array([4.0, 11.0, 41.0])
    np.testing.assert_allclose(found.mean, alpha / 56.0, atol=4 * 0.05 / np.sqrt(1200))
    for k in range(3):
        p = stats.kstest(found.draws[:, k], stats.beta(alpha[k], 56.0 - alpha[k]).cdf).pvalue
        assert p > 1e-3


def test_agrees_with_a_grid_where_classes_overlap():
    rng = np.random.default_rng(1)
    ratio = rng.dirichlet([0.6, 0.6, 0.6], size=25)
    found = shares_posterior(np.tile(ratio, (1000, 1, 1)), concentration=2.0, rng=0)
    edges = (np.arange(200) + 0.5) / 200
    a, b = np.meshgrid(edges, edges, indexing="ij")
    inside = a + b < 1.0
    grid = np.stack([a[inside], b[inside], 1.0 - a[inside] - b[inside]], axis=1)
    density = np.log(ratio @ grid.T).sum(axis=0) + np.log(grid).sum(axis=1)
    weight = special.softmax(density)
    mean = weight @ grid
    sd = np.sqrt(weight @ (grid - mean) ** 2)
    np.testing.assert_allclose(found.mean, mean, atol=4 * sd.max() / np.sqrt(1000) + 0.003)
    np.testing.assert_allclose(found.draws.std(axis=0), sd, rtol=0.12)


@pytest.fixture(scope="module")
def fitted():
    rng = np.random.default_rng(3)
    scores, y = simulated(200, np.ones(3) / 3, rng)
    return MulticlassCalibrator(random_state=0).fit(scores, y)


@pytest.mark.slow
def test_shares_make_probabilities_consistent(fitted):
    scores, y = simulated(500, SHARES, np.random.default_rng(4))
    found = estimate_shares(fitted, scores, level=0.99, random_state=0)
    assert found.draws.shape == (400, 3)
    assert ((found.lower < SHARES) & (found.upper > SHARES)).all()
    # At the mode of the shares the mean probability of a class is its share, but for the prior.
    p = fitted.predict_proba(scores, prior=found.draws)
    np.testing.assert_allclose(p.mean(axis=0), found.mean, atol=0.01)
    ratio, by_em = fitted.predict_proba(scores) / fitted.share_, fitted.share_
    for _ in range(1000):
        joint = ratio * by_em
        by_em = (joint / joint.sum(axis=1, keepdims=True)).mean(axis=0)
    np.testing.assert_allclose(found.mean, by_em, atol=0.03)
    loss = -np.log(p[np.arange(500), y]).mean()
    assert loss < -np.log(fitted.predict_proba(scores)[np.arange(500), y]).mean()
    # Bands that know neither map nor shares are wider.
    wide = np.ptp(fitted.predict_interval(scores, prior=found.draws), axis=2).mean()
    assert wide > np.ptp(fitted.predict_interval(scores, prior=found.mean), axis=2).mean()


def test_columns_are_read_by_their_names(fitted):
    table = pd.DataFrame(simulated(20, SHARES, np.random.default_rng(4))[0])
    found = [
        estimate_shares(fitted, each, random_state=0).mean for each in (table, table[[2, 0, 1]])
    ]
    np.testing.assert_array_equal(*found)


def test_shares_state_their_assumption():
    ratio = np.random.default_rng(0).random((5, 20, 2))
    found = str(shares_of(ratio, np.array(["ham", "spam"]), 1.0, 0.9, 0))
    assert found.startswith("ham 0.")
    assert ", spam 0." in found
    assert found.endswith("), if only the shares of the classes changed, not the case mix")


@pytest.mark.parametrize("wrong", [{"concentration": 0.0}, {"level": 1.0}])
def test_bad_inputs(fitted, wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        estimate_shares(fitted, np.zeros((3, 3)), **wrong)


def test_each_calibrator_has_its_function(fitted):
    with pytest.raises(ValueError, match="use estimate_shares"):
        estimate_prior(fitted, np.zeros((3, 3)))
    two = ScoreCalibrator("gaussian", draws=50).fit([-2.0, -1.0, 0.5, 1.0], [0, 0, 1, 1])
    with pytest.raises(ValueError, match="use estimate_prior"):
        estimate_shares(two, [0.0])


def test_intervals_hold_the_shares_as_often_as_stated():
    rng = np.random.default_rng(2)
    inside = np.zeros(3)
    for _ in range(30):
        shares = rng.dirichlet(np.ones(3))
        scores, _ = simulated(50, shares, rng)
        ratio = exact(scores, np.ones(3) / 3)
        found = shares_posterior(np.tile(ratio, (60, 1, 1)), level=0.8, rng=rng)
        inside += (found.lower <= shares) & (shares <= found.upper)
    # 99.9 % of 90 binomial intervals, taken for independent, at 80 %.
    low, high = stats.binom.ppf([0.0005, 0.9995], 90, 0.8)
    assert low <= inside.sum() <= high

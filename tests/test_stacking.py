"""Weights of a mixture: the conditions of the optimum, and cases that slow methods miss."""

import numpy as np
import pytest
from scipy import special

from bayescal.inference.newton import stack


def gradient(log_density, weight, share):
    """Return sum_i weight_i p_m(i) / sum_k w_k p_k(i), for every member."""
    ratio = np.exp(log_density - special.logsumexp(log_density, axis=0, b=share[:, None]))
    return ratio @ weight


@pytest.mark.parametrize("members", [2, 5, 16])
@pytest.mark.parametrize("pseudo_count", [0.05, 1.0])
@pytest.mark.parametrize("n", [3, 500])
def test_weights_meet_the_conditions_of_the_optimum(members, n, pseudo_count):
    rng = np.random.default_rng((members, n))
    scale = rng.choice([0.01, 1.0, 30.0], members)[:, None]
    log_density = scale * np.log(rng.random((members, n))) + 400.0 * rng.normal(size=n)
    weight = rng.choice([0.1, 1.0, 50.0], n)
    share = stack(log_density, weight, pseudo_count)
    assert share.sum() == pytest.approx(1.0)
    # Of w_m: its own pull, w_m dS/dw_m + pseudo_count, is w_m times the sum of all pulls.
    pull = share * gradient(log_density, weight, share) + pseudo_count
    total = weight.sum() + members * pseudo_count
    np.testing.assert_allclose(pull, share * total, atol=1e-5 * total, rtol=1e-5)


def test_a_member_that_is_wrong_on_rare_observations_only_loses_its_weight():
    # Members agree on 9,990 of 10,000; on ten the second one has a tenth of the density.
    log_density = np.zeros((2, 10_000))
    log_density[1, :10] = np.log(0.1)
    share = stack(log_density, np.ones(10_000), 0.25)
    # w2 solves 0.25/w2 = 10 * 0.9/(1 - 0.9 w2) + 0.25/(1 - w2), near 0.25/(10 * 0.9 + 0.25).
    grid = np.linspace(1e-4, 0.2, 200_001)
    score = 10 * np.log(1 - 0.9 * grid) + 0.25 * (np.log(grid) + np.log1p(-grid))
    assert share[1] == pytest.approx(grid[score.argmax()], abs=2e-6)


def test_a_hopeless_member_keeps_what_its_pseudo_count_is_worth():
    log_density = np.zeros((2, 50))
    log_density[1] = -2000.0
    np.testing.assert_allclose(
        stack(log_density, np.ones(50), 0.5), [50.5 / 51, 0.5 / 51], rtol=1e-6
    )

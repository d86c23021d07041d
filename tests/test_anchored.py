"""Modes by their distance from an anchor: an exact map, and one in which walls are none."""

from functools import cache
from itertools import cycle, product

import numpy as np
import pytensor
import pytensor.tensor as pt
import pytest
import scipy.stats as st
from scipy.integrate import trapezoid

from bayescal.distributions import Anchored, GroupedScores, NormalMode
from tests.uncompiled import UNCOMPILED

MU, SIGMA = 0.5, 2.0
# Wide, and narrow ones beyond and before the scores, which are between 0 and 3.
POPULATIONS = [(MU, SIGMA), (4.0, 0.5), (4.0, 0.1), (-1.0, 0.5), (-1.0, 0.1)]
NUMBERS = [0, 1, 3, 200]
SHARES = [1e-12, 1e-6, 0.01, 0.3, 0.5, 0.9, 1.0 - 1e-6]


def scores(n, rng):
    """Return n scores, half-normal: no quantile is where a family has it."""
    return np.abs(rng.normal(size=n))


@cache
def compiled(n, power=1):
    """
    Return the map, its inverse, log slope, its gradient's log, and the likelihood's log.

    Functions of z, the share, and the population's mean and standard deviation.
    """
    x = scores(n, np.random.default_rng(n))
    grouped = GroupedScores(x, np.zeros(x.size, dtype=int), 1, power=power)
    z, share = pt.dmatrix("z"), pt.tensor("share", shape=(1,), dtype="float64")
    sides = (share, 1.0 - share)
    mu, sigma = pt.dvector("mu"), pt.dvector("sigma")
    inputs = NormalMode.dist(mu, sigma, *sides, grouped.quantile(share)).owner.inputs
    transform = Anchored([n])
    theta = transform.backward(z, *inputs)
    likelihood = grouped.log_density(theta.flatten(), share, 1.0 - share)
    outputs = {
        "theta": theta,
        "forward": transform.forward(z, *inputs),
        "log_slope": transform.log_jac_det(z, *inputs),
        "log_gradient": pt.log(pytensor.grad(theta.sum(), z)),
        "likelihood": likelihood,
    }
    return {
        name: pytensor.function(
            [z, share, mu, sigma], output, mode=UNCOMPILED, on_unused_input="ignore"
        )
        for name, output in outputs.items()
    }


def at(n, name, z, share, power=1, population=(MU, SIGMA)):
    """Return one of them at z, in one dimension, and a share."""
    mu, sigma = (np.array([each]) for each in population)
    return compiled(n, power)[name](np.reshape(z, (-1, 1)), np.array([share]), mu, sigma).ravel()


@pytest.mark.parametrize("share", SHARES)
@pytest.mark.parametrize("n", NUMBERS)
def test_there_and_back(n, share):
    theta = at(n, "theta", [-30.0, -2.0, 0.0, 0.7, 5.0, 30.0], share)
    assert np.all(np.diff(theta) >= 0)
    again = at(n, "theta", at(n, "forward", theta, share), share)
    assert again == pytest.approx(theta, rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("share", SHARES)
@pytest.mark.parametrize("n", NUMBERS)
def test_log_jacobian_is_the_slopes(n, share):
    z = [-20.0, -1.0, 0.0, 3.0]
    assert at(n, "log_slope", z, share) == pytest.approx(at(n, "log_gradient", z, share), rel=1e-9)


def test_without_scores_it_is_the_distance_from_the_population():
    z = np.array([-3.0, 0.0, 2.0])
    assert at(0, "theta", z, 0.01) == pytest.approx(MU + SIGMA * z)


def density_seen(n, share, power, population):
    """Return z, the mode there, and the log of its density given its sides, at most 0."""
    z = np.linspace(-60.0, 60.0, 4001)
    theta, log_slope, likelihood = (
        at(n, name, z, share, power, population) for name in ("theta", "log_slope", "likelihood")
    )
    log_density = likelihood + st.norm(*population).logpdf(theta) + log_slope
    return z, theta, log_density - log_density.max()


def spread_seen(n, share, power):
    """Return standard deviations of a mode given its sides: what samplers see, and its own."""
    z, theta, log_density = density_seen(n, share, power, (MU, SIGMA))
    weight = np.exp(log_density)
    weight /= trapezoid(weight, z)
    means = (trapezoid(weight * value, z) for value in (z, theta))
    return [
        np.sqrt(trapezoid(weight * (value - mean) ** 2, z))
        for value, mean in zip((z, theta), means, strict=True)
    ]


@pytest.mark.slow
@pytest.mark.parametrize("power", [1, 2])
@pytest.mark.parametrize("share", SHARES)
@pytest.mark.parametrize("n", [1, 3, 30])
def test_samplers_see_modes_of_one_scale_whatever_the_sides(n, share, power):
    seen, _ = spread_seen(n, share, power)
    assert 0.7 < seen < 2.5


def test_the_modes_themselves_are_of_very_different_scales():
    assert spread_seen(200, 0.5, 1)[1] < 0.05 < 0.5 < spread_seen(1, 0.01, 1)[1]


# Every share with every population, and each of them with every number and power.
WALLS = [
    (*numbers, share, population)
    for (share, population), numbers in zip(
        product(SHARES, POPULATIONS), cycle(product([3, 30], [1, 2]))
    )
]


@pytest.mark.parametrize(("n", "power", "share", "population"), WALLS)
def test_there_are_no_walls_wherever_the_population_is(n, power, share, population):
    z, _, log_density = density_seen(n, share, power, population)
    near = log_density > -8.0
    # A normal density is 4 steep where its logarithm is 8 below its mode's.
    assert np.abs(np.diff(log_density) / np.diff(z))[near[1:] & near[:-1]].max() < 30.0

"""Simulation-based calibration of the exact engine, and that it rejects wrong engines.

Parameters from the prior, data from the parameters, posterior from the data: the rank of each true
parameter among its posterior draws is uniform (Talts et al., arXiv:1804.06788).
"""

import numpy as np
import pytest
import scipy.stats as st

from bayescal.engines.exact.joint import Prior
from bayescal.engines.exact.posterior import draw_class
from bayescal.families import FAMILIES

SIMULATIONS, DRAWS, BINS = 1000, 99, 20
POWERS = {"laplace": 1, "asymmetric_laplace": 1, "gaussian": 2, "asymmetric_gaussian": 2}
PRIOR = Prior()


def simulate(name, n, rng):
    """Return true (theta, share, width) from the prior and n scores from them; scipy's priors."""
    power = POWERS[name]
    theta = rng.normal(0, 2)
    share = 0.5 if name in {"laplace", "gaussian"} else rng.beta(2, 2)
    width = (1 / rng.gamma(2)) ** (1 / power)
    left, right = share * width, (1 - share) * width
    scales = (1 / left, 1 / right) if power == 1 else (left, right)
    family = FAMILIES["asymmetric_laplace" if power == 1 else "asymmetric_gaussian"]
    return (theta, share, width), family.rvs(theta, *scales, size=n, rng=rng)


def ranks(name, engine):
    """Return the ranks of theta, share and width; shape (simulations, 3)."""
    rng = np.random.default_rng(11)
    out = []
    for _ in range(SIMULATIONS):
        truth, x = simulate(name, rng.integers(0, 30), rng)
        found = engine(x, POWERS[name], name in {"laplace", "gaussian"}, rng)
        draws = (found.theta, found.left_share, found.width)
        out.append([np.sum(d < t) for d, t in zip(draws, truth, strict=True)])
    return np.array(out)


def uniform_pvalue(rank):
    counts = np.bincount(rank * BINS // (DRAWS + 1), minlength=BINS)
    return st.chisquare(counts).pvalue


def exact(x, power, symmetric, rng, **wrong):
    prior = Prior(symmetric=symmetric, **wrong)
    return draw_class(x, None, power, prior, DRAWS, rng)


@pytest.mark.parametrize("name", sorted(FAMILIES))
def test_ranks_are_uniform(name):
    found = ranks(name, exact)
    parameters = (0, 2) if name in {"laplace", "gaussian"} else (0, 1, 2)
    # Eleven tests over the four families: one in ten thousand would be a surprise.
    assert min(uniform_pvalue(found[:, k]) for k in parameters) > 1e-4


@pytest.mark.parametrize(
    ("parameter", "engine"),
    [
        (0, lambda x, p, s, rng: exact(x, p, s, rng, theta_scale=0.7)),
        (1, lambda x, p, s, rng: exact(x, p, s, rng, share_alpha=4.0)),
        (2, lambda x, p, s, rng: exact(x, p, s, rng, width_scale=1.5)),
        # A posterior of half the data, as an engine that forgets scores would give.
        (0, lambda x, p, s, rng: exact(np.sort(x)[::2], p, s, rng)),
    ],
)
def test_a_wrong_engine_is_rejected(parameter, engine):
    assert uniform_pvalue(ranks("asymmetric_laplace", engine)[:, parameter]) < 1e-4

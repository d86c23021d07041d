"""Simulation-based calibration of the engines, and that it rejects wrong engines.

First of one class, against scipy's priors; then of everything, against the programs' own
`simulate`, as studies/sbc.py does with more data.

Parameters from the prior, data from the parameters, posterior from the data: the rank of each true
parameter among its posterior draws is uniform (Talts et al., arXiv:1804.06788).
"""

from functools import cache

import numpy as np
import pytest
import scipy.stats as st

from bayescal.families import FAMILIES
from bayescal.fitting.engines.exact.joint_density import DensityPrior
from studies import ranks as program_ranks
from studies.sbc import ASYMMETRIC, LEVEL, WRONG, adjusted_p, wrong_engines
from tests.exact_tools import draw_class
from tests.sizes import size

pytestmark = pytest.mark.one_era

SIMULATIONS, DRAWS, BINS = size(300, 1000), 99, 20
PRIOR = DensityPrior()
# Families, and whether of positives: only the hybrid's two classes differ.
CLASSES = [(name, False) for name in sorted(FAMILIES)] + [("hybrid", True)]


def simulate(family, n, rng):
    """Return true (theta, share, width) from the prior and n scores from them; scipy's priors."""
    theta = rng.normal(0, 2)
    share = 0.5 if family.symmetric else rng.beta(2, 2)
    width = (1 / rng.gamma(2)) ** (1 / min(family.powers))
    left, right = share * width, (1 - share) * width
    if family.powers == (2, 1):
        left /= np.sqrt(np.pi / 2)
    elif family.powers == (1, 2):
        right /= np.sqrt(np.pi / 2)
    return (theta, share, width), family.rvs(
        *family.from_sides(theta, left, right), size=n, rng=rng
    )


def ranks(family, engine):
    """Return the ranks of theta, share and width; shape (simulations, 3)."""
    rng = np.random.default_rng(11)
    out = []
    for _ in range(SIMULATIONS):
        truth, x = simulate(family, rng.integers(0, 30), rng)
        found = engine(x, family.powers, family.symmetric, rng)
        draws = (found.theta, found.left_share, found.width)
        out.append([np.sum(d < t) for d, t in zip(draws, truth, strict=True)])
    return np.array(out)


def uniform_pvalue(rank):
    counts = np.bincount(rank * BINS // (DRAWS + 1), minlength=BINS)
    return st.chisquare(counts).pvalue


def exact(x, powers, symmetric, rng, **wrong):
    prior = DensityPrior(symmetric=symmetric, **wrong)
    return draw_class(x, None, powers, prior, DRAWS, rng)


@pytest.mark.slow
@pytest.mark.one_era
@pytest.mark.parametrize(("name", "positive"), CLASSES)
def test_ranks_are_uniform(name, positive):
    family = FAMILIES[name].of_class(positive)
    found = ranks(family, exact)
    parameters = (0, 2) if family.symmetric else (0, 1, 2)
    # Sixteen tests over the families: one in ten thousand would be a surprise.
    assert min(uniform_pvalue(found[:, k]) for k in parameters) > 1e-4


@pytest.mark.slow
@pytest.mark.one_era
@pytest.mark.parametrize(
    ("parameter", "engine"),
    [
        (0, lambda x, p, s, rng: exact(x, p, s, rng, theta_scale=0.7)),
        (1, lambda x, p, s, rng: exact(x, p, s, rng, share_alpha=4.0)),
        (2, lambda x, p, s, rng: exact(x, p, s, rng, width_scale=2.0)),
    ],
)
def test_a_wrong_engine_is_rejected(parameter, engine):
    found = ranks(FAMILIES["asymmetric_laplace"], engine)
    assert uniform_pvalue(found[:, parameter]) < 1e-4


@pytest.mark.slow
@pytest.mark.one_era
def test_an_engine_of_the_mirror_image_is_rejected():
    found = ranks(FAMILIES["hybrid"], lambda x, p, s, rng: exact(x, p[::-1], s, rng))
    assert min(uniform_pvalue(found[:, k]) for k in range(3)) < 1e-4


DATA_SETS, FEW_DOCUMENTS = 300, 12


simulated = cache(program_ranks.simulate)


def p_of(name, engine):
    sets = simulated(name, FEW_DOCUMENTS, DATA_SETS, seed=7)
    return adjusted_p(program_ranks.rank_truths(sets, engine, DRAWS, seed=8), DRAWS)


@pytest.mark.slow
@pytest.mark.parametrize("name", list(FAMILIES))
def test_the_engine_draws_from_the_posterior_of_the_program(name):
    assert p_of(name, program_ranks.exact) > LEVEL / len(FAMILIES)


@pytest.mark.slow
@pytest.mark.parametrize("wrong", list(WRONG))
def test_an_engine_of_another_program_is_rejected(wrong):
    assert p_of("asymmetric_laplace", WRONG[wrong]) < LEVEL / len(FAMILIES)


def test_engines_that_are_wrong_for_a_family():
    # Equal sides cannot be swapped, and have no share.
    assert {name: len(wrong_engines(name)) for name in FAMILIES} == {
        name: 4 if name in ASYMMETRIC else 2 for name in FAMILIES
    }

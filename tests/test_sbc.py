"""Simulation-based calibration of the engines, and that it rejects wrong engines.

Parameters and data from the programs' own `simulate`, posterior from the data: the rank of each
true value among its posterior draws is uniform (Talts et al., arXiv:1804.06788).
studies/sbc.py does the same with more data.
"""

from functools import cache

import numpy as np
import pytest
import scipy.stats as st

from bayescal.distributions import programs
from bayescal.families import FAMILIES
from bayescal.fitting.engines.monotone.density import Pieces, Prior
from bayescal.fitting.engines.monotone.posterior import draw_monotone
from studies import ranks as program_ranks
from studies.sbc import ASYMMETRIC, LEVEL, WRONG, adjusted_p, wrong_engines

DRAWS, DATA_SETS, FEW_DOCUMENTS = 99, 300, 12


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


# Simulation-based calibration of the monotone engine, and that it rejects wrong engines

SIMULATIONS, BINS, SIZE = 400, 10, 40
PIECES = Pieces(np.array([-1.0, 0.0, 1.0]), 0.0)
AT = np.array([-2.0, 0.0, 0.5, 2.0])


def ranks(prior):
    """Return the ranks of the curve at some scores; shape (simulations, scores)."""
    rng = np.random.default_rng(11)
    knots = {"knots": PIECES.knots, "reference": 0.0}
    truth = programs.load("monotone_log_odds").simulate(SIZE, rng, draws=SIMULATIONS, **knots)
    out = []
    for x, label, a, b in zip(*(truth[k] for k in ("score", "label", "intercept", "slope"))):  # noqa: B905
        found = draw_monotone(x, label == 1, None, prior, DRAWS, rng, pieces=PIECES)
        out.append(np.sum(found.log_odds(AT) < a + PIECES.basis(AT) @ b, axis=0))
    return np.array(out)


def uniform_pvalue(rank):
    counts = np.bincount(rank * BINS // (DRAWS + 1), minlength=BINS)
    return st.chisquare(counts).pvalue


@pytest.mark.slow
def test_ranks_of_the_monotone_engine_are_uniform():
    found = ranks(Prior())
    assert min(uniform_pvalue(rank) for rank in found.T) > 1e-3


@pytest.mark.slow
@pytest.mark.parametrize("wrong", [{"intercept_scale": 1.5}, {"slope_location": -1.0}])
def test_a_wrong_monotone_engine_is_rejected(wrong):
    found = ranks(Prior(**wrong))
    assert min(uniform_pvalue(rank) for rank in found.T) < 1e-4

"""Simulation-based calibration of the engines, and that it rejects wrong engines.

Parameters and data from the programs' own `simulate`, posterior from the data: the rank of each
true parameter among its posterior draws is uniform (Talts et al., arXiv:1804.06788).
studies/sbc.py does the same with more data.
"""

from functools import cache

import pytest

from bayescal.families import FAMILIES
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

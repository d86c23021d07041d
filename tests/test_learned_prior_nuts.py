"""The part `learned` draws from the posterior that NUTS found of its program.

A population is the program monotone_log_odds with the population's values, on warped scores
(tests/learned_prior_cases.py); both are compared in raw scores, as a fitted calibrator reads them.
"""

from dataclasses import replace

import numpy as np
import pytest

from bayescal.fitting.engines.monotone.density import Prior
from bayescal.fitting.engines.monotone.engine import LaplaceFits, fit_around
from tests.learned_prior_cases import POPULATIONS, case, quantities
from tests.nuts_reference import LIMIT, from_independent, stored

DRAWS = 20_000


def apart(name, population=None):
    """Return the distance of the engine from NUTS in standard errors: (statistic, quantity)."""
    made, rng = case(name), np.random.default_rng(2)
    populations = [population or made.population]
    found = fit_around(LaplaceFits(made.data), rng, draws=DRAWS, populations=populations)
    assert not found.source.problem
    curves = found.posterior
    drawn = quantities(curves.intercept, np.log(curves.slope), curves.log_odds(made.at))
    reference = stored(f"learned prior, {name}")
    return from_independent(drawn, reference, DRAWS * found.source.efficiency)


@pytest.mark.parametrize("name", POPULATIONS)
def test_means_sds_and_quantiles_agree(name):
    assert np.abs(apart(name)).max() < LIMIT


def moved(population, knots=0.0, reference=0.0):
    pieces = population.pieces
    return replace(
        population,
        pieces=replace(pieces, knots=pieces.knots + knots, reference=pieces.reference + reference),
    )


WRONG = {
    "the prior of another population": lambda own, other: replace(own, prior=other.prior),
    "the prior of no population": lambda own, other: replace(own, prior=Prior()),
    "no walk": lambda own, other: replace(own, prior=replace(own.prior, walk_scale=0.01)),
    "other knots": lambda own, other: moved(own, knots=0.1),
    "another reference": lambda own, other: moved(own, reference=0.1),
    "no warp": lambda own, other: replace(own, asinh_scale=np.inf),
    "another centre": lambda own, other: replace(own, centre=own.centre + 0.2 * own.spread),
}


@pytest.mark.one_era
@pytest.mark.parametrize("wrong", WRONG)
@pytest.mark.parametrize(("name", "other"), [("margins", "log-odds"), ("naive Bayes", "margins")])
def test_another_population_is_rejected(name, other, wrong):
    population = WRONG[wrong](POPULATIONS[name], POPULATIONS[other])
    assert np.abs(apart(name, population)).max() > LIMIT

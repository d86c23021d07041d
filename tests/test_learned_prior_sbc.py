"""Simulation-based calibration of the part `learned`, and that it rejects wrong engines.

Log-odds from a population's prior, labels of raw scores from the log-odds, posterior from the
labels: the rank of each true value among its posterior draws is uniform (Talts et al.,
arXiv:1804.06788). Any number of documents is allowed for, and labels of one class alone.
"""

from dataclasses import replace
from functools import cache, partial

import numpy as np
import pytest
from scipy import special

from bayescal.fitting.engines.monotone.engine import LaplaceFits, fit_around
from bayescal.fitting.scores import BinaryScores
from studies.sbc import LEVEL, adjusted_p
from tests.learned_prior_cases import POPULATIONS, Lines, from_prior, raw_scores
from tests.sizes import size

FEW, MANY, DRAWS = 150, size(300, 4000), 99
DOCUMENTS = (5, 80)


@cache
def simulated(name, count):
    """Return documents, raw scores to look at and the true lines, of each simulation."""
    rng, population = np.random.default_rng(31), POPULATIONS[name]
    at = np.quantile(raw_scores(name, 10_000, rng), [0.01, 0.5, 0.9, 0.99])
    truth, sets = from_prior(population, count, rng), []
    for k in range(count):
        own = Lines(population, truth.intercept[[k]], truth.log_slope[[k]])
        score = raw_scores(name, rng.integers(*DOCUMENTS, endpoint=True), rng)
        positive = rng.random(score.size) < special.expit(own.log_odds(score)[0])
        sets.append((BinaryScores(score, positive), at, own))
    return sets


def around(data, population, rng, *, change=lambda population: population, seen=slice(None)):
    """Return draws of the engine around a population, changed or of some documents if asked for."""
    given = change(population)
    some = replace(data, score=data.score[seen], positive=data.positive[seen])
    found = fit_around(LaplaceFits(some), rng, draws=DRAWS, populations=[given]).source
    return Lines(given, found.intercept, np.log(found.slopes))


def ranked(lines, data, at):
    """Return all that is ranked, by name; each of shape (draws,)."""
    signed = np.where(data.positive, 1.0, -1.0) * lines.log_odds(data.score)
    curve = zip(at, lines.log_odds(at).T, strict=True)
    return {
        "intercept": lines.intercept,
        "level": lines.level,
        "log likelihood": special.log_expit(signed).sum(axis=1),
    } | {f"log-odds at {score:.3g}": draws for score, draws in curve}


def p_of(name, engine, count):
    """Return the smallest p of all ranks, for the number of them."""
    rng, rows = np.random.default_rng(32), []
    for data, at, truth in simulated(name, count):
        drawn = ranked(engine(data, truth.population, rng), data, at)
        true = ranked(truth, data, at)
        rows.append({each: int((drawn[each] < true[each][0]).sum()) for each in drawn})
    ranks = {each: np.array([row[each] for row in rows]) for each in rows[0]}
    return adjusted_p(ranks, DRAWS)


@pytest.mark.slow
@pytest.mark.parametrize("name", POPULATIONS)
def test_ranks_are_uniform(name):
    assert p_of(name, around, MANY) > LEVEL / len(POPULATIONS)


def with_prior(**of):
    """Return changes of a population's prior: each value is a function of the prior."""

    def change(population):
        prior = population.prior
        values = {name: function(prior) for name, function in of.items()}
        return replace(population, prior=replace(prior, **values))

    return partial(around, change=change)


WRONG = {
    "half the scale of intercepts": with_prior(intercept_scale=lambda p: p.intercept_scale / 2),
    "half the scale of slopes": with_prior(slope_scale=lambda p: p.slope_scale / 2),
    "higher intercepts": with_prior(
        intercept_location=lambda p: p.intercept_location + p.intercept_scale
    ),
    "steeper slopes": with_prior(slope_location=lambda p: p.slope_location + p.slope_scale),
    "no walk": with_prior(walk_scale=lambda p: 0.01),
    "another population": partial(around, change=lambda own: POPULATIONS["shares"]),
    "half of the documents": partial(around, seen=slice(None, None, 2)),
}


@pytest.mark.slow
@pytest.mark.parametrize("wrong", WRONG)
def test_a_wrong_engine_is_rejected(wrong):
    assert p_of("margins", WRONG[wrong], FEW) < LEVEL / len(POPULATIONS)

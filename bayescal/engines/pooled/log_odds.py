"""Monotone log-odds of all topics around their population: exact given it, and left out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from bayescal.engines.data import BinaryScores, together
from bayescal.engines.monotone.basis import Pieces, place_pieces
from bayescal.engines.monotone.density import Prior
from bayescal.engines.monotone.leave_one_out import MOST_DRAWS, leave_one_out
from bayescal.engines.monotone.posterior import (
    MonotoneCurves,
    draw_within,
    outline,
    sample_roughly,
)
from bayescal.engines.pooled.drawing import Drawn, Health, draw_under_bases, some_of
from bayescal.engines.pooled.engine import topic_draws_of
from bayescal.engines.pooled.hyperparameters import TopicHyperparameters
from bayescal.engines.pooled.hyperposterior import draw_hyperposterior
from bayescal.engines.pooled.log_odds_population import (
    HYPERPRIOR,
    NAMES,
    coefficients,
    draw_unseen,
    prior_of,
    statistics,
)
from bayescal.engines.pooled.reweighting import TopicDraws, terms_of
from bayescal.engines.pooled.updating import TOPIC_DRAWS, pick_updated
from bayescal.parallel import in_parallel
from bayescal.validation import Floats
from bayescal.warps import standardise, warped_spread

SEGMENTS = 9
BEND = 1.0  # in spreads of the scores: in tails straight pieces would have to be many
TOPICS_A_TASK = 8  # drawn; tenths of a second of a worker's time


@dataclass(frozen=True)
class LogOddsOfTopics:
    """
    Draws of the log-odds of all topics, and of a topic without documents.

    Attributes
    ----------
    pieces : Pieces
        Knots and reference, of all topics, in standardised warped scores.
    centre, spread, asinh_scale : float
        Of the standardisation, and of the warp in score units.
    population : array of shape (draws, 4)
        Unbounded hyperparameters.
    values : array of shape (1 + J, topics, draws)
        Intercept and slopes.
    new_values : array of shape (1 + J, draws)
        The same of a topic that the population makes.
    pareto_k, population_efficiency : float
        Of the hyperparameters' importance weights the Pareto shape, and the effective share of the
        proposals.
    efficiency : array of shape (topics,)
        Share of a topic's draws that its reweighting to populations leaves effective.
    health : Health
        How well each topic was drawn under those that are reweighted; of shape (topics,).
    """

    pieces: Pieces
    centre: float
    spread: float
    asinh_scale: float
    population: Floats
    values: Floats
    new_values: Floats
    pareto_k: float
    population_efficiency: float
    efficiency: Floats
    health: Health

    def standardised(self, data: BinaryScores) -> BinaryScores:
        """Return a topic's data with the scores that the pieces are of."""
        return _standardised(data, self.centre, self.spread, self.asinh_scale)


def fit_log_odds(
    topics: Sequence[BinaryScores],
    scale: tuple[float, float],
    rng: np.random.Generator,
    *,
    draws: int,
    hyperparameters: TopicHyperparameters | None = None,
) -> LogOddsOfTopics:
    """
    Draw from the posterior of all topics' log-odds and their population.

    Parameters
    ----------
    topics : sequence of BinaryScores
        Raw scores, labels and weights of every topic; it may lack a class, or have no documents.
    scale : tuple of float
        Robust centre and spread of all topics' scores.
    rng : numpy.random.Generator
        Source of randomness.
    draws : int
        How many.
    hyperparameters : TopicHyperparameters, optional
        Those that are not the default.
    """
    given = hyperparameters or TopicHyperparameters()
    centre, asinh_scale = scale[0], BEND * scale[1]
    spread = warped_spread(centre, scale[1], asinh_scale)
    standardised = [_standardised(each, centre, spread, asinh_scale) for each in topics]
    data = together(standardised)
    pieces = place_pieces(data.score, data.positive, data.weight, given.n_segments or SEGMENTS)
    some = some_of(standardised, rng) or standardised
    found = draw_hyperposterior(
        partial(draw_log_odds, standardised, pieces),
        HYPERPRIOR.given(NAMES, given.populations),
        rng,
        draws=draws,
        topic_draws=topic_draws_of(len(topics)),
        search=partial(draw_log_odds, some, pieces, rough=True),
    )
    return LogOddsOfTopics(
        pieces=pieces,
        centre=centre,
        spread=spread,
        asinh_scale=asinh_scale,
        population=found.points,
        values=found.pick(rng),
        new_values=draw_unseen(found.points, pieces, rng),
        pareto_k=found.pareto_k,
        population_efficiency=found.efficiency,
        efficiency=found.topics.efficiency(found.points),
        health=found.topics.health,
    )


def add_log_odds(
    topics: Sequence[BinaryScores],
    fitted: LogOddsOfTopics,
    rng: np.random.Generator,
) -> LogOddsOfTopics:
    """Return the same of topics that the population was not fitted to; see `fit_log_odds`."""
    standardised = [fitted.standardised(data) for data in topics]
    bases = HYPERPRIOR.bases_of(fitted.population)
    found = draw_log_odds(standardised, fitted.pieces, bases, TOPIC_DRAWS, rng)
    values, efficiency = pick_updated(found, fitted.population, rng)
    return replace(fitted, values=values, efficiency=efficiency, health=found.health)


def leave_out(
    topics: Sequence[BinaryScores],
    found: LogOddsOfTopics,
    picked: Sequence[NDArray[np.intp]],
    rng: np.random.Generator,
) -> list[Floats]:
    """
    Return the log-odds of + of some documents of every topic, each given all others.

    Parameters
    ----------
    topics, found, rng
        As of `fit_log_odds`, and what it returns.
    picked : sequence of integer arrays
        The positions of the documents of every topic.
    """
    prior = prior_of(found.population.mean(axis=0))
    seeds = rng.integers(1 << 63, size=len(topics)).tolist()
    # As many draws as are read, of which a posterior drawn anew then has no more either.
    values = found.values[..., :MOST_DRAWS]
    tasks = [
        (
            found.standardised(data),
            MonotoneCurves(found.pieces, values[0, t], values[1:, t].T),
            prior,
            picked[t],
            seeds[t],
        )
        for t, data in enumerate(topics)
    ]
    return list(in_parallel(_leave_out, tasks))


def _leave_out(
    task: tuple[BinaryScores, MonotoneCurves, Prior, NDArray[np.intp], int],
) -> Floats:
    data, curves, prior, picked, seed = task
    if not data.score.size:
        return np.empty(0)
    rng = np.random.default_rng(seed)
    # Documents that sway much are fitted without again, around the population's mean.
    found = leave_one_out(curves, data.score, data.positive, data.weight, prior, rng)
    return found.log_odds(data.positive)[picked]


def _standardised(
    data: BinaryScores, centre: float, spread: float, asinh_scale: float
) -> BinaryScores:
    return replace(data, score=standardise(data.score, centre, spread, asinh_scale))


def draw_log_odds(
    topics: Sequence[BinaryScores],
    pieces: Pieces,
    bases: Floats,
    draws: int,
    rng: np.random.Generator,
    *,
    rough: bool = False,
) -> TopicDraws:
    """
    Return exact draws of every topic's log-odds under a few populations.

    Parameters
    ----------
    topics : sequence of BinaryScores
        Standardised scores, labels and weights; a topic may lack a class, or have no documents at
        all, then the population answers.
    pieces : Pieces
        Knots and reference, of all topics.
    bases : array of shape (bases, 4)
        Unbounded hyperparameters, in the order of NAMES.
    draws : int
        Of each topic under each base.
    rng : numpy.random.Generator
        Source of randomness.
    rough : bool
        Whether draws need tell no more than roughly where the population is.

    Returns
    -------
    TopicDraws
        Its values are the intercept and the slope of each piece.
    """
    log_evidence, health, values = draw_under_bases(
        partial(_draw_one, pieces=pieces, draws=draws, rough=rough),
        topics,
        bases,
        rng,
        topics_a_task=TOPICS_A_TASK,
    )
    level = np.log(values[1 + pieces.reference_segment])
    terms = terms_of(statistics(values[0], level), bases, log_evidence, coefficients)
    return TopicDraws(coefficients, bases, log_evidence, values, terms, health)


def _draw_one(
    data: BinaryScores,
    base: Floats,
    rng: np.random.Generator,
    *,
    pieces: Pieces,
    draws: int,
    rough: bool,
) -> Drawn:
    if not data.score.size:
        return Drawn(0.0, True, 1.0, -np.inf, draw_unseen(np.tile(base, (draws, 1)), pieces, rng))
    outlined = outline(
        data.score,
        data.positive,
        data.weight,
        prior_of(base),
        n_segments=pieces.segments,
        pieces=pieces,
    )
    if rough:
        some = sample_roughly(outlined, rng)
        points = some.resample(draws, rng)
        values = np.vstack([points[:, 0], outlined.density.slopes(points).T])
        return Drawn(some.log_evidence, some.trusted, some.efficiency, some.pareto_k, values)
    found = draw_within(outlined, draws, rng)
    values = np.vstack([found.intercept, found.slopes.T])
    return Drawn(found.log_evidence, not found.problem, found.efficiency, found.pareto_k, values)

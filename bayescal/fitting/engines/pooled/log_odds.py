"""Monotone log-odds of all topics around their population: exact given it, and left out.

For topic t, with knots and reference the same for all topics, in standardised scores,

    a_t     ~ Normal(mu, tau)            log-odds at the reference
    level_t ~ Normal(nu, sigma)          log slope in its segment
    walk_t                               from there to the other segments: see `monotone.density`

The log density of a and level is eta . T(a, level) - A(eta) with T = a, a^2, level, level^2. The
hyperprior is Gaussian in mu, log tau, nu, log sigma.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from bayescal.families.warps import standardise, warped_spread
from bayescal.fitting.engines.monotone.density import LARGEST_ETA, Pieces, Prior, place_pieces
from bayescal.fitting.engines.monotone.leave_one_out import MOST_DRAWS, leave_one_out
from bayescal.fitting.engines.monotone.posterior import (
    MonotoneCurves,
    draw_within,
    fit_laplace,
    sample_roughly,
)
from bayescal.fitting.engines.pooled.drawing import (
    TOPIC_DRAWS,
    Drawn,
    Health,
    TopicDraws,
    draw_under_bases,
    pick_updated,
    some_of,
    terms_of,
)
from bayescal.fitting.engines.pooled.engine import topic_draws_of
from bayescal.fitting.engines.pooled.hyperparameters import TopicHyperparameters
from bayescal.fitting.engines.pooled.hyperposterior import draw_hyperposterior
from bayescal.fitting.engines.pooled.population import LOG_ODDS_NAMES, GaussianHyperprior
from bayescal.fitting.scores import BinaryScores, together
from bayescal.support.parallel import in_parallel
from bayescal.support.validation import Floats

SEGMENTS = 9
BEND = 1.0  # in spreads of the scores: in tails straight pieces would have to be many
TOPICS_A_TASK = 8  # drawn; tenths of a second of a worker's time


@dataclass(frozen=True)
class LogOddsOfTopics:
    """Draws of the log-odds of all topics, and of a topic without documents."""

    pieces: Pieces  # knots and reference, of all topics, in standardised warped scores
    centre: float  # of the standardisation, and of the warp in score units
    spread: float
    asinh_scale: float
    population: Floats  # unbounded hyperparameters, (draws, 4)
    values: Floats  # intercept and slopes, (1 + J, topics, draws)
    new_values: Floats  # the same of a topic that the population makes, (1 + J, draws)
    # of the hyperparameters' importance weights the Pareto shape, and the effective share of the
    # proposals
    pareto_k: float
    population_efficiency: float
    # share of a topic's draws that its reweighting to populations leaves effective, (topics,)
    efficiency: Floats
    # how well each topic was drawn under those that are reweighted; of shape (topics,)
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
    """Draw from the posterior of all topics' log-odds and their population."""
    hyper = hyperparameters or TopicHyperparameters()
    centre, asinh_scale = scale[0], BEND * scale[1]
    spread = warped_spread(centre, scale[1], asinh_scale)
    standardised = [_standardised(each, centre, spread, asinh_scale) for each in topics]
    data = together(standardised)
    pieces = place_pieces(data.score, data.positive, data.weight, hyper.n_segments or SEGMENTS)
    some = some_of(standardised, rng) or standardised
    hyperposterior = draw_hyperposterior(
        partial(draw_log_odds, standardised, pieces),
        HYPERPRIOR.with_values(LOG_ODDS_NAMES, hyper.populations),
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
        population=hyperposterior.points,
        values=hyperposterior.pick(rng),
        new_values=draw_unseen(hyperposterior.points, pieces, rng),
        pareto_k=hyperposterior.pareto_k,
        population_efficiency=hyperposterior.efficiency,
        efficiency=hyperposterior.topics.efficiency(hyperposterior.points),
        health=hyperposterior.topics.health,
    )


def add_log_odds(
    topics: Sequence[BinaryScores], fitted: LogOddsOfTopics, rng: np.random.Generator
) -> LogOddsOfTopics:
    """Return the same of topics that the population was not fitted to; see `fit_log_odds`."""
    standardised = [fitted.standardised(data) for data in topics]
    bases = HYPERPRIOR.bases_of(fitted.population)
    drawn = draw_log_odds(standardised, fitted.pieces, bases, TOPIC_DRAWS, rng)
    values, efficiency = pick_updated(drawn, fitted.population, rng)
    return replace(fitted, values=values, efficiency=efficiency, health=drawn.health)


def leave_out(
    topics: Sequence[BinaryScores],
    posterior: LogOddsOfTopics,
    picked: Sequence[NDArray[np.intp]],
    rng: np.random.Generator,
) -> list[Floats]:
    """Return the log-odds of + of some documents of every topic, each given all others."""
    prior = prior_of(posterior.population.mean(axis=0))
    seeds = rng.integers(1 << 63, size=len(topics)).tolist()
    # As many draws as are read, of which a posterior drawn anew then has no more either.
    values = posterior.values[..., :MOST_DRAWS]
    tasks = [
        (
            posterior.standardised(data),
            MonotoneCurves(posterior.pieces, values[0, t], values[1:, t].T),
            prior,
            picked[t],
            seeds[t],
        )
        for t, data in enumerate(topics)
    ]
    return list(in_parallel(_leave_out, tasks))


def _leave_out(task: tuple[BinaryScores, MonotoneCurves, Prior, NDArray[np.intp], int]) -> Floats:
    data, curves, prior, picked, seed = task
    if not data.score.size:
        return np.empty(0)
    rng = np.random.default_rng(seed)
    # Documents that sway much are fitted without again, around the population's mean.
    left_out = leave_one_out(curves, data.score, data.positive, data.weight, prior, rng)
    return left_out.log_odds(data.positive)[picked]


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
    """Return exact draws of every topic's log-odds under a few populations."""
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
    laplace_fit = fit_laplace(
        data.score,
        data.positive,
        data.weight,
        prior_of(base),
        n_segments=pieces.segments,
        pieces=pieces,
    )
    if rough:
        some = sample_roughly(laplace_fit, rng)
        points = some.resample(draws, rng)
        values = np.vstack([points[:, 0], laplace_fit.density.slopes(points).T])
        return Drawn(some.log_evidence, some.trusted, some.efficiency, some.pareto_k, values)
    drawn = draw_within(laplace_fit, draws, rng)
    values = np.vstack([drawn.intercept, drawn.slopes.T])
    return Drawn(drawn.log_evidence, not drawn.problem, drawn.efficiency, drawn.pareto_k, values)


# Together as wide as the prior of an unpooled topic: log-odds of 0 +- 5, log slopes of 0 +- 1.
HYPERPRIOR = GaussianHyperprior(
    mean=(0.0, math.log(2.0), 0.0, -math.log(2.0)),
    scale=(4.0, 1.0, 1.0, 1.0),
    wide=(0.0, 1.0, 0.0, 1.0),
    lowest=4 * (-math.inf,),
)


def prior_of(point: Floats) -> Prior:
    """Return the prior of a topic's log-odds given one population."""
    mu, log_tau, slope, log_sigma = point.tolist()
    return Prior(mu, math.exp(log_tau), slope, math.exp(log_sigma))


def coefficients(points: Floats) -> tuple[Floats, Floats]:
    """Return eta, of shape (k, 4), and A(eta), (k,), of populations of shape (k, 4)."""
    mu, log_tau, slope, log_sigma = points.T
    precision, of_slope = np.exp(-2.0 * log_tau), np.exp(-2.0 * log_sigma)
    eta = np.stack([mu * precision, -0.5 * precision, slope * of_slope, -0.5 * of_slope], axis=-1)
    normaliser = 0.5 * (mu**2 * precision + slope**2 * of_slope) + log_tau + log_sigma
    return eta, normaliser


def moments(points: Floats) -> tuple[float, float, float, float]:
    """Return the means and standard deviations of a new topic's intercept and level."""
    mu, log_tau, slope, log_sigma = points.T
    pairs = ((mu, log_tau), (slope, log_sigma))
    (a, tau), (nu, sigma) = (
        (float(each.mean()), math.sqrt((np.exp(2.0 * log)).mean() + each.var()))
        for each, log in pairs
    )
    return a, tau, nu, sigma


def statistics(intercept: Floats, level: Floats) -> Floats:
    """Return T of parameters of shape (...), of shape (..., 4)."""
    return np.stack([intercept, intercept**2, level, level**2], axis=-1)


def draw_unseen(points: Floats, pieces: Pieces, rng: np.random.Generator) -> Floats:
    """Return intercept and slopes of a topic of each population, of shape (1 + J, k)."""
    mu, log_tau, slope, log_sigma = points.T
    freedom, size = Prior.walk_freedom, points.shape[0]
    z = rng.normal(size=(size, pieces.segments))
    # Of a multivariate t: the steps share a scale, the level is not of it.
    z[:, 1:] /= np.sqrt(rng.chisquare(freedom, (size, 1)) / freedom)
    of_steps = Prior().walk(pieces)[:, 1:]
    eta = slope + np.exp(log_sigma) * z[:, 0] + of_steps @ z[:, 1:].T
    intercept = mu + np.exp(log_tau) * rng.normal(size=size)
    return np.vstack([intercept, np.exp(np.minimum(eta, LARGEST_ETA))])

"""Monotone log-odds of all topics around their population, and their leave-one-out predictions.

For topic t, with common knots and reference, in standardised scores,

    a_t     ~ Normal(mu, tau)            log-odds at the reference
    level_t ~ Normal(nu, sigma)          log slope in its segment
    walk_t                               from there to the other segments: see `monotone.density`

The log density of a and level is eta . T(a, level) - A(eta) with T = a, a^2, level, level^2. The
hyperprior is Gaussian in mu, log tau, nu, log sigma.
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np
from numpy.typing import NDArray
from scipy import special

from bayescal.families.draws import standardise, warped_spread
from bayescal.fitting.engines.monotone.density import LARGEST_ETA, Pieces, Prior, place_pieces
from bayescal.fitting.engines.monotone.engine import MOST_DRAWS, leave_one_out
from bayescal.fitting.engines.monotone.posterior import (
    MonotoneCurves,
    MonotoneDraws,
    MonotonePosterior,
    draw_within,
    fit_laplace,
    sample_roughly,
)
from bayescal.fitting.engines.pooled import drawing
from bayescal.fitting.engines.pooled.drawing import Drawn, TopicDraws
from bayescal.fitting.engines.pooled.engine import TopicPosterior, topic_draws_of
from bayescal.fitting.engines.pooled.hyperparameters import (
    TopicHyperparameters,
    draw_hyperposterior,
)
from bayescal.fitting.engines.pooled.population import LOG_ODDS_NAMES, GaussianHyperprior, evenness
from bayescal.fitting.scores import BinaryScores, together
from bayescal.inference.importance import Sample
from bayescal.support.parallel import in_parallel
from bayescal.support.validation import Floats

SEGMENTS = 9
BEND = 1.0  # asinh scale of the warp in spreads, which saves pieces in the tails
# Topics with at most FEW_DOCUMENTS are drawn from the prior if the likelihood leaves at least
# LEAST_EVEN of the draws effective. For 200 topics of 1, 2, 3, 5, 8 and 12 documents, sampling
# errors of the population's log density were .32, .24, .38, .44, .30 and .50; exact draws had .61,
# .65, .56, .44, .53 and .56, in three to ten times the time.
FEW_DOCUMENTS, LEAST_EVEN = 8, 0.3
TOPICS_A_TASK = 8  # for tenths of a second


LogOddsOfTopics = TopicPosterior[MonotoneDraws]


def fit_log_odds(
    topics: Sequence[BinaryScores],
    scale: tuple[float, float],
    rng: np.random.Generator,
    *,
    draws: int,
    hyperparameters: TopicHyperparameters | None = None,
    base_rates: tuple[Floats | float, Floats | float] = (0.5, 0.5),
) -> LogOddsOfTopics:
    """Draw from the posterior of all topics' log-odds and their population."""
    hyper = hyperparameters or TopicHyperparameters()
    centre, asinh_scale = scale[0], BEND * scale[1]
    spread = warped_spread(centre, scale[1], asinh_scale)
    standardised = [_standardised(each, centre, spread, asinh_scale) for each in topics]
    data = together(standardised)
    pieces = place_pieces(data.score, data.positive, data.weight, hyper.n_segments or SEGMENTS)
    some = drawing.some_of(standardised, rng) or standardised
    hyperposterior = draw_hyperposterior(
        partial(draw_log_odds, standardised, pieces),
        HYPERPRIOR.with_values(LOG_ODDS_NAMES, hyper.populations),
        rng,
        draws=draws,
        topic_draws=topic_draws_of(len(topics)),
        search=partial(draw_log_odds, some, pieces, rough=True),
    )
    values = hyperposterior.pick(rng)
    unseen = draw_unseen(hyperposterior.points, pieces, rng)
    units = centre, spread, asinh_scale
    return TopicPosterior(
        topics=curves_of(values, base_rates[0], pieces, *units),
        unseen=curves_of(unseen, base_rates[1], pieces, *units),
        population=hyperposterior.points,
        pareto_k=np.asarray(hyperposterior.pareto_k),
        population_efficiency=np.asarray(hyperposterior.efficiency),
        efficiency=hyperposterior.topics.efficiency(hyperposterior.points),
        health=hyperposterior.topics.draws.health,
    )


def curves_of(
    values: Floats,
    rate: Floats | float,
    pieces: Pieces,
    centre: float,
    spread: float,
    asinh_scale: float,
) -> MonotoneDraws:
    """Return the curves of intercepts and slopes, (1 + J, ..., draws), and of P(+)."""
    intercept, slope = values[0], np.moveaxis(values[1:], 0, -1)
    prior = np.broadcast_to(rate, intercept.shape)
    return MonotoneDraws(pieces, intercept, slope, prior, centre, spread, asinh_scale)


def add_log_odds(
    topics: Sequence[BinaryScores],
    fitted: LogOddsOfTopics,
    rng: np.random.Generator,
    rate: Floats | float = 0.5,
) -> LogOddsOfTopics:
    """Return the posterior of new topics around the fitted population; see `fit_log_odds`."""
    known = fitted.unseen
    units = known.centre, known.spread, known.asinh_scale
    standardised = [_standardised(data, *units) for data in topics]
    bases = HYPERPRIOR.bases_of(fitted.population)
    drawn = draw_log_odds(standardised, known.pieces, bases, drawing.TOPIC_DRAWS, rng)
    values, efficiency = drawing.pick_updated(drawn, fitted.population, rng)
    curves = curves_of(values, rate, known.pieces, *units)
    return replace(fitted, topics=curves, efficiency=efficiency, health=drawn.draws.health)


def leave_out(
    topics: Sequence[BinaryScores],
    posterior: LogOddsOfTopics,
    picked: Sequence[NDArray[np.intp]],
    rng: np.random.Generator,
) -> list[Floats]:
    """Return the log-odds of + of some documents of every topic, each given all others."""
    prior = prior_of(posterior.population.mean(axis=0))
    seeds = rng.integers(1 << 63, size=len(topics)).tolist()
    drawn = posterior.topics
    units = drawn.centre, drawn.spread, drawn.asinh_scale
    # Leave-one-out uses at most this number of draws.
    some = slice(MOST_DRAWS)
    tasks = [
        (
            _standardised(data, *units),
            MonotoneCurves(drawn.pieces, drawn.intercept[t, some], drawn.slope[t, some]),
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
    # Influential documents are left out by refitting, around the population's mean.
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
    """Return draws of every topic's log-odds under a few populations."""
    drawn = drawing.draw_under_bases(
        partial(_draw_one, pieces=pieces, draws=draws, rough=rough),
        topics,
        bases,
        rng,
        topics_a_task=TOPICS_A_TASK,
    )
    level = np.log(drawn.values[1 + pieces.reference_segment])
    return TopicDraws.under(bases, drawn, statistics(drawn.values[0], level), coefficients)


def _draw_one(
    data: BinaryScores,
    base: Floats,
    rng: np.random.Generator,
    *,
    pieces: Pieces,
    draws: int,
    rough: bool,
) -> Drawn:
    few = data.score.size <= FEW_DOCUMENTS
    if few:
        drawn = _draw_prior(data, base, rng, pieces=pieces, draws=draws)
        if drawn.efficiency >= LEAST_EVEN:
            return drawn
    laplace_fit = fit_laplace(
        data.score,
        data.positive,
        data.weight,
        prior_of(base),
        n_segments=pieces.segments,
        pieces=pieces,
    )
    source: Sample | MonotonePosterior
    if rough:
        source = sample_roughly(laplace_fit, rng)
        points, resolved = source.resample(draws, rng), source.trusted
        values = np.vstack([points[:, 0], laplace_fit.density.slopes(points).T])
    else:
        source = draw_within(laplace_fit, draws, rng)
        values, resolved = np.vstack([source.intercept, source.slopes.T]), not source.problem
    return Drawn(
        log_evidence=source.log_evidence,
        resolved=resolved,
        efficiency=source.efficiency,
        pareto_k=source.pareto_k,
        of_prior=False,
        # Draws under another population may be from the prior.
        log_likelihood=_log_likelihood(values, data, pieces) if few else np.zeros(draws),
        values=values,
    )


def _draw_prior(
    data: BinaryScores, base: Floats, rng: np.random.Generator, *, pieces: Pieces, draws: int
) -> Drawn:
    """Return prior draws with their likelihood; intercepts and levels are on a lattice."""
    normals = _lattice_normals(draws, rng)
    values = _draw_curves(np.tile(base, (draws, 1)), normals, pieces, rng)
    log_likelihood = _log_likelihood(values, data, pieces)
    return Drawn(
        log_evidence=float(special.logsumexp(log_likelihood)) - math.log(draws),
        resolved=True,
        efficiency=evenness(log_likelihood),
        pareto_k=-np.inf,
        of_prior=True,
        log_likelihood=log_likelihood,
        values=values,
    )


def _log_likelihood(values: Floats, data: BinaryScores, pieces: Pieces) -> Floats:
    """Return the natural log of p(labels | scores) of intercepts and slopes, (draws,)."""
    log_odds = values[0] + pieces.basis(data.score) @ values[1:]
    log_p = special.log_expit(np.where(data.positive, 1.0, -1.0)[:, None] * log_odds)
    return np.asarray(data.weights @ log_p)


def _lattice_normals(size: int, rng: np.random.Generator) -> Floats:
    """Return pairs of standard normals, (2, size), spread evenly by a shifted lattice."""
    steps = np.array([[1.0 / size], [0.5 * (math.sqrt(5.0) - 1.0)]])
    return special.ndtri((steps * np.arange(size) + rng.random((2, 1))) % 1.0)


# With the total width of an unpooled topic's prior: log-odds of 0 +- 5, log slopes of 0 +- 1.
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
    """Return intercept and slopes of a new topic of each population, (1 + J, k)."""
    return _draw_curves(points, rng.normal(size=(2, len(points))), pieces, rng)


def _draw_curves(
    points: Floats, normals: Floats, pieces: Pieces, rng: np.random.Generator
) -> Floats:
    """Return intercept and slopes of a new topic of each population, given two normals each."""
    mu, log_tau, slope, log_sigma = points.T
    freedom, size = Prior.walk_freedom, points.shape[0]
    # Steps of a multivariate t share one scale.
    z = rng.normal(size=(size, pieces.segments - 1))
    z /= np.sqrt(rng.chisquare(freedom, (size, 1)) / freedom)
    of_steps = Prior().walk(pieces)[:, 1:]
    intercept, level = mu + np.exp(log_tau) * normals[0], slope + np.exp(log_sigma) * normals[1]
    return np.vstack([intercept, np.exp(np.minimum(level + of_steps @ z.T, LARGEST_ETA))])

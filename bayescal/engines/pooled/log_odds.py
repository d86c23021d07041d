r"""Monotone log-odds of topics around a population, exactly given it.

Of topic t, with knots and reference the same for all topics, in standardised scores,

    a_t     ~ Normal(mu, tau)            log-odds at the reference
    level_t ~ Normal(lambda, sigma)      log slope in its segment
    walk_t                               from there to the other segments: see `monotone.density`

a and level are an exponential family: eta . T(a, level) - A(eta) with T = a, a^2, level, level^2.
The hyperprior is Gaussian in mu, log tau, lambda, log sigma.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bayescal.engines.data import BinaryScores
from bayescal.engines.monotone.basis import Pieces
from bayescal.engines.monotone.density import LARGEST_ETA, Prior
from bayescal.engines.monotone.posterior import draw_monotone
from bayescal.engines.pooled.hyperposterior import Hyperposterior, draw_hyperposterior
from bayescal.engines.pooled.hyperprior import GaussianHyperprior
from bayescal.engines.pooled.reweighting import TopicDraws, terms_of
from bayescal.parallel import blocks_of, in_parallel
from bayescal.validation import Floats

NAMES = ("intercept_location", "log_intercept_scale", "slope_location", "log_slope_scale")
# Means and deviations: what topics apart have as their prior, a few log-odds and e-folds about it.
HYPERPRIOR = GaussianHyperprior(
    mean=(0.0, math.log(2.0), 0.0, -math.log(2.0)),
    scale=(4.0, 1.0, 1.0, 1.0),
    wide=(0.0, 1.0, 0.0, 1.0),
    lowest=4 * (-math.inf,),
)
TOPICS_A_TASK = 8  # drawn; tenths of a second of a worker's time


def draw_log_odds_population(
    topics: Sequence[BinaryScores],
    pieces: Pieces,
    rng: np.random.Generator,
    *,
    draws: int,
    topic_draws: int,
) -> Hyperposterior:
    """
    Return draws of the population's hyperparameters, and of its topics.

    Parameters
    ----------
    topics, pieces, rng
        As of `draw_log_odds`.
    draws, topic_draws : int
        As of `draw_hyperposterior`.
    """

    def draw(bases: Floats, size: int, rng: np.random.Generator) -> TopicDraws:
        return draw_log_odds(topics, pieces, bases, size, rng)

    return draw_hyperposterior(draw, HYPERPRIOR, rng, draws=draws, topic_draws=topic_draws)


def draw_log_odds(
    topics: Sequence[BinaryScores],
    pieces: Pieces,
    bases: Floats,
    draws: int,
    rng: np.random.Generator,
) -> TopicDraws:
    """
    Return exact draws of every topic's log-odds under a few populations.

    Parameters
    ----------
    topics : sequence of BinaryScores
        Standardised scores and labels; a topic may lack a class, or have no documents at all, then
        the population answers.
    pieces : Pieces
        Knots and reference, of all topics.
    bases : array of shape (bases, 4)
        Unbounded hyperparameters, in the order of NAMES.
    draws : int
        Of each topic under each base.
    rng : numpy.random.Generator
        Source of randomness.

    Returns
    -------
    TopicDraws
        Its values are the intercept and the slope of each piece.
    """
    # A seed a topic: what is drawn of it does not depend on the others, nor on the workers.
    seeds = rng.integers(1 << 63, size=len(topics))
    tasks = [
        _Task(list(topics[part]), seeds[part], pieces, bases, draws)
        for part in blocks_of(TOPICS_A_TASK, len(topics))
    ]
    found = list(in_parallel(_draw_task, tasks, [len(task.topics) for task in tasks]))
    log_evidence = np.concatenate([evidence for evidence, _, _ in found])
    values = np.concatenate([each for _, _, each in found], axis=1).reshape(
        pieces.segments + 1, len(topics), -1
    )
    level = np.log(values[1 + pieces.reference_segment])
    statistics = np.stack([values[0], values[0] ** 2, level, level**2], axis=-1)
    return TopicDraws(
        coefficients,
        log_evidence,
        values,
        terms_of(statistics, bases, log_evidence, coefficients),
        all(resolved for _, resolved, _ in found),
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


@dataclass(frozen=True)
class _Task:
    """Some topics and what drawing them takes."""

    topics: list[BinaryScores]
    seeds: NDArray[np.int64]
    pieces: Pieces
    bases: Floats
    draws: int


def _draw_task(task: _Task) -> tuple[Floats, bool, Floats]:
    """Return log evidence, whether all is resolved, and draws (1 + J, topics, bases, draws)."""
    shape = len(task.topics), len(task.bases)
    log_evidence, resolved = np.zeros(shape), True
    out = np.empty((task.pieces.segments + 1, *shape, task.draws))
    for t, data in enumerate(task.topics):
        rng = np.random.default_rng(task.seeds[t])
        for b, base in enumerate(task.bases):
            if not data.score.size:
                out[:, t, b] = draw_unseen(np.tile(base, (task.draws, 1)), task.pieces, rng)
                continue
            found = draw_monotone(
                data.score,
                data.positive,
                data.weight,
                prior_of(base),
                task.draws,
                rng,
                pieces=task.pieces,
            )
            log_evidence[t, b] = found.log_evidence
            resolved = resolved and not found.problem
            out[:, t, b] = np.vstack([found.intercept, found.slopes.T])
    return log_evidence, resolved, out

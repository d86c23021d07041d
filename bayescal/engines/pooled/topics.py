"""Topics' exact draws of class densities under a few populations, and under all likely ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from bayescal.engines.exact.deviations import DeviationSums
from bayescal.engines.exact.joint import Prior
from bayescal.engines.exact.posterior import ClassPosterior
from bayescal.engines.pooled.hyperposterior import Hyperposterior, draw_hyperposterior
from bayescal.engines.pooled.population import Hyperprior, coefficients, prior_of, statistics
from bayescal.engines.pooled.reweighting import TopicDraws, terms_of
from bayescal.families import Family
from bayescal.parallel import blocks_of, in_parallel
from bayescal.validation import Floats

Scores = tuple[Floats, Floats | None]
TOPICS_A_TASK = 25  # drawn; tenths of a second of a worker's time


def draw_population(
    topics: Sequence[Scores],
    family: Family,
    rng: np.random.Generator,
    *,
    draws: int,
    topic_draws: int,
) -> Hyperposterior:
    """
    Return draws of the hyperparameters of one class's population, and of its topics.

    Parameters
    ----------
    topics, family, rng
        As of `draw_topics`.
    draws, topic_draws : int
        As of `draw_hyperposterior`.
    """
    draw = partial(draw_topics, topics, family)
    hyperprior = Hyperprior.of(family.powers[0])
    return draw_hyperposterior(draw, hyperprior, rng, draws=draws, topic_draws=topic_draws)


def draw_topics(
    topics: Sequence[Scores],
    family: Family,
    bases: Floats,
    draws: int,
    rng: np.random.Generator,
) -> TopicDraws:
    """
    Return exact draws of every topic under a few populations.

    Parameters
    ----------
    topics : sequence of (scores, weights)
        Standardised scores of one class, and their weights or None; a topic may have none, then
        the population answers.
    family : Family
        Of the class.
    bases : array of shape (bases, 6)
        Unbounded hyperparameters; see `population`.
    draws : int
        Of each topic under each base.
    rng : numpy.random.Generator
        Source of randomness.

    Returns
    -------
    TopicDraws
        Its values are mode and sides, standardised.
    """
    # A seed a topic: what is drawn of it does not depend on the others, nor on the workers.
    seeds = rng.integers(1 << 63, size=len(topics))
    priors = [prior_of(base, family) for base in bases]
    tasks = [
        _Task(list(topics[part]), seeds[part], priors, family.powers, draws)
        for part in blocks_of(TOPICS_A_TASK, len(topics))
    ]
    found = list(in_parallel(_draw_task, tasks, [len(task.topics) for task in tasks]))
    log_evidence = np.concatenate([evidence for evidence, _, _ in found])
    drawn = np.concatenate([each for _, _, each in found], axis=1)
    theta, share, width, left, right = drawn.reshape(5, len(topics), -1)
    of_family = partial(coefficients, family=family)
    terms = terms_of(statistics(theta, share, width, family), bases, log_evidence, of_family)
    resolved = all(resolved for _, resolved, _ in found)
    return TopicDraws(of_family, log_evidence, np.stack([theta, left, right]), terms, resolved)


@dataclass(frozen=True)
class _Task:
    """Some topics and what drawing them takes, the location and prior of each base among it."""

    topics: list[Scores]
    seeds: NDArray[np.int64]
    priors: list[tuple[float, Prior]]
    powers: tuple[int, int]
    draws: int


def _draw_task(task: _Task) -> tuple[Floats, bool, Floats]:
    """Return log evidence, whether all is resolved, and draws (5, topics, bases, draws)."""
    shape = len(task.topics), len(task.priors)
    log_evidence, resolved = np.empty(shape), True
    out = np.empty((5, *shape, task.draws))
    for t, (scores, weight) in enumerate(task.topics):
        rng = np.random.default_rng(task.seeds[t])
        for b, (location, prior) in enumerate(task.priors):
            sums = DeviationSums(scores - location, weight, task.powers)
            posterior = ClassPosterior(sums, prior)
            found = posterior.draw(task.draws, rng)
            log_evidence[t, b] = posterior.log_evidence
            resolved = resolved and posterior.resolved
            out[:, t, b] = found.theta + location, found.left_share, found.width, *found.sides
    return log_evidence, resolved, out

"""The topics' own draws under one population, reweighted to others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bayescal.engines.exact.deviations import DeviationSums
from bayescal.engines.exact.joint import Prior
from bayescal.engines.exact.posterior import ClassPosterior
from bayescal.engines.pooled.population import coefficients, prior_of, statistics
from bayescal.families import Family
from bayescal.parallel import blocks_of, in_parallel
from bayescal.validation import Floats

Scores = tuple[Floats, Floats | None]
BLOCK = 1 << 22  # elements of draws x populations at once
TOPICS_A_TASK = 25  # drawn; tenths of a second of a worker's time
TOPICS_A_SUM = 100  # weighed; two megabytes of statistics


@dataclass(frozen=True)
class TopicDraws:
    """
    Draws of every topic's parameters under one population, the base.

    Under another population, eta and A its coefficients, a topic's evidence is

        Z(eta) = Z(base) mean_m exp((eta - eta_base) . T_m - A(eta) + A(base)),

    an average over the draws, and the terms are their weights.

    Attributes
    ----------
    family : Family
        Of the class.
    base : array of shape (6,)
        Unbounded hyperparameters of the population.
    log_evidence : array of shape (topics,)
        Natural log of the density of each topic's scores, standardised, under the base.
    theta, left, right : array of shape (topics, draws)
        Mode and sides, standardised.
    statistics : array of shape (topics, draws, 6)
        T; see `population`.
    resolved : bool
        Whether all exact posteriors are as fine as asked for.
    """

    family: Family
    base: Floats
    log_evidence: Floats
    theta: Floats
    left: Floats
    right: Floats
    statistics: Floats
    resolved: bool

    def log_evidence_of(self, points: Floats) -> Floats:
        """Return the sum over topics of log Z at populations of shape (k, 6); shape (k,)."""
        change, normaliser = self._change(points)
        tasks = [
            (self.statistics[part], change, normaliser)
            for part in blocks_of(TOPICS_A_SUM, self.theta.shape[0])
        ]
        # Few topics are not worth sending.
        several = len(tasks) > 1
        sums = in_parallel(_sum_task, tasks, keep=False) if several else map(_sum_task, tasks)
        total: Floats = self.log_evidence.sum() + np.sum(list(sums), axis=0)
        return total

    def pick(self, points: Floats, rng: np.random.Generator) -> tuple[Floats, Floats, Floats]:
        """
        Return mode and sides of every topic under each population, of shape (topics, k).

        Draws of a topic given a population: its base draws in proportion to their weights.
        """
        size = points.shape[0]
        out = np.empty((3, self.theta.shape[0], size))
        for topic in range(self.theta.shape[0]):
            for part in self._blocks(size):
                log_ratio = self._log_ratio(topic, points[part])
                log_ratio -= log_ratio.max(axis=0)
                cumulative = np.cumsum(np.exp(log_ratio, out=log_ratio), axis=0)
                target = rng.random(cumulative.shape[1]) * cumulative[-1]
                picked = (cumulative < target).sum(axis=0)
                for row, values in zip(out, (self.theta, self.left, self.right), strict=True):
                    row[topic, part] = values[topic, picked]
        theta, left, right = out
        return theta, left, right

    def efficiency(self, points: Floats) -> Floats:
        """Return each topic's effective share of its draws, the mean over populations."""
        out = np.empty(self.theta.shape[0])
        for topic in range(out.size):
            log_ratio = self._log_ratio(topic, points)
            ratio = np.exp(log_ratio - log_ratio.max(axis=0))
            out[topic] = (ratio.sum(axis=0) ** 2 / (ratio**2).sum(axis=0)).mean() / ratio.shape[0]
        return out

    def _log_ratio(self, topic: int, points: Floats) -> Floats:
        return _log_ratio(self.statistics[topic], *self._change(points))

    def _change(self, points: Floats) -> tuple[Floats, Floats]:
        """Return eta - eta_base, of shape (6, k), and A(eta) - A(base)."""
        eta, normaliser = coefficients(points, self.family)
        base_eta, base_normaliser = coefficients(self.base, self.family)
        return (eta - base_eta).T, normaliser - base_normaliser

    def _blocks(self, size: int) -> list[slice]:
        width = max(1, BLOCK // self.theta.shape[1])
        return [slice(start, start + width) for start in range(0, size, width)]


def _log_ratio(statistics: Floats, change: Floats, normaliser: Floats) -> Floats:
    log: Floats = statistics @ change
    log -= normaliser
    return log


def _sum_task(task: tuple[Floats, Floats, Floats]) -> Floats:
    """Return the sum over some topics of log mean_m exp((eta - eta_base) . T_m - A + A_base)."""
    statistics, change, normaliser = task
    total = np.zeros(change.shape[1])
    for of_topic in statistics:
        log_ratio = _log_ratio(of_topic, change, normaliser)
        top = log_ratio.max(axis=0)
        log_ratio -= top
        total += np.log(np.exp(log_ratio, out=log_ratio).mean(axis=0)) + top
    return total


def draw_topics(
    topics: Sequence[Scores],
    family: Family,
    base: Floats,
    draws: int,
    rng: np.random.Generator,
) -> TopicDraws:
    """
    Return exact draws of every topic under a population.

    Parameters
    ----------
    topics : sequence of (scores, weights)
        Standardised scores of one class, and their weights or None; a topic may have none, then
        the population answers.
    family : Family
        Of the class.
    base : array of shape (6,)
        Unbounded hyperparameters; see `population`.
    draws : int
        Of each topic.
    rng : numpy.random.Generator
        Source of randomness.
    """
    location, prior = prior_of(base, family)
    # A seed a topic: what is drawn of it does not depend on the others, nor on the workers.
    seeds = rng.integers(1 << 63, size=len(topics))
    tasks = [
        _Task(list(topics[part]), seeds[part], location, prior, family.powers, draws)
        for part in blocks_of(TOPICS_A_TASK, len(topics))
    ]
    found = list(in_parallel(_draw_task, tasks, [len(task.topics) for task in tasks]))
    log_evidence = np.concatenate([evidence for evidence, _, _ in found])
    theta, share, width, left, right = np.concatenate([each for _, _, each in found], axis=1)
    return TopicDraws(
        family=family,
        base=base,
        log_evidence=log_evidence,
        theta=theta,
        left=left,
        right=right,
        statistics=statistics(theta, share, width, family),
        resolved=all(resolved for _, resolved, _ in found),
    )


@dataclass(frozen=True)
class _Task:
    """Some topics and what drawing them takes; see `draw_topics`."""

    topics: list[Scores]
    seeds: NDArray[np.int64]
    location: float
    prior: Prior
    powers: tuple[int, int]
    draws: int


def _draw_task(task: _Task) -> tuple[Floats, bool, Floats]:
    """Return log evidence, whether all is resolved, and draws of shape (5, topics, draws)."""
    log_evidence, resolved = np.empty(len(task.topics)), True
    out = np.empty((5, len(task.topics), task.draws))
    for t, (scores, weight) in enumerate(task.topics):
        deviations = DeviationSums(scores - task.location, weight, task.powers)
        posterior = ClassPosterior(deviations, task.prior)
        found = posterior.draw(task.draws, np.random.default_rng(task.seeds[t]))
        log_evidence[t], resolved = posterior.log_evidence, resolved and posterior.resolved
        out[:, t] = found.theta + task.location, found.left_share, found.width, *found.sides
    return log_evidence, resolved, out

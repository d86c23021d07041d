"""The topics' own draws under a few populations, reweighted to others."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special

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
    Draws of every topic's parameters under a few populations, the bases, as many under each.

    Under another population, eta and A its coefficients, a topic's evidence is

        Z(eta) = mean_m exp(eta . T_m - A(eta)) / q(T_m)
        q(T)   = mean_b exp(eta_b . T - A(eta_b)) / Z(b)

    over all draws, whichever base they are from, and the terms are their weights (the balance
    heuristic [1]_). No weight is larger than that of the best base times their number: where one
    base is too narrow for a population another may be wide enough.

    Attributes
    ----------
    family : Family
        Of the class.
    bases : array of shape (bases, 6)
        Unbounded hyperparameters of the populations.
    log_evidence : array of shape (topics, bases)
        Natural log of the density of each topic's scores, standardised, under each base.
    theta, left, right : array of shape (topics, draws)
        Mode and sides, standardised.
    terms : array of shape (topics, draws, 8)
        The statistics T, see `population`, then -1 and -log q(T).
    resolved : bool
        Whether all exact posteriors are as fine as asked for.

    References
    ----------
    .. [1] E. Veach, L. Guibas, "Optimally combining sampling techniques for Monte Carlo
       rendering", SIGGRAPH 1995.
    """

    family: Family
    bases: Floats
    log_evidence: Floats
    theta: Floats
    left: Floats
    right: Floats
    terms: Floats
    resolved: bool

    def log_evidence_of(self, points: Floats) -> Floats:
        """Return the sum over topics of log Z at populations of shape (k, 6); shape (k,)."""
        factors = _factors(points, self.family)
        tasks = [
            (self.terms[part], factors) for part in blocks_of(TOPICS_A_SUM, self.theta.shape[0])
        ]
        # Few topics are not worth sending.
        several = len(tasks) > 1
        sums = in_parallel(_sum_task, tasks, keep=False) if several else map(_sum_task, tasks)
        total: Floats = np.sum(list(sums), axis=0)
        return total

    def pick(self, points: Floats, rng: np.random.Generator) -> tuple[Floats, Floats, Floats]:
        """
        Return mode and sides of every topic under each population, of shape (topics, k).

        Draws of a topic given a population: its draws in proportion to their weights.
        """
        factors = _factors(points, self.family)
        out = np.empty((3, self.theta.shape[0], points.shape[0]))
        for topic, terms in enumerate(self.terms):
            for part in self._blocks(points.shape[0]):
                log_ratio = terms @ factors[:, part]
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
        factors = _factors(points, self.family)
        out = np.empty(self.theta.shape[0])
        for topic, terms in enumerate(self.terms):
            log_ratio = terms @ factors
            ratio = np.exp(log_ratio - log_ratio.max(axis=0))
            out[topic] = (ratio.sum(axis=0) ** 2 / (ratio**2).sum(axis=0)).mean() / ratio.shape[0]
        return out

    def _blocks(self, size: int) -> list[slice]:
        width = max(1, BLOCK // self.theta.shape[1])
        return [slice(start, start + width) for start in range(0, size, width)]


def _sum_task(task: tuple[Floats, Floats]) -> Floats:
    """Return the sum over some topics of log Z, an average over the exponentials of products."""
    terms, factors = task
    total = np.zeros(factors.shape[1])
    for of_topic in terms:
        log_ratio = of_topic @ factors
        top = log_ratio.max(axis=0)
        log_ratio -= top
        total += np.log(np.exp(log_ratio, out=log_ratio).mean(axis=0)) + top
    return total


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
    return TopicDraws(
        family=family,
        bases=bases,
        log_evidence=log_evidence,
        theta=theta,
        left=left,
        right=right,
        terms=_terms(statistics(theta, share, width, family), bases, log_evidence, family),
        resolved=all(resolved for _, resolved, _ in found),
    )


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


def _factors(points: Floats, family: Family) -> Floats:
    """Return what the terms of draws are multiplied by: eta, A and 1 of each point; (8, k)."""
    eta, normaliser = coefficients(points, family)
    return np.column_stack([eta, normaliser, np.ones_like(normaliser)]).T


def _terms(values: Floats, bases: Floats, log_evidence: Floats, family: Family) -> Floats:
    """Return statistics, -1 and -log q, of shape (topics, draws, 8)."""
    terms = np.concatenate([values, np.empty((*values.shape[:-1], 2))], axis=-1)
    terms[..., -2:] = -1.0, 0.0
    of_bases = terms @ _factors(bases, family) - log_evidence[:, None, :]
    terms[..., -1] = math.log(len(bases)) - special.logsumexp(of_bases, axis=-1)
    return terms

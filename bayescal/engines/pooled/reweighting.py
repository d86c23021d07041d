"""Topics drawn under a few populations, and their draws reweighted to others."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy import special

from bayescal.parallel import blocks_of, in_parallel
from bayescal.validation import Floats

# From points, (k, hyperparameters), to eta, (k, statistics), and A(eta), (k,).
Coefficients = Callable[[Floats], tuple[Floats, Floats]]
Data = TypeVar("Data")


class Drawn(NamedTuple):
    """
    Draws of one topic under one population.

    Attributes
    ----------
    log_evidence : float
        Natural log of the density of the topic's data.
    resolved : bool
        Whether the posterior is as fine as asked for.
    values : array of shape (values, draws)
    """

    log_evidence: float
    resolved: bool
    values: Floats


# Of a module, or a partial of one: it is sent to workers. From data, a base and randomness.
DrawOne = Callable[[Data, Floats, np.random.Generator], Drawn]

BLOCK = 1 << 22  # elements of draws x populations at once
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
    coefficients : callable
        From populations to eta and A(eta).
    log_evidence : array of shape (topics, bases)
        Natural log of the density of each topic's data under each base.
    values : array of shape (values, topics, draws)
        What is drawn of every topic.
    terms : array of shape (topics, draws, statistics + 2)
        The statistics T, then -1 and -log q(T).
    resolved : bool
        Whether all exact posteriors are as fine as asked for.

    References
    ----------
    .. [1] E. Veach, L. Guibas, "Optimally combining sampling techniques for Monte Carlo
       rendering", SIGGRAPH 1995.
    """

    coefficients: Coefficients
    log_evidence: Floats
    values: Floats
    terms: Floats
    resolved: bool

    def log_evidence_of(self, points: Floats) -> Floats:
        """Return the sum over topics of log Z at populations, a row each; shape (k,)."""
        factors = _factors(points, self.coefficients)
        tasks = [(self.terms[part], factors) for part in blocks_of(TOPICS_A_SUM, len(self.terms))]
        # Few topics are not worth sending.
        several = len(tasks) > 1
        sums = in_parallel(_sum_task, tasks, keep=False) if several else map(_sum_task, tasks)
        total: Floats = np.sum(list(sums), axis=0)
        return total

    def pick(self, points: Floats, rng: np.random.Generator) -> Floats:
        """
        Return what is drawn of every topic under each population, (values, topics, populations).

        Draws of a topic given a population: its draws in proportion to their weights.
        """
        factors = _factors(points, self.coefficients)
        out = np.empty((*self.values.shape[:2], points.shape[0]))
        for topic, terms in enumerate(self.terms):
            for part in self._blocks(points.shape[0]):
                log_ratio = terms @ factors[:, part]
                log_ratio -= log_ratio.max(axis=0)
                cumulative = np.cumsum(np.exp(log_ratio, out=log_ratio), axis=0)
                target = rng.random(cumulative.shape[1]) * cumulative[-1]
                picked = (cumulative < target).sum(axis=0)
                out[:, topic, part] = self.values[:, topic, picked]
        return out

    def efficiency(self, points: Floats) -> Floats:
        """Return each topic's effective share of its draws, the mean over populations."""
        factors = _factors(points, self.coefficients)
        out = np.empty(len(self.terms))
        for topic, terms in enumerate(self.terms):
            log_ratio = terms @ factors
            ratio = np.exp(log_ratio - log_ratio.max(axis=0))
            out[topic] = (ratio.sum(axis=0) ** 2 / (ratio**2).sum(axis=0)).mean() / ratio.shape[0]
        return out

    def _blocks(self, size: int) -> list[slice]:
        width = max(1, BLOCK // self.terms.shape[1])
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


def draw_under_bases(
    draw_one: DrawOne[Data],
    topics: Sequence[Data],
    bases: Floats,
    rng: np.random.Generator,
    *,
    topics_a_task: int,
) -> tuple[Floats, bool, Floats]:
    """
    Return log evidence, whether all of it is resolved, and values.

    Of shape (topics, bases) and (values, topics, draws).

    Parameters
    ----------
    draw_one : callable
        Draws one topic under one base.
    topics : sequence
        The data of each.
    bases : array of shape (bases, hyperparameters)
        The populations to draw under, one after the other.
    rng : numpy.random.Generator
        Source of randomness.
    topics_a_task : int
        How many a worker draws at once.
    """
    # A seed a topic: what is drawn of it does not depend on the others, nor on the workers.
    seeds = rng.integers(1 << 63, size=len(topics))
    tasks = [
        _Task(draw_one, list(topics[part]), bases, seeds[part])
        for part in blocks_of(topics_a_task, len(topics))
    ]
    found = list(in_parallel(_draw_task, tasks, [len(task.topics) for task in tasks]))
    log_evidence = np.concatenate([evidence for evidence, _, _ in found])
    values = np.concatenate([each for _, _, each in found], axis=1)
    resolved = all(resolved for _, resolved, _ in found)
    return log_evidence, resolved, values


@dataclass(frozen=True)
class _Task(Generic[Data]):
    """Some topics and what drawing them takes."""

    draw_one: DrawOne[Data]
    topics: list[Data]
    bases: Floats
    seeds: NDArray[np.int64]


def _draw_task(task: _Task[Data]) -> tuple[Floats, bool, Floats]:
    drawn = []
    for data, seed in zip(task.topics, task.seeds, strict=True):
        rng = np.random.default_rng(seed)
        drawn.append([task.draw_one(data, base, rng) for base in task.bases])
    return (
        np.array([[each.log_evidence for each in topic] for topic in drawn]),
        all(each.resolved for topic in drawn for each in topic),
        np.stack([np.concatenate([each.values for each in topic], axis=1) for topic in drawn], 1),
    )


def terms_of(
    statistics: Floats, bases: Floats, log_evidence: Floats, coefficients: Coefficients
) -> Floats:
    """
    Return statistics, -1 and -log q of draws, what `TopicDraws` weighs them by.

    Parameters
    ----------
    statistics : array of shape (topics, draws, statistics)
        T of each draw, as many draws under each base.
    bases : array of shape (bases, hyperparameters)
        The populations drawn under.
    log_evidence : array of shape (topics, bases)
        Natural log of each topic's evidence under each base.
    coefficients : callable
        As of `TopicDraws`.
    """
    terms = np.concatenate([statistics, np.empty((*statistics.shape[:-1], 2))], axis=-1)
    terms[..., -2:] = -1.0, 0.0
    of_bases = terms @ _factors(bases, coefficients) - log_evidence[:, None, :]
    terms[..., -1] = math.log(len(bases)) - special.logsumexp(of_bases, axis=-1)
    return terms


def _factors(points: Floats, coefficients: Coefficients) -> Floats:
    """Return what the terms of draws are multiplied by: eta, A and 1 of each point, in columns."""
    eta, normaliser = coefficients(points)
    return np.column_stack([eta, normaliser, np.ones_like(normaliser)]).T

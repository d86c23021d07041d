"""Topics drawn under a few populations, and their draws reweighted to others."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy import special

from bayescal.engines.pooled.drawing import Health
from bayescal.engines.pooled.picking import pick_positions
from bayescal.engines.pooled.weighing import (
    BLOCK,
    AnyFloats,
    Singles,
    Weights,
    exponentials,
    sums_of_runs,
    weigh_draws,
)
from bayescal.parallel import blocks_of, in_parallel
from bayescal.validation import Floats

# From points, (k, hyperparameters), to eta, (k, statistics), and A(eta), (k,).
Coefficients = Callable[[Floats], tuple[Floats, Floats]]
Task = TypeVar("Task")
Result = TypeVar("Result")

# A worker's tenths of a second: elements of topics x draws x populations, and topics picked.
ELEMENTS_A_TASK, TOPICS_A_TASK = 1 << 26, 50
DIFFERENCE = 0.003  # of factors by hyperparameters, which are logarithms or in units of the scores
MOST_POPULATIONS = 100  # that efficiencies are means over


class Expansion(NamedTuple):
    """
    The sum over topics of log Z near a population.

    Attributes
    ----------
    value : float
    gradient : array of shape (hyperparameters,)
    hessian : array of shape (hyperparameters, hyperparameters)
    efficiency : float
        Effective share of a topic's draws for that population, the smallest of all topics.
    """

    value: float
    gradient: Floats
    hessian: Floats
    efficiency: float


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
    bases : array of shape (bases, hyperparameters)
        The populations drawn under.
    log_evidence : array of shape (topics, bases)
        Natural log of the density of each topic's data under each base.
    values : array of shape (values, topics, draws)
        What is drawn of every topic.
    terms : array of shape (topics, draws, statistics + 2)
        The statistics T, then -1 and -log q(T).
    health : Health
        How well they were drawn, of shape (topics,).

    References
    ----------
    .. [1] E. Veach, L. Guibas, "Optimally combining sampling techniques for Monte Carlo
       rendering", SIGGRAPH 1995.
    """

    coefficients: Coefficients
    bases: Floats
    log_evidence: Floats
    values: Floats
    terms: Floats
    health: Health

    def joined(self, other: TopicDraws) -> TopicDraws:
        """Return these draws and as many of the same topics under other bases."""
        bases = np.concatenate([self.bases, other.bases])
        log_evidence = np.concatenate([self.log_evidence, other.log_evidence], axis=1)
        drawn = np.concatenate([self.terms, other.terms], axis=1)[..., :-2]
        return TopicDraws(
            coefficients=self.coefficients,
            bases=bases,
            log_evidence=log_evidence,
            values=np.concatenate([self.values, other.values], axis=-1),
            terms=terms_of(drawn, bases, log_evidence, self.coefficients),
            health=self.health.at_worst(other.health),
        )

    def weighed(self, points: Floats) -> Weighed:
        """Return the draws weighed for populations in rows."""
        factors = _factors(points, self.coefficients)
        topics = max(1, ELEMENTS_A_TASK // (self.terms.shape[1] * len(points)))
        tasks = [(self.terms[part], factors) for part in blocks_of(topics, len(self.terms))]
        log_evidence, sums = zip(*_done(_weigh_task, tasks), strict=True)
        return Weighed(self, points, np.sum(log_evidence, axis=0), np.concatenate(sums))

    def expand(self, point: Floats) -> Expansion:
        """
        Return the sum over topics of log Z at one population, with its derivatives.

        With F the factors of the population, the derivatives of a topic's log Z by F are the mean
        and the covariance of its terms, draws weighed for the population. Those of F are taken by
        differences, which need no draw.
        """
        factors = partial(_factors, coefficients=self.coefficients)
        value, mean, covariance, efficiency = self._moments(factors(point[None])[:, 0])
        slopes, curvature = _differences(factors, point)
        hessian = slopes.T @ covariance @ slopes + np.tensordot(mean, curvature, 1)
        return Expansion(value, mean @ slopes, hessian, efficiency)

    def _moments(self, factors: Floats) -> tuple[float, Floats, Floats, float]:
        """Return sums over topics of log Z, of terms' means and covariances; least efficiency."""
        size, efficiency = self.terms.shape[-1], 1.0
        value, mean, covariance = 0.0, np.zeros(size), np.zeros((size, size))
        for part in blocks_of(max(1, BLOCK // self.terms.shape[1]), len(self.terms)):
            terms = self.terms[part]
            weight, top = exponentials(terms @ factors)
            total = weight.sum(axis=1, keepdims=True)
            value += float((top + np.log(total[:, 0] / weight.shape[1])).sum())
            weight /= total
            middle = weight[:, None] @ terms
            around = terms - middle
            mean += middle.sum(axis=(0, 1))
            covariance += (np.swapaxes(around * weight[..., None], 1, 2) @ around).sum(axis=0)
            efficiency = min(efficiency, float(_efficiency(weight).min()))
        return value, mean, covariance, efficiency

    def weights(self, points: Floats) -> Iterator[Weights]:
        """Yield the weights of each topic's draws for populations in rows."""
        return weigh_draws(self.terms, _factors(points, self.coefficients))

    def efficiency(self, points: Floats) -> Floats:
        """Return each topic's effective share of its draws, the mean over some populations."""
        some = points[:: max(1, len(points) // MOST_POPULATIONS)]
        return np.array(
            [
                float(_efficiency(weight / total[:, None]).mean())
                for _, weight, total in self.weights(some)
            ]
        )


@dataclass(frozen=True)
class Weighed:
    """
    Topics' draws, weighed for populations.

    Attributes
    ----------
    topics : TopicDraws
        The draws.
    points : array of shape (k, hyperparameters)
        The populations.
    log_evidence : array of shape (k,)
        The sum over topics of log Z.
    sums : array of shape (topics, k, runs)
        See `weighing.sums_of_runs`.
    """

    topics: TopicDraws
    points: Floats
    log_evidence: Floats
    sums: Singles

    def pick(self, positions: NDArray[np.intp], rng: np.random.Generator) -> Floats:
        """
        Return what is drawn of every topic under some populations, (values, topics, positions).

        Draws of a topic given a population are its draws in proportion to their weights.
        """
        factors = _factors(self.points[positions], self.topics.coefficients)
        terms = self.topics.terms
        # A seed a topic: neither blocks nor workers change a bit.
        seeds = rng.integers(1 << 63, size=len(terms))
        tasks = [
            (terms[part], factors, self.sums[part][:, positions], seeds[part])
            for part in blocks_of(TOPICS_A_TASK, len(terms))
        ]
        picked = np.concatenate(_done(_pick_task, tasks))
        return np.take_along_axis(self.topics.values, picked[None], axis=-1)


def _efficiency(weight: AnyFloats) -> AnyFloats:
    """Return the effective share of weights in rows, which sum to one."""
    share: AnyFloats = 1.0 / (np.einsum("ij,ij->i", weight, weight) * weight.shape[1])
    return share


def _done(function: Callable[[Task], Result], tasks: Sequence[Task]) -> list[Result]:
    """Return what a function makes of each task; a single one is not worth sending."""
    several = len(tasks) > 1
    return list(in_parallel(function, tasks, keep=False) if several else map(function, tasks))


def _weigh_task(task: tuple[Floats, Floats]) -> tuple[Floats, Singles]:
    return sums_of_runs(*task)


def _pick_task(task: tuple[Floats, Floats, Singles, NDArray[np.int64]]) -> NDArray[np.intp]:
    """Return positions of some topics' draws for each population, (topics, populations)."""
    terms, factors, sums, seeds = task
    each = zip(terms, sums, seeds, strict=True)
    picked = [
        pick_positions(of_topic, factors, own, np.random.default_rng(seed))
        for of_topic, own, seed in each
    ]
    return np.array(picked)


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


def _differences(function: Callable[[Floats], Floats], point: Floats) -> tuple[Floats, Floats]:
    """
    Return the first and the second derivatives at a point, by central differences.

    Parameters
    ----------
    function : callable
        From points in rows, (k, n), to values in columns, (m, k).
    point : array of shape (n,)

    Returns
    -------
    slopes : array of shape (m, n)
    curvature : array of shape (m, n, n)
    """
    n, steps = point.size, DIFFERENCE * np.eye(point.size)
    slopes = (function(point + steps) - function(point - steps)) / (2.0 * DIFFERENCE)
    # Of each pair of directions; of one and the same they are twice the step and nothing.
    same, opposite = (np.reshape(steps[:, None] + sign * steps, (-1, n)) for sign in (1.0, -1.0))
    both, first, second, neither = (
        function(point + corner) for corner in (same, opposite, -opposite, -same)
    )
    curvature = (both - first - second + neither) / (2.0 * DIFFERENCE) ** 2
    return slopes, curvature.reshape(-1, n, n)


def _factors(points: Floats, coefficients: Coefficients) -> Floats:
    """Return what the terms of draws are multiplied by: eta, A and 1 of each point, in columns."""
    eta, normaliser = coefficients(points)
    return np.column_stack([eta, normaliser, np.ones_like(normaliser)]).T

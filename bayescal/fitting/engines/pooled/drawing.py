"""Exact draws of topics under a few populations, and their evidence under any other."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy import special

from bayescal.fitting.engines.pooled.population import (
    BLOCK,
    AnyFloats,
    DrawWeights,
    Singles,
    effective_share,
    exponentials,
    pick_positions,
    sums_of_runs,
    weigh,
    weigh_draws,
)
from bayescal.inference.importance import systematic
from bayescal.support.numerics import blocks_of
from bayescal.support.parallel import in_parallel
from bayescal.support.validation import Floats

Data = TypeVar("Data")

SEARCHED = 40  # topics that are drawn while the mode of their population is searched


class Drawn(NamedTuple):
    """Draws of one topic under one population: of its posterior, or of the prior."""

    log_evidence: float  # natural log of the density of the topic's data
    resolved: bool  # whether the posterior was computed with the intended accuracy
    efficiency: float  # effective share of the proposals
    pareto_k: float  # Pareto shape of their weights; -inf for rejection sampling
    of_prior: bool  # whether the draws are from the prior
    log_likelihood: Floats  # (draws,): natural log; zeros if all draws are from the posterior
    values: Floats  # (values, draws)


# A picklable function from data, base and rng to draws.
DrawOne = Callable[[Data, Floats, np.random.Generator], Drawn]


class Health(NamedTuple):
    """Quality of each topic's draws, at worst over populations; fields as in `Drawn`."""

    resolved: NDArray[np.bool_]  # (..., topics)
    efficiency: Floats
    pareto_k: Floats

    @classmethod
    def without_proposals(cls, shape: tuple[int, ...]) -> Health:
        """Return the health of draws without weighted proposals."""
        return cls(np.full(shape, True), np.ones(shape), np.full(shape, -np.inf))

    @classmethod
    def stack(cls, rows: Sequence[Health]) -> Health:
        """Return the health of several rows of topics."""
        return cls(*map(np.stack, zip(*rows, strict=True)))

    def of_some(self, topics: NDArray[np.intp], size: int) -> Health:
        """Return diagnostics of `size` topics; the others had no weighted proposals."""
        every = Health.without_proposals((size,))
        for own, some in zip(every, self, strict=True):
            own[topics] = some
        return every

    def repeat(self, topics: int) -> Health:
        """Return the health of topics that share one posterior."""
        return Health._make(each.repeat(topics) for each in self)


def some_of(topics: Sequence[Data], rng: np.random.Generator) -> Sequence[Data] | None:
    """Return some of many topics, enough to locate their population; None if there are few."""
    if len(topics) <= SEARCHED:
        return None
    return [topics[k] for k in rng.choice(len(topics), SEARCHED, replace=False)]


class DrawnTopics(NamedTuple):
    """Draws of topics under populations, the bases, in equal numbers; fields as in `Drawn`."""

    log_evidence: Floats  # (topics, bases)
    of_prior: NDArray[np.bool_]  # (topics, bases)
    health: Health  # (topics,)
    values: Floats  # (values, topics, draws)
    log_likelihood: Floats  # (topics, draws)

    def joined(self, other: DrawnTopics) -> DrawnTopics:
        """Return these and draws of the same topics under other bases, with the worse health."""
        return DrawnTopics(
            log_evidence=np.concatenate([self.log_evidence, other.log_evidence], axis=1),
            of_prior=np.concatenate([self.of_prior, other.of_prior], axis=1),
            health=Health(
                self.health.resolved & other.health.resolved,
                np.minimum(self.health.efficiency, other.health.efficiency),
                np.maximum(self.health.pareto_k, other.health.pareto_k),
            ),
            values=np.concatenate([self.values, other.values], axis=-1),
            log_likelihood=np.concatenate([self.log_likelihood, other.log_likelihood], axis=-1),
        )


def draw_under_bases(
    draw_one: DrawOne[Data],
    topics: Sequence[Data],
    bases: Floats,
    rng: np.random.Generator,
    *,
    topics_a_task: int,
) -> DrawnTopics:
    """Return draws of every topic under a few populations."""
    # A seed for each topic: its draws do not depend on other topics or workers.
    seeds = rng.integers(1 << 63, size=len(topics))
    tasks = [
        _Task(draw_one, list(topics[part]), bases, seeds[part])
        for part in blocks_of(topics_a_task, len(topics))
    ]
    results = list(in_parallel(_draw_task, tasks, [len(task.topics) for task in tasks]))
    log_evidence, resolved, efficiency, k, of_prior, log_likelihood, values = (
        np.concatenate(each) for each in zip(*results, strict=True)
    )
    health = Health(np.all(resolved, axis=1), efficiency.min(axis=1), k.max(axis=1))
    return DrawnTopics(log_evidence, of_prior, health, np.moveaxis(values, 1, 0), log_likelihood)


@dataclass(frozen=True)
class _Task(Generic[Data]):
    """Arguments for drawing some topics."""

    draw_one: DrawOne[Data]
    topics: list[Data]
    bases: Floats
    seeds: NDArray[np.int64]


def _draw_task(task: _Task[Data]) -> tuple[Any, ...]:
    """Return the fields of `Drawn` of some topics."""
    topics = []
    for data, seed in zip(task.topics, task.seeds, strict=True):
        rng = np.random.default_rng(seed)
        topics.append([task.draw_one(data, base, rng) for base in task.bases])
    numbers = (np.array([[each[i] for each in topic] for topic in topics]) for i in range(5))
    log_likelihood, values = (
        np.stack([np.concatenate([each[i] for each in topic], axis=-1) for topic in topics])
        for i in (5, 6)
    )
    return (*numbers, log_likelihood, values)


# From points, (k, hyperparameters), to eta, (k, statistics), and A(eta), (k,).
Coefficients = Callable[[Floats], tuple[Floats, Floats]]
Task = TypeVar("Task")
Result = TypeVar("Result")

# Tasks of tenths of a second: elements of topics x draws x populations, and topics picked.
ELEMENTS_A_TASK, PICKED_A_TASK = 1 << 26, 50
DIFFERENCE = 0.003  # step of numerical derivatives by hyperparameters
MOST_POPULATIONS = 100  # largest number of populations for mean efficiencies


class EvidenceExpansion(NamedTuple):
    """The sum over topics of log Z near a population."""

    value: float
    gradient: Floats  # (hyperparameters,)
    hessian: Floats  # (hyperparameters, hyperparameters)
    efficiency: float  # smallest effective share of a topic's draws for that population


@dataclass(frozen=True)
class TopicDraws:
    """Draws of every topic's parameters under a few populations, the bases, in equal numbers."""

    # Under another population (eta, A), with L the likelihood, a topic's evidence is
    #     Z(eta) = mean_m L_m exp(eta . T_m - A(eta)) / q_m
    #     q_m    = mean_b exp(eta_b . T_m - A(eta_b)) L_m / Z(b)
    # over all bases' draws (the balance heuristic); for a base's prior, 1 replaces L_m / Z(b).

    coefficients: Coefficients  # from populations to eta and A(eta)
    bases: Floats  # the populations drawn under, (bases, hyperparameters)
    draws: DrawnTopics
    terms: Floats  # the statistics T, then -1 and log L/q, (topics, draws, statistics + 2)

    @classmethod
    def under(
        cls, bases: Floats, draws: DrawnTopics, statistics: Floats, coefficients: Coefficients
    ) -> TopicDraws:
        """Return draws with their terms, given the statistics of each, (topics, draws, k)."""
        terms = np.concatenate([statistics, np.empty((*statistics.shape[:-1], 2))], axis=-1)
        terms[..., -2:] = -1.0, 0.0
        # Proposals' densities divided by L, whose log may be far below 0.
        log_proposal = terms @ _factors(bases, coefficients)
        log_proposal -= np.where(
            draws.of_prior[:, None], draws.log_likelihood[..., None], draws.log_evidence[:, None]
        )
        terms[..., -1] = math.log(len(bases)) - special.logsumexp(log_proposal, axis=-1)
        return cls(coefficients, bases, draws, terms)

    def joined(self, other: TopicDraws) -> TopicDraws:
        """Return these draws and as many of the same topics under other bases."""
        return TopicDraws.under(
            np.concatenate([self.bases, other.bases]),
            self.draws.joined(other.draws),
            np.concatenate([self.terms, other.terms], axis=1)[..., :-2],
            self.coefficients,
        )

    def weighed(self, points: Floats) -> Weighed:
        """Return the draws weighed for populations in rows."""
        factors = _factors(points, self.coefficients)
        topics = max(1, ELEMENTS_A_TASK // (self.terms.shape[1] * len(points)))
        tasks = [(self.terms[part], factors) for part in blocks_of(topics, len(self.terms))]
        log_evidence, sums = zip(*_done(_weigh_task, tasks), strict=True)
        return Weighed(self, points, np.sum(log_evidence, axis=0), np.concatenate(sums))

    def expand(self, point: Floats) -> EvidenceExpansion:
        """Return the sum over topics of log Z at one population, with its derivatives."""
        factors = partial(_factors, coefficients=self.coefficients)
        value, mean, covariance, efficiency = self._moments(factors(point[None])[:, 0])
        slopes, curvature = _differences(factors, point)
        hessian = slopes.T @ covariance @ slopes + np.tensordot(mean, curvature, 1)
        return EvidenceExpansion(value, mean @ slopes, hessian, efficiency)

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

    def weights(self, points: Floats) -> Iterator[DrawWeights]:
        """Yield the weights of each topic's draws for populations in rows."""
        return weigh_draws(self.terms, _factors(points, self.coefficients))

    def efficiency(self, points: Floats) -> Floats:
        """Return each topic's effective share of its draws, the mean over some populations."""
        some = points[:: max(1, len(points) // MOST_POPULATIONS)]
        shares = (weight / total[:, None] for _, weight, total in self.weights(some))
        return np.array([float(_efficiency(each).mean()) for each in shares])


@dataclass(frozen=True)
class Weighed:
    """Topics' draws, weighed for populations."""

    topics: TopicDraws
    points: Floats  # the populations, (k, hyperparameters)
    log_evidence: Floats  # the sum over topics of log Z, (k,)
    sums: Singles  # see `sums_of_runs`, (topics, k, runs)

    def pick(self, positions: NDArray[np.intp], rng: np.random.Generator) -> Floats:
        """Return a draw of every topic under some populations, (values, topics, positions)."""
        factors = _factors(self.points[positions], self.topics.coefficients)
        terms = self.topics.terms
        # A seed for each topic: results do not depend on blocks or workers.
        seeds = rng.integers(1 << 63, size=len(terms))
        tasks = [
            (terms[part], factors, self.sums[part][:, positions], seeds[part])
            for part in blocks_of(PICKED_A_TASK, len(terms))
        ]
        picked = np.concatenate(_done(_pick_task, tasks))
        return np.take_along_axis(self.topics.draws.values, picked[None], axis=-1)


def _efficiency(weight: AnyFloats) -> AnyFloats:
    """Return the effective share of weights in rows, which sum to one."""
    return np.asarray(1.0 / (np.einsum("ij,ij->i", weight, weight) * weight.shape[1]))


def _done(function: Callable[[Task], Result], tasks: Sequence[Task]) -> list[Result]:
    """Return a function's result for each task; a single task stays in this process."""
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


def _differences(function: Callable[[Floats], Floats], point: Floats) -> tuple[Floats, Floats]:
    """Return the first and the second derivatives at a point, by central differences."""
    n, steps = point.size, DIFFERENCE * np.eye(point.size)
    slopes = (function(point + steps) - function(point - steps)) / (2.0 * DIFFERENCE)
    # Sum and difference of each pair of directions.
    same, opposite = (np.reshape(steps[:, None] + sign * steps, (-1, n)) for sign in (1.0, -1.0))
    both, first, second, neither = (
        function(point + corner) for corner in (same, opposite, -opposite, -same)
    )
    curvature = (both - first - second + neither) / (2.0 * DIFFERENCE) ** 2
    return slopes, curvature.reshape(-1, n, n)


def _factors(points: Floats, coefficients: Coefficients) -> Floats:
    """Return the factors of the draws' terms: eta, A and 1 of each point, in columns."""
    eta, normaliser = coefficients(points)
    return np.column_stack([eta, normaliser, np.ones_like(normaliser)]).T


# Update draws of a population by the documents D of a new topic. With H the topics fitted,
#
#     p(topic, eta | D, H) = p(topic | D, eta) p(eta | D, H),
#     p(eta | D, H)        ~ p(D | eta) p(eta | H):
#
# populations are weighed by the topic's evidence p(D | eta) before the topic is drawn around them.

# Largest number of populations to average over, and a topic's draws under each base.
POPULATIONS, TOPIC_DRAWS = 1000, 500


def pick_updated(
    topics: TopicDraws, points: Floats, rng: np.random.Generator
) -> tuple[Floats, Floats]:
    """Return draws of every topic around populations weighted by p(eta | D, H)."""
    some = points[:: max(1, len(points) // POPULATIONS)]
    positions, efficiency = [], []
    for log_evidence, of_draws, total in topics.weights(some):
        population, even = weigh(log_evidence)
        weight = ((population / total).astype(np.float32) @ of_draws).astype(np.float64)
        positions.append(systematic(weight, len(points), rng))
        efficiency.append(min(even, effective_share(weight)))
    picked = np.array(positions, dtype=np.intp).reshape(-1, len(points))
    return np.take_along_axis(topics.draws.values, picked[None], axis=-1), np.array(efficiency)

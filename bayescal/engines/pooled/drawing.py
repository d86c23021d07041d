"""Topics drawn under a few populations by whoever works, and how well each was drawn."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from bayescal.parallel import blocks_of, in_parallel
from bayescal.validation import Floats

Data = TypeVar("Data")

SEARCHED = 40  # topics that are drawn while the mode of their population is searched


class Drawn(NamedTuple):
    """
    Draws of one topic under one population.

    Attributes
    ----------
    log_evidence : float
        Natural log of the density of the topic's data.
    resolved : bool
        Whether the posterior is as fine as asked for.
    efficiency, pareto_k : float
        Effective share of the proposals behind the draws, and Pareto shape of their weights; -inf
        where proposals are accepted or rejected instead.
    values : array of shape (values, draws)
    """

    log_evidence: float
    resolved: bool
    efficiency: float
    pareto_k: float
    values: Floats


# Of a module, or a partial of one: it is sent to workers. From data, a base and randomness.
DrawOne = Callable[[Data, Floats, np.random.Generator], Drawn]


class Health(NamedTuple):
    """
    How well each topic's draws were made, at worst under any of the populations drawn under.

    Attributes
    ----------
    resolved : array of shape (..., topics) of bool
        Whether the posterior is as fine as asked for.
    efficiency, pareto_k : array of shape (..., topics)
        Effective share of the proposals behind the draws, and Pareto shape of their weights; -inf
        where proposals are accepted or rejected instead.
    """

    resolved: NDArray[np.bool_]
    efficiency: Floats
    pareto_k: Floats

    @classmethod
    def without_proposals(cls, shape: tuple[int, ...]) -> Health:
        """Return that of draws that were not made from weighted proposals."""
        return cls(np.full(shape, True), np.ones(shape), np.full(shape, -np.inf))

    @classmethod
    def stack(cls, rows: Sequence[Health]) -> Health:
        """Return that of several rows of topics."""
        return cls(*map(np.stack, zip(*rows, strict=True)))

    def at_worst(self, other: Health) -> Health:
        """Return that of topics drawn twice, at its worst."""
        return Health(
            self.resolved & other.resolved,
            np.minimum(self.efficiency, other.efficiency),
            np.maximum(self.pareto_k, other.pareto_k),
        )

    def repeat(self, topics: int) -> Health:
        """Return that of so many topics that are one."""
        return Health(
            self.resolved.repeat(topics),
            self.efficiency.repeat(topics),
            self.pareto_k.repeat(topics),
        )


def some_of(topics: Sequence[Data], rng: np.random.Generator) -> Sequence[Data] | None:
    """
    Return some of many topics, which tell roughly where their population is; None of few.

    Where the population is changes a topic's posterior by less than the topic's own documents do:
    the mean of forty topics is known to a sixth of how far these differ. Draws under such a base
    stand for those under the mode of all.
    """
    if len(topics) <= SEARCHED:
        return None
    return [topics[k] for k in rng.choice(len(topics), SEARCHED, replace=False)]


def draw_under_bases(
    draw_one: DrawOne[Data],
    topics: Sequence[Data],
    bases: Floats,
    rng: np.random.Generator,
    *,
    topics_a_task: int,
) -> tuple[Floats, Health, Floats]:
    """
    Return log evidence, how well topics were drawn, and values.

    Of shape (topics, bases), (topics,) and (values, topics, draws).

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
    log_evidence, resolved, efficiency, k = (
        np.concatenate([each[i] for each in found]) for i in range(4)
    )
    health = Health(np.all(resolved, axis=1), efficiency.min(axis=1), k.max(axis=1))
    return log_evidence, health, np.concatenate([each[-1] for each in found], axis=1)


@dataclass(frozen=True)
class _Task(Generic[Data]):
    """Some topics and what drawing them takes."""

    draw_one: DrawOne[Data]
    topics: list[Data]
    bases: Floats
    seeds: NDArray[np.int64]


def _draw_task(task: _Task[Data]) -> tuple[Any, ...]:
    """Return what `Drawn` has of every topic and base, (topics, bases), the values last."""
    drawn = []
    for data, seed in zip(task.topics, task.seeds, strict=True):
        rng = np.random.default_rng(seed)
        drawn.append([task.draw_one(data, base, rng) for base in task.bases])
    numbers = (np.array([[each[i] for each in topic] for topic in drawn]) for i in range(4))
    values = [np.concatenate([each.values for each in topic], axis=1) for topic in drawn]
    return (*numbers, np.stack(values, 1))

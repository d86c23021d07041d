"""Topics added to the population of others: each around it, as if there were no other new one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bayescal.engines.data import BinaryScores
from bayescal.engines.pooled.base_rates import added_rates
from bayescal.engines.pooled.drawing import Health
from bayescal.engines.pooled.engine import raw_sides, totals
from bayescal.engines.pooled.population import Hyperprior
from bayescal.engines.pooled.topics import draw_topics
from bayescal.engines.pooled.updating import TOPIC_DRAWS, pick_updated
from bayescal.families import Family
from bayescal.validation import Floats


@dataclass(frozen=True)
class Population:
    """
    Draws of the hyperparameters.

    Attributes
    ----------
    classes : array of shape (2, draws, 6)
        Of negatives and positives, unbounded; see `population`.
    rate : array of shape (2, draws)
        Parameters of the beta that rates are from.
    """

    classes: Floats
    rate: Floats


@dataclass(frozen=True)
class AddedTopics:
    """
    Draws of topics that the population was not fitted to, as `TopicPosterior` has them.

    Attributes
    ----------
    sides : array of shape (2, 3, topics, draws)
        Mode and sides in raw score units.
    rate : array of shape (topics, draws)
    efficiency : array of shape (2, topics)
        Also of what each topic's documents leave of the population's draws.
    health : Health
        Of shape (2, topics).
    """

    sides: Floats
    rate: Floats
    efficiency: Floats
    health: Health


def add_topics(
    topics: Sequence[BinaryScores],
    family: Family,
    population: Population,
    rng: np.random.Generator,
    scale: tuple[float, float],
) -> AddedTopics:
    """
    Return draws of topics that the population was not fitted to.

    The posterior of each is what a fit to the population's topics and to this one would say of it:
    its documents count for its own parameters and for which populations are likely. They count for
    no other new topic.

    Parameters
    ----------
    topics, family, rng, scale
        As of `fit_topics`.
    population : Population
        Draws, from topics that are not among these.
    """
    centre, spread = scale
    sides, efficiency, health = [], [], []
    for k, positive in enumerate((False, True)):
        of_class = (data.of_class(positive) for data in topics)
        standardised = [((scores - centre) / spread, weight) for scores, weight in of_class]
        points, own = population.classes[k], family.of_class(positive)
        bases = Hyperprior.of(own.powers[0]).bases_of(points)
        found = draw_topics(standardised, own, bases, TOPIC_DRAWS, rng)
        values, share = pick_updated(found, points, rng)
        sides.append(raw_sides(values, centre, spread))
        efficiency.append(share)
        health.append(found.health)
    negatives, positives = totals(topics)
    rate, of_rates = added_rates(population.rate, positives, negatives, rng)
    return AddedTopics(
        sides=np.stack(sides),
        rate=rate,
        efficiency=np.minimum(np.stack(efficiency), of_rates),
        health=Health.stack(health),
    )

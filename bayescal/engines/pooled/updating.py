"""Draws of a population, updated by the documents of one topic that they were made without.

With H the topics that the population was fitted to and D the documents of one more topic,

    p(topic, eta | D, H) = p(topic | D, eta) p(eta | D, H),   p(eta | D, H) ~ p(D | eta) p(eta | H):

populations are weighed by the topic's evidence p(D | eta) before the topic is drawn around them.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bayescal.engines.pareto import smooth
from bayescal.engines.pooled.reweighting import TopicDraws
from bayescal.engines.resampling import systematic
from bayescal.validation import Floats

# Populations that a topic's draws are averaged over, of more; and its draws under each base,
# most of which such averages leave effective.
POPULATIONS, TOPIC_DRAWS = 1000, 500


def weigh(log_evidence: Floats) -> tuple[Floats, float]:
    """Return populations' weights by a topic's log evidence, which sum to one, and how even."""
    weight = np.exp(smooth(log_evidence[None])[0][0])
    return weight, _effective(weight)


def resample(log_evidence: Floats, rng: np.random.Generator) -> tuple[NDArray[np.intp], float]:
    """
    Return positions of populations in proportion to a topic's evidence, as many as there are.

    Parameters
    ----------
    log_evidence : array of shape (populations,)
        Natural log of the density of the topic's documents, up to a constant.
    rng : numpy.random.Generator
        Source of randomness.

    Returns
    -------
    positions : array of shape (populations,)
        In random order, so that no chain has more of one population than another.
    efficiency : float
        Effective share of the populations.
    """
    weight, efficiency = weigh(log_evidence)
    return systematic(weight, log_evidence.size, rng), efficiency


def pick_updated(
    topics: TopicDraws, points: Floats, rng: np.random.Generator
) -> tuple[Floats, Floats]:
    """
    Return what is drawn of every topic around populations, each topic as if it were the only one.

    A topic's draw counts as much as populations eta, whose weights are p(eta | D, H), say:

        p(topic | D, H) = sum over eta of p(topic | D, eta) p(eta | D, H)

    Parameters
    ----------
    topics : TopicDraws
        Of topics that the populations were not fitted to.
    points : array of shape (populations, hyperparameters)
        Draws of populations.
    rng : numpy.random.Generator
        Source of randomness.

    Returns
    -------
    values : array of shape (values, topics, populations)
        In random order.
    efficiency : array of shape (topics,)
        Effective share of a topic's draws or of the populations, whichever is smaller.
    """
    some = points[:: max(1, len(points) // POPULATIONS)]
    positions, efficiency = [], []
    for log_evidence, of_draws, total in topics.weights(some):
        population, even = weigh(log_evidence)
        weight = ((population / total).astype(np.float32) @ of_draws).astype(np.float64)
        positions.append(systematic(weight, len(points), rng))
        efficiency.append(min(even, _effective(weight)))
    picked = np.array(positions, dtype=np.intp).reshape(-1, len(points))
    return np.take_along_axis(topics.values, picked[None], axis=-1), np.array(efficiency)


def _effective(weight: Floats) -> float:
    """Return the effective share of weights that sum to one."""
    return float(1.0 / (weight @ weight) / weight.size)

"""Draws of a population, updated by the documents of one topic that they were made without.

With H the topics that the population was fitted to and D the documents of one more topic,

    p(topic, eta | D, H) = p(topic | D, eta) p(eta | D, H),   p(eta | D, H) ~ p(D | eta) p(eta | H):

populations are weighed by the topic's evidence p(D | eta) before the topic is drawn around them.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bayescal.engines.pareto import smooth
from bayescal.engines.pooled.reweighting import TopicDraws, in_proportion
from bayescal.validation import Floats


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
    weight = np.exp(smooth(log_evidence[None])[0])
    positions = rng.permutation(in_proportion(weight, log_evidence.size, rng)[0])
    return positions, float(1.0 / (weight**2).sum() / log_evidence.size)


def pick_updated(
    topics: TopicDraws, points: Floats, rng: np.random.Generator
) -> tuple[Floats, Floats]:
    """
    Return what is drawn of every topic around populations, each topic as if it were the only one.

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
    efficiency : array of shape (topics,)
        Effective share of a topic's draws or of the populations, whichever is smaller.
    """
    values, efficiency = [], []
    for each in topics.split():
        positions, share = resample(each.log_evidence_of(points), rng)
        values.append(each.pick(points[positions], rng))
        efficiency.append(min(share, each.efficiency(points[positions])[0]))
    return np.concatenate(values, axis=1), np.array(efficiency)

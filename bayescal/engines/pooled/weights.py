"""Weights of the parts in many topics' combination: the population's, and each topic's."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bayescal.engines.combined import compare
from bayescal.engines.stacking import stack
from bayescal.topic_scores import rows_of
from bayescal.validation import Floats

DENSITIES = ("asymmetric_laplace", "gaussian")
# Densities around a population; their mixture recalibrated; each topic's own log-odds.
PARTS = (*DENSITIES, "recalibrated", "monotone")
# Documents' worth of belief in each part, before any label speaks ...
BELIEF = 0.5
# ... and in the population's weights, before a topic's own labels do.
BELIEF_IN_POPULATION = 10.0


@dataclass(frozen=True)
class LeftOut:
    """
    Documents left out, of all topics one after the other.

    Attributes
    ----------
    score : array of shape (parts, n)
        Each part's log score; nan of the last where a topic has no log-odds of its own.
    weight : array of shape (n,)
        How many documents each stands for.
    code : integer array of shape (n,)
        The topic of each.
    """

    score: Floats
    weight: Floats
    code: NDArray[np.intp]


@dataclass(frozen=True)
class Weights:
    """
    How much each part counts, and why.

    Attributes
    ----------
    population : array of shape (parts,)
        Of all topics: they maximise the leave-one-out log score of the mixture.
    own : array of shape (topics, parts)
        Of each topic: the same of its documents, to which the population's weights are so many
        more.
    elpd, se : array of shape (parts,)
        Leave-one-out log score of all topics, natural logarithm, and the standard error of its
        difference to the best part's.
    """

    population: Floats
    own: Floats
    elpd: Floats
    se: Floats


def weigh(left_out: LeftOut, topics: int) -> Weights:
    """Return the weights of all parts, of all topics and of each of so many."""
    whole = np.isfinite(left_out.score[-1])
    score, weight = left_out.score[:, whole], left_out.weight[whole]
    population = stack(score, weight, BELIEF)
    return Weights(population, own_weights(left_out, topics, population), *compare(score, weight))


def own_weights(left_out: LeftOut, topics: int, population: Floats) -> Floats:
    """Return each topic's weights around the population's; shape (topics, parts)."""
    out = np.tile(without_own(population), (topics, 1))
    whole, belief = np.isfinite(left_out.score[-1]), BELIEF_IN_POPULATION * population
    for t, rows in enumerate(rows_of(left_out.code, topics)):
        if rows.size and whole[rows[0]]:
            out[t] = stack(left_out.score[:, rows], left_out.weight[rows], belief)
    return out


def without_own(population: Floats) -> Floats:
    """Return the weights of a topic that has no log-odds of its own."""
    weight = np.r_[population[:-1], 0.0]
    rest: Floats = weight / weight.sum()
    return rest

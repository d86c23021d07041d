"""Weights of the parts in many topics' combination: the population's, and each topic's."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special

from bayescal.engines.combined import compare, log_scores
from bayescal.engines.lapse import draw_lapse
from bayescal.engines.stacking import stack
from bayescal.topic_scores import rows_of
from bayescal.validation import Floats

DENSITIES = ("asymmetric_laplace", "gaussian")
# Densities around populations; their mixture recalibrated; log-odds around a population.
NAMES = (*DENSITIES, "recalibrated", "monotone")
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
        Each part's log score.
    weight : array of shape (n,)
        How many documents each stands for.
    code : integer array of shape (n,)
        The topic of each.
    both : array of shape (topics,) of bool
        Whether a topic has documents of both classes: those of one say nothing of weights.
    positive : array of shape (n,) of bool
        The labels.
    """

    score: Floats
    weight: Floats
    code: NDArray[np.intp]
    both: NDArray[np.bool_]
    positive: NDArray[np.bool_]


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


def weigh(left_out: LeftOut) -> Weights:
    """Return the weights of all parts, of all topics and of each."""
    known = left_out.both[left_out.code]
    score, weight = left_out.score[:, known], left_out.weight[known]
    population = stack(score, weight, BELIEF)
    return Weights(population, own_weights(left_out, population), *compare(score, weight))


def lapses_of(
    left_out: LeftOut,
    own: Floats,
    base: Floats,
    draws: int,
    rng: np.random.Generator,
    fixed: float | None,
) -> Floats | None:
    """
    Return draws of the lapse rate of all topics, (draws,); None where it is fixed at 0.

    Parameters
    ----------
    left_out : LeftOut
        The documents.
    own : array of shape (topics, parts)
        Each topic's weights.
    base : array of shape (topics,)
        Each topic's share of positives.
    draws : int
        How many.
    rng : numpy.random.Generator
        Source of randomness.
    fixed : float or None
        The rate, if it is known.
    """
    log_score = special.logsumexp(left_out.score, axis=0, b=own[left_out.code].T)
    log_base = log_scores(special.logit(base[left_out.code]), left_out.positive)
    return draw_lapse(log_score, log_base, left_out.weight, draws, rng, fixed=fixed)


def own_weights(left_out: LeftOut, population: Floats) -> Floats:
    """Return each topic's weights around the population's; shape (topics, parts)."""
    topics = left_out.both.size
    out = np.tile(population, (topics, 1))
    for t, rows in enumerate(rows_of(left_out.code, topics)):
        if left_out.both[t]:
            belief = BELIEF_IN_POPULATION * population
            out[t] = stack(left_out.score[:, rows], left_out.weight[rows], belief)
    return out

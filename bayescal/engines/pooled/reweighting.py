"""Topics drawn under a few populations, and their draws reweighted to others."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy import special

from bayescal.engines.pooled.drawing import Health
from bayescal.engines.pooled.picking import neighbourhoods, pick_positions
from bayescal.parallel import blocks_of, in_parallel
from bayescal.validation import Floats

# From points, (k, hyperparameters), to eta, (k, statistics), and A(eta), (k,).
Coefficients = Callable[[Floats], tuple[Floats, Floats]]
Task = TypeVar("Task")
Result = TypeVar("Result")
Singles = NDArray[np.float32]
AnyFloats = Floats | Singles

BLOCK = 1 << 16  # elements of draws x populations at once: what a core's own cache holds
# A worker's tenths of a second: elements of topics x draws x populations, and topics picked.
ELEMENTS_A_TASK, TOPICS_A_TASK = 1 << 26, 50
DIFFERENCE = 0.003  # of factors by hyperparameters, which are logarithms or in units of the scores
# In log Z, of single precision: populations that may have more are weighed in double.
MOST_ERROR = 1e-3
# Means of exponentials of which single precision has all digits.
SMALLEST_MEAN, LARGEST_MEAN = 1e-30, 1e30
MOST_POPULATIONS = 100  # that efficiencies are means over


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

    def log_evidence_of(self, points: Floats, *, in_double: bool = False) -> Floats:
        """
        Return the sum over topics of log Z at populations, a row each; shape (k,).

        Differences of neighbouring points are told in double precision alone, which takes twice as
        long; else only populations far from the others are weighed in it.
        """
        factors = _factors(points, self.coefficients)
        topics = max(1, ELEMENTS_A_TASK // (self.terms.shape[1] * len(points)))
        blocks = blocks_of(topics, len(self.terms))
        tasks = [(self.terms[part], factors, in_double) for part in blocks]
        total: Floats = np.sum(_done(_sum_task, tasks), axis=0)
        return total

    def derivatives(self, point: Floats) -> tuple[float, Floats, Floats]:
        """
        Return the sum over topics of log Z at one population, its gradient and its Hessian.

        With F the factors of the population, the derivatives of a topic's log Z by F are the mean
        and the covariance of its terms, draws weighed for the population. Those of F are taken by
        differences, which need no draw.
        """
        factors = partial(_factors, coefficients=self.coefficients)
        value, mean, covariance = self._moments(factors(point[None])[:, 0])
        slopes, curvature = _differences(factors, point)
        hessian = slopes.T @ covariance @ slopes + np.tensordot(mean, curvature, 1)
        return value, mean @ slopes, hessian

    def _moments(self, factors: Floats) -> tuple[float, Floats, Floats]:
        """Return sums over topics: of log Z, and of the terms' means and covariances."""
        size = self.terms.shape[-1]
        value, mean, covariance = 0.0, np.zeros(size), np.zeros((size, size))
        for part in blocks_of(max(1, BLOCK // self.terms.shape[1]), len(self.terms)):
            terms = self.terms[part]
            log_weight = terms @ factors
            top = log_weight.max(axis=1, keepdims=True)
            weight = np.exp(log_weight - top)
            value += float((top[:, 0] + np.log(weight.mean(axis=1))).sum())
            weight /= weight.sum(axis=1, keepdims=True)
            middle = weight[:, None] @ terms
            around = terms - middle
            mean += middle.sum(axis=(0, 1))
            covariance += (np.swapaxes(around * weight[..., None], 1, 2) @ around).sum(axis=0)
        return value, mean, covariance

    def shares(self, points: Floats) -> Iterator[tuple[Floats, Singles]]:
        """
        Yield, of each topic, its log Z at populations, (k,), and its draws' weights, (k, draws).

        Weights given a population sum to one.
        """
        common, around, differing, far = _parts(self.terms, _factors(points, self.coefficients))
        for log_evidence, of_topic in zip(common, around, strict=True):
            weight = np.empty((len(points), len(of_topic)), dtype=np.float32)
            for which, precision in ((~far, np.float32), (far, np.float64)):
                draws, rows = of_topic.T.astype(precision), np.flatnonzero(which)
                for part in blocks_of(max(1, BLOCK // len(of_topic)), rows.size):
                    some = rows[part]
                    ratio, top = _exponentials(differing[some].astype(precision) @ draws)
                    total = ratio.sum(axis=1)
                    weight[some] = np.divide(ratio, total[:, None], out=ratio)
                    log_evidence[some] += top + np.log(total / len(of_topic))
            yield log_evidence, weight

    def pick(self, points: Floats, rng: np.random.Generator) -> Floats:
        """
        Return what is drawn of every topic under each population, (values, topics, populations).

        Draws of a topic given a population are its draws in proportion to their weights.
        """
        factors = _factors(points, self.coefficients).T
        # In units of what they change in the draws' log weights.
        near = neighbourhoods(factors * self.terms.std(axis=1).mean(axis=0))
        # A seed a topic: neither blocks nor workers change a bit.
        seeds = rng.integers(1 << 63, size=len(self.terms))
        tasks = [
            (self.terms[part], factors, near, seeds[part])
            for part in blocks_of(TOPICS_A_TASK, len(self.terms))
        ]
        picked = np.concatenate(_done(_pick_task, tasks))
        return np.take_along_axis(self.values, picked[None], axis=-1)

    def efficiency(self, points: Floats) -> Floats:
        """Return each topic's effective share of its draws, the mean over some populations."""
        points = points[:: max(1, len(points) // MOST_POPULATIONS)]
        factors = np.ascontiguousarray(_factors(points, self.coefficients).T)
        out = np.empty(len(self.terms))
        for topic, terms in enumerate(self.terms):
            ratio, _ = _exponentials(factors @ terms.T)
            square = np.einsum("ij,ij->i", ratio, ratio)
            out[topic] = (ratio.sum(axis=1) ** 2 / square).mean() / ratio.shape[1]
        return out


def _done(function: Callable[[Task], Result], tasks: Sequence[Task]) -> list[Result]:
    """Return what a function makes of each task; a single one is not worth sending."""
    several = len(tasks) > 1
    return list(in_parallel(function, tasks, keep=False) if several else map(function, tasks))


def _pick_task(
    task: tuple[Floats, Floats, NDArray[np.intp], NDArray[np.int64]],
) -> NDArray[np.intp]:
    """Return positions of some topics' draws for each population, (topics, populations)."""
    terms, factors, near, seeds = task
    each = zip(terms, seeds, strict=True)
    picked = [
        pick_positions(of_topic, factors, near, np.random.default_rng(seed))
        for of_topic, seed in each
    ]
    return np.array(picked)


def _sum_task(task: tuple[Floats, Floats, bool]) -> Floats:
    """Return the sum over some topics of log Z, an average over the exponentials of products."""
    terms, factors, in_double = task
    common, around, differing, far = _parts(terms, factors)
    far |= in_double
    log_mean = np.full(len(differing), np.nan)
    log_mean[~far] = _log_means(around, differing[~far])
    lost = np.isnan(log_mean)
    log_mean[lost] = _log_means_in_double(around, differing[lost])
    total: Floats = common.sum(axis=0) + log_mean
    return total


def _log_means(around: Floats, differing: Floats) -> Floats:
    """Return the sums over topics of log means, nan of those that single precision cannot tell."""
    draws, out = around.shape[1], np.empty(len(differing))
    some = differing.astype(np.float32)
    # Draws in rows, one topic after the other: half the time of products with columns.
    of_topics = np.ascontiguousarray(np.swapaxes(around, 1, 2), dtype=np.float32)
    share = np.full(draws, 1.0 / draws, dtype=np.float32)
    # Where nothing is subtracted before, exponentials may be too large, or all too small.
    with np.errstate(over="ignore", under="ignore", divide="ignore"):
        for part in blocks_of(max(1, BLOCK // draws), len(some)):
            ratio = np.empty((part.stop - part.start, draws), dtype=np.float32)
            mean = np.empty((len(of_topics), len(ratio)), dtype=np.float32)
            for of_topic, of_one in zip(of_topics, mean, strict=True):
                np.matmul(some[part], of_topic, out=ratio)
                np.matmul(np.exp(ratio, out=ratio), share, out=of_one)
            told = ((mean >= SMALLEST_MEAN) & (mean <= LARGEST_MEAN)).all(axis=0)
            log_mean = np.log(mean, dtype=np.float64).sum(axis=0)
            out[part] = np.where(told, log_mean, np.nan)
    return out


def _log_means_in_double(around: Floats, differing: Floats) -> Floats:
    """Return the sums over topics of log means of exponentials that may be of any size."""
    draws, out = around.shape[1], np.zeros(len(differing))
    for part in blocks_of(max(1, BLOCK // draws), len(differing)):
        for of_topic in around:
            ratio, top = _exponentials(differing[part] @ of_topic.T)
            out[part] += np.log(ratio.mean(axis=1)) + top
    return out


def _exponentials(log_ratio: AnyFloats) -> tuple[AnyFloats, AnyFloats]:
    """Return exponentials as shares of the largest in each row, in place, and its logarithm."""
    top = log_ratio.max(axis=1)
    log_ratio -= top[:, None]
    return np.exp(log_ratio, out=log_ratio), top


def _parts(terms: Floats, factors: Floats) -> tuple[Floats, Floats, Floats, NDArray[np.bool_]]:
    """
    Return the products of terms and factors in two parts: c and a, f with c_tk + a_t f_k.

    What draws have in common, and what populations have, is in the first. The second, how both
    differ, can be left to single precision, which takes half the time: the error in log Z is a
    millionth of how far a population is from the median one. Of those without spread, a thousand
    times as far as all others, log Z would be wrong by hundreds.

    Parameters
    ----------
    terms : array of shape (topics, draws, statistics + 2)
    factors : array of shape (statistics + 2, populations)

    Returns
    -------
    common : array of shape (topics, populations)
    around : array of shape (topics, draws, statistics + 3)
    differing : array of shape (populations, statistics + 3)
    far : boolean array of shape (populations,)
        Which of them need double precision.
    """
    middle, median = terms.mean(axis=1), np.median(factors, axis=1)
    around = terms - middle[:, None]
    reach = np.abs(around).max(axis=(0, 1))
    of_median = around @ median
    top = of_median.max(axis=1, keepdims=True)
    around = np.concatenate([around, (of_median - top)[..., None]], axis=-1)
    differing = np.vstack([factors - median[:, None], np.ones(factors.shape[1])]).T
    far = np.finfo(np.float32).eps * (np.abs(differing[:, :-1]) @ reach) > MOST_ERROR
    return middle @ factors + top, around, differing, far


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

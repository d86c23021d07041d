"""Topics drawn under a few populations, and their draws reweighted to others."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special
from scipy.spatial import KDTree

from bayescal.engines.pooled.drawing import Health
from bayescal.parallel import blocks_of, in_parallel
from bayescal.validation import Floats

# From points, (k, hyperparameters), to eta, (k, statistics), and A(eta), (k,).
Coefficients = Callable[[Floats], tuple[Floats, Floats]]

BLOCK = 1 << 16  # elements of draws x populations at once: what a core's own cache holds
TOPICS_A_SUM = 100  # weighed; two megabytes of statistics
MOST_POPULATIONS = 100  # that efficiencies are means over
REFERENCES, CANDIDATES = 128, 16  # populations at which all draws are weighed; draws for each other
LEAST_EVEN = 0.8  # effective share of a population's candidates


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
    health : Health
        How well they were drawn, of shape (topics,).

    References
    ----------
    .. [1] E. Veach, L. Guibas, "Optimally combining sampling techniques for Monte Carlo
       rendering", SIGGRAPH 1995.
    .. [2] D. B. Rubin, "Using the SIR algorithm to simulate posterior distributions", Bayesian
       Statistics 3, 1988.
    """

    coefficients: Coefficients
    log_evidence: Floats
    values: Floats
    terms: Floats
    health: Health

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

        Draws of a topic given a population are its draws in proportion to their weights. Weights
        of all draws are worked out at a few reference populations only. Every population gets
        CANDIDATES draws in proportion to the weights of the reference nearest to it, and one of
        them in proportion to the ratio of its own weights to those (sampling importance
        resampling [2]_): between neighbours the ratio hardly varies, and the error falls as its
        variance over CANDIDATES. Populations for which it varies more than that, far from any
        reference, get weights of all draws of their own.
        """
        factors = _factors(points, self.coefficients)
        reference, nearest = _references(points, rng)
        of_reference, order = factors[:, reference], np.argsort(nearest, kind="stable")
        ends = np.cumsum(np.bincount(nearest, minlength=reference.size))[:-1]
        members = np.split(order, ends)
        change = (factors - of_reference[:, nearest]).T
        out = np.empty((*self.values.shape[:2], points.shape[0]))
        for topic, terms in enumerate(self.terms):
            cumulative = np.cumsum(_weights(of_reference.T @ terms.T), axis=1)
            candidates = np.empty((points.shape[0], CANDIDATES), dtype=np.intp)
            for mine, weights in zip(members, cumulative, strict=True):
                target = rng.random((mine.size, CANDIDATES)) * weights[-1]
                candidates[mine] = np.searchsorted(weights, target)
            picked, even = _pick_one(np.einsum("kms,ks->km", terms[candidates], change), rng)
            chosen = candidates[np.arange(picked.size), picked]
            far = np.flatnonzero(even < LEAST_EVEN)
            width = max(1, BLOCK // terms.shape[0])
            for part in np.split(far, np.arange(width, far.size, width)):
                chosen[part] = _pick_one(factors[:, part].T @ terms.T, rng)[0]
            out[:, topic] = self.values[:, topic, chosen]
        return out

    def efficiency(self, points: Floats) -> Floats:
        """Return each topic's effective share of its draws, the mean over some populations."""
        points = points[:: max(1, len(points) // MOST_POPULATIONS)]
        factors = _factors(points, self.coefficients)
        out = np.empty(len(self.terms))
        for topic, terms in enumerate(self.terms):
            log_ratio = terms @ factors
            ratio = np.exp(log_ratio - log_ratio.max(axis=0))
            out[topic] = (ratio.sum(axis=0) ** 2 / (ratio**2).sum(axis=0)).mean() / ratio.shape[0]
        return out


def _references(
    points: Floats, rng: np.random.Generator
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return positions of a few populations, and for each population which of them is nearest."""
    some = rng.permutation(points.shape[0])[:REFERENCES]
    scale = points.std(axis=0)
    standard = points / np.where(scale > 0.0, scale, 1.0)
    return some, np.asarray(KDTree(standard[some]).query(standard)[1])


def _weights(log_weight: Floats) -> Floats:
    """Return weights as shares of the largest of each row, in place of their logarithms."""
    log_weight -= log_weight.max(axis=1, keepdims=True)
    return np.exp(log_weight, out=log_weight)


def _pick_one(log_weight: Floats, rng: np.random.Generator) -> tuple[NDArray[np.intp], Floats]:
    """Return a position in each row, in proportion to its weights, and their effective share."""
    weight = _weights(log_weight)
    cumulative = np.cumsum(weight, axis=1)
    target = rng.random((weight.shape[0], 1)) * cumulative[:, -1:]
    effective = cumulative[:, -1] ** 2 / np.einsum("km,km->k", weight, weight)
    return (cumulative < target).sum(axis=1), effective / weight.shape[1]


def _sum_task(task: tuple[Floats, Floats]) -> Floats:
    """Return the sum over some topics of log Z, an average over the exponentials of products."""
    terms, factors = task
    total = np.zeros(factors.shape[1])
    width = max(1, BLOCK // terms.shape[1])
    for start in range(0, total.size, width):
        part = slice(start, start + width)
        for of_topic in terms:
            log_ratio = factors[:, part].T @ of_topic.T
            top = log_ratio.max(axis=1)
            log_ratio -= top[:, None]
            total[part] += np.log(np.exp(log_ratio, out=log_ratio).mean(axis=1)) + top
    return total


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

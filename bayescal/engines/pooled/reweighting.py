"""Topics drawn under a few populations, and their draws reweighted to others."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special

from bayescal.engines.pooled.drawing import Health
from bayescal.parallel import blocks_of, in_parallel
from bayescal.validation import Floats

# From points, (k, hyperparameters), to eta, (k, statistics), and A(eta), (k,).
Coefficients = Callable[[Floats], tuple[Floats, Floats]]

BLOCK = 1 << 16  # elements of draws x populations at once: what a core's own cache holds
TOPICS_A_SUM = 100  # weighed; two megabytes of statistics
MOST_POPULATIONS = 100  # that efficiencies are means over
NEIGHBOURS, CANDIDATES = (
    32,
    128,
)  # populations at most that share candidates; and how many these are
LEAST_EVEN = 0.5  # effective share of the candidates for a population


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

    def split(self) -> Iterator[TopicDraws]:
        """Yield the draws of each topic by itself."""
        for k in range(len(self.terms)):
            one = slice(k, k + 1)
            yield TopicDraws(
                self.coefficients,
                self.log_evidence[one],
                self.values[:, one],
                self.terms[one],
                self.health.of(one),
            )

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
        of all draws are worked out in the middle of each NEIGHBOURS populations only. CANDIDATES
        draws in proportion to these are weighed for each of the neighbours, in proportion to the
        ratio of its own weights to those in the middle (sampling importance resampling [2]_):
        between neighbours the ratio hardly varies, and the error falls as its variance over
        CANDIDATES. Populations for which it varies more than that, far from any other, get weights
        of all draws of their own.
        """
        factors = _factors(points, self.coefficients).T
        # In units of what they change in the draws' log weights.
        near = _neighbourhoods(factors * self.terms.std(axis=1).mean(axis=0))
        middle = factors[near].mean(axis=1)
        change = factors[near] - middle[:, None]
        out = np.empty((*self.values.shape[:2], points.shape[0]))
        for topic, terms in enumerate(self.terms):
            candidates = in_proportion(_weights(middle @ terms.T), CANDIDATES, rng)
            chosen, even = np.empty(points.shape[0], dtype=np.intp), np.empty(near.shape)
            for part in blocks_of(max(1, BLOCK // (near.shape[1] * CANDIDATES)), len(near)):
                log_ratio = change[part] @ terms[candidates[part]].transpose(0, 2, 1)
                picked, share = _pick_one(log_ratio.reshape(-1, CANDIDATES), rng)
                shape, even[part] = near[part].shape, share.reshape(near[part].shape)
                mine = np.take_along_axis(candidates[part], picked.reshape(shape), axis=1)
                chosen[near[part]] = mine
            far = np.unique(near[even < LEAST_EVEN])
            for part in blocks_of(max(1, BLOCK // terms.shape[0]), far.size):
                chosen[far[part]] = _pick_one(factors[far[part]] @ terms.T, rng)[0]
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


def _neighbourhoods(points: Floats) -> NDArray[np.intp]:
    """Return positions of points near to one another in rows, a few of them in two rows."""
    rows = np.arange(points.shape[0])[None]
    while rows.shape[1] > NEIGHBOURS:
        widest = points[rows].std(axis=1).argmax(axis=1)
        order = np.argsort(points[rows, widest[:, None]], axis=1, kind="stable")
        rows, half = np.take_along_axis(rows, order, axis=1), (rows.shape[1] + 1) // 2
        rows = np.concatenate([rows[:, :half], rows[:, -half:]])
    return rows


def in_proportion(weight: Floats, size: int, rng: np.random.Generator) -> NDArray[np.intp]:
    """Return so many positions in proportion to each row of weights, by systematic resampling."""
    cumulative = np.cumsum(weight, axis=1)
    cumulative *= size / cumulative[:, -1:]
    before = np.floor(cumulative + rng.random((weight.shape[0], 1))).astype(np.intp)
    before[:, -1] = size  # rounding apart
    times = np.diff(before, axis=1, prepend=0)
    positions = np.broadcast_to(np.arange(weight.shape[1]), weight.shape)
    return np.repeat(positions.ravel(), times.ravel()).reshape(-1, size)


def _weights(log_weight: Floats) -> Floats:
    """Return weights as shares of the largest of each row, in place of their logarithms."""
    log_weight -= log_weight.max(axis=1, keepdims=True)
    return np.exp(log_weight, out=log_weight)


def _pick_one(log_weight: Floats, rng: np.random.Generator) -> tuple[NDArray[np.intp], Floats]:
    """Return a position in each row, in proportion to its weights, and their effective share."""
    weight = _weights(log_weight)
    square, row = np.einsum("km,km->k", weight, weight), np.arange(weight.shape[0])
    # First a run of weights, then one within it: running sums of all would take twice the time.
    run = math.isqrt(weight.shape[1])
    starts = np.arange(0, weight.shape[1], run)
    before = np.cumsum(np.add.reduceat(weight, starts, axis=1), axis=1)
    total = before[:, -1]
    target = rng.random(row.size) * total
    which = np.minimum((before < target[:, None]).sum(axis=1), starts.size - 1)
    target -= np.where(which > 0, before[row, which - 1], 0.0)
    within = np.minimum(starts[which][:, None] + np.arange(run), weight.shape[1] - 1)
    reached = np.cumsum(weight[row[:, None], within], axis=1) < target[:, None]
    picked = within[row, np.minimum(reached.sum(axis=1), run - 1)]
    return picked, total**2 / square / weight.shape[1]


def _sum_task(task: tuple[Floats, Floats]) -> Floats:
    """
    Return the sum over some topics of log Z, an average over the exponentials of products.

    What draws have in common, and what populations have, is multiplied in double precision. How
    both differ is left to single precision, which takes half the time: the error in log Z is a
    millionth of how far a population is from the median one.
    """
    terms, factors = task
    middle, median = terms.mean(axis=1), np.median(factors, axis=1)
    total: Floats = (middle @ factors).sum(axis=0)
    around = terms - middle[:, None]
    around = np.concatenate([around, (around @ median)[..., None]], axis=-1).astype(np.float32)
    factors = np.vstack([factors - median[:, None], np.ones(total.size)]).astype(np.float32)
    width = max(1, BLOCK // terms.shape[1])
    share = np.full(terms.shape[1], 1.0 / terms.shape[1], dtype=np.float32)
    for part in blocks_of(width, total.size):
        some = np.ascontiguousarray(factors[:, part].T)
        log_ratio = np.empty((len(some), share.size), dtype=np.float32)
        for of_topic in around:
            np.matmul(some, of_topic.T, out=log_ratio)
            top = log_ratio.max(axis=1)
            log_ratio -= top[:, None]
            total[part] += np.log(np.exp(log_ratio, out=log_ratio) @ share) + top
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

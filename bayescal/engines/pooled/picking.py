"""Which of a topic's draws to take for each of thousands of populations.

Draws of a topic given a population are its draws in proportion to their weights, the exponentials
of a product of their terms with the population's factors. All draws are weighed in the middle of
each few populations only, neighbours. CANDIDATES draws in proportion to these weights are weighed
for each of the neighbours, in proportion to the ratio of its own weights to those in the middle
(sampling importance resampling [1]_): between neighbours the ratio hardly varies, and the error
falls as its variance over CANDIDATES. Populations for which it varies more than that, far from any
other, get weights of all draws of their own.

.. [1] D. B. Rubin, "Using the SIR algorithm to simulate posterior distributions", Bayesian
   Statistics 3, 1988.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from bayescal.parallel import blocks_of
from bayescal.validation import Floats

# Populations at most that share candidates; and how many these are.
NEIGHBOURS, CANDIDATES = 32, 64
LEAST_EVEN = 0.5  # effective share of the candidates for a population
BLOCK = 1 << 16  # elements of draws x populations at once: what a core's own cache holds


def pick_positions(
    terms: Floats,
    factors: Floats,
    near: NDArray[np.intp],
    rng: np.random.Generator,
) -> NDArray[np.intp]:
    """
    Return the position of one draw of a topic for each population.

    Parameters
    ----------
    terms : array of shape (draws, terms)
        Of a topic's draws.
    factors : array of shape (populations, terms)
        Log weights are terms times factors, up to a constant of each population.
    near : integer array of shape (neighbourhoods, neighbours)
        All populations' positions, neighbours in rows.
    rng : numpy.random.Generator
        Source of randomness.
    """
    picked = np.empty(len(factors), dtype=np.intp)
    picked[near], even = _pick_near(terms, factors[near], rng)
    far = np.unique(near[even < LEAST_EVEN])
    for part in blocks_of(max(1, BLOCK // len(terms)), far.size):
        picked[far[part]] = _pick_far(terms, factors[far[part]], rng)
    return picked


def neighbourhoods(points: Floats) -> NDArray[np.intp]:
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
    rows, width = weight.shape
    # One ascending array of all rows, a unit a row, is searched at once.
    row = np.arange(rows)[:, None]
    cumulative = np.cumsum(weight, axis=1)
    cumulative /= cumulative[:, -1:]
    cumulative += row
    targets = row + (np.arange(size) + rng.random((rows, 1))) / size
    found = np.searchsorted(cumulative.ravel(), targets.ravel(), side="right").reshape(-1, size)
    # Rounding may carry the last target of a row into the next.
    positions: NDArray[np.intp] = np.minimum(found - width * row, width - 1)
    return positions


def _pick_near(
    terms: Floats, factors: Floats, rng: np.random.Generator
) -> tuple[NDArray[np.intp], Floats]:
    """
    Return a draw's position for each population, and how even the candidates' weights are.

    Both are of shape (neighbourhoods, neighbours), and `factors` has these dimensions first.
    """
    middle = factors.mean(axis=1)
    candidates = in_proportion(_weights(terms, middle), CANDIDATES, rng)
    # Log ratios are small: what populations and draws have in common is subtracted, and single
    # precision is enough.
    change = np.swapaxes(factors - middle[:, None], 1, 2).astype(np.float32)
    around = (terms - terms.mean(axis=0)).astype(np.float32)[candidates]
    # Candidates first, whose sums then run over all neighbours at once.
    ratio = np.ascontiguousarray(np.swapaxes(around @ change, 0, 1))
    ratio -= ratio.max(axis=0)
    np.exp(ratio, out=ratio)
    total = ratio.sum(axis=0)
    even = total**2 / (len(ratio) * np.einsum("ijk,ijk->jk", ratio, ratio))
    target = total * rng.random(total.shape, dtype=np.float32)
    which, below = np.zeros(total.shape, dtype=np.uint8), np.zeros_like(total)
    for of_candidate in ratio[:-1]:
        below += of_candidate
        which += below < target
    return np.take_along_axis(candidates, which.astype(np.intp), axis=1), even


def _pick_far(terms: Floats, factors: Floats, rng: np.random.Generator) -> NDArray[np.intp]:
    """Return a draw's position for each population by weights of all draws."""
    weight, row = _weights(terms, factors), np.arange(len(factors))
    # First a run of weights, then one within it: running sums of all would take twice the time.
    run = math.isqrt(weight.shape[1])
    starts = np.arange(0, weight.shape[1], run)
    before = np.cumsum(np.add.reduceat(weight, starts, axis=1), axis=1)
    target = rng.random(row.size) * before[:, -1]
    which = np.minimum((before < target[:, None]).sum(axis=1), starts.size - 1)
    target -= np.where(which > 0, before[row, which - 1], 0.0)
    within = np.minimum(starts[which][:, None] + np.arange(run), weight.shape[1] - 1)
    reached = np.cumsum(weight[row[:, None], within], axis=1) < target[:, None]
    picked: NDArray[np.intp] = within[row, np.minimum(reached.sum(axis=1), run - 1)]
    return picked


def _weights(terms: Floats, factors: Floats) -> Floats:
    """Return the weight of each draw for each population, as shares of the largest in its row."""
    log_weight = factors @ terms.T
    log_weight -= log_weight.max(axis=1, keepdims=True)
    return np.exp(log_weight, out=log_weight)

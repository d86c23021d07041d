r"""Many scores as few nodes: two-point Gauss rules in bins, with a bound on the error.

A class enters the log likelihood as a sum over its scores of softplus(f(x)) = log(1 + exp f(x)),
f changed in sign for positives. In a bin inside one segment, where f has slope b, that is a smooth
function of x. Two nodes with the bin's weight, mean, variance and third moment integrate cubics
exactly, and leave at most

    b^4 max |softplus''''| sum w ((x - x_1)(x - x_2))^2 / 24,
    |softplus''''(f)| <= min(1/8, exp(-|f|)).

Nodes lie among the scores of their class: however steep f, what separates the scores separates
the nodes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bayescal.engines.monotone.basis import Pieces
from bayescal.validation import Floats

LARGEST_FOURTH_DERIVATIVE = 0.125
# In nats: a hundredth of what separates two models at the edge of notice.
TOLERANCE = 0.01
MOST_ROUNDS = 60
MOST_BINS = 4096
FEW_SCORES = 64
FIRST_BINS = 8


@dataclass(frozen=True)
class Nodes:
    """
    Weighted nodes that stand for the scores of a class, and the bins that they came from.

    Attributes
    ----------
    x, weight : array of shape (m,)
        Nodes and the weight of the documents that each stands for.
    low, high : array of shape (bins,)
        The first and the last score of each bin.
    segment : array of shape (bins,) of int
        The piece that each bin lies in.
    total : array of shape (bins,)
        The weight in each bin.
    middle : array of shape (bins,)
        Where the mean lies between low (0) and high (1).
    moment : array of shape (bins,)
        sum w ((x - x_1)(x - x_2))^2 / 24 over the bin's scores; 0 where the nodes are exact.
    """

    x: Floats
    weight: Floats
    low: Floats
    high: Floats
    segment: NDArray[np.intp]
    total: Floats
    middle: Floats
    moment: Floats

    def errors(self, pieces: Pieces, intercept: Floats, slopes: Floats) -> Floats:
        """Return bounds on each bin's error of the log likelihood; shape (curves, bins)."""
        low, high = (intercept[:, None] + slopes @ pieces.basis(x).T for x in (self.low, self.high))
        nearest = np.where(low * high > 0.0, np.minimum(np.abs(low), np.abs(high)), 0.0)
        fourth = np.minimum(LARGEST_FOURTH_DERIVATIVE, np.exp(-nearest))
        # Steep curves: both sums lie between the chord and the value at the mean (Jensen).
        middle = low + (high - low) * self.middle
        at_low = np.logaddexp(0.0, low)
        chord = at_low + (np.logaddexp(0.0, high) - at_low) * self.middle
        jensen = self.total * (chord - np.logaddexp(0.0, middle))
        bounds: Floats = np.minimum(slopes[:, self.segment] ** 4 * fourth * self.moment, jensen)
        return bounds


class ScoreSums:
    """
    Scores of one class, ascending, ties merged, to be compressed as finely as curves ask for.

    Parameters
    ----------
    x, weight : array of shape (n,)
        Scores and their positive weights.
    """

    def __init__(self, x: Floats, weight: Floats) -> None:
        order = np.argsort(x, kind="stable")
        ascending = x[order]
        first = np.flatnonzero(np.diff(ascending, prepend=-np.inf))
        self.x = ascending[first]
        self.weight = np.add.reduceat(weight[order], first)

    def compress(self, pieces: Pieces, intercept: Floats, slopes: Floats) -> Nodes:
        """
        Return nodes that are within TOLERANCE of the log likelihood of each of some curves.

        Bins that no knot crosses are halved until then, or until there are MOST_BINS.

        Parameters
        ----------
        pieces : Pieces
            Knots and reference of the curves.
        intercept, slopes : array of shape (curves,), (curves, J)
            The curves.
        """
        if self.x.size <= FEW_SCORES:
            start = np.arange(self.x.size)
            return _two_point_rules(self.x, self.weight, start, pieces)
        quantiles = np.linspace(0, self.x.size - 1, FIRST_BINS).astype(np.intp)
        start = np.unique(np.r_[quantiles, np.searchsorted(self.x, pieces.knots)])
        start = start[start < self.x.size]
        for _ in range(MOST_ROUNDS):
            nodes = _two_point_rules(self.x, self.weight, start, pieces)
            errors = nodes.errors(pieces, intercept, slopes)
            if errors.sum(axis=1).max() <= TOLERANCE or start.size >= MOST_BINS:
                break
            # Equidistribution: halve every bin that takes more than its share.
            coarse = errors.max(axis=0) > 0.5 * TOLERANCE / start.size
            start = _halve(self.x, start, coarse)
        return nodes


def _halve(x: Floats, start: NDArray[np.intp], coarse: NDArray[np.bool_]) -> NDArray[np.intp]:
    last = np.append(start[1:], x.size) - 1
    middle = 0.5 * (x[start[coarse]] + x[last[coarse]])
    return np.unique(np.r_[start, np.searchsorted(x, middle, side="right")])


def _two_point_rules(x: Floats, weight: Floats, start: NDArray[np.intp], pieces: Pieces) -> Nodes:
    size = np.diff(start, append=x.size)
    total = np.add.reduceat(weight, start)
    # Of many scores each new array costs more than its arithmetic: these are written over.
    # Deviations from the bin's first score: one score is met exactly, and far bins do not cancel.
    deviation = x - np.repeat(x[start], size)
    power = weight * deviation
    shift = np.add.reduceat(power, start) / total
    deviation -= np.repeat(shift, size)
    np.square(deviation, out=power)
    power *= weight
    sd = np.sqrt(np.add.reduceat(power, start) / total)
    power *= deviation
    third = np.add.reduceat(power, start) / total
    skew = 0.5 * np.divide(third, sd**3, out=np.zeros_like(sd), where=sd > 0.0)
    half = np.sqrt(1.0 + skew**2)
    low, high = sd * (skew - half), sd * (skew + half)
    product = np.subtract(deviation, np.repeat(low, size), out=power)
    deviation -= np.repeat(high, size)
    product *= deviation
    product *= product
    product *= weight
    upper = np.where(sd > 0.0, total * 0.5 * (1.0 - skew / half), 0.0)
    last = np.append(x[start[1:] - 1], x[-1:])
    width = last - x[start]
    node = (x[start] + shift) + np.stack([low, high])
    node_weight = np.stack([total - upper, upper])
    kept = node_weight > 0.0
    return Nodes(
        x=node[kept],
        weight=node_weight[kept],
        low=x[start],
        high=last,
        segment=np.searchsorted(pieces.knots, x[start], side="right"),
        total=total,
        middle=np.divide(shift, width, out=np.zeros_like(width), where=width > 0.0),
        moment=np.add.reduceat(product, start) / 24.0,
    )

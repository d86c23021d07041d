"""Draws in some 10 bits each: places between order statistics of all (scalar quantisation).

Draws estimate a posterior, and with 4,000 of them not even its mean is known to a sixtieth of its
standard deviation. Digits far beyond that are noise that takes most of the memory. So the sorted
draws of a variable are cut at 22 order statistics, whose ranks halve towards both ends: the median,
then quartiles, octiles, and so on to 1/1024. Between two neighbouring ones there are 160 places,
evenly apart, and each draw is moved to the nearest, by at most 1/320 of that distance: in the
middle of a Gaussian by 0.0021 of its standard deviation, and in tails of any length in proportion.
The order statistics stay where they are, and so does the order of all: no draw leaves the range of
the others, and none changes its sign unless they have both.

Draws that have been moved stay where they are if they are moved again. So whoever keeps order
statistics and places keeps the draws to the last bit. Which segment a draw is in is 3 bits of
information, for half of all are in the middle two, and where in it log2(160) = 7.3.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from bayescal.validation import Floats, Integers

HALVINGS = 10
PLACES = 160


@dataclass(frozen=True)
class Quantised:
    """
    Draws of one variable by their places.

    Attributes
    ----------
    knots : array of shape (knots,)
        Order statistics, from the smallest to the largest draw.
    segment : array of shape (draws,)
        The last knot that is not above each draw.
    above : array of shape (draws,)
        How many places the draw is above that knot.
    """

    knots: Floats
    segment: NDArray[np.uint8]
    above: NDArray[np.uint8]

    @property
    def values(self) -> Floats:
        """Return the draws, shape (draws,)."""
        step = np.diff(self.knots, append=self.knots[-1:]) / PLACES
        out: Floats = step.take(self.segment)
        out *= self.above
        out += self.knots.take(self.segment)
        return out


def quantise(draws: Floats) -> Quantised:
    """
    Return the places nearest to draws.

    Parameters
    ----------
    draws : array of shape (draws,)
        Finite.

    Examples
    --------
    >>> draws = np.random.default_rng(0).normal(size=4000)
    >>> kept = quantise(draws).values
    >>> bool(np.abs(kept - draws).max() < 0.003)
    True
    >>> bool((quantise(kept).values == kept).all())
    True
    """
    rank = _ranks(draws.size)
    # To sort draws takes half of parting them at these ranks: numpy sorts many at an instruction.
    knots = np.sort(draws).take(rank)
    width = np.diff(knots, append=knots[-1:])
    width[width == 0.0] = 1.0  # nothing lies between knots that are the same
    segment = knots.searchsorted(draws, side="right")
    segment -= 1
    above = draws - knots.take(segment)
    above /= width.take(segment)
    above *= PLACES
    np.rint(above, out=above)
    next_knot = above == PLACES
    above[next_knot] = 0.0
    segment += next_knot
    return Quantised(knots, segment.astype(np.uint8), above.astype(np.uint8))


@cache
def _ranks(size: int) -> Integers:
    """Return the ranks of knots among so many draws."""
    below = [0, *(size >> k for k in range(HALVINGS, 0, -1))]
    return np.unique([*below, *(size - 1 - each for each in below)])

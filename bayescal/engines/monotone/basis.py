r"""Monotone piecewise-linear log-odds as a sum of non-negative slopes times pieces of the score.

    f(x) = a + sum_j b_j h_j(x),    h_j(x) = clip(x, k_j, k_j+1) - clip(r, k_j, k_j+1),

with k_0 = -infinity and k_J = infinity, so that b_j is the slope between two knots and f(r) = a at
the reference r.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from bayescal.validation import Floats


@dataclass(frozen=True)
class Pieces:
    """
    Where the slopes change, and where the intercept holds.

    Attributes
    ----------
    knots : array of shape (J - 1,)
        Strictly ascending; none for one slope.
    reference : float
        The score whose log-odds is the intercept.
    """

    knots: Floats
    reference: float

    def __post_init__(self) -> None:
        if not np.isfinite(self.knots).all():
            raise ValueError(f"knots must be finite, got {self.knots}.")
        if np.any(np.diff(self.knots) <= 0.0):
            raise ValueError(f"knots must be strictly ascending, got {self.knots}.")
        if not np.isfinite(self.reference):
            raise ValueError(f"reference must be finite, got {self.reference}.")

    @property
    def segments(self) -> int:
        """Return J, the number of slopes."""
        return self.knots.size + 1

    @property
    def reference_segment(self) -> int:
        """Return the segment that holds the reference; a knot belongs to the one on its right."""
        return int(np.searchsorted(self.knots, self.reference, side="right"))

    def basis(self, x: Floats) -> Floats:
        """Return h_j(x), of shape (len(x), J)."""
        low, high, at_reference = self._bounds
        return np.minimum(np.maximum(x[:, None], low), high) - at_reference

    @cached_property
    def _bounds(self) -> tuple[Floats, Floats, Floats]:
        low, high = np.r_[-np.inf, self.knots], np.r_[self.knots, np.inf]
        return low, high, np.clip(self.reference, low, high)


def place_pieces(x: Floats, positive: np.ndarray, weight: Floats | None, n_segments: int) -> Pieces:
    """
    Return knots and reference at quantiles of the two classes, each class weighing one half.

    The reference is the balanced median; knots are distinct scores inside the range, at levels
    1/J, ..., (J - 1)/J: with few distinct scores there are fewer.

    Parameters
    ----------
    x : array of shape (n,)
        Scores.
    positive : array of shape (n,) of bool
        Their labels; a class may be empty.
    weight : array of shape (n,) or None
        Their weights.
    n_segments : int
        J, at most.

    Raises
    ------
    ValueError
        If `n_segments` is below 1.
    """
    if n_segments < 1:
        raise ValueError(f"n_segments must be at least 1, got {n_segments}.")
    weights = np.ones(x.size) if weight is None else weight
    totals = [weights[positive == k].sum() for k in (False, True)]
    share = np.where(positive, *(1.0 / t if t > 0.0 else 0.0 for t in totals[::-1])) * weights
    used = np.flatnonzero(share > 0.0)
    order = used[np.argsort(x[used], kind="stable")]
    ascending, level = x[order], np.cumsum(share[order])
    # A running sum of n terms may miss a level that it should meet exactly.
    level = level / level[-1] + x.size * np.finfo(np.float64).eps
    wanted = np.arange(1, n_segments) / n_segments
    knots = np.unique(ascending[np.searchsorted(level, wanted)])
    knots = knots[(knots > ascending[0]) & (knots < ascending[-1])]
    return Pieces(knots, float(ascending[np.searchsorted(level, 0.5)]))

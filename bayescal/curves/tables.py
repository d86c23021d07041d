"""Tables of curves over a range of scores: made once, read for every batch of scores."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np

from bayescal.curves import interpolation
from bayescal.curves.curves import Curves, quantiles_of_log_odds
from bayescal.curves.quantiles import tabulate
from bayescal.small_arrays import small_arrays
from bayescal.validation import Floats

# So few scores are evaluated one by one. A table of a smooth curve costs as much as some hundred of
# them, one of quantiles, which turn wherever two draws change places, thousands.
DIRECT, DIRECT_QUANTILES = 32, 2048
MOST = 32  # tables that are kept
# A grid costs as much as to search for so many scores. It covers so many spreads on both sides of
# the centre, finely enough for quantiles.
GRIDDED, REACH = 1 << 15, 8.0


class Tables:
    """
    Tables of one calibration's curves.

    A range ends a power of two of spreads from the centre: batches of scores that reach about as
    far share a table, and the same batch has the same answer, whatever was asked before.

    Parameters
    ----------
    centre, spread : float
        Robust centre and spread of the scores fitted: where the curves bend.
    """

    def __init__(self, centre: float, spread: float) -> None:
        self._centre, self._spread = centre, spread
        self._made: dict[Hashable, _Table] = {}

    def curve(
        self, name: Hashable, curve: interpolation.Curve, scores: Floats, direct: int = DIRECT
    ) -> Floats:
        """
        Return a smooth curve's log-odds at scores, by a table if there are more than a few of them.

        Parameters
        ----------
        name : hashable
            Of the curve: it must not mean another one later.
        curve : callable
            scores of shape (n,) -> log-odds of shape (..., n).
        scores : array of shape (n,)
            Raw scores.
        direct : int
            Up to so many are evaluated one by one.

        Returns
        -------
        array of shape (..., n)
            Within 1e-4 of the curve in probability, and within 1e-3 of 1 + |log-odds| up to 40.
        """
        if scores.size <= direct:
            return curve(scores)
        return self._read(name, partial(interpolation.refine, curve), scores)

    def quantiles(self, draws: Curves, levels: Floats, scores: Floats) -> Floats:
        """
        Return pointwise quantiles over draws of the log-odds, by a table if there are many scores.

        Parameters
        ----------
        draws : Curves
            Posterior draws, the same at every call.
        levels : array of shape (l,)
            Of the quantiles.
        scores : array of shape (n,)
            Raw scores.

        Returns
        -------
        array of shape (l, n)
            Those of np.quantile up to 2,048 scores, for more within 1e-4 of them in probability.
        """
        if scores.size <= DIRECT_QUANTILES or draws.size == 1:
            return quantiles_of_log_odds(draws, scores, levels)
        return self._read(tuple(levels), partial(tabulate, draws, levels=levels), scores)

    @small_arrays()
    def _read(
        self, name: Hashable, make: Callable[[Floats], tuple[Floats, Floats]], scores: Floats
    ) -> Floats:
        below = _exponent((self._centre - float(scores.min())) / self._spread)
        above = _exponent((float(scores.max()) - self._centre) / self._spread)
        key = (name, below, above)
        # Looked up once: other threads may clear the tables, or make the same one.
        table = self._made.get(key)
        if table is None:
            if len(self._made) >= MOST:
                self._made.clear()
            low = self._centre - self._spread * 2.0**below
            high = self._centre + self._spread * 2.0**above
            first = interpolation.first_nodes(low, high, self._centre, self._spread)
            reach = REACH * self._spread
            ends = max(low, self._centre - reach), min(high, self._centre + reach)
            table = self._made[key] = _Table(*make(first), ends)
        return table.read(scores)


@dataclass(frozen=True)
class _Table:
    """Nodes and values, and where a grid for many scores begins and ends."""

    node: Floats
    values: Floats
    ends: tuple[float, float]

    def read(self, scores: Floats) -> Floats:
        """Return the values at scores, shape (..., n)."""
        if scores.size < GRIDDED:
            return interpolation.read(self.node, self.values, scores)
        return self._grid(scores)

    @cached_property
    def _grid(self) -> interpolation.Grid:
        return interpolation.Grid(self.node, self.values, *self.ends)


def _exponent(distance: float) -> int:
    """Return the least k >= 0 with distance < 2^k."""
    return int(np.frexp(max(distance, 0.5))[1])

"""Draws from densities whose logarithm is linear between nodes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bayescal.validation import Floats


class LogLinear:
    """
    Densities whose logarithm is linear between nodes.

    Parameters
    ----------
    node : array of shape (k,)
        Ascending, the same for all densities.
    log_density : array of shape (m, k)
        Log density of each at the nodes, up to a constant of its own.
    """

    def __init__(self, node: Floats, log_density: Floats) -> None:
        self._node, self._log_density = node, log_density
        self._rise = np.diff(log_density, axis=1)
        # Between scores that are neighbouring doubles a cell's middle is one of its ends: no mass.
        with np.errstate(divide="ignore"):
            log_length = np.log(np.diff(node))
        log_mass = log_density[:, :-1] + log_length + log_mean_exponential(self._rise)
        top = log_mass.max(axis=1, keepdims=True)
        self._cumulative = np.cumsum(np.exp(log_mass - top), axis=1)
        self._log_total = np.log(self._cumulative[:, -1]) + top[:, 0]

    def draw(self, rng: np.random.Generator, row: NDArray[np.intp]) -> tuple[Floats, Floats]:
        """Return a draw from the density of each row, and its normalised log density there."""
        target = rng.random(row.size) * self._cumulative[row, -1]
        if self._cumulative.shape[0] == 1:
            piece = np.searchsorted(self._cumulative[0], target, side="right")
        else:
            piece = (self._cumulative[row] <= target[:, None]).sum(axis=1)
        piece = np.minimum(piece, self._rise.shape[1] - 1)
        rise = self._rise[row, piece]
        share = _inverse(rng.random(row.size), rise)
        start, end = self._node[piece], self._node[piece + 1]
        log_density = self._log_density[row, piece] + share * rise - self._log_total[row]
        return start + share * (end - start), log_density


def log_mean_exponential(rise: Floats) -> Floats:
    """Return log of the mean of exp(rise t) over t in [0, 1]: log((e^rise - 1)/rise)."""
    small = np.abs(rise) < 1e-6
    steep = np.where(small, 1.0, np.abs(rise))
    # For large rises expm1 overflows: (e^r - 1)/r = e^max(r, 0) (1 - e^-|r|)/|r|.
    log = np.maximum(rise, 0.0) + np.log(-np.expm1(-steep) / steep)
    return np.where(small, 0.5 * rise, log)


def _inverse(u: Floats, rise: Floats) -> Floats:
    small = np.abs(rise) < 1e-6
    steep = np.where(small, 1.0, np.abs(rise))
    # From the higher end, so that nothing overflows; then turned around.
    from_high = -np.log1p(u * np.expm1(-steep)) / steep
    share = np.where(rise > 0.0, 1.0 - from_high, from_high)
    return np.clip(np.where(small, u, share), 0.0, 1.0)

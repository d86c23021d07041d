"""Akima's interpolation: cubics between nodes, whose slopes depend on the nearest five nodes only.

As scipy.interpolate.Akima1DInterpolator does it, whose import takes longer than a fit.

H. Akima, *A new method of interpolation and smooth curve fitting based on local procedures*,
Journal of the ACM 1970.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bayescal.validation import Floats

STRAIGHT = 1e-9  # of the largest change of slope: chords that differ by less are one line


def akima(node: Floats, values: Floats, at: Floats, interval: NDArray[np.intp]) -> Floats:
    """
    Return Akima's cubics at some points; shape (..., m).

    Parameters
    ----------
    node : array of shape (n,)
        Increasing, at least three.
    values : array of shape (..., n)
        Of each curve at the nodes.
    at : array of shape (m,)
        The points.
    interval : array of shape (m,)
        Which node each point follows.
    """
    width = np.diff(node)
    chord = np.diff(values) / width
    slope = _slopes(chord)
    bend = (slope[..., :-1] + slope[..., 1:] - 2.0 * chord) / width
    coefficients = (
        values[..., :-1],
        slope[..., :-1],
        (chord - slope[..., :-1]) / width - bend,
        bend / width,
    )
    beyond, power = at - node[interval], np.ones(at.size)
    total: Floats = np.zeros((*values.shape[:-1], at.size))
    for coefficient in coefficients:
        total += coefficient[..., interval] * power
        power *= beyond
    return total


def _slopes(chord: Floats) -> Floats:
    """Return the slopes at the nodes: means of chords, which the straighter side weighs more in."""
    left, right = _continued(chord), _continued(chord[..., ::-1])
    chord = np.concatenate([left[..., ::-1], chord, right], axis=-1)
    before, after = chord[..., 1:-2], chord[..., 2:-1]
    change = np.abs(np.diff(chord))
    both = change[..., :-2] + change[..., 2:]
    bent = both > STRAIGHT * both.max()
    share = np.divide(change[..., :-2], both, out=np.zeros_like(both), where=bent)
    even = 0.5 * (chord[..., :-3] + chord[..., 3:])
    return np.where(bent, before + share * (after - before), even)


def _continued(chord: Floats) -> Floats:
    """Return two chords before the first, whose slopes go on changing as they do there."""
    nearer = 2.0 * chord[..., :1] - chord[..., 1:2]
    return np.concatenate([nearer, 2.0 * nearer - chord[..., :1]], axis=-1)

"""Independent draws from log-linear pieces, made exact by rejection."""

from __future__ import annotations

import numpy as np

from bayescal.validation import Floats


def piecewise(
    rng: np.random.Generator, edge: Floats, log_edge: Floats, size: int
) -> tuple[Floats, Floats]:
    """
    Draw from the density whose logarithm is linear between nodes.

    Parameters
    ----------
    rng : numpy.random.Generator
        Source of randomness.
    edge : array of shape (k,) or (size, k)
        Nodes, ascending; one set for all draws or one for each.
    log_edge : array of the same shape
        Log density at the nodes, up to a constant.
    size : int
        Number of draws.

    Returns
    -------
    draws, log_density : array of shape (size,)
        The draws and the normalised log density of the proposal at each.
    """
    rise = np.diff(log_edge, axis=-1)
    length = np.diff(edge, axis=-1)
    log_mass = log_edge[..., :-1] + np.log(length) + log_mean_exponential(rise)
    top = log_mass.max(axis=-1, keepdims=True)
    cumulative = np.cumsum(np.exp(log_mass - top), axis=-1)
    total = cumulative[..., -1:]
    target = rng.random(size)
    if edge.ndim == 1:
        piece = np.searchsorted(cumulative, target * total[0], side="right")
        piece = np.minimum(piece, rise.size - 1)
        picked = [edge[piece], length[piece], log_edge[piece], rise[piece]]
        log_total = np.log(total[0]) + top[0]
    else:
        piece = (cumulative <= target[:, None] * total).sum(axis=-1)
        piece = np.minimum(piece, rise.shape[-1] - 1)[:, None]
        sources = (edge, length, log_edge, rise)
        picked = [np.take_along_axis(s, piece, axis=-1)[:, 0] for s in sources]
        log_total = (np.log(total) + top)[:, 0]
    start, step, log_start, climb = picked
    share = _inverse(rng.random(size), climb)
    return start + share * step, log_start + share * climb - log_total


def log_mean_exponential(rise: Floats) -> Floats:
    """Return log of the mean of exp(rise t) over t in [0, 1]: log((e^rise - 1)/rise)."""
    small = np.abs(rise) < 1e-6
    safe = np.where(small, 1.0, rise)
    # For large rises expm1 overflows: e^r - 1 = e^max(r, 0) (1 - e^-|r|).
    log = np.maximum(safe, 0.0) + np.log(-np.expm1(-np.abs(safe))) - np.log(np.abs(safe))
    return np.where(small, 0.5 * rise, log)


def _inverse(u: Floats, rise: Floats) -> Floats:
    small = np.abs(rise) < 1e-6
    safe = np.where(small, 1.0, rise)
    # From the higher end, so that nothing overflows; then turned around.
    steep = np.abs(safe)
    from_high = -np.log1p(u * np.expm1(-steep)) / steep
    share = np.where(safe > 0.0, 1.0 - from_high, from_high)
    return np.clip(np.where(small, u, share), 0.0, 1.0)

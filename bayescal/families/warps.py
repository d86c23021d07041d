r"""Warps of scores: x = m + c asinh((s - m)/c), which shortens heavy tails.

Monotone transformations leave P(+|s) unchanged, so densities may be fitted to warped scores; the
Jacobian dx/ds = (1 + ((s - m)/c)^2)^(-1/2) makes their evidences comparable. Near the centre m
warped scores equal raw ones; c = inf is no warp.
"""

import math

import numpy as np

from bayescal.support.validation import Floats

IDENTITY = math.inf


def warp(scores: Floats, centre: float, asinh_scale: float) -> Floats:
    """
    Return warped scores, in score units near the centre.

    Examples
    --------
    >>> warp(np.array([-1.0, 0.0, 100.0]), 0.0, 1.0).round(2)
    array([-0.88,  0.  ,  5.3 ])
    """
    if math.isinf(asinh_scale):
        return scores
    out: Floats = centre + asinh_scale * np.arcsinh((scores - centre) / asinh_scale)
    return out


def unwarp(warped: Floats, centre: float, asinh_scale: float) -> Floats:
    """Return raw scores of warped ones, the inverse of `warp`."""
    if math.isinf(asinh_scale):
        return warped
    out: Floats = centre + asinh_scale * np.sinh((warped - centre) / asinh_scale)
    return out


def standardise(scores: Floats, centre: float, spread: float, asinh_scale: float) -> Floats:
    """Return (x - m)/S of warped scores x."""
    return (warp(scores, centre, asinh_scale) - centre) / spread


def warped_spread(centre: float, spread: float, asinh_scale: float) -> float:
    """Return the warped distance from the centre of a score one spread above it."""
    return float(warp(np.asarray(centre + spread), centre, asinh_scale)) - centre


def log_jacobian(scores: Floats, centre: float, asinh_scale: float) -> Floats:
    """Return the natural log of dx/ds of `warp` at raw scores."""
    if math.isinf(asinh_scale):
        return np.zeros_like(scores)
    # hypot does not overflow where the square would.
    return 0.0 - np.log(np.hypot(1.0, (scores - centre) / asinh_scale))

"""A line whose unit changes, smoothly: what transforms of walls and tails have in common."""

from typing import Any, NamedTuple

import numpy as np
import pytensor.tensor as pt

NEWTON_STEPS = 16  # to twelve digits, with units up to e^30 apart


class Units(NamedTuple):
    """The unit of a line's middle, and how much more it is far above and far below."""

    middle: Any
    above: Any
    below: Any
    start: Any = 0.0  # where the line bends, on either side of 0


def bend(value: Any, units: Units) -> Any:
    """Return u y + u_+ log(1 + e^(y - k)) - u_- log(1 + e^(-y - k))."""
    middle, above, below, start = units
    tails = above * pt.softplus(value - start) - below * pt.softplus(-value - start)
    return middle * value + tails


def slope(value: Any, units: Units) -> Any:
    """Return the derivative of bend in its first argument: the unit there."""
    middle, above, below, start = units
    return middle + above * pt.sigmoid(value - start) + below * pt.sigmoid(-value - start)


def unbend(bent: Any, units: Units) -> Any:
    """Return the inverse of bend, by Newton's method."""
    mirrored = pt.switch(pt.gt(units.above, units.below), -1.0, 1.0)
    bent, below = mirrored * bent, pt.maximum(units.above, units.below)
    units = Units(units.middle, pt.minimum(units.above, units.below), below, units.start)
    # Where the larger unit ends: there below e^(-y - k) is about as much as the middle and |bent|.
    corner = pt.log(below) - units.start - pt.log(units.middle + pt.abs(bent))
    beyond = pt.maximum(bent / (units.middle + units.above), corner)
    value = pt.switch(bent < -below, bent / (units.middle + below), beyond)
    for _ in range(NEWTON_STEPS):
        step = (bend(value, units) - bent) / slope(value, units)
        # The clipping only hides a step from PyTensor, which otherwise expands the steps along a
        # straight line, value - (value - bent / unit), into a sum of 2^16 terms in ten seconds.
        value = value - pt.clip(step, -np.inf, np.inf)
    return mirrored * value

"""A linear transform that lets samplers see parameters in units of their prior."""

from typing import Any

import pytensor.tensor as pt
from pymc.logprob.transforms import Transform


class Standardised(Transform):
    """
    Sample (value - location) / scale instead of the value.

    NUTS starts with unit steps and find_MAP with unit tolerances: scores around 1e15, or spread
    by 1e-15, would stop both. The map is linear, so the posterior mode stays where it is.

    Parameters
    ----------
    location, scale : float
        In units of the value; scale positive.

    Examples
    --------
    >>> Standardised(10.0, 2.0).forward(14.0).eval().item()
    2.0
    """

    name = "standardised"

    def __init__(self, location: float, scale: float) -> None:
        self.location = location
        self.scale = scale

    def forward(self, value: Any, *inputs: Any) -> Any:
        """Return the standardised value."""
        return (pt.as_tensor(value) - self.location) / self.scale

    def backward(self, value: Any, *inputs: Any) -> Any:
        """Return the value in its own units."""
        return pt.as_tensor(value) * self.scale + self.location

    def log_jac_det(self, value: Any, *inputs: Any) -> Any:
        """Return the log of the scale, one for each element."""
        return pt.full_like(pt.as_tensor(value), pt.log(self.scale))

"""A transform that lets samplers see members of a population relative to it, or as they are."""

from typing import Any

import numpy as np
import pytensor.tensor as pt
from pymc.logprob.transforms import Transform


class Relative(Transform):
    r"""
    Sample a member of a population by its distance from the population, where data are few.

    Of a value y on the line, with the population's location and scale there, a sampler sees

    .. math::

        z = c \cdot \text{location} + \frac{y - \text{location}}{\text{scale}^{1 - c}}

    With c = 0, the non-centred form, z and scale are independent a priori; with c = 1, the
    centred one, z is y, which many data determine whatever the population.

    Positive values and shares are first put on the line by PyMC's own transforms, which these
    follow: pass it as ``transform=``.

    Parameters
    ----------
    frame : callable
        From the two parameters of the population's distribution to its location and scale on the
        line: one of `of_normal`, `of_beta`, `of_inverse_gamma`.
    centring : array_like of float
        c, between 0 and 1, for each member.

    References
    ----------
    O. Papaspiliopoulos, G. Roberts, M. Skold, "A General Framework for the Parametrization
    of Hierarchical Models", Statistical Science 22 (2007).

    M. Gorinova, D. Moore, M. Hoffman, "Automatic Reparameterisation of Probabilistic
    Programs", ICML 2020.

    Examples
    --------
    >>> import pymc as pm
    >>> members = pm.Normal.dist(10.0, 2.0)
    >>> Relative(of_normal, 0.0).forward(14.0, *members.owner.inputs).eval().item()
    2.0
    """

    name = "relative"

    def __init__(self, frame: Any, centring: Any) -> None:
        self.frame = frame
        self.centring = np.asarray(centring, dtype=float)

    def forward(self, value: Any, *inputs: Any) -> Any:
        """Return what the sampler sees."""
        location, unit = self._frame(inputs)
        return self.centring * location + (value - location) / unit

    def backward(self, value: Any, *inputs: Any) -> Any:
        """Return the value on the line."""
        location, unit = self._frame(inputs)
        return location + unit * (value - self.centring * location)

    def log_jac_det(self, value: Any, *inputs: Any) -> Any:
        """Return the log of the unit, one for each element."""
        _, unit = self._frame(inputs)
        return pt.log(unit) + pt.zeros_like(value)

    def _frame(self, inputs):
        # A variable's inputs are its generator, its size and its parameters.
        location, scale = self.frame(*inputs[-2:])
        return location, scale ** (1.0 - self.centring)


def of_normal(mu: Any, sigma: Any) -> tuple[Any, Any]:
    """Location and scale of a normal variable."""
    return mu, sigma


def of_beta(alpha: Any, beta: Any) -> tuple[Any, Any]:
    """Location and scale, about, of the logit of a beta variable."""
    return pt.log(alpha) - pt.log(beta), pt.sqrt(1.0 / alpha + 1.0 / beta)


def of_inverse_gamma(alpha: Any, beta: Any) -> tuple[Any, Any]:
    """Location and scale, about, of the log of an inverse-gamma variable."""
    return pt.log(beta) - pt.log(alpha), pt.sqrt(1.0 / alpha)

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

    Positive values are first put on the line by PyMC's own transform, which this one follows: pass
    it as ``transform=``.

    Parameters
    ----------
    frame : callable
        From the two parameters of the population's distribution to its location and scale on the
        line: `of_beta` for the log-odds of beta variables, `of_inverse_gamma`.
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
    >>> members = pm.InverseGamma.dist(1e4, 1e4)  # its log: about 0, give or take 0.01
    >>> Relative(of_inverse_gamma, 0.0).forward(0.02, *members.owner.inputs).eval().round(1).item()
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


def of_beta(alpha: Any, beta: Any) -> tuple[Any, Any]:
    """Location and scale, nearly, of the logit of a beta variable."""
    variance = _variance_of_log(alpha) + _variance_of_log(beta)
    return _mean_of_log(alpha) - _mean_of_log(beta), pt.sqrt(variance)


def of_inverse_gamma(alpha: Any, beta: Any) -> tuple[Any, Any]:
    """Location and scale, nearly, of the log of an inverse-gamma variable."""
    return pt.log(beta) - _mean_of_log(alpha), pt.sqrt(_variance_of_log(alpha))


# Of a gamma variable: digamma and trigamma, by one step of their recurrences. PyTensor's own have
# no compiled gradients.
def _mean_of_log(shape):
    return pt.log(shape + 0.5) - 1.0 / shape


def _variance_of_log(shape):
    return 1.0 / shape**2 + 1.0 / (shape + 0.5)

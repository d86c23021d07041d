"""A transform that lets samplers see members of a population relative to it, or as they are."""

from typing import Any, NamedTuple

import numpy as np
import pytensor.tensor as pt
from pymc.logprob.transforms import Transform

from bayescal.distributions.bend import Units, bend, slope, unbend

ENOUGH = 20.0  # data that say as much of a member as its population does


class Frame(NamedTuple):
    """Where a population is on the line, and what its members are measured in."""

    location: Any
    scale: Any
    above: Any = 0.0  # further mean distances of long tails from the location
    below: Any = 0.0


class Relative(Transform):
    r"""
    Sample a member of a population by its distance from the population, where data are few.

    Of a value v on the line, with the population's location m, scale s and tails t there, and n
    data of its own, a sampler sees the z of

    .. math::

        v = m + u y + t_+ \log(1 + e^{y - k}) - t_- \log(1 + e^{-y - k}) \qquad y = z - c m

        u = s^{1 - c} \qquad c = \frac{n}{n + 20} \qquad k = \log(1 + n) / u

    Without data, in the non-centred form, z and scale are independent a priori; with many data,
    which determine v whatever the population, z is v, the centred form. Shares that may be nearly
    nothing have an exponential tail of log-odds, hundreds long, that hardly any data say something
    about: it has a unit of its own, or all that is not tail were a wall to it. Tails begin where a
    share has no datum left, k away.

    Positive values are first put on the line by PyMC's own transform, which this one follows: pass
    it as ``transform=``.

    Parameters
    ----------
    frame : callable
        From the two parameters of the population's distribution to its location, scale and mean
        lengths of tails on the line: `of_beta` for the log-odds of beta variables,
        `of_inverse_gamma`.
    n : array_like of float
        How many data each member has, or their total weight.

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
    >>> Relative(of_inverse_gamma, 0).forward(0.02, *members.owner.inputs).eval().round(1).item()
    2.0
    """

    name = "relative"

    def __init__(self, frame: Any, n: Any) -> None:
        self.frame = frame
        self.n = np.asarray(n, dtype=float)
        self.centring = self.n / (self.n + ENOUGH)

    def forward(self, value: Any, *inputs: Any) -> Any:
        """Return what the sampler sees."""
        location, units = self._frame(inputs)
        return self.centring * location + unbend(value - location, units)

    def backward(self, value: Any, *inputs: Any) -> Any:
        """Return the value on the line."""
        location, units = self._frame(inputs)
        return location + bend(value - self.centring * location, units)

    def log_jac_det(self, value: Any, *inputs: Any) -> Any:
        """Return the log of the unit at the value, one for each element."""
        location, units = self._frame(inputs)
        return pt.log(slope(value - self.centring * location, units))

    def _frame(self, inputs):
        # A variable's inputs are its generator, its size and its parameters.
        frame = self.frame(*inputs[-2:])
        unit = frame.scale ** (1.0 - self.centring)
        return frame.location, Units(unit, frame.above, frame.below, np.log1p(self.n) / unit)


def of_beta(alpha: Any, beta: Any) -> Frame:
    """
    Location, scale and tails of the logit of a beta variable.

    Together nearly its mean and standard deviation: digamma(x) is about log(x + 1/2) - 1/x, and
    trigamma(x) 1/(x + 1/2) + 1/x^2, whose last terms are those of a tail of mean length 1/x.
    """
    return Frame(
        pt.log(alpha + 0.5) - pt.log(beta + 0.5),
        pt.sqrt(1.0 / (alpha + 0.5) + 1.0 / (beta + 0.5)),
        above=1.0 / beta,
        below=1.0 / alpha,
    )


def of_inverse_gamma(alpha: Any, beta: Any) -> Frame:
    """Location and scale, nearly, of the log of an inverse-gamma variable."""
    # Scores cut its tail, that of large values. PyTensor's own digamma has no compiled gradient.
    location = pt.log(beta) - pt.log(alpha + 0.5) + 1.0 / alpha
    return Frame(location, pt.sqrt(1.0 / alpha**2 + 1.0 / (alpha + 0.5)))

"""Modes of groups of scores, sampled by their distance from where the scores have them best."""

from typing import Any

import numpy as np
import pymc as pm
import pytensor.tensor as pt
from pymc.logprob.transforms import Transform
from pytensor.tensor.random.basic import normal

from bayescal._compat import drawn
from bayescal.distributions._symbolic import GraphRV
from bayescal.distributions.bend import Units, bend, slope, unbend


class NormalModeRV(GraphRV):
    """Draws of modes; the sides are for the transform only."""

    name = "normal_mode"
    extended_signature = "[rng],[size],(),(),(),(),()->[rng],()"
    _print_name = ("NormalMode", "\\operatorname{NormalMode}")

    @classmethod
    def graph(cls, rng, size, *params):
        """Draw from the normal distribution."""
        mu, sigma, *_ = params
        return drawn(normal, rng, size, mu, sigma)


class NormalMode(pm.Continuous):
    r"""A mode from Normal(mu, sigma), which knows what its scores say about it.

    The sides and the best place change nothing of its distribution. They are what the transform
    `Anchored` needs, and where chains start.

    Parameters
    ----------
    mu, sigma : tensor_like of float
        Mean and standard deviation (sigma > 0).
    left, right : tensor_like of float
        Sides of the density that this is the mode of: mean distances, or Gaussian sigmas.
    best : tensor_like of float
        Where scores with such sides have their mode: their quantile at left/(left + right).

    Examples
    --------
    >>> import pymc as pm
    >>> mode = NormalMode.dist(1.0, 2.0, left=0.1, right=3.0, best=0.7)
    >>> round(float(pm.logp(mode, 1.0).exp().eval()), 4)
    0.1995
    """

    rv_type = NormalModeRV
    rv_op = NormalModeRV.rv_op

    @classmethod
    def dist(cls, mu, sigma, left, right, best, **kwargs):
        """Make a variable that no model knows; ``kwargs`` as for any PyMC distribution."""
        return super().dist([mu, sigma, left, right, best], **kwargs)

    def support_point(rv, size, mu, sigma, left, right, best):
        """Where chains start: not at the mean, which may be thousands of its units away."""
        return pt.full(size, best)

    def logp(value, mu, sigma, left, right, best):
        """Log density."""
        return pm.logp(pm.Normal.dist(mu, sigma), value)


class Anchored(Transform):
    r"""
    Sample the mode of a group of scores by its distance from its best place, in units it has there.

    Where one side of a density is nearly nothing its mode stands at a wall: a step past the
    outermost score leads into almost no likelihood, one away from it does little harm. So a mode
    has a unit of its own to either side of its best place a given its sides l and r. Of n scores
    and a population's scale sigma,

    .. math::

        \theta = a + b(z + z_0) \qquad
        b(y) = u_+ \log(1 + e^y) - u_- \log(1 + e^{-y}) \qquad
        z_0 = b\left(\frac{\mu - a}{\sigma}\right) / \sigma

        u_\pm^{-2} = \sigma^{-2} + v_\pm^{-2} \qquad
        v_+^{-2} = \frac{n (r + n l)}{l^2 (n r + l)} \qquad
        v_-^{-2} = \frac{n (l + n r)}{r^2 (n l + r)}

    v is the standard deviation :math:`\sqrt{lr/n}` where both sides have scores, and l, r/n at
    the wall of a small left side. z_0 is how far the population's location pulls the mode away:
    with one unit u for both sides z is 0 at the mean of both weighted by precisions,
    :math:`u^2 (\mu/\sigma^2 + a/v^2)`, and without scores z is the distance from the population in
    its scale (the non-centred form). Units change at the wall, wherever the population is, and by
    no more than a factor e a unit.

    Parameters
    ----------
    n : array_like of float
        How many scores each mode has, or their total weight.

    Examples
    --------
    The mode of one score at 0, with hardly any left side: little room right of the score.

    >>> import numpy as np
    >>> one = NormalMode.dist([0.0], [10.0], left=[0.001], right=[1.0], best=[0.0])
    >>> z = np.array([-2.0, 2.0])[:, None]
    >>> Anchored([1.0]).backward(z, *one.owner.inputs).eval().round(3).ravel().tolist()
    [-2.177, -0.133]
    """

    name = "anchored"

    def __init__(self, n: Any) -> None:
        self.n = np.asarray(n, dtype=float)

    def backward(self, value: Any, *inputs: Any) -> Any:
        """Return the mode."""
        best, start, units = self._frame(inputs)
        return best + bend(value + start, units)

    def forward(self, value: Any, *inputs: Any) -> Any:
        """Return what the sampler sees."""
        best, start, units = self._frame(inputs)
        return unbend(value - best, units) - start

    def log_jac_det(self, value: Any, *inputs: Any) -> Any:
        """Return the log of the unit at the value, one for each element."""
        _, start, units = self._frame(inputs)
        return pt.log(slope(value + start, units))

    def _frame(self, inputs):
        # A variable's inputs are its generator, its size and its parameters.
        mu, sigma, left, right, best = inputs[-5:]
        up, down = _unit(self.n, sigma, left, right), _unit(self.n, sigma, right, left)
        least = pt.minimum(up, down)
        units = Units(least, up - least, down - least)
        return best, bend((mu - best) / sigma, units) / sigma, units


def _unit(n, sigma, here, there):
    # Squared sides are not divided by: of a side of 1e-160 they are 0.
    return here / pt.sqrt((here / sigma) ** 2 + n * (there + n * here) / (n * there + here))

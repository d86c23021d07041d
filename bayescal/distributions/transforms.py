"""Transforms that let samplers see parameters of populations in suitable units.

`Anchored` samples the modes of groups of scores by their distance from their best values,
`Relative` other members of a population by their distance from it, `Standardised` parameters in
units of their prior. The first two change units smoothly along a line, by `bend`.
"""

from typing import Any, NamedTuple

import numpy as np
import pymc as pm
import pytensor.tensor as pt
from pymc.distributions.dist_math import betaln
from pymc.logprob.transforms import Transform
from pytensor.tensor.random.basic import normal, uniform

from bayescal.distributions.two_sided import GraphRV, drawn, require_positive

NEWTON_STEPS = 16  # to twelve digits, with units up to e^30 apart
ENOUGH = 20.0  # number of data that determine a member as well as its population does


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
    r"""A mode from Normal(mu, sigma), with the sides and the best mode that `Anchored` needs.

    The sides and the best mode do not change its distribution. Chains start at the best mode.

    Parameters
    ----------
    mu, sigma : tensor_like of float
        Mean and standard deviation (sigma > 0).
    left, right : tensor_like of float
        Sides of the scores' density: mean distances, or Gaussian sigmas.
    best : tensor_like of float
        Likeliest mode given the sides: the scores' quantile at left/(left + right).

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
        """Return a variable outside a model; ``kwargs`` as for any PyMC distribution."""
        return super().dist([mu, sigma, left, right, best], **kwargs)

    def support_point(rv, size, mu, sigma, left, right, best):
        """Return the best mode, since the mean may be thousands of units away."""
        return pt.full(size, best)

    def logp(value, mu, sigma, left, right, best):
        """Return the log density."""
        return pm.logp(pm.Normal.dist(mu, sigma), value)


class AlongLine(Transform):
    """Sample a value by its distance from an origin, in units along a line; see `_frame`."""

    def backward(self, value: Any, *inputs: Any) -> Any:
        """Return the value on the line."""
        origin, start, units = self._frame(inputs)
        return origin + bend(value + start, units)

    def forward(self, value: Any, *inputs: Any) -> Any:
        """Return the sampler's value."""
        origin, start, units = self._frame(inputs)
        return unbend(value - origin, units) - start

    def log_jac_det(self, value: Any, *inputs: Any) -> Any:
        """Return the log of the unit at the value, one for each element."""
        _, start, units = self._frame(inputs)
        return pt.log(slope(value + start, units))

    def _frame(self, inputs):
        raise NotImplementedError


class Anchored(AlongLine):
    r"""Sample the mode of a group of scores by its distance from its best value, in local units.

    If one side of a density is thin, the likelihood of its mode falls steeply beyond the outermost
    score and slowly on the other side. So a mode has different units on either side of its best
    value a given its sides l and r. For n scores and a population's scale sigma,

    .. math::

        \theta = a + b(z + z_0) \qquad
        b(y) = u_+ \log(1 + e^y) - u_- \log(1 + e^{-y}) \qquad
        z_0 = b\left(\frac{\mu - a}{\sigma}\right) / \sigma

        u_\pm^{-2} = \sigma^{-2} + v_\pm^{-2} \qquad
        v_+^{-2} = \frac{n (r + n l)}{l^2 (n r + l)} \qquad
        v_-^{-2} = \frac{n (l + n r)}{r^2 (n l + r)}

    v is the standard deviation :math:`\sqrt{lr/n}` where both sides have scores, and l, r/n beside
    a thin left side. z_0 is the pull of the population's location: with one unit u for both sides z
    is 0 at the precision-weighted mean of both, :math:`u^2 (\mu/\sigma^2 + a/v^2)`, and without
    scores z is the distance from the population in its scale (the non-centred form). Units change
    at a, by at most a factor e a unit.

    Parameters
    ----------
    n : array_like of float
        Number of scores of each mode, or their total weight.

    Examples
    --------
    >>> one = NormalMode.dist([0.0], [10.0], left=[0.001], right=[1.0], best=[0.0])
    >>> z = np.array([-2.0, 2.0])[:, None]
    >>> Anchored([1.0]).backward(z, *one.owner.inputs).eval().round(3).ravel().tolist()
    [-2.177, -0.133]
    """

    name = "anchored"

    def __init__(self, n: Any) -> None:
        self.n = np.asarray(n, dtype=float)

    def _frame(self, inputs):
        mu, sigma, left, right, best = inputs[-5:]
        up, down = _unit(self.n, sigma, left, right), _unit(self.n, sigma, right, left)
        least = pt.minimum(up, down)
        units = Units(least, up - least, down - least)
        return best, bend((mu - best) / sigma, units) / sigma, units


def _unit(n, sigma, here, there):
    # No division by squared sides, which underflow for a side of 1e-160.
    return here / pt.sqrt((here / sigma) ** 2 + n * (there + n * here) / (n * there + here))


class Frame(NamedTuple):
    """Location and units of a population on the line."""

    location: Any
    scale: Any
    above: Any = 0.0  # further mean distances of long tails from the location
    below: Any = 0.0


class Relative(AlongLine):
    r"""Sample a member of a population by its distance from the population, if data are few.

    For a value v on the line with n data, and the population's location m, scale s and tails t, the
    sampler's value is the z of

    .. math::

        v = m + u y + t_+ \log(1 + e^{y - k}) - t_- \log(1 + e^{-y - k}) \qquad y = z - c m

        u = s^{1 - c} \qquad c = \frac{n}{n + 20} \qquad k = \log(1 + n) / u

    Without data, in the non-centred form, z and scale are independent a priori; with many data z is
    v, the centred form. The log-odds of shares near 0 or 1 have long exponential tails, on which
    data have almost no bearing: they have units of their own, and begin k away, where the share
    corresponds to less than one datum. Positive values are first put on the line by PyMC's own
    transform; pass this one as ``transform=``.

    Parameters
    ----------
    frame : callable
        Maps the two parameters of the population's distribution to a `Frame`: `of_beta` for the
        log-odds of beta variables, `of_inverse_gamma`.
    n : array_like of float
        Number of data of each member, or their total weight.

    References
    ----------
    O. Papaspiliopoulos, G. Roberts, M. Skold, "A General Framework for the Parametrization of
    Hierarchical Models", Statistical Science 22 (2007). M. Gorinova, D. Moore, M. Hoffman,
    "Automatic Reparameterisation of Probabilistic Programs", ICML 2020.

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

    def _frame(self, inputs):
        frame = self.frame(*inputs[-2:])
        unit = frame.scale ** (1.0 - self.centring)
        units = Units(unit, frame.above, frame.below, np.log1p(self.n) / unit)
        return frame.location, -self.centring * frame.location, units


def of_beta(alpha: Any, beta: Any) -> Frame:
    """Return location, scale and tails of the logit of a beta variable.

    They approximate its mean and standard deviation: digamma(x) is about log(x + 1/2) - 1/x, and
    trigamma(x) 1/(x + 1/2) + 1/x^2, whose last terms belong to a tail of mean length 1/x.
    """
    return Frame(
        pt.log(alpha + 0.5) - pt.log(beta + 0.5),
        pt.sqrt(1.0 / (alpha + 0.5) + 1.0 / (beta + 0.5)),
        above=1.0 / beta,
        below=1.0 / alpha,
    )


def of_inverse_gamma(alpha: Any, beta: Any) -> Frame:
    """Return approximate location and scale of the log of an inverse-gamma variable."""
    # Scores limit its upper tail. PyTensor's own digamma has no compiled gradient.
    location = pt.log(beta) - pt.log(alpha + 0.5) + 1.0 / alpha
    return Frame(location, pt.sqrt(1.0 / alpha**2 + 1.0 / (alpha + 0.5)))


class Standardised(Transform):
    """Sample (value - location) / scale instead of the value.

    NUTS starts with unit steps and find_MAP with unit tolerances, which fail for scores around
    1e15, or with a spread of 1e-15. The map is linear and keeps the posterior mode.

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


class Units(NamedTuple):
    """The unit in a line's middle, and what is added to it far above and far below."""

    middle: Any
    above: Any
    below: Any
    start: Any = 0.0  # distance of the bends from 0


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
    # The end of the larger unit: there below e^(-y - k) is about the middle plus |bent|.
    corner = pt.log(below) - units.start - pt.log(units.middle + pt.abs(bent))
    beyond = pt.maximum(bent / (units.middle + units.above), corner)
    value = pt.switch(bent < -below, bent / (units.middle + below), beyond)
    for _ in range(NEWTON_STEPS):
        step = (bend(value, units) - bent) / slope(value, units)
        # Clipping hides the step from PyTensor's rewrites, which would expand the nested steps
        # into a sum of 2^16 terms.
        value = value - pt.clip(step, -np.inf, np.inf)
    return mirrored * value


class LogitBetaRV(GraphRV):
    """Draws of log-odds: the difference of the logs of two gamma variables."""

    name = "logit_beta"
    extended_signature = "[rng],[size],(),()->[rng],()"
    _print_name = ("LogitBeta", "\\operatorname{LogitBeta}")

    @classmethod
    def graph(cls, rng, size, *params):
        """Draw both gamma variables and subtract their logs."""
        logs = []
        for shape in params:
            rng, log = _log_gamma(rng, size, shape)
            logs.append(log)
        return rng, logs[0] - logs[1]


class LogitBeta(pm.Continuous):
    r"""The log-odds of a share that follows a beta distribution.

    .. math::

        f(v) = \frac{\sigma(v)^\alpha \sigma(-v)^\beta}{B(\alpha, \beta)} \qquad
        \sigma(v) = \frac{1}{1 + e^{-v}}

    Log-odds represent shares above 1 - 1e-16, which round to 1, where a beta density with beta < 1
    is infinite.

    Parameters
    ----------
    alpha, beta : tensor_like of float
        Parameters of the beta distribution (alpha > 0, beta > 0).

    Examples
    --------
    >>> import pymc as pm
    >>> v = LogitBeta.dist(alpha=1.0, beta=1.0)
    >>> round(float(pm.logp(v, 0.0).exp().eval()), 4)
    0.25
    """

    rv_type = LogitBetaRV
    rv_op = LogitBetaRV.rv_op

    @classmethod
    def dist(cls, alpha, beta, **kwargs):
        """Return a variable outside a model; ``kwargs`` as for any PyMC distribution."""
        return super().dist([alpha, beta], **kwargs)

    def support_point(rv, size, alpha, beta):
        """Return the log-odds of the mean share, the starting point of chains."""
        return pt.full(size, pt.log(alpha) - pt.log(beta))

    def logp(value, alpha, beta):
        """Return the log density."""
        density = -alpha * pt.softplus(-value) - beta * pt.softplus(value) - betaln(alpha, beta)
        return require_positive(density, alpha=alpha, beta=beta)


def _log_gamma(rng, size, shape):
    """Draw the log of a gamma variable, which itself would underflow for a small shape."""
    rng, larger = drawn(pm.Gamma.rv_op, rng, size, shape + 1.0, 1.0)
    rng, level = drawn(uniform, rng, size, 0.0, 1.0)
    return rng, pt.log(larger) + pt.log1p(-level) / shape

"""Modes of groups of scores, sampled by their distance from where their scores leave them room."""

from typing import Any

import pymc as pm
import pytensor.tensor as pt
from pymc.logprob.transforms import Transform
from pytensor.tensor.random.basic import normal

from bayescal._compat import drawn
from bayescal.distributions._symbolic import GraphRV
from bayescal.distributions.grouped import GroupedScores

# Newton's method moves by about 1 a step until the log of the units' ratio is made up for; only
# initial points, whose sides are not that small, are mapped so.
NEWTON_STEPS = 60


class NormalModeRV(GraphRV):
    """Draws of modes; the sides are for the transform only."""

    name = "normal_mode"
    extended_signature = "[rng],[size],(),(),(),()->[rng],()"
    _print_name = ("NormalMode", "\\operatorname{NormalMode}")

    @classmethod
    def graph(cls, rng, size, *params):
        """Draw from the normal distribution."""
        mu, sigma, *_ = params
        return drawn(normal, rng, size, mu, sigma)


class NormalMode(pm.Continuous):
    r"""A mode from Normal(mu, sigma), which knows the sides of its density.

    The sides change nothing of its distribution. They are what the transform `Anchored` needs.

    Parameters
    ----------
    mu, sigma : tensor_like of float
        Mean and standard deviation (sigma > 0).
    left, right : tensor_like of float
        Sides of the density that this is the mode of: mean distances, or Gaussian sigmas.

    Examples
    --------
    >>> import pymc as pm
    >>> mode = NormalMode.dist(1.0, 2.0, left=0.1, right=3.0)
    >>> round(float(pm.logp(mode, 1.0).exp().eval()), 4)
    0.1995
    """

    rv_type = NormalModeRV
    rv_op = NormalModeRV.rv_op

    @classmethod
    def dist(cls, mu, sigma, left, right, **kwargs):
        """Make a variable that no model knows; ``kwargs`` as for any PyMC distribution."""
        return super().dist([mu, sigma, left, right], **kwargs)

    def support_point(rv, size, mu, sigma, left, right):
        """Where chains start: the mean."""
        return pt.full(size, mu)

    def logp(value, mu, sigma, left, right):
        """Log density."""
        return pm.logp(pm.Normal.dist(mu, sigma), value)


class Anchored(Transform):
    r"""
    Sample the mode of a group of scores by its distance from an anchor, in units it has there.

    Where one side of a density is nearly nothing its mode stands at a wall: a step past the
    outermost score leads into almost no likelihood, one away from it does little harm. So a mode
    has a unit of its own to either side. Of n scores with sides l and r,

    .. math::

        \theta = a + u_+ \log(1 + e^z) - u_- \log(1 + e^{-z}) \qquad
        u_\pm^{-2} = \sigma^{-2} + v_\pm^{-2} \qquad
        v_+^{-2} = \frac{n (r + n l)}{l^2 (n r + l)} \qquad
        v_-^{-2} = \frac{n (l + n r)}{r^2 (n l + r)}

    v is the standard deviation :math:`\sqrt{lr/n}` where both sides have scores, and l, r/n at
    the wall of a small left side. The anchor a is the mean of the population's location and of
    the quantile of the scores at l/(l + r), a mode's best place given its sides, weighted by
    precisions 1/sigma^2 and n/(lr). Without scores z is the distance from the population in its
    scale (the non-centred form). Far from a wall units change by no more than a factor e a unit.

    Parameters
    ----------
    scores : GroupedScores
        The scores, in as many groups as there are modes, in their order.

    Examples
    --------
    The mode of one score at 0, with hardly any left side: little room right of the score.

    >>> import numpy as np
    >>> scores = GroupedScores(np.zeros(1), np.zeros(1, dtype=int), 1, power=1)
    >>> one = NormalMode.dist([0.0], [10.0], left=[0.001], right=[1.0])
    >>> z = np.array([-2.0, 2.0])[:, None]
    >>> Anchored(scores).backward(z, *one.owner.inputs).eval().round(3).ravel().tolist()
    [-2.116, -0.124]
    """

    name = "anchored"

    def __init__(self, scores: GroupedScores) -> None:
        self.scores = scores

    def backward(self, value: Any, *inputs: Any) -> Any:
        """Return the mode."""
        anchor, up, down = self._frame(inputs)
        return anchor + _bent(value, up, down)

    def forward(self, value: Any, *inputs: Any) -> Any:
        """Return what the sampler sees."""
        anchor, up, down = self._frame(inputs)
        distance = value - anchor
        # From beyond the root on a function without inflection Newton's method only comes nearer.
        z = distance / pt.switch(distance > 0.0, up, down)
        for _ in range(NEWTON_STEPS):
            z = z - (_bent(z, up, down) - distance) / _slope(z, up, down)
        return z

    def log_jac_det(self, value: Any, *inputs: Any) -> Any:
        """Return the log of the unit at the value, one for each element."""
        _, up, down = self._frame(inputs)
        return pt.log(_slope(value, up, down))

    def _frame(self, inputs):
        # A variable's inputs are its generator, its size and its parameters.
        mu, sigma, left, right = inputs[-4:]
        share = left / (left + right)
        n = pt.reshape(self.scores.total, share.shape)
        of_population, of_scores = sigma**-2.0, n / (left * right)
        best = self.scores.quantile(share.flatten()).reshape(share.shape)
        anchor = (of_population * mu + of_scores * best) / (of_population + of_scores)
        units = [
            (of_population + of_scores * (there + n * here) / (n * there + here) * there / here)
            ** -0.5
            for here, there in ((left, right), (right, left))
        ]
        return anchor, *units


def _bent(z, up, down):
    return up * pt.softplus(z) - down * pt.softplus(-z)


def _slope(z, up, down):
    return up * pt.sigmoid(z) + down * pt.sigmoid(-z)

"""Log-odds of a beta variable, for PyMC."""

import pymc as pm
import pytensor.tensor as pt
from pymc.distributions.dist_math import betaln
from pytensor.tensor.random.basic import uniform

from bayescal.distributions._symbolic import GraphRV, drawn, require_positive


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

    A share above 1 - 1e-16 rounds to 1, where a beta density with beta < 1 ends in a wall; its
    log-odds go on.

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
        """Return the log-odds of the mean share, where chains start."""
        return pt.full(size, pt.log(alpha) - pt.log(beta))

    def logp(value, alpha, beta):
        """Return the log density."""
        density = -alpha * pt.softplus(-value) - beta * pt.softplus(value) - betaln(alpha, beta)
        return require_positive(density, alpha=alpha, beta=beta)


def _log_gamma(rng, size, shape):
    """Draw the log of a gamma variable, which itself would be 0 where its shape is small."""
    rng, larger = drawn(pm.Gamma.rv_op, rng, size, shape + 1.0, 1.0)
    rng, level = drawn(uniform, rng, size, 0.0, 1.0)
    return rng, pt.log(larger) + pt.log1p(-level) / shape

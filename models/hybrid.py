r"""Hybrid scores in each class (future work of Bennett, SIGIR 2003), with a uniform class prior.

Exponential on the side that faces the other class, Gaussian outside; negatives lie below positives.
For each class, with centre m and spread S of all scores, labels ignored:

    theta      ~ Normal(m, 2 S)          mode
    left_share ~ Beta(2, 2)              share of the mass that lies left of the mode
    width      ~ InverseGamma(2, S)      1/rate + sqrt(pi/2) sigma: one over the density at the mode
    score      ~ Hybrid(theta, rate, sigma)

and P(+) ~ Beta(1, 1). A prior that does not vanish at width 0 would give back the degenerate
maximum-likelihood fits of small samples. Scores in raw units; label 0 negative, 1 positive.
"""

from typing import Any

import numpy as np
import pymc as pm
from numpy.typing import ArrayLike

from bayescal.distributions import Hybrid, Standardised

NEGATIVE = np.array([True, False])


def model(
    score: ArrayLike,
    label: ArrayLike,
    *,
    centre: float = 0.0,
    spread: float = 1.0,
    theta_scale: float = 2.0,
    share_alpha: float = 2.0,
    share_beta: float = 2.0,
    width_shape: float = 2.0,
    width_scale: float = 1.0,
    prior_alpha: float = 1.0,
    prior_beta: float = 1.0,
) -> pm.Model:
    """Return the model of scores and labels; theta_scale and width_scale in units of `spread`."""
    with pm.Model(coords={"klass": ["negative", "positive"]}) as program:
        prior = pm.Beta("prior", prior_alpha, prior_beta)
        mode = (centre, theta_scale * spread)
        theta = pm.Normal("theta", *mode, transform=Standardised(*mode), dims="klass")
        left_share = pm.Beta("left_share", share_alpha, share_beta, dims="klass")
        width = pm.InverseGamma("width", width_shape, width_scale * spread, dims="klass")
        gaussian = pm.math.switch(NEGATIVE, left_share, 1 - left_share)
        rate = pm.Deterministic("rate", 1 / ((1 - gaussian) * width), dims="klass")
        sigma = pm.Deterministic("sigma", gaussian * width / np.sqrt(np.pi / 2), dims="klass")
        k = pm.Bernoulli("label", prior, observed=label)
        facing = pm.math.switch(k, -1.0, 1.0)
        Hybrid("score", theta[k], rate[k], sigma[k], facing, observed=score)
    return program


def log_density(score: Any, klass: Any, theta: Any, rate: Any, sigma: Any) -> Any:
    """Return the log density of scores of a class, 0 or 1, symbolic."""
    own = Hybrid.dist(theta[klass], rate[klass], sigma[klass], pm.math.switch(klass, -1.0, 1.0))
    return pm.logp(own, score)


def simulate(
    n: int, rng: np.random.Generator, *, draws: int | None = None, **hyperparameters: float
) -> dict[str, Any]:
    """Return n scores and labels, and the parameters drawn from the prior that made them.

    With `draws`, so many data sets, each from parameters of its own: a leading axis everywhere.
    """
    program = model(np.zeros(n), np.zeros(n, dtype=int), **hyperparameters)
    names = ["score", "label", "prior", "theta", "rate", "sigma"]
    values = pm.draw([program[name] for name in names], draws=draws or 1, random_seed=rng)
    if draws == 1:  # pm.draw gives one draw no axis
        values = [value[np.newaxis] for value in values]
    return dict(zip(names, values, strict=True))

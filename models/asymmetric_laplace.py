r"""Asymmetric Laplace scores in each class (Bennett, SIGIR 2003), with a uniform class prior.

For each class, with centre m and spread S of all scores, labels ignored:

    theta      ~ Normal(m, 2 S)          mode
    left_share ~ Beta(2, 2)              share of the mean length that lies left of the mode
    width      ~ InverseGamma(2, S)      1/beta + 1/gamma
    score      ~ AsymmetricLaplace(theta, beta, gamma)

and P(+) ~ Beta(1, 1). A prior that does not vanish at width 0 would give back the degenerate
maximum-likelihood fits of small samples. Scores in raw units; label 0 negative, 1 positive.
"""

from typing import Any

import numpy as np
import pymc as pm
from numpy.typing import ArrayLike

from bayescal.distributions import AsymmetricLaplace, Standardised


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
        beta = pm.Deterministic("beta", 1 / (left_share * width), dims="klass")
        gamma = pm.Deterministic("gamma", 1 / ((1 - left_share) * width), dims="klass")
        k = pm.Bernoulli("label", prior, observed=label)
        AsymmetricLaplace("score", theta[k], beta[k], gamma[k], observed=score)
    return program


def log_density(score: Any, klass: Any, theta: Any, beta: Any, gamma: Any) -> Any:
    """Return the log density of scores of a class, 0 or 1, symbolic."""
    return pm.logp(AsymmetricLaplace.dist(theta[klass], beta[klass], gamma[klass]), score)


def simulate(
    n: int, rng: np.random.Generator, *, draws: int | None = None, **hyperparameters: float
) -> dict[str, Any]:
    """Return n scores and labels, and the parameters drawn from the prior that made them.

    With `draws`, so many data sets, each from parameters of its own: a leading axis everywhere.
    """
    program = model(np.zeros(n), np.zeros(n, dtype=int), **hyperparameters)
    names = ["score", "label", "prior", "theta", "beta", "gamma"]
    values = pm.draw([program[name] for name in names], draws=draws or 1, random_seed=rng)
    if draws == 1:  # pm.draw gives one draw no axis
        values = [value[np.newaxis] for value in values]
    return dict(zip(names, values, strict=True))

r"""Asymmetric Gaussian scores in each class (Bennett, SIGIR 2003), with a uniform class prior.

For each class, with centre m and spread S of all scores, labels ignored:

    theta      ~ Normal(m, 2 S)          mode
    left_share ~ Beta(2, 2)              share of the width that lies left of the mode
    width^2    ~ InverseGamma(2, S^2)    width = sigma_left + sigma_right
    score      ~ AsymmetricGaussian(theta, sigma_left, sigma_right)

and P(+) ~ Beta(1, 1). A prior that does not vanish at width 0 would give back the degenerate
maximum-likelihood fits of small samples. Scores in raw units; label 0 negative, 1 positive.
"""

from typing import Any

import numpy as np
import pymc as pm
from numpy.typing import ArrayLike

from bayescal.distributions import AsymmetricGaussian, Standardised


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
        square_scale = (width_scale * spread) ** 2
        squared_width = pm.InverseGamma("squared_width", width_shape, square_scale, dims="klass")
        width = pm.math.sqrt(squared_width)
        sigma_left = pm.Deterministic("sigma_left", left_share * width, dims="klass")
        sigma_right = pm.Deterministic("sigma_right", (1 - left_share) * width, dims="klass")
        k = pm.Bernoulli("label", prior, observed=label)
        AsymmetricGaussian("score", theta[k], sigma_left[k], sigma_right[k], observed=score)
    return program


def log_density(score: Any, klass: Any, theta: Any, sigma_left: Any, sigma_right: Any) -> Any:
    """Return the log density of scores of a class, 0 or 1, symbolic."""
    own = AsymmetricGaussian.dist(theta[klass], sigma_left[klass], sigma_right[klass])
    return pm.logp(own, score)


def simulate(
    n: int, rng: np.random.Generator, *, draws: int | None = None, **hyperparameters: float
) -> dict[str, Any]:
    """Return n scores and labels, and the parameters drawn from the prior that made them.

    With `draws`, so many data sets, each from parameters of its own: a leading axis everywhere.
    """
    program = model(np.zeros(n), np.zeros(n, dtype=int), **hyperparameters)
    names = ["score", "label", "prior", "theta", "sigma_left", "sigma_right"]
    values = pm.draw([program[name] for name in names], draws=draws or 1, random_seed=rng)
    if draws == 1:  # pm.draw gives one draw no axis
        values = [value[np.newaxis] for value in values]
    return dict(zip(names, values, strict=True))

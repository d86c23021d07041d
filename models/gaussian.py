r"""Gaussian scores in each class (the symmetric baseline), with a uniform class prior.

For each class, with centre m and spread S of all scores, labels ignored:

    mu      ~ Normal(m, 2 S)          mean
    width^2 ~ InverseGamma(2, S^2)    width = 2 sigma: the asymmetric program with equal sides
    score   ~ Normal(mu, sigma)

and P(+) ~ Beta(1, 1). Scores in raw units; label 0 negative, 1 positive.
"""

from typing import Any

import numpy as np
import pymc as pm
from numpy.typing import ArrayLike

from bayescal.distributions import Standardised


def model(
    score: ArrayLike,
    label: ArrayLike,
    *,
    centre: float = 0.0,
    spread: float = 1.0,
    theta_scale: float = 2.0,
    width_shape: float = 2.0,
    width_scale: float = 1.0,
    prior_alpha: float = 1.0,
    prior_beta: float = 1.0,
) -> pm.Model:
    """Return the model of scores and labels; theta_scale and width_scale in units of `spread`."""
    with pm.Model(coords={"klass": ["negative", "positive"]}) as program:
        prior = pm.Beta("prior", prior_alpha, prior_beta)
        mode = (centre, theta_scale * spread)
        mu = pm.Normal("mu", *mode, transform=Standardised(*mode), dims="klass")
        square_scale = (width_scale * spread) ** 2
        squared_width = pm.InverseGamma("squared_width", width_shape, square_scale, dims="klass")
        sigma = pm.Deterministic("sigma", pm.math.sqrt(squared_width) / 2, dims="klass")
        k = pm.Bernoulli("label", prior, observed=label)
        pm.Normal("score", mu[k], sigma[k], observed=score)
    return program


def log_density(score: Any, klass: Any, mu: Any, sigma: Any) -> Any:
    """Return the log density of scores of a class, 0 or 1, symbolic."""
    return pm.logp(pm.Normal.dist(mu[klass], sigma[klass]), score)


def simulate(
    n: int, rng: np.random.Generator, *, draws: int | None = None, **hyperparameters: float
) -> dict[str, Any]:
    """Return n scores and labels, and the parameters drawn from the prior that made them.

    With `draws`, so many data sets, each from parameters of its own: a leading axis everywhere.
    """
    program = model(np.zeros(n), np.zeros(n, dtype=int), **hyperparameters)
    names = ["score", "label", "prior", "mu", "sigma"]
    values = pm.draw([program[name] for name in names], draws=draws or 1, random_seed=rng)
    if draws == 1:  # pm.draw gives one draw no axis
        values = [value[np.newaxis] for value in values]
    return dict(zip(names, values, strict=True))

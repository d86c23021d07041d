r"""Bayesian logistic regression at several sites: intercepts and slopes pooled across them.

With x = (score - centre)/spread and the covariate `site`,

    mean, mean_scale     ~ Normal(0, 5), Gamma(2, 2)          of the sites' intercepts
    level, level_scale   ~ Normal(0, 1), HalfNormal(0.5)      of the sites' log slopes
    intercept[site]      ~ Normal(mean, mean_scale)
    slope[site]          = exp(level + level_scale level_z[site]),  level_z[site] ~ Normal(0, 1)
    label                ~ Bernoulli(logit = intercept[site] + slope[site] x)

A site with few documents stays near the others; one that was not fitted is drawn from their
population (`new_group`), which gives it a wider band. Label 0 negative, 1 positive; scores in raw
units.
"""

from typing import Any

import numpy as np
import pymc as pm
from numpy.typing import ArrayLike


def model(
    score: ArrayLike,
    label: ArrayLike,
    *,
    covariates: dict[str, Any],
    coords: dict[str, list[str]],
    centre: float = 0.0,
    spread: float = 1.0,
) -> pm.Model:
    """Return the model of labels given scores and sites."""
    with pm.Model(coords=coords) as program:
        mean = pm.Normal("mean", 0.0, 5.0)
        # Gamma keeps the scale of well known intercepts off 0, where NUTS gets stuck.
        mean_scale = pm.Gamma("mean_scale", 2.0, 2.0)
        intercept = pm.Normal("intercept", mean, mean_scale, dims="site")
        level = pm.Normal("level", 0.0, 1.0)
        level_scale = pm.HalfNormal("level_scale", 0.5)
        # Slopes are known less well: standardised, they and their scale are easier to draw.
        level_z = pm.Normal("level_z", 0.0, 1.0, dims="site")
        slope = pm.Deterministic("slope", pm.math.exp(level + level_scale * level_z), dims="site")
        logit = log_odds(score, covariates, intercept, slope, centre, spread)
        pm.Bernoulli("label", logit_p=logit, observed=label)
    return program


def log_odds(
    score: Any, covariates: dict[str, Any], intercept: Any, slope: Any, centre: float, spread: float
) -> Any:
    """Return the log-odds at scores of documents of some sites, symbolic."""
    site = covariates["site"]
    return intercept[site] + slope[site] * (score - centre) / spread


def new_group(
    rng: np.random.Generator, mean: Any, mean_scale: Any, level: Any, level_scale: Any
) -> dict[str, Any]:
    """Return draws of the variables of a site that was not fitted, one for each draw."""
    z, level_z = rng.normal(size=(2, *np.shape(mean)))
    return {
        "intercept": mean + mean_scale * z,
        "level_z": level_z,
        "slope": np.exp(level + level_scale * level_z),
    }

r"""Bayesian logistic regression at several sites: shifts and slopes pooled across them.

With x = (score - centre)/spread and the covariate `site`,

    intercept, level          ~ Normal(0, 5), Normal(0, 1)        of the population of sites
    shift_scale, level_scale  ~ HalfNormal(1), HalfNormal(0.5)    how much sites differ
    shift[site]               ~ Normal(0, shift_scale)
    slope[site]               = exp(level + Normal(0, level_scale))
    label                     ~ Bernoulli(logit = intercept + shift[site] + slope[site] x)

A site with few documents stays near the population; one that was not fitted is drawn from it
(`new_group`), which gives it a wider band. Label 0 negative, 1 positive; scores in raw units.
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
        intercept = pm.Normal("intercept", 0.0, 5.0)
        level = pm.Normal("level", 0.0, 1.0)
        shift_scale = pm.HalfNormal("shift_scale", 1.0)
        level_scale = pm.HalfNormal("level_scale", 0.5)
        # Standardised, for NUTS: a site's shift and its scale are hard to draw together.
        shift_z = pm.Normal("shift_z", 0.0, 1.0, dims="site")
        level_z = pm.Normal("level_z", 0.0, 1.0, dims="site")
        shift = pm.Deterministic("shift", shift_scale * shift_z, dims="site")
        slope = pm.Deterministic("slope", pm.math.exp(level + level_scale * level_z), dims="site")
        logit = log_odds(score, covariates, intercept, shift, slope, centre, spread)
        pm.Bernoulli("label", logit_p=logit, observed=label)
    return program


def log_odds(
    score: Any,
    covariates: dict[str, Any],
    intercept: Any,
    shift: Any,
    slope: Any,
    centre: float,
    spread: float,
) -> Any:
    """Return the log-odds at scores of documents of some sites, symbolic."""
    site = covariates["site"]
    return intercept + shift[site] + slope[site] * (score - centre) / spread


def new_group(
    rng: np.random.Generator, level: Any, shift_scale: Any, level_scale: Any
) -> dict[str, Any]:
    """Return draws of the variables of a site that was not fitted, one for each draw."""
    shift_z, level_z = rng.normal(size=(2, *np.shape(level)))
    return {
        "shift_z": shift_z,
        "level_z": level_z,
        "shift": shift_scale * shift_z,
        "slope": np.exp(level + level_scale * level_z),
    }

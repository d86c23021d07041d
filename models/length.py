r"""Bayesian logistic regression whose slope depends on the length of a document.

With x = (score - centre)/spread, and l the covariate `length`, log-scaled and centred,

    intercept, length_shift ~ Normal(0, 5), Normal(0, 1)
    level, length_level     ~ Normal(0, 1), Normal(0, 0.5)
    label                   ~ Bernoulli(logit = intercept + length_shift l
                                                + exp(level + length_level l) x)

    l = (log(1 + length) - typical) / log 2,

so that `length_level` is the change of the log slope for a document twice as long. `typical` is the
mean of log(1 + length) unless given. Label 0 negative, 1 positive; scores in raw units.
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
    centre: float = 0.0,
    spread: float = 1.0,
    typical: float | None = None,
) -> pm.Model:
    """Return the model of labels given scores and lengths."""
    logs = np.log1p(covariates["length"])
    with pm.Model() as program:
        intercept = pm.Normal("intercept", 0.0, 5.0)
        length_shift = pm.Normal("length_shift", 0.0, 1.0)
        level = pm.Normal("level", 0.0, 1.0)
        length_level = pm.Normal("length_level", 0.0, 0.5)
        middle = pm.Data("middle", float(np.mean(logs)) if typical is None else typical)
        logit = log_odds(
            score, covariates, intercept, length_shift, level, length_level, middle, centre, spread
        )
        pm.Bernoulli("label", logit_p=logit, observed=label)
    return program


def log_odds(
    score: Any,
    covariates: dict[str, Any],
    intercept: Any,
    length_shift: Any,
    level: Any,
    length_level: Any,
    middle: Any,
    centre: float,
    spread: float,
) -> Any:
    """Return the log-odds at scores of documents of some lengths, symbolic."""
    length = (pm.math.log(1.0 + covariates["length"]) - middle) / np.log(2.0)
    slope = pm.math.exp(level + length_level * length)
    return intercept + length_shift * length + slope * (score - centre) / spread

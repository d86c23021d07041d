r"""Bayesian logistic regression with mislabelled documents: Platt's LR+Noise as a generative model.

With x = (score - centre)/spread,

    intercept ~ Normal(0, intercept_scale)             log-odds at the centre
    level     ~ Normal(slope_location, slope_scale)    log slope, slope = exp(level)
    true      ~ Bernoulli(logit = intercept + slope x)
    label     = true, but for a share `missed` of positives and `false` of negatives

The true class is summed out: P(label = 1) = false + (1 - missed - false) P(true = 1). By default
the shares are Platt's, from the labels: missed = 1/(n_+ + 2), false = 1/(n_- + 2). (He puts the
expected log-likelihood of the true class in the place of this likelihood.) The density of scores is
fixed: it tells nothing, and serves to simulate. Score in raw units; label 0 negative, 1 positive.
"""

from typing import Any

import numpy as np
import pymc as pm
from numpy.typing import ArrayLike

SCORE_FREEDOM = 4.0  # of the Student t that simulates scores
SIMULATED_NOISE = 0.05


def model(
    score: ArrayLike,
    label: ArrayLike,
    *,
    centre: float = 0.0,
    spread: float = 1.0,
    intercept_scale: float = 5.0,
    slope_location: float = 0.0,
    slope_scale: float = 1.0,
    missed: float | None = None,
    false: float | None = None,
) -> pm.Model:
    """Return the model of labels given scores; the slope is in log-odds a `spread`."""
    positives = int(np.sum(label))
    missed = 1.0 / (positives + 2) if missed is None else missed
    false = 1.0 / (np.size(label) - positives + 2) if false is None else false
    with pm.Model() as program:
        intercept = pm.Normal("intercept", 0.0, intercept_scale)
        level = pm.Normal("level", slope_location, slope_scale)
        slope = pm.Deterministic("slope", pm.math.exp(level))
        s = pm.StudentT("score", SCORE_FREEDOM, mu=centre, sigma=spread, observed=score)
        true = pm.math.sigmoid(log_odds(s, intercept, slope, centre, spread))
        pm.Bernoulli("label", p=false + (1.0 - missed - false) * true, observed=label)
    return program


def log_odds(score: Any, intercept: Any, slope: Any, centre: float, spread: float) -> Any:
    """Return the log-odds of the true class at scores, symbolic."""
    return intercept + slope * (score - centre) / spread


def simulate(
    n: int, rng: np.random.Generator, *, draws: int | None = None, **hyperparameters: Any
) -> dict[str, Any]:
    """Return n scores and labels, and the parameters drawn from the prior that made them.

    With `draws`, so many data sets, each from parameters of its own: a leading axis everywhere.
    Unless given, one in twenty documents of either class is mislabelled.
    """
    settings = {"missed": SIMULATED_NOISE, "false": SIMULATED_NOISE} | hyperparameters
    program = model(np.zeros(n), np.zeros(n, dtype=int), **settings)
    names = ["score", "label", "intercept", "slope"]
    values = pm.draw([program[name] for name in names], draws=draws or 1, random_seed=rng)
    if draws == 1:  # pm.draw gives one draw no axis
        values = [value[np.newaxis] for value in values]
    return dict(zip(names, values, strict=True))

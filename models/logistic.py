r"""Bayesian logistic regression of the label on the score: Platt's sigmoid with a rising slope.

With x = (score - centre)/spread,

    intercept ~ Normal(intercept_location, intercept_scale)    log-odds at the reference
    level     ~ Normal(slope_location, slope_scale)            log slope, slope = exp(level)
    label     ~ Bernoulli(logit = intercept + slope (x - reference))

The reference is the median of the scores, the two classes weighing one half each, or the middle of
a wide gap beside it, unless given. The density of scores is fixed: it tells nothing, and serves to
simulate. Score and reference in raw units; label 0 negative, 1 positive. It is monotone_log_odds
with one segment.
"""

from typing import Any

import numpy as np
import pymc as pm
from numpy.typing import ArrayLike

from bayescal.distributions import place_knots

SCORE_FREEDOM = 4.0  # of the Student t that simulates scores


def model(
    score: ArrayLike,
    label: ArrayLike,
    *,
    centre: float = 0.0,
    spread: float = 1.0,
    intercept_location: float = 0.0,
    intercept_scale: float = 5.0,
    slope_location: float = 0.0,
    slope_scale: float = 1.0,
    reference: float | None = None,
) -> pm.Model:
    """Return the model of labels given scores; the slope is in log-odds a `spread`."""
    _, middle = place_knots(np.asarray(score, dtype=float), np.asarray(label) == 1, None, 1)
    origin = middle if reference is None else reference
    with pm.Model() as program:
        intercept = pm.Normal("intercept", intercept_location, intercept_scale)
        level = pm.Normal("level", slope_location, slope_scale)
        slope = pm.Deterministic("slope", pm.math.exp(level))
        pm.Data("origin", origin)  # for log_odds at new scores
        s = pm.StudentT("score", SCORE_FREEDOM, mu=centre, sigma=spread, observed=score)
        logit = log_odds(s, intercept, slope, origin, spread)
        pm.Bernoulli("label", logit_p=logit, observed=label)
    return program


def log_odds(score: Any, intercept: Any, slope: Any, origin: Any, spread: float) -> Any:
    """Return the log-odds at scores, symbolic."""
    return intercept + slope * (score - origin) / spread


def simulate(
    n: int, rng: np.random.Generator, *, draws: int | None = None, **hyperparameters: Any
) -> dict[str, Any]:
    """Return n scores and labels, and the parameters drawn from the prior that made them.

    With `draws`, so many data sets, each from parameters of its own: a leading axis everywhere.
    The reference, unless given, is the centre.
    """
    settings = {"reference": hyperparameters.get("centre", 0.0)} | hyperparameters
    program = model(np.zeros(n), np.zeros(n, dtype=int), **settings)
    names = ["score", "label", "intercept", "slope"]
    values = pm.draw([program[name] for name in names], draws=draws or 1, random_seed=rng)
    if draws == 1:  # pm.draw gives one draw no axis
        values = [value[np.newaxis] for value in values]
    return dict(zip(names, values, strict=True))

r"""Bayesian logistic regressions of ordered grades on one score, one for each grade but the lowest.

With grades 0, 1, ..., K and x_k = (score - centre_k)/spread_k, for the stages k = 1, ..., K

    intercept_k ~ Normal(0, intercept_scale)             log-odds at the centre
    level_k     ~ Normal(slope_location, slope_scale)    log slope, slope_k = exp(level_k)

    P(grade >= k | score, grade >= k - 1) = sigmoid(intercept_k + slope_k x_k)
    P(grade >= k | score)                 = their product over 1, ..., k

so that a document of grade g passes stages 1 to g and fails stage g + 1, if there is one. Without
their `dims`, `level` and `slope` are one for all stages. `centre` and `spread` are numbers, or one
for each stage. Given `new` scores, the draws hold `exceedance`, P(grade >= k | new), by rows.
"""

from typing import Any

import numpy as np
import pymc as pm
from numpy.typing import ArrayLike


def model(
    score: ArrayLike,
    label: ArrayLike,
    *,
    centre: ArrayLike = 0.0,
    spread: ArrayLike = 1.0,
    intercept_scale: float = 5.0,
    slope_location: float = 0.0,
    slope_scale: float = 1.0,
    new: ArrayLike | None = None,
) -> pm.Model:
    """Return the model of grades 0, 1, ..., K given scores; the label is the grade."""
    grade = np.asarray(label)
    grades = range(1, int(grade.max()) + 1)
    # The stages that each document reaches, counted from 0.
    row, stage = np.nonzero(grade[:, np.newaxis] >= np.arange(len(grades)))
    with pm.Model(coords={"stage": [f">= {k}" for k in grades]}) as program:
        intercept = pm.Normal("intercept", 0.0, intercept_scale, dims="stage")
        level = pm.Normal("level", slope_location, slope_scale, dims="stage")
        slope = pm.Deterministic("slope", pm.math.exp(level), dims="stage")
        logit = log_odds_of_stages(score, intercept, slope, centre, spread)
        pm.Bernoulli("passed", logit_p=logit[row, stage], observed=grade[row] > stage)
        if new is not None:
            logit = log_odds_of_stages(new, intercept, slope, centre, spread)
            reached = pm.math.cumprod(pm.math.sigmoid(logit), axis=1)
            pm.Deterministic("exceedance", reached, dims=(None, "stage"))
    return program


def log_odds_of_stages(
    score: ArrayLike, intercept: Any, slope: Any, centre: ArrayLike, spread: ArrayLike
) -> Any:
    """Return the log-odds to pass each stage, one row for each score; symbolic or numbers."""
    column = np.asarray(score, dtype=float)[:, np.newaxis]
    return intercept + slope * (column - np.asarray(centre)) / np.asarray(spread)


def simulate(
    n: int, rng: np.random.Generator, *, draws: int | None = None, **hyperparameters: Any
) -> dict[str, Any]:
    """Return n Gaussian scores, grades 0 to 3 and the parameters drawn from the prior behind them.

    With `draws`, so many data sets, each from parameters of its own: a leading axis everywhere.
    """
    settings = {"centre": 0.0, "spread": 1.0} | hyperparameters
    program = model(np.zeros(4), np.arange(4), **settings)
    names = ["intercept", "slope"]
    parameters = pm.draw([program[name] for name in names], draws=draws or 1, random_seed=rng)
    intercept, slope = (each.reshape(-1, 1, 3) for each in parameters)
    units = np.mean(settings["centre"]), np.mean(settings["spread"])
    score = rng.normal(*units, size=n)
    logit = log_odds_of_stages(score, intercept, slope, settings["centre"], settings["spread"])
    # A logistic variable below the log-odds has the probability of a success.
    grade = (rng.logistic(size=logit.shape) < logit).cumprod(axis=-1).sum(axis=-1)
    drawn = {"score": np.broadcast_to(score, grade.shape), "label": grade}
    drawn |= {"intercept": intercept[:, 0], "slope": slope[:, 0]}
    return drawn if draws else {name: values[0] for name, values in drawn.items()}

r"""Monotone piecewise-linear log-odds of the label given the score, all slopes positive.

With x = (score - centre)/spread, and the log-odds rising by slope_j a unit of x in segment j,

    intercept ~ Normal(intercept_location, intercept_scale)      log-odds at the reference
    level     ~ Normal(slope_location, slope_scale)              log slope in its segment
    walk      ~ Student t, walk_freedom, in n_segments - 1 dimensions
    slope_j   = exp(level + walk_scale/sqrt(n_segments - 1) sum of walk from there to j)
    label     ~ Bernoulli(logit = intercept + sum_j slope_j (length of segment j between
                          reference and x))

Unless given, knots and reference are quantiles of the scores, the two classes weighing one half
each; a wide gap between scores has knots of its own, and a reference at its edge moves to its
middle. The density of scores is fixed: it tells nothing, and serves to simulate. Scores, knots and
reference in raw units; label 0 negative, 1 positive.
"""

from typing import Any

import numpy as np
import pymc as pm
from numpy.typing import ArrayLike, NDArray

from bayescal.distributions import number_of_pieces, place_knots

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
    walk_scale: float = 1.5,
    walk_freedom: float = 4.0,
    n_segments: int | None = None,
    knots: ArrayLike | None = None,
    reference: float | None = None,
) -> pm.Model:
    """Return the model of labels given scores; n_segments is 9 to 17, unless given, as `knots`."""
    positive = np.asarray(label) == 1
    if n_segments is None:
        n_segments = number_of_pieces(min(positive.sum(), (~positive).sum()))
    placed, middle = place_knots(np.asarray(score, dtype=float), positive, None, n_segments)
    knot = np.asarray(placed if knots is None else knots, dtype=float)
    origin = middle if reference is None else reference
    steps = walk_steps(knot.size, int(np.searchsorted(knot, origin, side="right")))
    with pm.Model() as program:
        intercept = pm.Normal("intercept", intercept_location, intercept_scale)
        log_slope = pm.Normal("level", slope_location, slope_scale)
        if knot.size:
            walk = pm.MvStudentT(
                "walk", walk_freedom, mu=np.zeros(knot.size), scale=np.eye(knot.size)
            )
            log_slope = log_slope + walk_scale / np.sqrt(knot.size) * (steps * walk).sum(axis=-1)
        slope = pm.Deterministic("slope", pm.math.exp(log_slope) * np.ones(knot.size + 1))
        low, high = pm.Data("low", np.r_[-np.inf, knot]), pm.Data("high", np.r_[knot, np.inf])
        at = pm.Data("origin", origin)
        s = pm.StudentT("score", SCORE_FREEDOM, mu=centre, sigma=spread, observed=score)
        logit = log_odds(s, intercept, slope, low, high, at, spread)
        pm.Bernoulli("label", logit_p=logit, observed=label)
    return program


def log_odds(
    score: Any, intercept: Any, slope: Any, low: Any, high: Any, origin: Any, spread: float
) -> Any:
    """Return the log-odds at scores, symbolic; low and high are the ends of the segments."""
    length = pm.math.clip(score[..., None], low, high) - pm.math.clip(origin, low, high)
    return intercept + (length * slope).sum(axis=-1) / spread


def walk_steps(knots: int, origin: int) -> NDArray[Any]:
    """Return 1 for the steps that lead from the reference's segment to each: (segments, knots)."""
    j, k = np.arange(knots + 1)[:, None], np.arange(knots)
    return (((k >= origin) & (k < j)) | ((k < origin) & (k >= j))).astype(float)


def simulate(
    n: int, rng: np.random.Generator, *, draws: int | None = None, **hyperparameters: Any
) -> dict[str, Any]:
    """Return n scores and labels, and the parameters drawn from the prior that made them.

    With `draws`, so many data sets, each from parameters of its own: a leading axis everywhere.
    Knots, unless given, are equally spaced over four spreads about the centre.
    """
    settings = {"centre": 0.0, "spread": 1.0, "n_segments": 9} | hyperparameters
    inside = np.linspace(-2.0, 2.0, settings["n_segments"] + 1)[1:-1]
    settings = {
        "knots": settings["centre"] + settings["spread"] * inside,
        "reference": settings["centre"],
    } | settings
    program = model(np.zeros(n), np.zeros(n, dtype=int), **settings)
    names = [
        name for name in ("score", "label", "intercept", "slope") if name in program.named_vars
    ]
    values = pm.draw([program[name] for name in names], draws=draws or 1, random_seed=rng)
    if draws == 1:  # pm.draw gives one draw no axis
        values = [value[np.newaxis] for value in values]
    return dict(zip(names, values, strict=True))

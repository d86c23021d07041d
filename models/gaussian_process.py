r"""Log-odds of a rising line and a Gaussian process: any smooth curve, rising or not.

With x = (score - centre)/spread, clipped to [-L, L], L = 5,

    intercept ~ Normal(0, 5),  level ~ Normal(0, 1),  slope = exp(level)
    amplitude ~ HalfNormal(1), length ~ LogNormal(0.5, 0.5)       of the process, in spreads
    label     ~ Bernoulli(logit = intercept + slope x + f(x))

    f(x) = sum_m weight_m sqrt(S(w_m)) sin(w_m (x + L))/sqrt(L),  w_m = m pi/(2 L),  m = 1, ..., 15
    S(w) = amplitude^2 sqrt(2 pi) length exp(-(length w)^2/2),    weight_m ~ Normal(0, 1)

f is the Gaussian process of a squared exponential covariance, in the basis of Riutort-Mayol and
others (Statistics and Computing 33, 2023). Use it where a higher score may mean a lower
probability; compare it with "monotone" by `leave_one_out`. Label 0 negative, 1 positive; scores in
raw units.
"""

from typing import Any

import numpy as np
import pymc as pm
from numpy.typing import ArrayLike

FARTHEST = 5.0  # L: the process is a constant beyond
FREQUENCY = np.arange(1, 16) * np.pi / (2.0 * FARTHEST)


def model(
    score: ArrayLike, label: ArrayLike, *, centre: float = 0.0, spread: float = 1.0
) -> pm.Model:
    """Return the model of labels given scores."""
    with pm.Model(coords={"frequency": FREQUENCY}) as program:
        intercept = pm.Normal("intercept", 0.0, 5.0)
        level = pm.Normal("level", 0.0, 1.0)
        slope = pm.Deterministic("slope", pm.math.exp(level))
        amplitude = pm.HalfNormal("amplitude", 1.0)
        length = pm.LogNormal("length", 0.5, 0.5)
        weight = pm.Normal("frequency_weight", 0.0, 1.0, dims="frequency")
        logit = log_odds(score, intercept, slope, amplitude, length, weight, centre, spread)
        pm.Bernoulli("label", logit_p=logit, observed=label)
    return program


def log_odds(
    score: Any,
    intercept: Any,
    slope: Any,
    amplitude: Any,
    length: Any,
    frequency_weight: Any,
    centre: float,
    spread: float,
) -> Any:
    """Return the log-odds at scores, symbolic."""
    x = (score - centre) / spread
    inside = pm.math.clip(x, -FARTHEST, FARTHEST)
    basis = pm.math.sin(FREQUENCY * (inside[:, None] + FARTHEST)) / np.sqrt(FARTHEST)
    density = np.sqrt(2.0 * np.pi) * length * pm.math.exp(-0.5 * (length * FREQUENCY) ** 2)
    curve = (basis * (amplitude * pm.math.sqrt(density) * frequency_weight)).sum(axis=-1)
    return intercept + slope * x + curve

"""Closed-form maximum likelihood of the symmetric families."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from bayescal.families._family import Fit, Guard
from bayescal.families._guard import GuardOption, resolve_guard
from bayescal.families._two_sided import CANDIDATES
from bayescal.robust import median
from bayescal.validation import Floats, as_scores, as_weights, check_choice

Names = tuple[str, str]


def fit_laplace(
    names: Names, x: ArrayLike, sample_weight: ArrayLike | None, candidates: str, guard: GuardOption
) -> Fit:
    """Return theta = median, beta = N / sum |x - theta|; see `laplace.fit`."""
    raw, weight, total, floor = _prepare(x, sample_weight, candidates, guard)
    theta = median(raw, weight)
    deviation = float(np.average(np.abs(raw - theta), weights=weight))
    scale = max(deviation, floor.floor)
    log_likelihood = -total * (math.log(2.0 * scale) + deviation / scale)
    return _fit(names, (theta, 1.0 / scale), log_likelihood, total, deviation, floor)


def fit_gaussian(
    names: Names, x: ArrayLike, sample_weight: ArrayLike | None, candidates: str, guard: GuardOption
) -> Fit:
    """Return mu = mean, sigma^2 = sum (x - mu)^2 / N; see `gaussian.fit`."""
    raw, weight, total, floor = _prepare(x, sample_weight, candidates, guard)
    # Around a score, so that the mean of equal scores is that score to the last bit.
    mu = float(raw[0] + np.average(raw - raw[0], weights=weight))
    deviation = np.abs(raw - mu)
    unit = float(deviation.max()) or 1.0  # squares of tiny or huge scores would leave the doubles
    sigma = unit * math.sqrt(np.average((deviation / unit) ** 2, weights=weight))
    scale = max(sigma, floor.floor)
    log_density = math.log(scale) + 0.5 * math.log(2.0 * math.pi) + 0.5 * (sigma / scale) ** 2
    return _fit(names, (mu, scale), -total * log_density, total, sigma, floor)


def _prepare(
    x: ArrayLike, sample_weight: ArrayLike | None, candidates: str, guard: GuardOption
) -> tuple[Floats, Floats | None, float, Guard]:
    check_choice("candidates", candidates, CANDIDATES)
    raw = as_scores(x, "x")
    weight = as_weights(sample_weight, raw.size)
    if weight is not None:
        raw, weight = raw[weight > 0.0], weight[weight > 0.0]
    total = float(raw.size) if weight is None else float(weight.sum())
    return raw, weight, total, resolve_guard(guard, raw, weight)


def _fit(
    names: Names,
    values: tuple[float, float],
    log_likelihood: float,
    total: float,
    free_scale: float,
    guard: Guard,
) -> Fit:
    acted = (names[1],) if free_scale < guard.floor else ()
    parameters = dict(zip(names, values, strict=True))
    return Fit(parameters, log_likelihood, total, replace(guard, acted=acted))

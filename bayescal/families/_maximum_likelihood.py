"""Maximum likelihood of every family.

Where both sides are the same the fit has a closed form. Where each has its own scale, the best
scales are known at every candidate for the mode (`_profile.py`) and the narrowest candidate wins:
a score (`_modes.py`) or, where a side is Gaussian, a point between two (`_between.py`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from bayescal.families._between import best_between
from bayescal.families._family import HALF_WIDTH, Fit, Parametrisation, ScaleFloor
from bayescal.families._modes import best_on_grid, best_score
from bayescal.families._profile import Profile
from bayescal.families._scale_floor import OFF_FRACTION, ScaleFloorOption, resolve_scale_floor
from bayescal.families._sorted import Sums, deviation_sums, sort_scores
from bayescal.robust import median
from bayescal.validation import Floats, as_scores, as_weights, check_choice

CANDIDATES = ("exact", "bennett")


@dataclass(frozen=True)
class SidesFit:
    """The best mode and scales, in raw score units, and which scales fall below without a floor."""

    theta: float
    left: float
    right: float
    log_likelihood: float
    below: tuple[bool, bool] = (False, False)


def maximise_likelihood(
    form: Parametrisation,
    x: ArrayLike,
    sample_weight: ArrayLike | None,
    candidates: str,
    scale_floor: ScaleFloorOption,
) -> Fit:
    """
    Return the fit of a family.

    Raises
    ------
    ValueError
        If scores, weights, `candidates` or `scale_floor` are not legal.
    """
    check_choice("candidates", candidates, CANDIDATES)
    raw = as_scores(x, "x")
    weight = as_weights(sample_weight, raw.size)
    if weight is not None:
        raw, weight = raw[weight > 0.0], weight[weight > 0.0]
    total = float(raw.size) if weight is None else float(weight.sum())
    resolved = resolve_scale_floor(scale_floor, raw, weight)
    if form.symmetric:
        found = _fit_symmetric(form.powers[0], raw, weight, total, resolved.floor)
    elif form.powers == (1, 2):
        found = _reflected(_fit_sides((2, 1), -raw, weight, candidates, resolved.floor))
    else:
        found = _fit_sides(form.powers, raw, weight, candidates, resolved.floor)
    return _as_fit(form, found, total, resolved)


def _as_fit(form: Parametrisation, found: SidesFit, total: float, scale_floor: ScaleFloor) -> Fit:
    values = form.from_sides(found.theta, found.left, found.right)
    low = {k for k, is_below in zip(form.by_side[1:], found.below, strict=True) if is_below}
    acted = tuple(form.parameters[k] for k in sorted(low))
    parameters = dict(zip(form.parameters, values, strict=True))
    return Fit(
        parameters,
        found.log_likelihood,
        total,
        ScaleFloor(scale_floor.name, scale_floor.floor, acted),
    )


def _reflected(fit: SidesFit) -> SidesFit:
    # 0 - theta: no mode at -0.
    return SidesFit(0.0 - fit.theta, fit.right, fit.left, fit.log_likelihood, fit.below[::-1])


def _fit_symmetric(
    power: int, x: Floats, weight: Floats | None, total: float, floor: float
) -> SidesFit:
    """Return the median and the mean deviation (power 1), or mean and standard deviation (2)."""
    if power == 1:
        theta = median(x, weight)
        free = float(np.average(np.abs(x - theta), weights=weight))
    else:
        # Around a score, so that the mean of equal scores is that score to the last bit.
        theta = float(x[0] + np.average(x - x[0], weights=weight))
        deviation = np.abs(x - theta)
        # Squares of tiny or huge scores would leave the doubles.
        unit = float(deviation.max()) or 1.0
        free = unit * math.sqrt(np.average((deviation / unit) ** 2, weights=weight))
    scale = max(free, floor)
    log_width = math.log(2.0 * HALF_WIDTH[power] * scale)
    log_likelihood = -total * (log_width + (free / scale) ** power / power)
    return SidesFit(theta, scale, scale, log_likelihood, (free < floor,) * 2)


def _fit_sides(
    powers: tuple[int, int], x: Floats, weight: Floats | None, candidates: str, floor: float
) -> SidesFit:
    """Return the best of the candidates, each side with its own scale."""
    sums = deviation_sums(sort_scores(x, weight), powers)
    # The floor acts where the optimum without it breaks the floor; elsewhere both are the same.
    free_floor = min(OFF_FRACTION * sums.scores.unit, floor)
    free = _best_fit(sums, candidates, free_floor)
    below = (free.left <= floor, free.right <= floor)
    acts = any(below) and free_floor < floor
    return replace(_best_fit(sums, candidates, floor) if acts else free, below=below)


def _best_fit(sums: Sums, candidates: str, floor: float) -> SidesFit:
    scores = sums.scores
    profile = Profile(sums, floor / scores.unit)
    best = best_score(profile)
    if candidates == "bennett":
        best = best_on_grid(profile, best)
    elif 2 in sums.powers:  # between two exponential sides the best mode is a score
        best = best_between(profile, best)
    left, right = profile.scales(np.asarray(best.left), np.asarray(best.right))
    theta = scores.x[best.index]
    if best.share > 0.0:
        theta += best.share * (scores.x[best.index + 1] - theta)
    log_width = np.log(best.width) + np.log(scores.unit)
    return SidesFit(
        theta=float(theta),
        left=float(left * scores.unit),
        right=float(right * scores.unit),
        log_likelihood=float(-scores.total * (log_width + profile.log_offset)),
    )

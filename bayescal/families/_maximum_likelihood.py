"""Maximum likelihood of every family, with a floor under each side's scale.

Where both sides are the same the fit has a closed form. Where each has its own scale, the best
scales are known at every candidate for the mode (`_profile.py`) and the narrowest candidate wins:
a score or, where a side is Gaussian, a point between two (`_mode_search.py`).

With few scores the likelihood often peaks at the smallest or largest of them: one side is empty,
its scale 0, and the calibrated probability exactly 0 or 1 beyond the mode. With one score, or all
equal, the likelihood is unbounded. So the fit maximises over scales of at least the floor.
"""

import math
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from bayescal.families._density import HALF_WIDTH
from bayescal.families._family import Family, Fit, ScaleFloor
from bayescal.families._mode_search import best_between, best_on_grid, best_score
from bayescal.families._profile import Profile, Sums, deviation_sums, sort_scores
from bayescal.support.robust import centre_and_spread, median
from bayescal.support.validation import Floats, as_scores, as_weights, check_choice

CANDIDATES = ("exact", "bennett")
ScaleFloorOption = float | Literal["auto"] | None

# Chosen by held-out log-loss on calibration data: studies/scale_floor.py.
FLOOR_FACTOR = 1.5

# "Off" still needs Bennett's "very large constant" for an inverse scale whose side is empty.
OFF_FRACTION = 1e-12

# The inverse of a smaller scale would be infinite.
LEAST = 1e-300


def automatic_floor(spread: float, n: float, factor: float = FLOOR_FACTOR) -> float:
    """
    Return the floor under each side's scale, factor * spread / sqrt(n).

    It falls with n, so that it stops acting: the fit with a floor is as consistent as the free one.

    Parameters
    ----------
    spread : float
        The robust spread of scores (for calibration of both classes' pooled), in score units.
    n : float
        Number of scores, or the sum of their weights, to which the density is fitted.
    factor : float
        Positive.

    Returns
    -------
    float
        In raw score units.

    Examples
    --------
    >>> automatic_floor(2.0, 9.0)
    1.0
    """
    return factor * spread / math.sqrt(n)


def resolve_scale_floor(
    scale_floor: ScaleFloorOption, x: Floats, weight: Floats | None
) -> ScaleFloor:
    """Turn the `scale_floor` argument of a fit into a floor in raw score units."""
    if scale_floor is None:
        return ScaleFloor("off", max(OFF_FRACTION * centre_and_spread(x, weight)[1], LEAST), ())
    if isinstance(scale_floor, str) and scale_floor == "auto":
        n = float(x.size) if weight is None else float(weight.sum())
        floor = automatic_floor(centre_and_spread(x, weight)[1], n)
        return ScaleFloor("scale_floor", max(floor, LEAST), ())
    if not _is_floor(scale_floor):
        raise ValueError(
            "scale_floor must be 'auto', None (off) or a positive floor in score units, got"
            f" {scale_floor!r}."
        )
    return ScaleFloor("scale_floor", float(scale_floor), ())


def _is_floor(value: Any) -> bool:
    number = isinstance(value, Real) and not isinstance(value, bool)
    return number and 0.0 < float(value) < math.inf


@dataclass(frozen=True)
class SidesFit:
    """The best mode and scales, in raw score units, and which scales fall below without a floor."""

    theta: float
    left: float
    right: float
    log_likelihood: float
    below: tuple[bool, bool] = (False, False)


def maximise_likelihood(
    family: Family,
    x: ArrayLike,
    sample_weight: ArrayLike | None,
    candidates: str,
    scale_floor: ScaleFloorOption,
) -> Fit:
    """Return the fit of a family."""
    check_choice("candidates", candidates, CANDIDATES)
    raw = as_scores(x, "x")
    weight = as_weights(sample_weight, raw.size)
    if weight is not None:
        raw, weight = raw[weight > 0.0], weight[weight > 0.0]
    total = float(raw.size) if weight is None else float(weight.sum())
    resolved = resolve_scale_floor(scale_floor, raw, weight)
    if family.symmetric:
        best = _fit_symmetric(family.powers[0], raw, weight, total, resolved.floor)
    elif family.powers == (1, 2):
        best = _reflected(_fit_sides((2, 1), -raw, weight, candidates, resolved.floor))
    else:
        best = _fit_sides(family.powers, raw, weight, candidates, resolved.floor)
    return _as_fit(family, best, total, resolved)


def _as_fit(family: Family, best: SidesFit, total: float, scale_floor: ScaleFloor) -> Fit:
    values = family.from_sides(best.theta, best.left, best.right)
    low = {k for k, is_below in zip(family.by_side[1:], best.below, strict=True) if is_below}
    acted = tuple(family.parameters[k] for k in sorted(low))
    parameters = dict(zip(family.parameters, values, strict=True))
    return Fit(
        parameters,
        best.log_likelihood,
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

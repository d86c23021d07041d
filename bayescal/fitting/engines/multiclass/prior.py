"""Priors of calibration maps of several classes, learned from earlier problems."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

import numpy as np

from bayescal.support.validation import Floats, as_reals, check_positive

BIAS, SLOPE, CERTAINTY, CONFUSION = BLOCKS = ("bias", "slope", "certainty", "confusion")
FREEDOM = 2.0  # degrees of freedom of the scaled inverse chi-squared priors of the scales
LARGEST_GAP = 10.0  # the gain does not depend on wider typical gaps
FEW_CLASSES = 10  # with more classes the prior scale of confusions is smaller

_SCALES = MappingProxyType({BIAS: 0.25, SLOPE: 0.12, CERTAINTY: 0.12, CONFUSION: 0.05})


@dataclass(frozen=True)
class MapHyperparameters:
    """The prior of a calibration map of several classes; see `MulticlassCalibrator`."""

    # Intercept and slope of the mean of log G on log min(r, 10), with r the typical gap between the
    # two largest log-probabilities, and the standard deviation of log G
    gain: tuple[float, float, float] = (0.295, 0.751, 0.832)
    warp: tuple[float, float] = (1.445, 1.447)  # mean and standard deviation of lambda
    asymmetry: tuple[float, float] = (-0.133, 0.448)  # mean and standard deviation of c
    lapse: tuple[float, float] = (0.5, 50.0)  # parameters of the Beta distribution
    # s0 of each block: coefficients are Normal(0, s^2), s^2 ~ scaled inverse chi-squared(2, s0^2)
    scales: Mapping[str, float] = field(default_factory=lambda: _SCALES)

    def of_globals(self, unit: float) -> tuple[Floats, Floats]:
        """Return means and standard deviations of log G, lambda and c for a typical gap."""
        intercept, slope, spread = self.gain
        mean = intercept + slope * np.log(min(unit, LARGEST_GAP))
        return (
            np.array([mean, self.warp[0], self.asymmetry[0]]),
            np.array([spread, self.warp[1], self.asymmetry[1]]),
        )

    def scale(self, block: str, classes: int) -> float:
        """Return s0 of a block of coefficients."""
        smaller = min(1.0, np.sqrt(FEW_CLASSES / classes)) if block == CONFUSION else 1.0
        return float(self.scales[block] * smaller)


LEARNED = MapHyperparameters()
"""Learned from the problems that `docs/validation/multiclass.md` lists."""


def read_hyperparameters(stated: Any) -> MapHyperparameters:
    """Return the learned prior with the users' hyperparameters."""
    if stated is None:
        return LEARNED
    if not isinstance(stated, Mapping):
        raise ValueError(
            "prior_knowledge must be a dict of hyperparameters by name, such as"
            f" {{'warp': (1.0, 0.5)}}, got {stated!r}."
        )
    known = vars(LEARNED)
    if unknown := sorted(set(stated) - set(known)):
        raise ValueError(
            f"prior_knowledge of several classes may hold {', '.join(known)}; got"
            f" {', '.join(map(repr, unknown))}."
        )
    values = dict(stated)
    scales = values.pop("scales", {})
    if not isinstance(scales, Mapping) or set(scales) - set(BLOCKS):
        raise ValueError(
            f"prior_knowledge: scales must be a dict of {', '.join(BLOCKS)}, got {scales!r}."
        )
    for name, scale in scales.items():
        if np.ndim(scale):
            raise ValueError(
                f"prior_knowledge: the scale of {name} must be one number, got {scale!r}."
            )
        check_positive(**{f"the scale of {name}": scale})
    numbers: dict[str, Any] = {
        name: _numbers(name, value, len(known[name])) for name, value in values.items()
    }
    return replace(LEARNED, scales={**LEARNED.scales, **scales}, **numbers)


def _numbers(name: str, value: Any, size: int) -> tuple[float, ...]:
    """Return finite numbers; standard deviations and parameters of a Beta must be positive."""
    numbers = as_reals(value, f"prior_knowledge: {name}")
    if numbers.shape != (size,) or not np.isfinite(numbers).all():
        raise ValueError(f"prior_knowledge: {name} must hold {size} finite numbers, got {value!r}.")
    positive = numbers if name == "lapse" else numbers[-1:]
    for each in positive.tolist():
        check_positive(**{f"prior_knowledge: a scale or count of {name}": each})
    return tuple(numbers.tolist())

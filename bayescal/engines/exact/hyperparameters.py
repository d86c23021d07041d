"""The hyperparameters of the families' priors: the programs' keyword arguments."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields

from bayescal.engines.exact.joint import Prior
from bayescal.families import Family
from bayescal.validation import check_positive


@dataclass(frozen=True)
class Hyperparameters:
    """The programs' keyword arguments, with their defaults; see models/."""

    centre: float
    spread: float
    theta_scale: float = 2.0
    share_alpha: float = 2.0
    share_beta: float = 2.0
    width_shape: float = 2.0
    width_scale: float = 1.0
    prior_alpha: float = 1.0
    prior_beta: float = 1.0

    def prior_of(self, family: Family) -> Prior:
        """Return a class's prior in standardised units."""
        return Prior(
            theta_scale=self.theta_scale,
            share_alpha=self.share_alpha,
            share_beta=self.share_beta,
            width_shape=self.width_shape,
            width_scale=self.width_scale,
            symmetric=family.symmetric,
        )


def resolve(
    families: tuple[Family, ...],
    centre_and_spread: tuple[float, float],
    given: Mapping[str, float] | None,
) -> Hyperparameters:
    """
    Return the hyperparameters that users gave, and the defaults of the others.

    Raises
    ------
    ValueError
        If one is unknown to all families, or out of range.
    """
    known = [field.name for field in fields(Hyperparameters)]
    if all(family.symmetric for family in families):
        known = [name for name in known if not name.startswith("share")]
    unknown = sorted(set(given or {}) - set(known))
    if unknown:
        raise ValueError(
            f"hyperparameters of family {', '.join(repr(f.name) for f in families)} are"
            f" {', '.join(known)}; got {', '.join(map(repr, unknown))}."
        )
    centre, spread = centre_and_spread
    settings = Hyperparameters(**({"centre": centre, "spread": spread} | dict(given or {})))
    check_positive(**{name: getattr(settings, name) for name in known if name != "centre"})
    if not math.isfinite(settings.centre):
        raise ValueError(f"centre must be finite, got {settings.centre}.")
    return settings

"""The mirror image of a family: the densities of -X, with the same scales."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from bayescal.families._family import Density, Family, Fit, Rng
from bayescal.families._guard import GuardOption
from bayescal.validation import Floats, as_scores


@dataclass(frozen=True)
class Reflected:
    """
    The functions of the hybrid family for the class whose exponential side is the left one.

    Attributes
    ----------
    family : Family
        Whose exponential side is the right one.
    isf : callable
        Its inverse survival function, of (q, *parameters): no quantile of 1 - q, which rounds.
    """

    family: Family
    isf: Density

    def logpdf(self, x: ArrayLike, theta: ArrayLike, rate: ArrayLike, sigma: ArrayLike) -> Floats:
        """Return the natural log of the density."""
        return self.family.logpdf(_minus(x), _minus(theta), rate, sigma)

    def cdf(self, x: ArrayLike, theta: ArrayLike, rate: ArrayLike, sigma: ArrayLike) -> Floats:
        """Return P(X <= x)."""
        return np.exp(self.logcdf(x, theta, rate, sigma))

    def logcdf(self, x: ArrayLike, theta: ArrayLike, rate: ArrayLike, sigma: ArrayLike) -> Floats:
        """Return the natural log of P(X <= x)."""
        return self.family.logsf(_minus(x), _minus(theta), rate, sigma)

    def logsf(self, x: ArrayLike, theta: ArrayLike, rate: ArrayLike, sigma: ArrayLike) -> Floats:
        """Return the natural log of P(X > x)."""
        return self.family.logcdf(_minus(x), _minus(theta), rate, sigma)

    def ppf(self, q: ArrayLike, theta: ArrayLike, rate: ArrayLike, sigma: ArrayLike) -> Floats:
        """Return the quantile function."""
        return -self.isf(q, _minus(theta), rate, sigma)

    def rvs(
        self,
        theta: ArrayLike,
        rate: ArrayLike,
        sigma: ArrayLike,
        *,
        size: int | tuple[int, ...] | None = None,
        rng: Rng = None,
    ) -> Floats:
        """Draw scores."""
        return -self.family.rvs(_minus(theta), rate, sigma, size=size, rng=rng)

    def mean(self, theta: ArrayLike, rate: ArrayLike, sigma: ArrayLike) -> Floats:
        """Return the mean."""
        return -self.family.mean(_minus(theta), rate, sigma)

    def variance(self, theta: ArrayLike, rate: ArrayLike, sigma: ArrayLike) -> Floats:
        """Return the variance."""
        return self.family.variance(theta, rate, sigma)

    def fit(
        self,
        x: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        candidates: str = "exact",
        guard: GuardOption = "auto",
    ) -> Fit:
        """Maximise the likelihood, exactly."""
        reflected = -as_scores(x, "x")
        found = self.family.fit(reflected, sample_weight, candidates=candidates, guard=guard)
        theta = 0.0 - found.parameters["theta"]
        return replace(found, parameters=found.parameters | {"theta": theta})

    def as_family(self) -> Family:
        """Return the record."""
        names = ("logpdf", "cdf", "logcdf", "logsf", "ppf", "rvs", "mean", "variance", "fit")
        functions = {name: getattr(self, name) for name in names}
        return replace(self.family, powers=self.family.powers[::-1], **functions)


def _minus(x: ArrayLike) -> Floats:
    return -np.asarray(x, dtype=np.float64)

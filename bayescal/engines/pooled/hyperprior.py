"""Gaussian hyperpriors, and the populations that topics are drawn under to stand for others."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from bayescal.validation import Floats

Normal = tuple[float, float]  # mean and standard deviation

# Topics are drawn under a base at the mode and under a wide one. Weights from wide to narrow are
# bounded, and most draws of the other one lie where they count.
# How many posterior standard deviations: while searching the mode, by one base, and in the end.
SEARCHING, WIDE = 1.0, 2.0


@dataclass(frozen=True)
class GaussianHyperprior:
    """
    Means and standard deviations of unbounded hyperparameters.

    Attributes
    ----------
    mean, scale : tuple of float
        Of each hyperparameter.
    wide : tuple of float
        In which direction, if any, each makes the population wider: 1, -1 or 0.
    lowest : tuple of float
        How far down bases may go.
    """

    mean: tuple[float, ...]
    scale: tuple[float, ...]
    wide: tuple[float, ...]
    lowest: tuple[float, ...]

    def given(self, names: Sequence[str], values: Mapping[str, Normal]) -> Self:
        """
        Return the same with other means and standard deviations of some hyperparameters.

        Parameters
        ----------
        names : sequence of str
            Of all hyperparameters.
        values : mapping of str to (mean, standard deviation)
            By name; names of other hyperparameters do not matter.
        """
        usual = zip(names, self.mean, self.scale, strict=True)
        mean, scale = zip(*(values.get(name, (m, s)) for name, m, s in usual), strict=True)
        return replace(self, mean=mean, scale=scale)

    def log_density(self, points: Floats) -> Floats:
        """Return the log density at points of shape (..., hyperparameters)."""
        z = (points - np.array(self.mean)) / np.array(self.scale)
        constant = np.log(self.scale).sum() + 0.5 * len(self.mean) * math.log(2.0 * math.pi)
        log: Floats = -0.5 * (z**2).sum(axis=-1) - constant
        return log

    def draw(self, size: int, rng: np.random.Generator) -> Floats:
        """Return points of shape (size, hyperparameters)."""
        z = rng.normal(size=(size, len(self.mean)))
        return np.array(self.mean) + np.array(self.scale) * z

    def base(self, centre: Floats, deviation: Floats, width: float) -> Floats:
        """Return the population so many deviations wider than the centre."""
        wider = centre + width * np.array(self.wide) * deviation
        base: Floats = np.maximum(wider, np.array(self.lowest))
        return base

    def bases_of(self, points: Floats) -> Floats:
        """Return the populations to draw topics under whose draws all points can reweight."""
        centre, deviation = points.mean(axis=0), points.std(axis=0)
        return np.stack([self.base(centre, deviation, width) for width in (0.0, WIDE)])

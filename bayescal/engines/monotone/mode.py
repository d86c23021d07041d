"""The mode of a posterior density given the scale of its steps, by safeguarded Newton steps."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bayescal.engines.monotone.density import Expansion, PosteriorDensity
from bayescal.validation import Floats

MOST_STEPS = 100
SMALLEST_SIZE = 1e-6
# The squared length of a Newton step in posterior standard deviations: the mode only centres a
# proposal, whose weights then tell how good it was.
SMALLEST_DECREMENT = 1e-5
# Flatter Hessians would give steps, and proposals, far wider than the prior.
SMALLEST_CURVATURE = 1e-3


@dataclass(frozen=True)
class Mode:
    """
    A mode and the covariance of the Gaussian that touches it.

    Attributes
    ----------
    point : array of shape (d,)
    covariance : array of shape (d, d)
    log_density : float
        At the mode.
    """

    point: Floats
    covariance: Floats
    log_density: float


def find_mode(density: PosteriorDensity, start: Floats, scale: float) -> Mode:
    """
    Climb to a mode: Newton steps, halved until the density rises as it should.

    Where minus the Hessian is not positive definite, its positive part takes its place.

    Parameters
    ----------
    density : PosteriorDensity
        What to climb.
    start : array of shape (d,)
        Where from.
    scale : float
        Standard deviation of the walk's steps.
    """
    point, here = start, density.expand(start, scale)
    for _ in range(MOST_STEPS):
        step = np.linalg.solve(_metric(here), here.gradient)
        decrement = float(step @ here.gradient)
        if decrement < SMALLEST_DECREMENT:
            break
        size = 1.0
        while not _rises(density, point + size * step, scale, here.value + 1e-4 * size * decrement):
            size *= 0.5
            if size < SMALLEST_SIZE:  # rounding hides what is left to climb
                return _touching(point, here)
        point = point + size * step
        here = density.expand(point, scale)
    return _touching(point, here)


def _touching(point: Floats, here: Expansion) -> Mode:
    return Mode(point, np.linalg.inv(_metric(here)).astype(np.float64), here.value)


def _rises(density: PosteriorDensity, point: Floats, scale: float, level: float) -> bool:
    return float(density.log_density(point[None], scale)[0]) > level


def _metric(here: Expansion) -> Floats:
    lowest = np.linalg.eigvalsh(here.hessian)[0]
    return here.hessian if lowest > SMALLEST_CURVATURE else here.positive

"""The mode of a posterior density given the scale of its steps, by safeguarded Newton steps."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from bayescal.engines.monotone.density import Expansion, PosteriorDensity
from bayescal.validation import Floats

MOST_STEPS = 100
SMALLEST_SIZE = 1e-6
# The squared length of a Newton step in posterior standard deviations: the mode only centres a
# proposal, whose weights then tell how good it was.
SMALLEST_DECREMENT = 0.1
# Relative to the positive part, which is never below the prior's curvature: flatter Hessians would
# give steps, and proposals, far wider than the prior.
SMALLEST_CURVATURE = 1e-3


@dataclass(frozen=True)
class Mode:
    """
    A mode and the Gaussian that touches it.

    Attributes
    ----------
    point : array of shape (d,)
        Its mean.
    root : array of shape (d, d)
        Lower triangular root R of its covariance R R^T.
    log_density : float
        At the mode.
    """

    point: Floats
    root: Floats
    log_density: float

    @property
    def log_integral(self) -> float:
        """Return Laplace's approximation of the log of the density's integral."""
        log_volume = 0.5 * self.point.size * math.log(2.0 * math.pi)
        return self.log_density + log_volume + float(np.log(np.diag(self.root)).sum())


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
        root = _root(here)
        step = root @ (root.T @ here.gradient)
        decrement = float(step @ here.gradient)
        if decrement < SMALLEST_DECREMENT:
            return Mode(point, root, here.value)
        size = 1.0
        # Most steps rise at once, and the next one starts with the derivatives there.
        there = density.expand(point + step, scale)
        while not there.value > here.value + 1e-4 * size * decrement:
            size *= 0.5
            if size < SMALLEST_SIZE:  # rounding hides what is left to climb
                return Mode(point, root, here.value)
            there = density.expand(point + size * step, scale)
        point, here = point + size * step, there
    return Mode(point, _root(here), here.value)


def _root(here: Expansion) -> Floats:
    """
    Return a root of the inverse of minus the Hessian, or else of its positive part.

    Where scores differ by orders of magnitude curvatures do. Relative to the positive part none is
    above 1: rounding of the largest does not hide the sign of the smallest.
    """
    stand_in = _root_of_inverse(here.positive)
    relative = stand_in.T @ here.hessian @ stand_in
    if np.linalg.eigvalsh(relative)[0] <= SMALLEST_CURVATURE:
        return stand_in
    return stand_in @ _root_of_inverse(relative)


def _root_of_inverse(matrix: Floats) -> Floats:
    """Return the lower triangular R with positive diagonal whose R R^T is a matrix's inverse."""
    # The Cholesky factor of the matrix in reverse is an upper triangular root.
    upper = np.linalg.cholesky(matrix[::-1, ::-1])[::-1, ::-1]
    root: Floats = np.linalg.inv(upper).T
    return root

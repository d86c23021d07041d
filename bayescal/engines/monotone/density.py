r"""The posterior density of monotone log-odds, with its derivatives.

    a      ~ Normal(intercept_location, intercept_scale) log-odds at the reference
    level  ~ Normal(slope_location, slope_scale)         log slope in the reference's segment
    step   ~ Student t in J - 1 dimensions, walk_freedom degrees of freedom
    eta_j  = level + walk_scale / sqrt(J - 1) sum of the steps between segment j and the reference's
    slope  b_j = exp(eta_j)

The walk's whole length has the same prior whatever J: knots may be added without changing it.
A multivariate t is a Gaussian walk with an unknown scale, integrated out. Points are
(a, u_0, ..., u_J-1) with level = slope_location + slope_scale u_0 and u_k the steps.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields

import numpy as np
from scipy import special

from bayescal.engines.monotone.basis import Pieces
from bayescal.engines.monotone.compression import Nodes
from bayescal.validation import Floats, check_positive

HALF_LOG_TWO_PI = 0.5 * math.log(2.0 * math.pi)
# A slope of exp(50) per spread is a step even to classes that meet in a billionth of the spread.
LARGEST_ETA = 50.0
TINY = np.finfo(np.float64).tiny
AT_ONCE = 1 << 16  # points x nodes: half a megabyte, which caches hold


@dataclass(frozen=True)
class Prior:
    """
    Prior of the intercept and the slopes, for standardised scores; the program's names.

    Attributes
    ----------
    intercept_location, intercept_scale : float
        Mean and standard deviation of the log-odds at the reference.
    slope_location, slope_scale : float
        Mean and standard deviation of the log slope at the reference.
    walk_scale, walk_freedom : float
        Scale of log slopes' whole change from the first segment to the last, and its degrees of
        freedom: few leave the scale to the data.
    """

    intercept_location: float = 0.0
    intercept_scale: float = 5.0
    slope_location: float = 0.0
    slope_scale: float = 1.0
    walk_scale: float = 1.5
    walk_freedom: float = 4.0

    def __post_init__(self) -> None:
        named = {field.name: getattr(self, field.name) for field in fields(self)}
        locations = {name: named.pop(name) for name in ("intercept_location", "slope_location")}
        check_positive(**named)
        for name, location in locations.items():
            if not math.isfinite(location):
                raise ValueError(f"{name} must be finite, got {location}.")

    def walk(self, pieces: Pieces) -> Floats:
        """Return B, of shape (J, J), of eta = slope_location + B u."""
        segments, middle = pieces.segments, pieces.reference_segment
        j, k = np.arange(segments)[:, None], np.arange(segments - 1)
        between = ((k >= middle) & (k < j)) | ((k < middle) & (k >= j))
        step = self.walk_scale / math.sqrt(max(segments - 1, 1))
        return np.hstack([np.full((segments, 1), self.slope_scale), step * between])


@dataclass(frozen=True)
class Expansion:
    """
    The log density near a point.

    Attributes
    ----------
    value : float
        Log density.
    gradient : array of shape (d,)
    hessian : array of shape (d, d)
        Minus the second derivative.
    positive : array of shape (d, d)
        A positive definite stand-in: the same without the terms that may be negative.
    """

    value: float
    gradient: Floats
    hessian: Floats
    positive: Floats


class PosteriorDensity:
    """
    log p(labels, a, u | scores).

    Parameters
    ----------
    pieces : Pieces
        Knots and reference.
    classes : tuple of Nodes
        The scores of negatives and positives, compressed.
    prior : Prior
        Of intercept and slopes.
    """

    def __init__(self, pieces: Pieces, classes: tuple[Nodes, Nodes], prior: Prior) -> None:
        self.prior, self.pieces = prior, pieces
        self.dimension = pieces.segments + 1
        x = np.concatenate([nodes.x for nodes in classes])
        sign = np.repeat([1.0, -1.0], [nodes.x.size for nodes in classes])
        self.weight = np.concatenate([nodes.weight for nodes in classes])
        # Rows give +-(a + sum_j b_j h_j(x)): what softplus makes minus the log likelihood of.
        self._design = sign[:, None] * np.hstack([np.ones((x.size, 1)), pieces.basis(x)])
        self._transposed = np.ascontiguousarray(self._design.T)
        self._walk = prior.walk(pieces)

    def slopes(self, points: Floats) -> Floats:
        """Return b at points of shape (..., J + 1)."""
        eta = self.prior.slope_location + points[..., 1:] @ self._walk.T
        slopes: Floats = np.exp(np.minimum(eta, LARGEST_ETA))
        return slopes

    def start(self) -> Floats:
        """
        Return a point from which to climb: each piece rises by about one between its scores.

        From slopes that are too steep for the scores the way down is short, exp(eta) being steep
        too; where slopes are too flat for them, nothing tells how much steeper they should be.
        """
        reach = np.abs(self._design[:, 1:]).max(axis=0)
        eta = np.minimum(-np.log(np.maximum(reach, TINY)), LARGEST_ETA)
        steps = np.linalg.solve(self._walk, eta - self.prior.slope_location)
        return np.concatenate([[self.prior.intercept_location], steps])

    def log_density(self, points: Floats, scale: Floats | float | None = None) -> Floats:
        """
        Return the log density at points of shape (m, J + 1).

        With a `scale`, of all or of each point, the joint density of points and labels given that
        steps are Gaussian of that standard deviation.
        """
        lines = np.column_stack([points[:, 0], self.slopes(points)])
        log = self._log_prior(points, scale)
        rows = max(AT_ONCE // self.weight.size, 1)
        for start in range(0, lines.shape[0], rows):
            some = slice(start, start + rows)
            log[some] -= _softplus(lines[some] @ self._transposed) @ self.weight
        return log

    def expand(self, point: Floats, scale: float) -> Expansion:
        """Return value and derivatives, given the scale of steps, at one point of (J + 1,)."""
        slopes = self.slopes(point)
        wrong = special.expit(self._design @ np.concatenate([point[:1], slopes]))
        expected = self.weight * wrong
        pull = -self._transposed @ expected
        chain = slopes[:, None] * self._walk
        of_point = np.column_stack([self._design[:, 0], self._design[:, 1:] @ chain])
        information = (of_point.T * (expected * (1.0 - wrong))) @ of_point
        precision = np.ones(point.size)
        precision[0] = self.prior.intercept_scale**-2
        precision[2:] = scale**-2
        from_prior = point.copy()
        from_prior[0] -= self.prior.intercept_location
        gradient = np.concatenate([pull[:1], chain.T @ pull[1:]]) - precision * from_prior
        # Pieces that the labels pull down curve the density as it should be at a mode.
        curvature = -slopes * pull[1:]
        positive, hessian = (information + np.diag(precision) for _ in range(2))
        positive[1:, 1:] += (self._walk.T * np.maximum(curvature, 0.0)) @ self._walk
        hessian[1:, 1:] += (self._walk.T * curvature) @ self._walk
        value = float(self.log_density(point[None], scale)[0])
        return Expansion(value, gradient, hessian, positive)

    def _log_prior(self, points: Floats, scale: Floats | float | None) -> Floats:
        a, level, steps = points[:, 0], points[:, 1], points[:, 2:]
        z = (a - self.prior.intercept_location) / self.prior.intercept_scale
        gaussian = z**2 + level**2
        m, freedom, square = steps.shape[1], self.prior.walk_freedom, (steps**2).sum(axis=1)
        if scale is None:
            log = _student_constant(m, freedom) - 0.5 * (freedom + m) * np.log1p(square / freedom)
        else:
            log = -m * (HALF_LOG_TWO_PI + np.log(scale)) - 0.5 * square / scale**2
        constant = 2.0 * HALF_LOG_TWO_PI + math.log(self.prior.intercept_scale)
        log_prior: Floats = log - 0.5 * gaussian - constant
        return log_prior


def _student_constant(m: int, freedom: float) -> float:
    """Return the log of the constant of the standard Student t density in m dimensions."""
    gammas = math.lgamma(0.5 * (freedom + m)) - math.lgamma(0.5 * freedom)
    return gammas - 0.5 * m * math.log(freedom * math.pi)


def _softplus(f: Floats) -> Floats:
    """Return log(1 + exp f), overwriting f: three times faster than np.logaddexp(0, f)."""
    positive = np.maximum(f, 0.0)
    np.abs(f, out=f)
    np.negative(f, out=f)
    np.exp(f, out=f)
    np.log1p(f, out=f)
    f += positive
    return f

r"""Monotone piecewise-linear log-odds: their posterior density and its derivatives.

    f(x)   = a + sum_j b_j h_j(x),   h_j(x) = clip(x, k_j, k_j+1) - clip(r, k_j, k_j+1)
    a      ~ Normal(intercept_location, intercept_scale) log-odds at the reference r
    level  ~ Normal(slope_location, slope_scale)         log slope in the reference's segment
    step   ~ Student t in J - 1 dimensions, walk_freedom degrees of freedom
    eta_j  = level + walk_scale / sqrt(J - 1) sum of the steps between segment j and the reference's
    slope  b_j = exp(eta_j)

with knots k_1 .. k_J-1, k_0 = -infinity and k_J = infinity. The prior of the walk's whole length
does not depend on J. A multivariate t is a Gaussian walk with an unknown scale, integrated out.
Points are (a, u_0, ..., u_J-1) with level = slope_location + slope_scale u_0 and u_k the steps.

Many scores are compressed to few nodes: two-point Gauss rules in bins, with a bound on the error.
Each score of a class adds softplus(f(x)) = log(1 + exp f(x)) to minus the log likelihood, with the
sign of f changed for positives. In a bin inside one segment, where f has slope b, that is a smooth
function of x. Two nodes with the bin's weight, mean, variance and third moment integrate cubics
exactly, with an error of at most

    b^4 max |softplus''''| sum w ((x - x_1)(x - x_2))^2 / 24,
    |softplus''''(f)| <= min(1/8, exp(-|f|)).

Nodes lie between the scores of their class, so that separated scores have separated nodes.
"""

import math
from dataclasses import dataclass, fields
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy import special

from bayescal.distributions.knots import place_knots
from bayescal.support.validation import Floats, check_positive


@dataclass(frozen=True)
class Pieces:
    """Knots and reference score of piecewise-linear log-odds."""

    knots: Floats  # strictly ascending; none for one slope, (J - 1,)
    reference: float  # the score whose log-odds is the intercept

    def __post_init__(self) -> None:
        if not np.isfinite(self.knots).all():
            raise ValueError(f"knots must be finite, got {self.knots}.")
        if np.any(np.diff(self.knots) <= 0.0):
            raise ValueError(f"knots must be strictly ascending, got {self.knots}.")
        if not np.isfinite(self.reference):
            raise ValueError(f"reference must be finite, got {self.reference}.")

    @property
    def segments(self) -> int:
        """Return J, the number of slopes."""
        return self.knots.size + 1

    @property
    def reference_segment(self) -> int:
        """Return the reference's segment; a knot belongs to the segment on its right."""
        return int(np.searchsorted(self.knots, self.reference, side="right"))

    def basis(self, x: Floats) -> Floats:
        """Return h_j(x), of shape (len(x), J)."""
        low, high, at_reference = self._bounds
        return np.minimum(np.maximum(x[:, None], low), high) - at_reference

    @cached_property
    def _bounds(self) -> tuple[Floats, Floats, Floats]:
        low, high = np.r_[-np.inf, self.knots], np.r_[self.knots, np.inf]
        return low, high, np.clip(self.reference, low, high)


def place_pieces(x: Floats, positive: np.ndarray, weight: Floats | None, n_segments: int) -> Pieces:
    """Return the knots and the reference of `place_knots`."""
    return Pieces(*place_knots(x, positive, weight, n_segments))


LARGEST_FOURTH_DERIVATIVE = 0.125
# Error of the log likelihood in nats, negligible for model comparison.
TOLERANCE = 0.01
MOST_ROUNDS = 60
MOST_BINS = 4096
FEW_SCORES = 64
FIRST_BINS = 8


@dataclass(frozen=True)
class QuadratureNodes:
    """Weighted nodes that represent the scores of a class, and their bins."""

    x: Floats  # (m,): nodes
    weight: Floats  # (m,): weight of the documents of each
    low: Floats  # (bins,): the first score of each bin
    high: Floats  # (bins,): the last score of each bin
    segment: NDArray[np.intp]  # (bins,): the segment of each bin
    total: Floats  # (bins,): the weight in each bin
    middle: Floats  # (bins,): position of the mean between low (0) and high (1)
    moment: Floats  # (bins,): sum w ((x - x_1)(x - x_2))^2 / 24; 0 for exact nodes

    def errors(self, pieces: Pieces, intercept: Floats, slopes: Floats) -> Floats:
        """Return bounds on each bin's error of the log likelihood; shape (curves, bins)."""
        low, high = (intercept[:, None] + slopes @ pieces.basis(x).T for x in (self.low, self.high))
        nearest = np.where(low * high > 0.0, np.minimum(np.abs(low), np.abs(high)), 0.0)
        fourth = np.minimum(LARGEST_FOURTH_DERIVATIVE, np.exp(-nearest))
        # Steep curves: both sums lie between the chord and the value at the mean (Jensen).
        middle = low + (high - low) * self.middle
        at_low = np.logaddexp(0.0, low)
        chord = at_low + (np.logaddexp(0.0, high) - at_low) * self.middle
        jensen = self.total * (chord - np.logaddexp(0.0, middle))
        return np.asarray(np.minimum(slopes[:, self.segment] ** 4 * fourth * self.moment, jensen))


class ScoreSums:
    """Scores of one class, ascending with ties merged, to be compressed for given curves."""

    def __init__(self, x: Floats, weight: Floats) -> None:
        order = np.argsort(x, kind="stable")
        ascending = x[order]
        first = np.flatnonzero(np.diff(ascending, prepend=-np.inf))
        self.x = ascending[first]
        self.weight = np.add.reduceat(weight[order], first)

    def compress(self, pieces: Pieces, intercept: Floats, slopes: Floats) -> QuadratureNodes:
        """Return nodes whose log likelihood errs by at most TOLERANCE for each of some curves."""
        if self.x.size <= FEW_SCORES:
            start = np.arange(self.x.size)
            return _two_point_rules(self.x, self.weight, start, pieces)
        quantiles = np.linspace(0, self.x.size - 1, FIRST_BINS).astype(np.intp)
        start = np.unique(np.r_[quantiles, np.searchsorted(self.x, pieces.knots)])
        start = start[start < self.x.size]
        for _ in range(MOST_ROUNDS):
            nodes = _two_point_rules(self.x, self.weight, start, pieces)
            errors = nodes.errors(pieces, intercept, slopes)
            if errors.sum(axis=1).max() <= TOLERANCE or start.size >= MOST_BINS:
                break
            # Equidistribution: halve every bin with more than its share of the error.
            coarse = errors.max(axis=0) > 0.5 * TOLERANCE / start.size
            start = _halve(self.x, start, coarse)
        return nodes


def _halve(x: Floats, start: NDArray[np.intp], coarse: NDArray[np.bool_]) -> NDArray[np.intp]:
    last = np.append(start[1:], x.size) - 1
    middle = 0.5 * (x[start[coarse]] + x[last[coarse]])
    return np.unique(np.r_[start, np.searchsorted(x, middle, side="right")])


def _two_point_rules(
    x: Floats, weight: Floats, start: NDArray[np.intp], pieces: Pieces
) -> QuadratureNodes:
    size = np.diff(start, append=x.size)
    total = np.add.reduceat(weight, start)
    # In place: new arrays of many scores cost more than arithmetic. Deviations from the bin's first
    # score are exact for single scores, and do not cancel in distant bins.
    deviation = x - np.repeat(x[start], size)
    power = weight * deviation
    shift = np.add.reduceat(power, start) / total
    deviation -= np.repeat(shift, size)
    np.square(deviation, out=power)
    power *= weight
    sd = np.sqrt(np.add.reduceat(power, start) / total)
    power *= deviation
    third = np.add.reduceat(power, start) / total
    cube = sd**3  # may underflow where sd does not
    skew = 0.5 * np.divide(third, cube, out=np.zeros_like(sd), where=cube > 0.0)
    half = np.sqrt(1.0 + skew**2)
    low, high = sd * (skew - half), sd * (skew + half)
    product = np.subtract(deviation, np.repeat(low, size), out=power)
    deviation -= np.repeat(high, size)
    product *= deviation
    product *= product
    product *= weight
    upper = np.where(sd > 0.0, total * 0.5 * (1.0 - skew / half), 0.0)
    last = np.append(x[start[1:] - 1], x[-1:])
    width = last - x[start]
    node = (x[start] + shift) + np.stack([low, high])
    node_weight = np.stack([total - upper, upper])
    kept = node_weight > 0.0
    return QuadratureNodes(
        x=node[kept],
        weight=node_weight[kept],
        low=x[start],
        high=last,
        segment=np.searchsorted(pieces.knots, x[start], side="right"),
        total=total,
        middle=np.divide(shift, width, out=np.zeros_like(width), where=width > 0.0),
        moment=np.add.reduceat(product, start) / 24.0,
    )


HALF_LOG_TWO_PI = 0.5 * math.log(2.0 * math.pi)
# A slope of exp(50) per spread is effectively a step.
LARGEST_ETA = 50.0
TINY = np.finfo(np.float64).tiny
AT_ONCE = 1 << 16  # points x nodes of a block: half a megabyte, for caches


@dataclass(frozen=True)
class Prior:
    """Prior of the intercept and the slopes, for standardised scores, with the program's names."""

    intercept_location: float = 0.0  # mean and standard deviation of the log-odds at the reference
    intercept_scale: float = 5.0
    slope_location: float = 0.0  # mean and standard deviation of the log slope at the reference
    slope_scale: float = 1.0
    walk_scale: float = 1.5  # scale of log slopes' change from the first segment to the last
    walk_freedom: float = 4.0  # its degrees of freedom

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
    """The log density near a point."""

    value: float
    gradient: Floats  # (d,)
    hessian: Floats  # minus the second derivative, (d, d)
    positive: Floats  # (d, d): the Hessian without terms that may be negative


class PosteriorDensity:
    """log p(labels, a, u | scores)."""

    def __init__(
        self, pieces: Pieces, classes: tuple[QuadratureNodes, QuadratureNodes], prior: Prior
    ) -> None:
        self.prior, self.pieces = prior, pieces
        self.dimension = pieces.segments + 1
        x = np.concatenate([nodes.x for nodes in classes])
        sign = np.repeat([1.0, -1.0], [nodes.x.size for nodes in classes])
        self.weight = np.concatenate([nodes.weight for nodes in classes])
        # Rows give +-(a + sum_j b_j h_j(x)): softplus of these is minus the log likelihood.
        self._design = sign[:, None] * np.hstack([np.ones((x.size, 1)), pieces.basis(x)])
        self._transposed = np.ascontiguousarray(self._design.T)
        self._walk = prior.walk(pieces)

    def slopes(self, points: Floats) -> Floats:
        """Return b at points of shape (..., J + 1)."""
        eta = self.prior.slope_location + points[..., 1:] @ self._walk.T
        return np.asarray(np.exp(np.minimum(eta, LARGEST_ETA)))

    def start(self) -> Floats:
        """Return a start for the search: pieces rise by about one; flat ones have no gradient."""
        reach = np.abs(self._design[:, 1:]).max(axis=0)
        eta = np.minimum(-np.log(np.maximum(reach, TINY)), LARGEST_ETA)
        steps = np.linalg.solve(self._walk, eta - self.prior.slope_location)
        return np.concatenate([[self.prior.intercept_location], steps])

    def log_density(self, points: Floats, scale: Floats | float | None = None) -> Floats:
        """Return the log density at points, (m, J + 1), or given the scale of Gaussian steps."""
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
            gammas = math.lgamma(0.5 * (freedom + m)) - math.lgamma(0.5 * freedom)
            log_constant = gammas - 0.5 * m * math.log(freedom * math.pi)
            log = log_constant - 0.5 * (freedom + m) * np.log1p(square / freedom)
        else:
            log = -m * (HALF_LOG_TWO_PI + np.log(scale)) - 0.5 * square / scale**2
        constant = 2.0 * HALF_LOG_TWO_PI + math.log(self.prior.intercept_scale)
        return np.asarray(log - 0.5 * gaussian - constant)


def _softplus(f: Floats) -> Floats:
    """Return log(1 + exp f), overwriting f: three times faster than np.logaddexp(0, f)."""
    positive = np.maximum(f, 0.0)
    np.abs(f, out=f)
    np.negative(f, out=f)
    np.exp(f, out=f)
    np.log1p(f, out=f)
    f += positive
    return f

"""Newton's method: maxima, Laplace's approximation, logistic regression, weights by stacking."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import optimize, special
from scipy.linalg import blas

from bayescal.support.validation import Floats

# Ridges to try, in units of the diagonal.
RIDGES = 10.0 ** np.arange(-15, -1)


def lower_root(matrix: Floats, factorise: Callable[[Any], Any] = np.linalg.cholesky) -> Floats:
    """Return the Cholesky factor of curvatures, (..., d, d), raised by a ridge if rounded."""
    try:
        return np.asarray(factorise(matrix), dtype=np.float64)
    except np.linalg.LinAlgError:
        diagonal = np.diagonal(matrix, axis1=-2, axis2=-1)
        if not (diagonal > 0.0).all():
            raise
        size = np.sqrt(diagonal)
        unit = matrix / (size[..., :, None] * size[..., None, :])
        for ridge in RIDGES.tolist():
            try:
                root: Floats = factorise(unit + ridge * np.eye(matrix.shape[-1]))
            except np.linalg.LinAlgError:
                continue
            return np.asarray(size[..., :, None] * root)
        raise


def root_of_inverse(matrix: Floats) -> Floats:
    """Return the lower triangular R with positive diagonal whose R R^T is a matrix's inverse."""
    # The Cholesky factor of the matrix in reverse is an upper triangular root.
    upper = lower_root(matrix[::-1, ::-1])[::-1, ::-1]
    return np.asarray(np.linalg.inv(upper).T, dtype=np.float64)


# Newton's method for maxima: with halved steps for vectors, within brackets for many scalars.

# Brackets wider than WIDE are searched by steps of REACH, which is faster than bisection.
WIDE, REACH = 100.0, 4.0


def climb(
    start: Floats,
    value: Callable[[Floats], float],
    newton: Callable[[Floats], tuple[Floats, float]],
    *,
    tolerance: float,
    steps: int = 60,
    rise: float = 1e-4,
    smallest: float = 1e-8,
) -> Floats:
    """Return the maximum of a function by Newton's method, with backtracking."""
    point, here = start, value(start)
    for _ in range(steps):
        step, decrement = newton(point)
        if decrement < tolerance:
            break
        size, new = 1.0, point + step
        there = value(new)
        while not there >= here + rise * size * decrement:
            size *= 0.5
            if size < smallest:
                return point
            new = point + size * step
            there = value(new)
        point, here = new, there
    return point


def climb_within(
    start: Floats,
    low: Floats,
    high: Floats,
    derivatives: Callable[[Floats], tuple[Floats, Floats]],
    *,
    flattest: float,
    tolerance: float,
    steps: int = 60,
) -> tuple[Floats, Floats]:
    """Return the modes of many functions of one variable, by bracketed Newton, and widths."""
    at = start
    for _ in range(steps):
        slope, curvature = derivatives(at)
        low, high = np.where(slope >= 0.0, at, low), np.where(slope <= 0.0, at, high)
        sd = 1.0 / np.sqrt(np.maximum(curvature, flattest))
        newton = at + slope * sd**2
        inside = (curvature > flattest) & (newton >= low) & (newton <= high)
        reach = np.where(slope > 0.0, np.minimum(at + REACH, high), np.maximum(at - REACH, low))
        middle = np.where(high - low > WIDE, reach, 0.5 * (low + high))
        step = np.where(inside, newton, middle) - at
        at = at + step
        if (np.abs(step) <= tolerance * np.where(inside, sd, 1.0)).all():
            break
    return at, sd


# Steps of central differences, for gradients and for second derivatives.
DIFFERENCE, WIDE_DIFFERENCE = 1e-4, 3e-3


def laplace(
    log_density: Callable[[Floats], Floats], start: Floats, *, flattest: float
) -> tuple[Floats, Floats]:
    """Return the mode of a density of points, (m, d), and the root of its normal approximation."""
    # R is lower triangular, R R^T the inverse curvature, with eigenvalues of at least `flattest`.
    axes = np.eye(start.size)

    def gradient(point: Floats) -> Floats:
        steps = DIFFERENCE * np.concatenate([axes, -axes])
        ahead, behind = np.split(log_density(point + steps), 2)
        return np.asarray((behind - ahead) / (2.0 * DIFFERENCE))

    def loss(point: Floats) -> float:
        return -float(log_density(point[None])[0])

    found = optimize.minimize(loss, start, jac=gradient, method="BFGS", options={"maxiter": 80})
    mode = found.x
    steps = WIDE_DIFFERENCE * axes
    curvature = np.stack([gradient(mode + step) - gradient(mode - step) for step in steps])
    curvature /= 2.0 * WIDE_DIFFERENCE
    size, vectors = np.linalg.eigh(0.5 * (curvature + curvature.T))
    root: Floats = np.linalg.cholesky((vectors / np.maximum(size, flattest)) @ vectors.T)
    return mode, root


GOOD_DECREMENT = 1e-12  # squared Newton decrement: twice the distance from the best value
ROUNDING = 1e-14  # relative rounding of sums over documents
STAY_INSIDE = 0.99  # largest step, as a share of the distance to the first zero weight


def stack(log_density: Floats, weight: Floats, pseudo_count: float | Floats) -> Floats:
    """Return the weights of the best mixture of known densities, by Newton's method."""
    # They maximise sum_i weight_i log sum_m w_m p_m(i) + sum_m pseudo_count_m log w_m, concave.
    density = np.exp(log_density - log_density.max(axis=0))
    members = density.shape[0]
    belief = np.broadcast_to(pseudo_count, members)
    # The Lagrange multiplier of sum w = 1 is known, since both sums are homogeneous: without the
    # constraint the sums minus total * sum w have the same maximum.
    total = weight.sum() + belief.sum()

    def value(w: Floats) -> float:
        return float(weight @ np.log(w @ density) + belief @ np.log(w) - total * w.sum())

    def newton(w: Floats) -> tuple[Floats, float]:
        # Relative steps, so that the Hessian is well conditioned with small weights.
        share = w[:, None] * density / (w @ density)
        gradient = share @ weight + belief - total * w
        # A ridge, since rounding may hide beliefs, which separate equal densities.
        hessian = (share * weight) @ share.T + np.diag(belief + ROUNDING * total)
        step = np.linalg.solve(hessian, gradient)
        length = min(1.0, STAY_INSIDE / max(float(-step.min()), STAY_INSIDE))
        return length * w * step, length * float(gradient @ step)

    equal = np.full(members, 1.0 / members)
    w = climb(equal, value, newton, tolerance=GOOD_DECREMENT * total, steps=100, rise=0.25)
    return np.asarray(w / w.sum())


def log_scores(log_odds: Floats | np.float64, positive: NDArray[np.bool_]) -> Floats:
    """Return log p(y) of documents, natural logarithm, from log-odds that broadcast against y."""
    return np.asarray(special.log_expit(np.where(positive, log_odds, -log_odds)))


def compare(score: Floats, weight: Floats) -> tuple[Floats, Floats]:
    """Return the sum of each row of log scores, and standard errors of differences to the best."""
    elpd = score @ weight
    if not weight.size:
        return elpd, np.full_like(elpd, np.nan)
    difference = (score - score[elpd.argmax()]) * weight
    return elpd, np.sqrt(weight.size) * difference.std(axis=1)


def _solve(curvature: Floats, slope: Floats, *, unique: bool) -> Floats:
    """Return Newton's step; the shortest where it is not unique, or a huge weight hides a prior."""
    if unique:
        with contextlib.suppress(np.linalg.LinAlgError):
            return np.asarray(np.linalg.solve(curvature, slope), dtype=np.float64)
    return np.asarray(np.linalg.pinv(curvature, hermitian=True) @ slope, dtype=np.float64)


BLOCK = 2_000_000  # draws times rows at once


@dataclass(frozen=True)
class LogisticLikelihood:
    """log-odds = offset + columns @ coefficients, for rows of labelled documents."""

    columns: Floats  # (n, d)
    offset: float | Floats  # natural log-odds; a number or (n,)
    positive: NDArray[np.bool_] | Floats  # share of positives among a row's documents, (n,)
    weight: Floats  # number of documents that each row represents, (n,)

    @property
    def size(self) -> int:
        """Return d, the number of coefficients."""
        return int(self.columns.shape[1])

    def take(self, rows: NDArray[np.bool_]) -> Self:
        """Return some of the rows; the offset must be a number."""
        return replace(
            self, columns=self.columns[rows], positive=self.positive[rows], weight=self.weight[rows]
        )

    def log_likelihood(self, points: Floats) -> Floats:
        """Return log p(labels | coefficients) at points of shape (draws, d)."""
        negative = self.weight * (1.0 - self.positive)
        step = max(1, BLOCK // len(negative))
        out = np.empty(len(points))
        for start in range(0, len(points), step):
            log_odds = points[start : start + step] @ self.columns.T
            log_odds += self.offset
            # -log(1 + e^x) = min(-x, 0) - log(1 + e^-|x|).
            rest = np.log1p(np.exp(-np.abs(log_odds)))
            value = np.minimum(log_odds, 0.0) @ (self.weight - negative)
            value -= np.maximum(log_odds, 0.0, out=log_odds) @ negative
            out[start : start + step] = value - rest @ self.weight
        return out

    def gradient(self, point: Floats) -> Floats:
        """Return the gradient of the log likelihood at one point."""
        chance = special.expit(self.offset + self.columns @ point)
        return np.asarray(self.columns.T @ (self.weight * (self.positive - chance)))

    def information(self, point: Floats) -> Floats:
        """Return minus the second derivative of the log likelihood, shape (d, d)."""
        chance = special.expit(self.offset + self.columns @ point)
        root = np.sqrt(self.weight * chance * (1.0 - chance))
        if not self.size:  # BLAS raises for empty matrices
            return np.empty((0, 0))
        # dsyrk computes one half of the symmetric matrix, in half the time.
        upper = blas.dsyrk(1.0, (self.columns * root[:, None]).T)
        return np.asarray(np.triu(upper) + np.triu(upper, 1).T)

    def mode(
        self, mean: Floats, precision: Floats, start: Floats, *, tolerance: float, rise: float = 0.0
    ) -> Floats:
        """Return the mode of the coefficients given a normal prior of this precision, (d, d)."""

        def value(point: Floats) -> float:
            away = point - mean
            return float(self.log_likelihood(point[None])[0] - 0.5 * away @ precision @ away)

        def newton(point: Floats) -> tuple[Floats, float]:
            slope = self.gradient(point) - precision @ (point - mean)
            curvature = self.information(point) + precision
            step = _solve(curvature, slope, unique=bool(precision.any()))
            return step, float(slope @ step)

        return climb(start, value, newton, tolerance=tolerance, rise=rise)

    def laplace(self, mean: Floats, precision: Floats, *, tolerance: float) -> NormalPosterior:
        """Return the posterior around the mode, Normal(mode, (X'VX + precision)^-1)."""
        # V = w p (1 - p). The log evidence is log-likelihood + log prior at the mode + (d/2) log 2
        # pi + log det(covariance)/2.
        mode = self.mode(mean, precision, mean, tolerance=tolerance)
        away, information = mode - mean, self.information(mode) + precision
        value = float(self.log_likelihood(mode[None])[0] - 0.5 * away @ precision @ away)
        log_det = float(np.linalg.slogdet(precision)[1] - np.linalg.slogdet(information)[1])
        return NormalPosterior(mode, information, value + 0.5 * log_det)


@dataclass(frozen=True)
class NormalPosterior:
    """Laplace's approximation of a regression: mode, precision and log evidence."""

    mode: Floats
    precision: Floats
    log_evidence: float  # natural

    @cached_property
    def root(self) -> Floats:
        """A triangular root of the covariance."""
        # Inverses of large precisions may not be positive definite after rounding.
        return root_of_inverse(self.precision)

    @property
    def covariance(self) -> Floats:
        """Return the covariance of the coefficients."""
        return np.asarray(self.root @ self.root.T)

    def draw(self, draws: int, rng: np.random.Generator) -> Floats:
        """Return draws of the coefficients, (draws, coefficients)."""
        return np.asarray(self.mode + rng.standard_normal((draws, self.mode.size)) @ self.root.T)

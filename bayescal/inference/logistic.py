"""Logistic regression with an offset and a normal prior: its mode and Laplace's evidence."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

import numpy as np
from numpy.typing import NDArray
from scipy import special
from scipy.linalg import blas

from bayescal.inference.newton import climb, root_of_inverse
from bayescal.support.validation import Floats

BLOCK = 2_000_000  # draws times rows at once


@dataclass(frozen=True)
class LogisticLikelihood:
    """log-odds = offset + columns @ coefficients, of rows that stand for labelled documents."""

    columns: Floats  # (n, d)
    offset: float | Floats  # natural log-odds, (n,) if it is not the same for all
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
        if not self.size:  # BLAS refuses it
            return np.empty((0, 0))
        # Half of the matrix, of which the other half is the mirror image: half the time of a fit.
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
            if precision.any():
                step = np.asarray(np.linalg.solve(curvature, slope), dtype=np.float64)
            else:  # columns may leave a coefficient undetermined: the shortest step
                step = np.linalg.pinv(curvature, hermitian=True) @ slope
            return step, float(slope @ step)

        return climb(start, value, newton, tolerance=tolerance, rise=rise)

    def laplace(self, mean: Floats, precision: Floats, *, tolerance: float) -> NormalPosterior:
        """
        Return the normal posterior around the mode.

        It is Normal(mode, (X'VX + precision)^-1), with V = w p (1 - p) at the mode; the log
        evidence is log-likelihood + log prior at the mode + (d/2) log 2 pi + log det(covariance)/2.
        """
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
        # Large weights make precisions whose inverse is, rounded, no covariance.
        return root_of_inverse(self.precision)

    @property
    def covariance(self) -> Floats:
        """Return the covariance of the coefficients."""
        return np.asarray(self.root @ self.root.T)

    def draw(self, draws: int, rng: np.random.Generator) -> Floats:
        """Return draws of the coefficients, (draws, coefficients)."""
        drawn: Floats = self.mode + rng.standard_normal((draws, self.mode.size)) @ self.root.T
        return drawn

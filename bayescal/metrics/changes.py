"""Changes of stated log-odds: shift, slope and bend, with priors, weighed by their evidence.

With l the stated log-odds, the changed ones are

    f(l) = l + a + (b - 1) (l - m) + g(z),    z = (l - mean) / sd,

with a shift a, a slope b around the pivot m, and a bend g. Four kinds of change have free
parameters none ("as is"), a ("shift"), a and b ("slope"), all three ("full"). Each kind has several
scales of its normal priors: 17 logistic regressions with the offset l, each with a mode by Newton's
method, a normal posterior and Laplace's approximation of its evidence.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from bayescal.inference.newton import LogisticLikelihood, NormalPosterior
from bayescal.support.validation import Floats

# Priors: probabilities of the kinds, and scales of shift (t), slope (u) and bend (w).

AS_IS, SHIFT, SLOPE, FULL = KINDS = ("as is", "shift", "slope", "full")
PRIOR: Mapping[str, float] = {AS_IS: 0.4, SHIFT: 0.3, SLOPE: 0.2, FULL: 0.1}
SHIFT_SCALES = {0.15: 0.4, 0.5: 0.4, 1.5: 0.2}  # sd of a, and its probability
SLOPE_SCALES = {0.1: 0.4, 0.3: 0.4, 1.0: 0.2}  # sd of b - 1
FULL_SCALES = {(0.5, 0.3): 0.6, (1.5, 1.0): 0.4}  # sd of a and of b - 1
BEND_SCALES = {0.3: 0.5, 1.0: 0.5}  # sd of g

FARTHEST = 20.0  # log-odds are clipped: one wrong label there costs 29 bits
LEAST_PROBABILITY = float(special.expit(-FARTHEST))
# The Gaussian process g: squared exponential of this length, on centres; both in units of z.
LENGTH, CENTRES, REACH = 0.8, np.linspace(-2.5, 2.5, 10), 3.0
JITTER, SMALLEST_SD, SMALLEST_VARIANCE = 1e-6, 1e-3, 1e-12
LINEAR, COEFFICIENTS = 2, 2 + CENTRES.size


@dataclass(frozen=True)
class Regression:
    """One of the regressions: its kind, its prior probability and the scales of its prior."""

    kind: str
    prior: float
    sd: tuple[float, ...]  # of the free coefficients


def _regressions() -> tuple[Regression, ...]:
    """Return the 17 regressions."""
    out = [Regression(AS_IS, PRIOR[AS_IS], ())]
    out += [Regression(SHIFT, PRIOR[SHIFT] * p, (t,)) for t, p in SHIFT_SCALES.items()]
    for (t, p), (u, q) in product(SHIFT_SCALES.items(), SLOPE_SCALES.items()):
        out.append(Regression(SLOPE, PRIOR[SLOPE] * p * q, (t, u)))
    for ((t, u), p), (w, q) in product(FULL_SCALES.items(), BEND_SCALES.items()):
        out.append(Regression(FULL, PRIOR[FULL] * p * q, (t, u, *[w] * CENTRES.size)))
    return tuple(out)


REGRESSIONS = _regressions()


def clipped_log_odds(p: ArrayLike) -> Floats:
    """Return the log-odds of probabilities, clipped to -20 and 20."""
    with np.errstate(divide="ignore"):
        return np.clip(special.logit(np.asarray(p, dtype=np.float64)), -FARTHEST, FARTHEST)


def _kernel(a: Floats, b: Floats) -> Floats:
    return np.asarray(np.exp(-0.5 * (np.subtract.outer(a, b) / LENGTH) ** 2))


# The matrix R with R R' the inverse of the kernel of the centres.
WHITENING: Floats = np.asarray(
    np.linalg.cholesky(np.linalg.inv(_kernel(CENTRES, CENTRES) + JITTER * np.eye(CENTRES.size)))
)


@dataclass(frozen=True)
class LogOddsFrame:
    """Constants of changes: pivot, and mean and standard deviation of the fitted log-odds."""

    pivot: float  # m
    mean: float
    sd: float

    @classmethod
    def of(cls, log_odds: Floats, weight: Floats) -> LogOddsFrame:
        """Return the frame of documents, with a pivot for nearly independent shift and slope."""
        p = special.expit(log_odds)
        share = weight / weight.sum()
        mean = float(share @ log_odds)
        sd = math.sqrt(max(float(share @ (log_odds - mean) ** 2), 0.0))
        variance = weight * np.maximum(p * (1.0 - p), SMALLEST_VARIANCE)
        pivot = float(variance @ log_odds / variance.sum())
        return cls(pivot, mean, max(sd, SMALLEST_SD))

    def features(self, log_odds: Floats) -> Floats:
        """Return 1, l - m and the ten features of the bend; shape (n, 12)."""
        return np.concatenate([self.linear(log_odds), self.bends(log_odds)], axis=1)

    def linear(self, log_odds: Floats) -> Floats:
        """Return 1 and l - m; shape (n, 2)."""
        return np.stack([np.ones(log_odds.size), log_odds - self.pivot], axis=1)

    def bends(self, log_odds: Floats) -> Floats:
        """Return features with standard normal coefficients, whose sum is g; shape (n, 10)."""
        z = np.clip((log_odds - self.mean) / self.sd, -REACH, REACH)
        return np.asarray(_kernel(z, CENTRES) @ WHITENING)


MOST_CELLS = 4000  # with more documents, similar log-odds share a cell


@dataclass(frozen=True)
class LogOddsCells:
    """Labelled documents, counted by their log-odds."""

    log_odds: Floats  # (cells,): the mean of a cell
    positive: Floats  # (cells,): weight of the positives
    weight: Floats  # (cells,): weight of all

    @classmethod
    def of(
        cls, log_odds: Floats, positive: ArrayLike, weight: Floats | None = None
    ) -> LogOddsCells:
        """Return documents in cells of equal, or with many documents similar, log-odds."""
        weight = np.ones(log_odds.size) if weight is None else weight
        key = log_odds
        if log_odds.size > MOST_CELLS:
            step = np.ptp(log_odds) / MOST_CELLS
            key = np.rint(log_odds / step) if step > 0.0 else log_odds
        _, code = np.unique(key, return_inverse=True)
        documents = np.bincount(code)
        return cls(
            np.bincount(code, log_odds) / documents,
            np.bincount(code, weight * np.asarray(positive)).astype(np.float64),
            np.bincount(code, weight).astype(np.float64),
        )

    @property
    def frame(self) -> LogOddsFrame:
        """Return the frame of the documents."""
        return LogOddsFrame.of(self.log_odds, self.weight)

    def log_likelihood(self, log_odds: Floats) -> float:
        """Return the log likelihood of the labels, natural, at log-odds of the cells."""
        negative = self.weight - self.positive
        return float(
            self.positive @ special.log_expit(log_odds) + negative @ special.log_expit(-log_odds)
        )


GOOD_DECREMENT = 1e-10
TINY = np.finfo(float).tiny


def fit_regression(
    features: Floats, offset: Floats | float, cells: LogOddsCells, mean: Floats, precision: Floats
) -> NormalPosterior:
    """Fit a logistic regression with an offset and a normal prior on its coefficients."""
    share = cells.positive / np.maximum(cells.weight, TINY)
    tolerance = GOOD_DECREMENT * max(float(cells.weight.sum()), 1.0)
    likelihood = LogisticLikelihood(features, offset, share, cells.weight)
    return likelihood.laplace(mean, precision, tolerance=tolerance)


@dataclass(frozen=True)
class ChangePosterior:
    """The posterior of a change: several regressions, each with its probability."""

    frame: LogOddsFrame
    fits: tuple[tuple[Regression, NormalPosterior], ...]

    @cached_property
    def weight(self) -> Floats:
        """The probability of each regression given the labels, (regressions,)."""
        return np.asarray(special.softmax(self._log_joint))

    @property
    def log_evidence(self) -> float:
        """Return the log evidence of all regressions together, natural."""
        return float(special.logsumexp(self._log_joint))

    @property
    def _log_joint(self) -> Floats:
        return np.array([math.log(each.prior) + fit.log_evidence for each, fit in self.fits])

    @property
    def probability(self) -> dict[str, float]:
        """Return the probability of each kind of change given the labels."""
        kinds = [each.kind for each, _ in self.fits]
        return {
            kind: float(sum(w for own, w in zip(kinds, self.weight, strict=True) if own == kind))
            for kind in KINDS
        }

    def alone(self, kind: str) -> ChangePosterior:
        """Return the posterior given the kind of change."""
        return replace(self, fits=tuple(fit for fit in self.fits if fit[0].kind == kind))

    def draw(self, draws: int, rng: np.random.Generator) -> Floats:
        """Return draws of all coefficients, (draws, 12); fixed coefficients are 0."""
        # Numbers of draws from each regression are not random.
        ends = np.round(np.cumsum(self.weight) * draws).astype(int)
        out, start = np.zeros((draws, COEFFICIENTS)), 0
        for end, (each, fit) in zip(ends, self.fits, strict=True):
            if end > start and each.sd:
                out[start:end, : len(each.sd)] = fit.draw(end - start, rng)
            start = max(start, end)
        return rng.permutation(out)

    def predict(self, log_odds: Floats) -> Floats:
        """Return P(y = 1), averaged over the posterior by expit(mean / sqrt(1 + pi var / 8))."""
        features = self.frame.features(log_odds)
        p = np.zeros(log_odds.size)
        for w, (each, fit) in zip(self.weight, self.fits, strict=True):
            own = features[:, : len(each.sd)]
            variance = np.einsum("ij,jk,ik->i", own, fit.covariance, own)
            moved = (log_odds + own @ fit.mode) / np.sqrt(1.0 + math.pi * variance / 8.0)
            p += w * special.expit(moved)
        return p


def fit_changes(
    cells: LogOddsCells, kinds: tuple[str, ...] = KINDS, offset: float | None = None
) -> ChangePosterior:
    """Return the posterior of the change of log-odds, by default from the stated ones."""
    frame, before = cells.frame, cells.log_odds if offset is None else offset
    features, fits = frame.features(cells.log_odds), []
    for each in REGRESSIONS:
        if each.kind in kinds:
            free = len(each.sd)
            precision = np.diag(np.asarray(each.sd, dtype=np.float64) ** -2.0)
            own = features[:, :free]
            fits.append((each, fit_regression(own, before, cells, np.zeros(free), precision)))
    return ChangePosterior(frame, tuple(fits))

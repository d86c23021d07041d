"""Running Bayes factors of a change of log-odds against "as before"."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy import special

from bayescal.metrics.changes import SHIFT_SCALES, SLOPE_SCALES
from bayescal.support.validation import Floats

# A change: log-odds after it as a function of those before it, with its prior.
#
# With f(s) the log-odds of a document before the change, beta the log-odds of the base rate, and
#
#     f'(s) = beta + a (f(s) - beta) + b,
#
# b shifts the base rate, and the slope a multiplies the score's evidence beyond the base rate. This
# is the model of `bayescal.metrics.changes` without its bend, with the base rate as pivot and the
# same priors of shift and slope, mixtures of normal distributions, on a grid that is denser around
# no change.

SHIFT_REACH, LOG_SLOPE_REACH = 4.5, 1.6  # largest |b| and |log a|
DENSER = 2.5  # larger for a denser middle of the grid


@dataclass(frozen=True)
class Change:
    """A kind of change: a grid of slopes and shifts, and a prior on it; see `CHANGES`."""

    slope: Floats  # a, positive, (slopes,)
    shift: Floats  # b, in natural log-odds, (shifts,)
    prior: Floats  # their probabilities, (slopes, shifts)

    def log_odds(self, before: Floats, base: float) -> Floats:
        """Return log-odds after each change of the grid, without its shift b; `base` is beta."""
        return np.asarray(base + np.multiply.outer(self.slope, before - base))


def _nodes(reach: float, points: int) -> tuple[Floats, Floats]:
    """Return nodes from -reach to reach, and their widths."""
    x = DENSER * np.linspace(-1.0, 1.0, points)
    node: Floats = reach * np.sinh(x) / math.sinh(DENSER)
    return node, np.cosh(x)


def scales_density(scales: Mapping[float, float], at: Floats) -> Floats:
    """Return a mixture of normal densities around 0, up to a factor."""
    terms = [share / sd * np.exp(-0.5 * (at / sd) ** 2) for sd, share in scales.items()]
    return np.asarray(np.sum(terms, axis=0))


def _shifts(points: int) -> tuple[Floats, Floats]:
    """Return values of the shift b and their probabilities."""
    shift, width = _nodes(SHIFT_REACH, points)
    weight = width * scales_density(SHIFT_SCALES, shift)
    return shift, weight / weight.sum()


def base_rate_change(points: int = 25) -> Change:
    """Return a change of the base rate alone: log-odds move by b."""
    shift, prior = _shifts(points)
    return Change(np.ones(1), shift, prior[None])


def slope_change(slopes: int = 9, points: int = 11) -> Change:
    """Return a change of the positive slope and of the base rate."""
    log_slope, width = _nodes(LOG_SLOPE_REACH, slopes)
    slope = np.exp(log_slope)
    # The density of log a is a times the density of a - 1.
    of_slope = width * slope * scales_density(SLOPE_SCALES, slope - 1.0)
    shift, of_shift = _shifts(points)
    return Change(slope, shift, np.outer(of_slope / of_slope.sum(), of_shift))


CHANGES = {"base rate": base_rate_change(), "slope": slope_change()}


# Without a change labels y_1, ..., y_n have the density P_0, the mean over all curves k of the
# posterior of prod_i p_k(y_i). With changes g of a grid, of probabilities pi_g, and rho_t the
# probability that document t is the first after the change, their density with a change is
#
#     sum_t rho_t P_0(y_1, ..., y_(t-1)) sum_k q_k(t) sum_g pi_g prod_(i >= t) p_kg(y_i),
#
# with q_k(t) the posterior weights of a few curves by the labels before t. The terms for each k and
# g, relative to P_0, are updated by each document:
#
#     W_kg <- (W_kg + rho_t pi_g q_k(t)) p_kg(y_t) / P_0(y_t | y_1, ..., y_(t-1)).

LARGEST = 1e100  # larger sums are scaled down
MOMENTS = 3  # of the first changed document: sums of W, t W and t^2 W


def not_yet(documents: int) -> float:
    """Return the prior probability of no change up to a document."""
    # It falls slowly: the evidence needed for a change grows with the logarithm of time.
    return 1.0 / (1.0 + math.log1p(documents))


@dataclass(frozen=True)
class Label:
    """A label, with its prediction as before."""

    log_odds: Floats  # (curves,): of its document, by each curve of the posterior
    sign: float  # -1 for a positive label, 1 for a negative one
    weight: Floats  # (curves,): posterior weights of the curves by earlier labels
    few: NDArray[np.intp]  # positions of the curves that may have changed

    @cached_property
    def of_curves(self) -> Floats:
        """Return the label's probability by each curve, shape (curves,)."""
        return np.asarray(special.expit(-self.sign * self.log_odds))

    @cached_property
    def predicted(self) -> float:
        """Return the label's probability by all curves."""
        return float(self.weight @ self.of_curves)

    @cached_property
    def weight_of_few(self) -> Floats:
        """Return the normalised weights of the few curves."""
        own = self.weight[self.few]
        total = float(own.sum())
        # In the long run all of the few may be ruled out.
        return own / total if total > 0.0 else np.full(own.size, 1.0 / own.size)


class Changed:
    """Labels after one kind of change, at any document so far."""

    def __init__(self, change: Change, base: float, curves: int) -> None:
        self._change, self._base = change, base
        self._documents = 0
        self._log_scale = 0.0
        self._sums = np.zeros((MOMENTS, *change.prior.shape, curves))

    def learn(self, label: Label) -> None:
        """Update the sums by one label."""
        t = self._documents = self._documents + 1
        arrival = (not_yet(t - 1) - not_yet(t)) * math.exp(-self._log_scale)
        first = arrival * self._change.prior[:, :, None] * label.weight_of_few
        for sums in self._sums:
            sums += first
            first *= t
        # exp(-(f + b)) = exp(-f) exp(-b): as many exponentials as slopes and shifts, not products.
        log_odds = self._change.log_odds(label.log_odds[label.few], self._base)
        of_slope = np.exp(label.sign * log_odds)
        of_shift = np.exp(label.sign * self._change.shift)
        inverse = of_shift[None, :, None] * of_slope[:, None, :]
        inverse += 1.0
        inverse *= label.predicted
        self._sums *= np.reciprocal(inverse, out=inverse)
        total = float(self._sums[0].sum())
        if total > LARGEST:
            self._sums /= total
            self._log_scale += math.log(total)

    @property
    def log_bayes_factor(self) -> float:
        """Return the log Bayes factor of a change, now or later, against "as before"."""
        so_far = math.log(max(float(self._sums[0].sum()), math.ulp(0.0))) + self._log_scale
        return float(np.logaddexp(so_far, math.log(not_yet(self._documents))))

    @property
    def first_changed(self) -> tuple[float, float]:
        """Return posterior mean and standard deviation of the first document after the change."""
        total, first, second = self._sums.sum(axis=(1, 2, 3))
        mean = first / total
        return float(mean), math.sqrt(max(second / total - mean**2, 0.0))

    @property
    def size(self) -> tuple[float, float]:
        """Return the posterior means of the slope a and of the shift b."""
        weight = self._sums[0].sum(axis=2)
        weight = weight / weight.sum()
        slope = float(weight.sum(axis=1) @ self._change.slope)
        return slope, float(weight.sum(axis=0) @ self._change.shift)

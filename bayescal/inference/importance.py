"""Importance sampling: Pareto-smoothed weights, resampling, and Student t proposals that adapt.

The smoothing (Vehtari et al., arXiv:1507.02646) works on many sets of weights at once; its main use
is the predictive density of left-out documents from draws given all documents.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bayescal.support.numerics import log_sum_exp
from bayescal.support.validation import Floats

# The prior of the shape: ten weights' worth of k = 1/2, as in the paper.
PRIOR_WEIGHTS, PRIOR_SHAPE = 10, 0.5
SHORTEST_TAIL = 5
SMALLEST_QUARTILE = 1e-100
# Ratios below this multiple of their mean need no smoothing.
EVEN = 5.0


def smooth(log_ratio: Floats) -> tuple[Floats, Floats]:
    """Return smoothed log weights, normalised to sum to one, and the Pareto shape k of each row."""
    # Of the largest min(S/5, 3 sqrt(S)) ratios. Averages are unreliable where k is above 0.7.
    log_weight = log_ratio - log_ratio.max(axis=1, keepdims=True)
    size = log_weight.shape[1]
    tail = int(min(0.2 * size, 3.0 * math.sqrt(size)))
    k = np.full(log_weight.shape[0], -np.inf)
    if tail >= SHORTEST_TAIL:
        largest = np.argpartition(log_weight, size - tail - 1, axis=1)[:, size - tail - 1 :]
        values = np.take_along_axis(log_weight, largest, axis=1)
        order = np.argsort(values, axis=1)
        largest = np.take_along_axis(largest, order, axis=1)[:, 1:]
        values = np.take_along_axis(values, order, axis=1)
        # At least the smallest normal number: log ratios of -inf cannot be smoothed.
        threshold = np.exp(np.maximum(values[:, :1], math.log(np.finfo(float).tiny)))
        excess = np.maximum(np.exp(values[:, 1:]) - threshold, 0.0)
        fitted = excess[:, (tail + 2) // 4 - 1] > 0.0
        # A few ratios dominate all others: an infinitely heavy tail.
        k[~fitted & (excess[:, -1] > 0.0)] = np.inf
        rows = np.flatnonzero(fitted)
        k[rows], scale = _fit(excess[rows])
        smoothed = np.log(_quantiles(k[rows, None], scale[:, None], tail) + threshold[rows])
        log_weight[rows[:, None], largest[rows]] = np.minimum(smoothed, 0.0)
    total = np.log(np.exp(log_weight).sum(axis=1, keepdims=True))
    return log_weight - total, k


def left_out(
    inverse: Floats, log_p: Callable[[NDArray[np.intp]], Floats], power: Floats | None = None
) -> tuple[Floats, Floats]:
    """Return log p(y_i | others): the log mean of p over draws weighted by p^-power."""
    power = np.ones(inverse.shape[0]) if power is None else power
    whole = bool((power == 1.0).all())
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        ratio = inverse if whole else inverse ** power[:, None]
        mean = ratio.mean(axis=1)
        value = -np.log(mean) if whole else np.log((ratio / inverse).mean(axis=1) / mean)
        even = (ratio.max(axis=1) <= EVEN * mean) & np.isfinite(value)
    k = np.full(value.size, -np.inf)
    rows = np.flatnonzero(~even)
    if rows.size:
        log = log_p(rows)
        log_weight, k[rows] = smooth(-power[rows, None] * log)
        value[rows] = log_sum_exp(log_weight + log, axis=1)
    return value, k


def _fit(x: Floats) -> tuple[Floats, Floats]:
    """Return shape and scale for rows of ascending excesses (Zhang and Stephens, 2009)."""
    n = x.shape[1]
    grid = 30 + math.isqrt(n)
    # In units of the largest, with a quartile whose inverse does not overflow.
    largest = x[:, -1]
    x = x / largest[:, None]
    quartile = np.maximum(x[:, (n + 2) // 4 - 1, None], SMALLEST_QUARTILE)
    steps = 1.0 - np.sqrt(grid / (np.arange(1, grid + 1) - 0.5))
    b = steps / (3.0 * quartile) + 1.0
    shape = np.log1p(-b[:, :, None] * x[:, None, :]).mean(axis=2)
    log_profile = n * (np.log(-b / shape) - shape - 1.0)
    weight = np.exp(log_profile - log_profile.max(axis=1, keepdims=True))
    weight /= weight.sum(axis=1, keepdims=True)
    weight[weight < 10.0 * np.finfo(float).eps] = 0.0
    best = (b * weight).sum(axis=1, keepdims=True) / weight.sum(axis=1, keepdims=True)
    k = np.log1p(-best * x).mean(axis=1)
    scale = -k / best[:, 0] * largest
    return (n * k + PRIOR_WEIGHTS * PRIOR_SHAPE) / (n + PRIOR_WEIGHTS), scale


def _quantiles(k: Floats, scale: Floats, n: int) -> Floats:
    log_survival = np.log1p(-(np.arange(n) + 0.5) / n)
    # Quantiles may be infinite for k in the hundreds; weights are capped later.
    with np.errstate(over="ignore"):
        quantiles: Floats = scale * np.where(
            np.abs(k) < 1e-12,
            -log_survival,
            np.expm1(-k * log_survival) / np.where(k == 0.0, 1.0, k),
        )
    return quantiles


def systematic(weight: Floats, size: int, rng: np.random.Generator) -> NDArray[np.intp]:
    """Return positions in proportion to weights, by systematic resampling, in random order."""
    cumulative = np.cumsum(weight)
    targets = (rng.random() + np.arange(size)) / size * cumulative[-1]
    picked = np.minimum(np.searchsorted(cumulative, targets), weight.size - 1)
    return rng.permutation(picked)


FREEDOM = 5.0
PILOT, PILOTS = 1000, 4
GOOD_EFFICIENCY = 0.3
FINALS = 4
# Effective draws for each resampled draw, so that resampling adds little noise.
EFFECTIVE = 1.25
# The number of draws from less efficient proposals is limited.
LEAST_EFFICIENCY = 0.4
# Beyond these limits averages over weighted draws are unreliable; k is the Pareto shape.
WORST_EFFICIENCY, WORST_K = 0.03, 0.7
SMALLEST_SHARE = 0.01


@dataclass(frozen=True)
class StudentT:
    """A multivariate Student t density."""

    mean: Floats  # its centre, (d,)
    root: Floats  # lower triangular root R of its scale matrix R R^T, (d, d)

    def draw(self, rng: np.random.Generator, size: int) -> Floats:
        """Return draws of shape (size, d)."""
        gaussian = rng.standard_normal((size, self.mean.size)) @ self.root.T
        stretch = np.sqrt(FREEDOM / rng.chisquare(FREEDOM, size))
        return np.asarray(self.mean + stretch[:, None] * gaussian)

    def log_density(self, points: Floats) -> Floats:
        """Return the log density at points of shape (m, d)."""
        return _log_densities(self.mean, self.root, points)

    def matched(self, points: Floats, weight: Floats) -> StudentT:
        """Return the Student t of weighted points, with d points of this one as prior."""
        share = weight / weight.sum()
        known, own = 1.0 / float(share @ share), self.mean.size
        # In units of this density, for numerical stability.
        standard = _standardised(self.mean, self.root, points)
        shift = share @ standard
        deviation = standard - shift
        total = known * (deviation.T * share) @ deviation + own * np.eye(own)
        total += known * own / (known + own) * np.outer(shift, shift)
        root: Floats = np.linalg.cholesky(total / (known + own))
        mean = self.mean + known / (known + own) * self.root @ shift
        return StudentT(mean, self.root @ root)


def _log_densities(mean: Floats, root: Floats, points: Floats) -> Floats:
    """Return the log densities of Student ts, (..., m), of means (..., d), roots (..., d, d)."""
    d = mean.shape[-1]
    power = 0.5 * (FREEDOM + d)
    standard = _standardised(mean, root, points)
    constant = (
        math.lgamma(power) - math.lgamma(0.5 * FREEDOM) - 0.5 * d * math.log(FREEDOM * math.pi)
    )
    log_volume = np.log(np.diagonal(root, axis1=-2, axis2=-1)).sum(axis=-1)
    square = np.einsum("...ij,...ij->...i", standard, standard)
    return np.asarray((constant - log_volume)[..., None] - power * np.log1p(square / FREEDOM))


def _standardised(mean: Floats, root: Floats, points: Floats) -> Floats:
    return np.asarray((points - mean[..., None, :]) @ np.swapaxes(np.linalg.inv(root), -2, -1))


@dataclass(frozen=True)
class Sample:
    """Weighted draws."""

    points: Floats  # proposals, (m, d)
    log_ratio: Floats  # log of the target over the proposals' density, up to the log evidence, (m,)
    log_weight: Floats  # Pareto-smoothed log weights that sum to one, (m,)
    log_evidence: float  # log of the target's integral
    pareto_k: float  # shape of the weights' tail
    efficiency: float  # effective share of the draws, 1 / (m sum weight^2)

    @property
    def trusted(self) -> bool:
        """Return whether averages over the weighted draws are reliable."""
        return self.pareto_k <= WORST_K and self.efficiency >= WORST_EFFICIENCY

    def resample(self, draws: int, rng: np.random.Generator) -> Floats:
        """Return draws of equal weight in random order, by systematic resampling."""
        return np.asarray(self.points[systematic(np.exp(self.log_weight), draws, rng)])


@dataclass(frozen=True)
class StudentTMixture:
    """A mixture of Student t densities."""

    parts: tuple[StudentT, ...]
    share: Floats  # of each part; sums to one, (parts,)

    def draw(self, rng: np.random.Generator, size: int) -> Floats:
        """Return draws of shape (size, d)."""
        sizes = rng.multinomial(size, self.share)
        return np.concatenate([p.draw(rng, m) for p, m in zip(self.parts, sizes, strict=True)])

    def log_densities(self, points: Floats) -> Floats:
        """Return log share + log density of each part, of shape (parts, m)."""
        mean, root = (
            np.stack([getattr(part, name) for part in self.parts]) for name in ("mean", "root")
        )
        return _log_densities(mean, root, points) + np.log(self.share)[:, None]

    def matched(self, points: Floats, log_weight: Floats) -> StudentTMixture:
        """Return the mixture after one step of expectation-maximisation on weighted draws."""
        logs = self.log_densities(points)
        belongs = np.exp(logs - log_sum_exp(logs.copy(), axis=0) + log_weight)
        share = belongs.sum(axis=1)
        kept = share > SMALLEST_SHARE * share.max()
        parts = tuple(
            part.matched(points, weight)
            for part, weight, keep in zip(self.parts, belongs, kept, strict=True)
            if keep
        )
        return StudentTMixture(parts, share[kept] / share[kept].sum())


def weigh(
    log_density: Callable[[Floats], Floats],
    proposal: StudentTMixture,
    size: int,
    rng: np.random.Generator,
) -> Sample:
    """Return `size` draws of a proposal, weighted for a density known up to its integral."""
    points = proposal.draw(rng, size)
    return weighted(
        points, log_density(points) - log_sum_exp(proposal.log_densities(points), axis=0)
    )


def weighted(points: Floats, log_ratio: Floats) -> Sample:
    """Return draws, shape (m, d), with weights smoothed from log ratios of shape (m,)."""
    size = len(points)
    log_weight, k = smooth(log_ratio[None])
    return Sample(
        points=points,
        log_ratio=log_ratio,
        log_weight=log_weight[0],
        log_evidence=float(log_sum_exp(log_ratio.copy(), axis=0)) - math.log(size),
        pareto_k=float(k[0]),
        efficiency=1.0 / (float(np.exp(2.0 * log_weight[0]).sum()) * size),
    )


def improve(
    log_density: Callable[[Floats], Floats],
    proposal: StudentTMixture,
    rng: np.random.Generator,
    size: int = PILOT,
) -> tuple[StudentTMixture, Sample]:
    """Return a proposal improved by pilot draws until their weights are even, and its draws."""
    pilot = weigh(log_density, proposal, size, rng)
    for _ in range(PILOTS):
        if pilot.efficiency > GOOD_EFFICIENCY:
            break
        proposal = proposal.matched(pilot.points, pilot.log_weight)
        pilot = weigh(log_density, proposal, size, rng)
    return proposal, pilot


def sample(
    log_density: Callable[[Floats], Floats],
    proposal: StudentTMixture,
    draws: int,
    rng: np.random.Generator,
    *,
    efficiency: float,
) -> Sample:
    """Return weighted draws from a density, of an effective number of at least `draws`."""
    first = max(math.ceil(EFFECTIVE * draws / max(efficiency, LEAST_EFFICIENCY)), PILOT)
    for size in first * 2 ** np.arange(FINALS):
        weighted = weigh(log_density, proposal, int(size), rng)
        if weighted.trusted:
            break
        proposal = proposal.matched(weighted.points, weighted.log_weight)
    return weighted

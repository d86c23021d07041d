"""Importance sampling with a Student t proposal that learns the target's mean and covariance."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from bayescal.engines.pareto import smooth
from bayescal.engines.resampling import systematic
from bayescal.log_sum import log_sum_exp
from bayescal.validation import Floats

FREEDOM = 5.0
PILOT, PILOTS = 1000, 4
GOOD_EFFICIENCY = 0.3
FINALS = 4
# Effective draws for each that is picked: picking adds little noise of its own then.
EFFECTIVE = 1.25
# Of worse proposals so many draws that they improve them, if these are not enough.
LEAST_EFFICIENCY = 0.4
# Beyond these, averages over the weighted draws are not to be trusted; k is the Pareto shape.
WORST_EFFICIENCY, WORST_K = 0.03, 0.7
SMALLEST_SHARE = 0.01


@dataclass(frozen=True)
class StudentT:
    """
    A multivariate Student t density.

    Attributes
    ----------
    mean : array of shape (d,)
        Its centre.
    root : array of shape (d, d)
        Lower triangular root R of its scale matrix R R^T.
    """

    mean: Floats
    root: Floats

    def draw(self, rng: np.random.Generator, size: int) -> Floats:
        """Return draws of shape (size, d)."""
        gaussian = rng.standard_normal((size, self.mean.size)) @ self.root.T
        stretch = np.sqrt(FREEDOM / rng.chisquare(FREEDOM, size))
        draws: Floats = self.mean + stretch[:, None] * gaussian
        return draws

    def log_density(self, points: Floats) -> Floats:
        """Return the log density at points of shape (m, d)."""
        return _log_densities(self.mean, self.root, points)

    def matched(self, points: Floats, weight: Floats) -> StudentT:
        """
        Return the Student t with the mean and covariance of weighted points.

        Few points span too little: this density counts as d more of them, so that the update is the
        posterior mean of a normal inverse-Wishart prior around it.
        """
        share = weight / weight.sum()
        known, own = 1.0 / float(share @ share), self.mean.size
        # In units of this density, in which no direction is much wider than another.
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
    log: Floats = (constant - log_volume)[..., None] - power * np.log1p(square / FREEDOM)
    return log


def _standardised(mean: Floats, root: Floats, points: Floats) -> Floats:
    standard: Floats = (points - mean[..., None, :]) @ np.swapaxes(np.linalg.inv(root), -2, -1)
    return standard


@dataclass(frozen=True)
class Sample:
    """
    Weighted draws.

    Attributes
    ----------
    points : array of shape (m, d)
        Proposals.
    log_ratio : array of shape (m,)
        Log of the target over the proposals' density, up to the log evidence.
    log_weight : array of shape (m,)
        Pareto-smoothed log weights that sum to one.
    log_evidence : float
        Log of the target's integral.
    pareto_k : float
        Shape of the weights' tail.
    efficiency : float
        Effective share of the draws, 1 / (m sum weight^2).
    """

    points: Floats
    log_ratio: Floats
    log_weight: Floats
    log_evidence: float
    pareto_k: float
    efficiency: float

    @property
    def trusted(self) -> bool:
        """Return whether averages over the weighted draws may be trusted."""
        return self.pareto_k <= WORST_K and self.efficiency >= WORST_EFFICIENCY

    def resample(self, draws: int, rng: np.random.Generator) -> Floats:
        """Return draws of equal weight in random order, by systematic resampling."""
        chosen: Floats = self.points[systematic(np.exp(self.log_weight), draws, rng)]
        return chosen


@dataclass(frozen=True)
class Mixture:
    """
    A mixture of Student t densities.

    Attributes
    ----------
    parts : tuple of StudentT
    share : array of shape (parts,)
        Of each part; sums to one.
    """

    parts: tuple[StudentT, ...]
    share: Floats

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

    def matched(self, points: Floats, log_weight: Floats) -> Mixture:
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
        return Mixture(parts, share[kept] / share[kept].sum())


def weigh(
    log_density: Callable[[Floats], Floats],
    proposal: Mixture,
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
    log_density: Callable[[Floats], Floats], proposal: Mixture, rng: np.random.Generator
) -> tuple[Mixture, Sample]:
    """Return a proposal improved by pilot draws until their weights are even, and the last ones."""
    pilot = weigh(log_density, proposal, PILOT, rng)
    for _ in range(PILOTS):
        if pilot.efficiency > GOOD_EFFICIENCY:
            break
        proposal = proposal.matched(pilot.points, pilot.log_weight)
        pilot = weigh(log_density, proposal, PILOT, rng)
    return proposal, pilot


def sample(
    log_density: Callable[[Floats], Floats],
    proposal: Mixture,
    draws: int,
    rng: np.random.Generator,
    *,
    efficiency: float,
) -> Sample:
    """
    Return weighted draws from a density, so many that they are worth more than those asked for.

    If their weights are not to be trusted, they improve the proposal, and twice as many are drawn.

    Parameters
    ----------
    log_density : callable
        Unnormalised log density of points of shape (m, d).
    proposal : Mixture
        Near the density.
    draws : int
        How many draws will be taken from the sample.
    rng : numpy.random.Generator
        Source of randomness.
    efficiency : float
        The effective share of the proposal's draws, as far as is known.
    """
    first = max(math.ceil(EFFECTIVE * draws / max(efficiency, LEAST_EFFICIENCY)), PILOT)
    for size in first * 2 ** np.arange(FINALS):
        found = weigh(log_density, proposal, int(size), rng)
        if found.trusted:
            break
        proposal = proposal.matched(found.points, found.log_weight)
    return found

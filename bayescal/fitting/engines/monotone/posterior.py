"""The posterior of monotone piecewise-linear log-odds: independent draws and the evidence.

The proposal is a mixture over the scale of the walk's steps. A Student t of steps is a Gaussian of
unknown scale tau, tau^2 ~ InverseGamma(nu/2, nu/2). Given tau the posterior is nearly Gaussian and
approximated by a Student t with its mean and covariance; such components over a grid of tau,
weighted by prior and evidence, approximate the whole posterior.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import special

from bayescal.families.draws import standardise
from bayescal.fitting.engines.monotone.density import (
    TOLERANCE,
    Expansion,
    Pieces,
    PosteriorDensity,
    Prior,
    QuadratureNodes,
    ScoreSums,
    place_pieces,
)
from bayescal.fitting.posterior import SAMPLE, Posterior
from bayescal.inference.importance import (
    Sample,
    StudentT,
    StudentTMixture,
    improve,
    sample,
    smooth,
    weigh,
)
from bayescal.inference.newton import climb, root_of_inverse
from bayescal.support.numerics import log_sum_exp, one_blas_thread
from bayescal.support.validation import Floats

MOST_STEPS = 100
# Squared length of the last Newton step in posterior standard deviations: the mode only centres a
# proposal.
SMALLEST_DECREMENT = 0.1
# Relative to the positive part, at least the prior's curvature: flatter Hessians would give steps,
# and proposals, far wider than the prior.
SMALLEST_CURVATURE = 1e-3


@dataclass(frozen=True)
class GivenScale:
    """Laplace's approximation of the posterior given the scale of the walk's steps."""

    scale: float  # tau, on a grid with ratio RATIO
    laplace: StudentT  # around the mode, with the root R of the Gaussian's covariance R R^T
    log_share: float  # natural log of this scale's contribution to p(labels | scores)


def find_mode(density: PosteriorDensity, start: Floats, scale: float) -> GivenScale:
    """Return Laplace's approximation given a scale; see `_root` for indefinite Hessians."""
    here: Expansion
    root: Floats
    log_density: float

    def value(point: Floats) -> float:
        nonlocal here
        # Derivatives at once, since most steps are accepted.
        here = density.expand(point, scale)
        return here.value

    def newton(point: Floats) -> tuple[Floats, float]:
        nonlocal root, log_density
        root, log_density = _root(here), here.value
        step = root @ (root.T @ here.gradient)
        return step, float(step @ here.gradient)

    point = climb(
        start, value, newton, tolerance=SMALLEST_DECREMENT, steps=MOST_STEPS, smallest=1e-6
    )
    log_volume = 0.5 * point.size * math.log(2.0 * math.pi)
    log_integral = log_density + log_volume + float(np.log(np.diag(root)).sum())
    return GivenScale(scale, StudentT(point, root), log_integral)


def _root(here: Expansion) -> Floats:
    """Return a root of the inverse of minus the Hessian, or of its positive part if indefinite."""
    # Relative to the positive part curvatures are at most 1: rounding keeps the sign of small ones.
    stand_in = root_of_inverse(here.positive)
    relative = stand_in.T @ here.hessian @ stand_in
    if np.linalg.eigvalsh(relative)[0] <= SMALLEST_CURVATURE:
        return stand_in
    return stand_in @ root_of_inverse(relative)


RATIO = 2.0
# A wide scale first, at which slopes follow the labels.
FIRST_SCALE = RATIO**3
MOST_STEPS_OUT = 15
# Scales with less than exp(-6) of the largest share are covered by their neighbours' tails.
DEPTH = 6.0
PILOT = 700
# Width and share of the second component of a proposal with a single scale.
WIDER, WIDE_SHARE = 2.0, 0.25


def over_scales(density: PosteriorDensity) -> list[GivenScale]:
    """Return the posterior over a grid of scales, outward from FIRST_SCALE to negligible shares."""
    if density.dimension == 2:  # of one piece, which has no steps
        return [find_mode(density, density.start(), FIRST_SCALE)]
    parts = [_given_scale(density, FIRST_SCALE, density.start())]
    for direction in (RATIO, 1.0 / RATIO):
        here = parts[0]
        for _ in range(MOST_STEPS_OUT):
            here = _given_scale(density, here.scale * direction, here.laplace.mean)
            parts.append(here)
            if here.log_share < max(part.log_share for part in parts) - DEPTH:
                break
    return parts


def propose(
    density: PosteriorDensity, parts: Sequence[GivenScale], rng: np.random.Generator
) -> StudentTMixture:
    """Return a mixture that approximates a posterior."""
    top = max(part.log_share for part in parts)
    kept = [part for part in parts if part.log_share >= top - DEPTH]
    laplace = [part.laplace for part in kept]
    points = np.stack([each.draw(rng, PILOT) for each in laplace])
    scale = np.repeat([part.scale for part in kept], PILOT)
    own = np.stack([each.log_density(some) for each, some in zip(laplace, points, strict=True)])
    of_all = density.log_density(points.reshape(scale.size, -1), scale)
    log_ratio = of_all.reshape(own.shape) - own
    log_weight, _ = smooth(log_ratio)
    students = [
        each.matched(some, weight)
        for each, some, weight in zip(laplace, points, np.exp(log_weight), strict=True)
    ]
    log_priors = [_log_prior(part.scale, density.prior.walk_freedom) for part in kept]
    log_shares = log_priors + log_sum_exp(log_ratio.T, axis=0)
    if len(students) == 1:
        # A straight line's posterior is skew, with a tail as long as the prior's.
        (only,) = students
        students.append(StudentT(only.mean, WIDER * only.root))
        log_shares = log_shares + np.array([0.0, math.log(WIDE_SHARE)])
    # A share may be 0 if pilot weights contradict Laplace's estimate.
    share = np.exp(np.maximum(log_shares - log_shares.max(), -DEPTH))
    return StudentTMixture(tuple(students), share / share.sum())


def at_modes(parts: Sequence[GivenScale]) -> StudentTMixture:
    """Return the mixture of Laplace approximations: a rough proposal without pilot draws."""
    log_share = np.array([part.log_share for part in parts])
    share = np.exp(np.maximum(log_share - log_share.max(), -DEPTH))
    return StudentTMixture(tuple(part.laplace for part in parts), share / share.sum())


def _given_scale(density: PosteriorDensity, scale: float, start: Floats) -> GivenScale:
    found = find_mode(density, start, scale)
    log_prior = _log_prior(scale, density.prior.walk_freedom)
    return replace(found, log_share=found.log_share + log_prior)


def _log_prior(scale: float, freedom: float) -> float:
    """Return the log prior probability of a scale: the density of log tau times log RATIO."""
    half = 0.5 * freedom
    log_constant = math.log(2.0) + half * math.log(half) - math.lgamma(half)
    log_density = log_constant - freedom * (math.log(scale) + 0.5 / scale**2)
    return log_density + math.log(math.log(RATIO))


CURVES = 64
ROUGH = 1000  # proposals of a sample around the modes
COMPRESSIONS = 3
FIRST_SLOPE = 3.0
# Largest error of the log likelihood: above the nodes' tolerance, without visible effect.
WORST_ERROR = 0.1


@dataclass(frozen=True)
class MonotoneCurves:
    """Draws of monotone log-odds f(x) = a + sum_j b_j h_j(x)."""

    pieces: Pieces  # knots, and the reference where f is the intercept
    intercept: Floats  # (draws,)
    slopes: Floats  # positive, in log-odds a unit of x, (draws, J)

    def log_odds(self, x: Floats) -> Floats:
        """Return f at scores of shape (n,), of shape (draws, n)."""
        return np.asarray(self.intercept[:, None] + self.slopes @ self.pieces.basis(x).T)


@dataclass(frozen=True)
class Importance:
    """The weighted sample behind resampled draws."""

    density: PosteriorDensity
    proposal: StudentTMixture
    sample: Sample  # from the proposal, weighted for the density


@dataclass(frozen=True)
class MonotonePosterior(MonotoneCurves):
    """Independent draws from the posterior of monotone log-odds, with diagnostics."""

    log_evidence: float  # natural log of p(labels | scores)
    pareto_k: float  # Pareto shape of the importance weights
    efficiency: float  # their effective share
    likelihood_error: float  # bound on the error from compressing many scores
    problem: str  # why the draws are unreliable; empty if they are reliable
    importance: Importance  # the weighted sample behind the draws


def draw_monotone(
    x: Floats,
    positive: NDArray[np.bool_],
    weight: Floats | None,
    prior: Prior,
    draws: int,
    rng: np.random.Generator,
    *,
    n_segments: int = 9,
    pieces: Pieces | None = None,
) -> MonotonePosterior:
    """Draw from the posterior of monotone piecewise-linear log-odds."""
    laplace_fit = fit_laplace(x, positive, weight, prior, n_segments=n_segments, pieces=pieces)
    return draw_within(laplace_fit, draws, rng)


@dataclass(frozen=True)
class LaplaceFit:
    """Laplace approximations of a posterior over a grid of scales."""

    classes: tuple[ScoreSums, ScoreSums]  # the scores of negatives and positives
    nodes: tuple[QuadratureNodes, QuadratureNodes]  # the same, compressed
    density: PosteriorDensity  # on these nodes
    parts: list[GivenScale]  # over a grid of scales of the walk

    @property
    def log_evidence(self) -> float:
        """Return Laplace's approximation of the natural log of p(labels | scores)."""
        # In samples of eighteen data sets 0.1 too small; differences had errors of .05, .3 at most.
        return float(special.logsumexp([part.log_share for part in self.parts]))


def fit_laplace(
    x: Floats,
    positive: NDArray[np.bool_],
    weight: Floats | None,
    prior: Prior,
    *,
    n_segments: int,
    pieces: Pieces | None = None,
) -> LaplaceFit:
    """Return Laplace approximations of a posterior, for `draw_within`."""
    # Sort once: later sorts of sorted scores cost little.
    order = np.argsort(x)
    if weight is None:
        weight = np.ones(x.size)
    else:
        order = order[weight[order] > 0.0]
        weight = weight[order]
    x, positive = x[order], positive[order]
    if pieces is None:
        pieces = place_pieces(x, positive, weight, n_segments)
    # Positions select many documents three times as fast as a mask.
    classes = [np.flatnonzero(positive == label) for label in (False, True)]
    negatives, positives = (ScoreSums(x[mine], weight[mine]) for mine in classes)
    first = np.zeros(1), np.full((1, pieces.segments), FIRST_SLOPE)
    nodes = negatives.compress(pieces, *first), positives.compress(pieces, *first)
    density = PosteriorDensity(pieces, nodes, prior)
    return LaplaceFit((negatives, positives), nodes, density, over_scales(density))


def draw_within(laplace_fit: LaplaceFit, draws: int, rng: np.random.Generator) -> MonotonePosterior:
    """Draw from a posterior whose modes are known."""
    source, error = _sample(laplace_fit, draws, rng)
    weighed = source.sample
    points = weighed.resample(draws, rng)
    return MonotonePosterior(
        pieces=source.density.pieces,
        intercept=points[:, 0],
        slopes=source.density.slopes(points),
        log_evidence=weighed.log_evidence,
        pareto_k=weighed.pareto_k,
        efficiency=weighed.efficiency,
        likelihood_error=error,
        problem=_describe_problem(weighed, error),
        importance=source,
    )


def sample_roughly(laplace_fit: LaplaceFit, rng: np.random.Generator) -> Sample:
    """Return weighted draws around the modes: less accurate, in a third of the time."""
    return weigh(laplace_fit.density.log_density, at_modes(laplace_fit.parts), ROUGH, rng)


def _sample(
    laplace_fit: LaplaceFit, draws: int, rng: np.random.Generator
) -> tuple[Importance, float]:
    """Return weighted draws, the density on nodes fine enough for them, and its error."""
    density, nodes = laplace_fit.density, laplace_fit.nodes
    pieces = density.pieces
    proposal = propose(density, laplace_fit.parts, rng)
    proposal, pilot = improve(density.log_density, proposal, rng)
    curves, error = _worst_error(pilot, density, nodes, rng)
    for _ in range(COMPRESSIONS):
        if error > 2.0 * TOLERANCE:
            negatives, positives = laplace_fit.classes
            nodes = negatives.compress(pieces, *curves), positives.compress(pieces, *curves)
            density = PosteriorDensity(pieces, nodes, density.prior)
        drawn = sample(density.log_density, proposal, draws, rng, efficiency=pilot.efficiency)
        curves, error = _worst_error(drawn, density, nodes, rng)
        if error <= WORST_ERROR:
            break
    return Importance(density, proposal, drawn), error


def _worst_error(
    drawn: Sample,
    density: PosteriorDensity,
    nodes: tuple[QuadratureNodes, QuadratureNodes],
    rng: np.random.Generator,
) -> tuple[tuple[Floats, Floats], float]:
    """Return some curves of a sample and the worst bound on their log likelihoods' errors."""
    points = drawn.resample(CURVES, rng)
    curves = points[:, 0], density.slopes(points)
    errors = [of_class.errors(density.pieces, *curves).sum(axis=1) for of_class in nodes]
    return curves, float(np.sum(errors, axis=0).max())


def _describe_problem(drawn: Sample, error: float) -> str:
    if not drawn.trusted:
        return (
            f"importance weights are too uneven: Pareto k {drawn.pareto_k:.2f},"
            f" efficiency {drawn.efficiency:.3f}"
        )
    if error > WORST_ERROR:
        return f"compressing the scores may move the log likelihood by {error:.2g} nats"
    return ""


BLOCK = 8  # rows of a matrix that all kernels of OpenBLAS take at once, or a part of these


@dataclass(frozen=True)
class MonotoneDraws(Posterior):
    """Draws of log-odds that never fall with the raw score."""

    axes: ClassVar = {
        "knots": ("knot",),
        "intercept": (SAMPLE,),
        "slope": (SAMPLE, "segment"),
        "prior": (SAMPLE,),
    }
    drawn: ClassVar = ("intercept", "slope", "prior")
    shifted: ClassVar = "intercept"
    description: ClassVar = (
        "The engine's own coordinates: log-odds at the reference and slopes between knots, all of"
        " scores that are warped and standardised by the constants beside them."
    )

    pieces: Pieces  # knots and reference, in standardised (warped) scores
    intercept: Floats  # (draws,): log-odds at the reference
    slope: Floats  # (draws, segments): in log-odds a standardised unit
    prior: Floats  # (draws,): P(+) of the documents fitted
    centre: float  # of the standardisation, and of the warp in score units
    spread: float
    asinh_scale: float

    @one_blas_thread()
    def log_odds(self, scores: Floats) -> Floats:
        """Return the log-odds at raw scores, shape (draws, scores)."""
        x = standardise(scores, self.centre, self.spread, self.asinh_scale)
        # Draws are contiguous in memory: there are thousands of them, and often few scores.
        product = _whole_blocks(self.pieces.basis(x)) @ _whole_blocks(self.slope).T
        curves: Floats = product[: x.size, : self.size] + self.intercept
        return curves.T


def _whole_blocks(rows: Floats) -> Floats:
    """Return rows padded with zeros to whole blocks, so that matrix products always sum alike."""
    size, columns = rows.shape
    if size % BLOCK == 0:
        return rows
    whole = np.zeros((size + -size % BLOCK, columns))
    whole[:size] = rows
    return whole

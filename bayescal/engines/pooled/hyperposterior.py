"""The posterior of a population's hyperparameters, topics integrated out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from bayescal.engines.pareto import smooth
from bayescal.engines.pooled.hyperprior import FINAL, SEARCHING, GaussianHyperprior
from bayescal.engines.pooled.reweighting import TopicDraws
from bayescal.validation import Floats

# Of derivatives by differences, and the longest step, in the hyperprior's standard deviations.
DIFFERENCE, LONGEST_STEP = 0.02, 1.0
LENGTHS = np.array([1.0, 0.5, 0.25, 0.1, 0.01])  # of a step, those that are tried
MOVES, FINALS, NEWTON_STEPS = 12, 3, 20
SETTLED = 1e-3  # natural log of the density that a step gains, below which there is none
# Topics that the mode is searched with, and draws of each; and how far these tell the evidence:
# as long as so much of their effective number is left.
SEARCHED, FIRST_DRAWS, CARRIES = 100, 500, 0.4
PROPOSALS = 4000
ADAPTATIONS, GOOD_K = 4, 0.7
FREEDOM, WIDER = 5.0, 1.2  # of the Student t proposal

Data = TypeVar("Data")
# From topics, bases, a number of draws under each and a source of randomness.
Draw = Callable[[Sequence[Data], Floats, int, np.random.Generator], TopicDraws]


@dataclass(frozen=True)
class Hyperposterior:
    """
    Draws of a population's hyperparameters.

    Attributes
    ----------
    points : array of shape (draws, hyperparameters)
        Unbounded hyperparameters.
    topics : TopicDraws
        The topics' draws behind their evidence.
    pareto_k : float
        Of the importance weights.
    efficiency : float
        Effective share of the proposals.
    """

    points: Floats
    topics: TopicDraws
    pareto_k: float
    efficiency: float


def draw_hyperposterior(
    draw: Draw[Data],
    topics: Sequence[Data],
    hyperprior: GaussianHyperprior,
    rng: np.random.Generator,
    *,
    draws: int,
    topic_draws: int,
) -> Hyperposterior:
    """
    Return draws of the hyperparameters.

    Newton's method on the reweighted evidence finds the mode, the topics drawn anew wherever it
    leaves their base behind: first with some topics, then with all, whose mode is not far from
    that. Student t proposals around the mode are weighted and resampled.

    Parameters
    ----------
    draw : callable
        From topics, bases, a number of draws under each and a source of randomness to the topics'
        draws.
    topics : sequence
        The data of each.
    hyperprior : GaussianHyperprior
        Of the hyperparameters.
    rng : numpy.random.Generator
        Source of randomness.
    draws : int
        How many points to return.
    topic_draws : int
        Draws of every topic that stand for its posterior.
    """
    some = [topics[i] for i in rng.permutation(len(topics))[:SEARCHED]]
    base = mode = np.array(hyperprior.mean)
    for _ in range(MOVES):
        near = _find_mode(draw(some, base[None], FIRST_DRAWS, rng), hyperprior, mode)
        mode = near.point
        if near.settled:
            break
        base = hyperprior.bases(mode, near.deviation, SEARCHING)[0]
    for _ in range(FINALS):
        bases = hyperprior.bases(near.point, near.deviation, FINAL)
        found = draw(topics, bases, topic_draws // len(bases), rng)
        near = _find_mode(found, hyperprior, near.point)
        if near.settled:
            break
    log_posterior = _log_posterior(found, hyperprior)
    centre, covariance = near.point, near.covariance
    for _ in range(ADAPTATIONS):
        points, log_proposal = _student(centre, WIDER * covariance, PROPOSALS, rng)
        log_weight, k = smooth((log_posterior(points) - log_proposal)[None])
        weight = np.exp(log_weight[0])
        if k[0] < GOOD_K:
            break
        # The posterior is no ellipse around its mode: one around its mean comes nearer.
        centre, covariance = weight @ points, np.cov(points.T, aweights=weight)
    return Hyperposterior(
        points=points[_systematic(weight, draws, rng)],
        topics=found,
        pareto_k=float(k[0]),
        efficiency=float(1.0 / (weight**2).sum() / weight.size),
    )


def _log_posterior(
    topics: TopicDraws, hyperprior: GaussianHyperprior
) -> Callable[[Floats], Floats]:
    def log_posterior(points: Floats) -> Floats:
        log: Floats = topics.log_evidence_of(points) + hyperprior.log_density(points)
        return log

    return log_posterior


@dataclass(frozen=True)
class _Mode:
    """
    A mode of the hyperparameters, or how far draws told the way to it.

    Attributes
    ----------
    point : array of shape (hyperparameters,)
    covariance : array of shape (hyperparameters, hyperparameters)
        Minus the inverse Hessian there.
    deviation : array of shape (hyperparameters,)
        Standard deviations, none above the hyperprior's: few topics leave a curvature that says
        nothing.
    settled : bool
        Whether it is a mode.
    """

    point: Floats
    covariance: Floats
    deviation: Floats
    settled: bool


def _find_mode(topics: TopicDraws, hyperprior: GaussianHyperprior, start: Floats) -> _Mode:
    """Climb from the start, no farther than the topics' draws carry."""
    log_posterior = _log_posterior(topics, hyperprior)
    scale = np.array(hyperprior.scale)
    point, prior_precision, settled = start, np.diag(scale**-2.0), False

    def effective(point: Floats) -> float:
        return float(topics.efficiency(point[None]).mean())

    least = CARRIES * effective(start)
    for _ in range(NEWTON_STEPS):
        value, gradient, hessian = _derivatives(log_posterior, point, scale)
        precision = _positive(-hessian, prior_precision)
        step = np.linalg.solve(precision, gradient)
        step *= min(1.0, LONGEST_STEP / np.abs(step / scale).max())
        ahead = point + LENGTHS[:, None] * step
        carried = np.array([effective(each) for each in ahead]) > least
        # What lies beyond is looked at from a new base.
        values = np.where(carried, log_posterior(ahead), -np.inf)
        best = int(values.argmax())
        gain = values[best] - value
        if gain > 0.0:
            point = ahead[best]
        if gain < SETTLED:
            settled = bool(carried.all())
            break
    _, _, hessian = _derivatives(log_posterior, point, scale)
    inverse = np.linalg.inv(_positive(-hessian, prior_precision))
    covariance = np.asarray(inverse, dtype=np.float64)
    deviation = np.minimum(np.sqrt(np.diag(covariance)), scale)
    return _Mode(point, covariance, deviation, settled)


def _derivatives(
    log_posterior: Callable[[Floats], Floats], point: Floats, scale: Floats
) -> tuple[float, Floats, Floats]:
    """Return value, gradient and Hessian by central differences, all points at once."""
    steps, n = DIFFERENCE * np.diag(scale), scale.size
    pairs = [(i, j) for i in range(n) for j in range(i)]
    corners = [steps[i] + sign * steps[j] for i, j in pairs for sign in (1.0, -1.0)]
    offsets = np.concatenate([np.zeros((1, n)), steps, -steps, corners, np.negative(corners)])
    values = log_posterior(point + offsets)
    value, up, down = values[0], values[1 : 1 + n], values[1 + n :][:n]
    h = np.diag(steps)
    hessian = np.diag((up + down - 2.0 * value) / h**2)
    same, opposite = np.add(*np.split(values[1 + 2 * n :], 2)).reshape(-1, 2).T
    for (i, j), cross in zip(pairs, (same - opposite) / 4.0, strict=True):
        hessian[i, j] = hessian[j, i] = cross / (h[i] * h[j])
    return float(value), (up - down) / (2.0 * h), hessian


def _positive(precision: Floats, floor: Floats) -> Floats:
    """Return a precision no direction of which is below a tenth of the hyperprior's."""
    root = np.sqrt(np.diag(floor))
    values, vectors = np.linalg.eigh(precision / np.outer(root, root))
    fixed: Floats = (vectors * np.maximum(values, 0.1)) @ vectors.T * np.outer(root, root)
    return fixed


def _student(
    mean: Floats, covariance: Floats, size: int, rng: np.random.Generator
) -> tuple[Floats, Floats]:
    """Return draws of a multivariate Student t, and their log density up to a constant."""
    factor = np.linalg.cholesky(covariance)
    z = rng.normal(size=(size, mean.size)) / np.sqrt(rng.chisquare(FREEDOM, (size, 1)) / FREEDOM)
    log = -0.5 * (FREEDOM + mean.size) * np.log1p((z**2).sum(axis=1) / FREEDOM)
    return mean + z @ factor.T, log


def _systematic(weight: Floats, size: int, rng: np.random.Generator) -> Floats:
    """Return positions in proportion to weights, by systematic resampling, in random order."""
    cumulative = np.cumsum(weight)
    targets = (rng.random() + np.arange(size)) / size * cumulative[-1]
    picked = np.minimum(np.searchsorted(cumulative, targets), weight.size - 1)
    return rng.permutation(picked)

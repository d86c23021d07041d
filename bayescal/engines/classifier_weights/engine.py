r"""Draws of every problem's coefficients: Laplace's approximation over a grid, weighed by labels.

    p(scales | labels)     by Laplace's evidence at each node of the grid
    mu | scales            Gaussian, by Laplace
    b, w, v | mu, scales   Gaussian proposals with Student t tails in b and w, weighed by the
                           problem's own likelihood over its Gaussian stand-in (Pareto smoothed)

Each problem's own labels are thus taken exactly, and what others say of the population by Laplace's
approximation. With one problem the draws are from its posterior, up to Monte Carlo error.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import special

from bayescal.engines.classifier_weights.corrections import features, log_mean
from bayescal.engines.classifier_weights.design import Design
from bayescal.engines.classifier_weights.grid import Place, resolve
from bayescal.engines.classifier_weights.mode import JointMode, Population, climb, find_mode
from bayescal.engines.classifier_weights.prior import WeightsPrior
from bayescal.engines.monotone.importance import (
    FREEDOM,
    WORST_EFFICIENCY,
    WORST_K,
    Sample,
    weighted,
)
from bayescal.validation import Floats

# Proposals for each draw asked for.
PROPOSALS = 2
# Wider than Laplace's approximation: where classes are separated the likelihood is flat on one side
# of the mode, where the posterior is as wide as its prior.
WIDER = 1.5
# Nodes of the grid whose share is next to nothing are not drawn from.
SMALLEST_SHARE = 1e-4


@dataclass(frozen=True)
class Weights:
    """
    The posterior of one problem's coefficients.

    Attributes
    ----------
    draws : array of shape (draws, d)
        Independent draws of (b, w_1 .. w_m, v_1 .. v_J).
    point : array of shape (d,)
        Their mode, averaged over the scales.
    precision : array of shape (d,)
        Of the prior, at the likeliest scales.
    pareto_k, efficiency : float
        How well the draws were made, see `bayescal.engines.pareto`.
    """

    draws: Floats
    point: Floats
    precision: Floats
    pareto_k: float
    efficiency: float

    @property
    def trusted(self) -> bool:
        """Return whether averages over the draws may be trusted."""
        return self.pareto_k <= WORST_K and self.efficiency >= WORST_EFFICIENCY


@dataclass(frozen=True)
class Nodes:
    """
    Joint modes over the grid of scales.

    Attributes
    ----------
    modes : list of JointMode
        Of nodes that matter.
    share : array of shape (nodes,)
        Their posterior probability.
    """

    modes: list[JointMode]
    share: Floats

    @property
    def likeliest(self) -> JointMode:
        """Return the mode at the likeliest scales."""
        return self.modes[int(self.share.argmax())]

    @property
    def points(self) -> list[Floats]:
        """Return each problem's mode, averaged over the scales."""
        problems = range(len(self.modes[0].points))
        return [
            np.asarray(self.share @ np.array([mode.points[k] for mode in self.modes]))
            for k in problems
        ]


def fit_modes(designs: Sequence[Design], centre: Floats, prior: WeightsPrior) -> Nodes:
    """
    Return the joint modes of all problems over the grid of scales.

    Parameters
    ----------
    designs : sequence of Design
        Of each problem; the same classifiers and indicators in all.
    centre : array of shape (m,)
        Prior mean of the population's weights.
    prior : WeightsPrior
        Its scales.
    """
    first = designs[0]
    has_shifts = first.size - first.weight_shifts > centre.size + 1
    dimensions = 1 + has_shifts + (first.weight_shifts > 0)

    def evaluate(at: Floats, near: JointMode | None) -> Place[JointMode]:
        start = None if near is None else (near.mu, near.points)
        mode = find_mode(Population(designs, centre, prior, prior.scales(at)), start)
        return Place(mode.log_evidence + mode.model.scales.log_mass, mode)

    places = resolve(evaluate, dimensions)
    modes = [place.found for place in places]
    share = special.softmax([place.log_mass for place in places])
    kept = share > SMALLEST_SHARE
    kept_modes = [mode for mode, keep in zip(modes, kept, strict=True) if keep]
    return Nodes(kept_modes, share[kept] / share[kept].sum())


def draw_weights(nodes: Nodes, draws: int, rng: np.random.Generator) -> list[Weights]:
    """
    Return draws of each problem's coefficients.

    Parameters
    ----------
    nodes : Nodes
        What `fit_modes` found.
    draws : int
        How many.
    rng : numpy.random.Generator
        Source of randomness.
    """
    size = PROPOSALS * draws
    sizes = rng.multinomial(size, nodes.share)
    mus = [
        rng.multivariate_normal(mode.mu, mode.covariance, n, method="cholesky")
        for mode, n in zip(nodes.modes, sizes, strict=True)
    ]
    best, points = nodes.likeliest, nodes.points
    proposed = [_propose_all(nodes.modes, k, mus, rng) for k in range(len(points))]
    beyond = _beyond_laplace(nodes.modes, mus, [log_ratio for _, log_ratio in proposed])
    out = []
    for k, (point, (values, log_ratio)) in enumerate(zip(points, proposed, strict=True)):
        found: Sample = weighted(values, log_ratio + beyond.sum(axis=0) - beyond[k])
        out.append(
            Weights(
                found.resample(draws, rng),
                point,
                best.model.precision(k),
                found.pareto_k,
                found.efficiency,
            )
        )
    return out


def follow(
    weights: Weights, design: Design, evidence: Floats, shifted: Floats | None = None
) -> Floats:
    """
    Return how far the mode of bias and weights moves where the evidence is another one.

    The labels and the prior stay; the coefficients of indicators and interactions stay too.

    Parameters
    ----------
    weights : Weights
        Fitted to `design`.
    design : Design
        Labels and columns.
    evidence : array of shape (n, m)
        In place of the classifiers' columns of the design.
    shifted : array of shape (n, interactions), optional
        In place of its interactions; by default they stay.

    Returns
    -------
    array of shape (d,)
    """
    head, tail = evidence.shape[1] + 1, design.size - design.weight_shifts
    precision, start = weights.precision[:head], weights.point[:head]
    # The prior mean that the mode is the mode of: it is the same for the other evidence.
    mean = start - design.gradient(weights.point)[:head] / precision
    between = design.columns[:, tail:] if shifted is None else shifted
    offset = design.offset + design.columns[:, head:tail] @ weights.point[head:tail]
    offset = offset + between @ weights.point[tail:]
    others = Design(
        np.column_stack([np.ones(len(evidence)), evidence]), offset, design.positive, design.weight
    )
    point = climb(others, mean, precision, start)
    moved: Floats = np.r_[point - start, np.zeros(weights.point.size - head)]
    return moved


def _propose_all(
    modes: Sequence[JointMode], k: int, mus: Sequence[Floats], rng: np.random.Generator
) -> tuple[Floats, Floats]:
    """Return proposals for problem k at all nodes, and their log importance ratios."""
    parts = [_propose(mode, k, mu, rng) for mode, mu in zip(modes, mus, strict=True) if len(mu)]
    points, log_ratios = zip(*parts, strict=True)
    return np.concatenate(points), np.concatenate(log_ratios)


def _beyond_laplace(
    modes: Sequence[JointMode], mus: Sequence[Floats], log_ratios: Sequence[Floats]
) -> Floats:
    """Return the log of each problem's exact evidence over Laplace's, shape (problems, draws)."""
    if len(log_ratios) == 1:  # its own likelihood is all that there is
        return np.zeros((1, log_ratios[0].size))
    x = np.concatenate(
        [
            np.column_stack([mu, np.tile(mode.model.scales.logs, (len(mu), 1))])
            for mode, mu in zip(modes, mus, strict=True)
        ]
    )
    columns = features(x)
    return np.array([log_mean(columns, log_ratio) for log_ratio in log_ratios])


def _propose(
    mode: JointMode, k: int, mu: Floats, rng: np.random.Generator
) -> tuple[Floats, Floats]:
    """Return proposals for problem k given draws of mu, and their log importance ratios."""
    design, at, hessian = mode.model.designs[k], mode.points[k], mode.hessians[k]
    head = mu.shape[1] + 1
    # The first rows of a lower triangular root are the marginal of b and w.
    root = np.linalg.cholesky(np.linalg.inv(hessian))
    z = rng.standard_normal((len(mu), at.size))
    stretch = np.sqrt(FREEDOM / rng.chisquare(FREEDOM, len(mu)))
    z[:, :head] *= WIDER * stretch[:, None]
    points = at + (mu - mode.mu) @ mode.pulls[k].T + z @ root.T
    # Log likelihood over its second-order expansion at the mode, and Gaussian over Student t.
    away = points - at
    information = hessian - np.diag(mode.model.precision(k))
    expansion = away @ design.gradient(at) - 0.5 * np.einsum(
        "ij,jk,ik->i", away, information, away, optimize=True
    )
    log_ratio = design.log_likelihood(points) - expansion
    square = (z[:, :head] ** 2).sum(axis=1)
    log_ratio += -0.5 * square + 0.5 * (FREEDOM + head) * np.log1p(square / (FREEDOM * WIDER**2))
    return points, log_ratio - float(design.log_likelihood(at[None])[0])

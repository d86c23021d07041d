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

from bayescal.engines.classifier_weights.design import Design
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
    grid = prior.grid(shifts=designs[0].size > centre.size + 1)
    modes: list[JointMode] = []
    for scales in grid:
        start = (modes[-1].mu, modes[-1].points) if modes else None
        modes.append(find_mode(Population(designs, centre, prior, scales), start))
    share = special.softmax([mode.log_evidence + mode.model.scales.log_mass for mode in modes])
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
    out = []
    for k, point in enumerate(points):
        parts = [
            _propose(mode, k, mu, rng) for mode, mu in zip(nodes.modes, mus, strict=True) if len(mu)
        ]
        found: Sample = weighted(
            np.concatenate([part[0] for part in parts]), np.concatenate([part[1] for part in parts])
        )
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


def follow(weights: Weights, design: Design, evidence: Floats) -> Floats:
    """
    Return how far the mode of bias and weights moves where the evidence is another one.

    The labels and the prior stay; what indicators add stays too.

    Parameters
    ----------
    weights : Weights
        Fitted to `design`.
    design : Design
        Labels and columns.
    evidence : array of shape (n, m)
        In place of the classifiers' columns of the design.

    Returns
    -------
    array of shape (d,)
    """
    head = evidence.shape[1] + 1
    precision, start = weights.precision[:head], weights.point[:head]
    # The prior mean that the mode is the mode of: it is the same for the other evidence.
    mean = start - design.gradient(weights.point)[:head] / precision
    others = Design(
        np.column_stack([np.ones(len(evidence)), evidence]),
        design.offset + design.columns[:, head:] @ weights.point[head:],
        design.positive,
        design.weight,
    )
    point = climb(others, mean, precision, start)
    moved: Floats = np.r_[point - start, np.zeros(weights.point.size - head)]
    return moved


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

"""Proposals of coefficients by Laplace's approximation, and the likelihood over its stand-in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bayescal.engines.classifier_weights.mode import JointMode
from bayescal.engines.monotone.importance import FREEDOM
from bayescal.validation import Floats

# Wider than Laplace's approximation: where classes are separated the likelihood is flat on one side
# of the mode, where the posterior is as wide as its prior.
WIDER = 1.5


@dataclass(frozen=True)
class Proposals:
    """
    Proposals for all problems, the i-th of each with the same population and scales.

    Attributes
    ----------
    shared : array of shape (size, m + 3)
        The population's weights, and the logarithms of the scales.
    points : list of array of shape (size, d_k)
        Coefficients of each problem.
    log_ratios : list of array of shape (size,)
        Log of the likelihood over its Gaussian stand-in and of Gaussian over Student t, by problem;
        the mean of the ratios is the problem's exact evidence over Laplace's.
    """

    shared: Floats
    points: list[Floats]
    log_ratios: list[Floats]

    @property
    def size(self) -> int:
        """Return how many there are of each problem."""
        return len(self.shared)

    def joined(self, further: Proposals) -> Proposals:
        """Return these and others."""
        return Proposals(
            np.concatenate([self.shared, further.shared]),
            _joined(self.points, further.points),
            _joined(self.log_ratios, further.log_ratios),
        )


def propose(
    modes: Sequence[JointMode], share: Floats, size: int, rng: np.random.Generator
) -> Proposals:
    """
    Return proposals from the Gaussians that touch joint modes.

    Parameters
    ----------
    modes : sequence of JointMode
        Of the same problems, at several scales.
    share : array of shape (modes,)
        Their probabilities.
    size : int
        How many of each problem.
    rng : numpy.random.Generator
        Source of randomness.
    """
    sizes = rng.multinomial(size, share)
    drawn = [(mode, n) for mode, n in zip(modes, sizes, strict=True) if n]
    mus = [
        rng.multivariate_normal(mode.mu, mode.covariance, n, method="cholesky") for mode, n in drawn
    ]
    shared = [
        np.column_stack([mu, np.tile(mode.model.scales.logs, (n, 1))])
        for (mode, n), mu in zip(drawn, mus, strict=True)
    ]
    points: list[Floats] = []
    log_ratios: list[Floats] = []
    for k in range(len(modes[0].points)):
        parts = [_of_problem(mode, k, mu, rng) for (mode, _), mu in zip(drawn, mus, strict=True)]
        points.append(np.concatenate([part[0] for part in parts]))
        log_ratios.append(np.concatenate([part[1] for part in parts]))
    return Proposals(np.concatenate(shared), points, log_ratios)


def _joined(some: list[Floats], others: list[Floats]) -> list[Floats]:
    return [np.concatenate(pair) for pair in zip(some, others, strict=True)]


def _of_problem(
    mode: JointMode, k: int, mu: Floats, rng: np.random.Generator
) -> tuple[Floats, Floats]:
    """Return proposals for problem k given draws of mu, and their log importance ratios."""
    design, at, hessian = mode.model.designs[k], mode.points[k], mode.hessians[k]
    head = mu.shape[1] + 1
    covariance: Floats = np.linalg.inv(hessian).astype(np.float64)
    # The first rows of a lower triangular root are the marginal of b and w.
    root = np.linalg.cholesky(covariance)
    # In many dimensions the mode of a skew density is far from nearly all of it.
    shift = design.mean_from_mode(at, covariance)
    z = rng.standard_normal((len(mu), at.size))
    stretch = np.sqrt(FREEDOM / rng.chisquare(FREEDOM, len(mu)))
    z[:, :head] *= WIDER * stretch[:, None]
    points = at + shift + (mu - mode.mu) @ mode.pulls[k].T + z @ root.T
    # Log likelihood over its second-order expansion at the mode, and Gaussian over Student t.
    away = points - at
    information = hessian - np.diag(mode.model.precision(k))
    expansion = away @ design.gradient(at) - 0.5 * np.einsum(
        "ij,jk,ik->i", away, information, away, optimize=True
    )
    log_ratio = design.log_likelihood(points) - expansion
    square = (z[:, :head] ** 2).sum(axis=1)
    log_ratio += -0.5 * square + 0.5 * (FREEDOM + head) * np.log1p(square / (FREEDOM * WIDER**2))
    # The Gaussian is around the mode, and the proposals around the mean.
    moved = np.linalg.solve(root, shift)
    log_ratio -= z @ moved + 0.5 * float(moved @ moved)
    return points, log_ratio - float(design.log_likelihood(at[None])[0])

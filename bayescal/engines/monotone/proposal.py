r"""A proposal near the posterior: a mixture over the scale of the walk's steps.

A Student t of steps is a Gaussian of unknown scale tau, tau^2 ~ InverseGamma(nu/2, nu/2). Given
tau the posterior is close to a Gaussian, so that a Student t with its mean and covariance follows
it; over a grid of tau, weighted by prior and evidence, such parts follow the whole.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bayescal.engines.monotone.density import PosteriorDensity
from bayescal.engines.monotone.importance import Mixture, StudentT
from bayescal.engines.monotone.mode import Mode, find_mode
from bayescal.engines.pareto import smooth
from bayescal.log_sum import log_sum_exp
from bayescal.validation import Floats

RATIO = 2.0
# Wide enough for slopes to find what the labels say before narrower scales hold them together.
FIRST_SCALE = RATIO**3
MOST_STEPS_OUT = 15
# Scales whose share is exp(-6) of the largest are left to the tails of their neighbours.
DEPTH = 6.0
PILOT = 700
# Of a proposal that has one scale alone, and what is wider.
WIDER, WIDE_SHARE = 2.0, 0.25


@dataclass(frozen=True)
class GivenScale:
    """
    The posterior given the scale of the walk's steps, as Laplace approximates it.

    Attributes
    ----------
    scale : float
        tau, one of a grid whose neighbours differ by a factor of RATIO.
    mode : Mode
        Where the density given tau is largest.
    log_share : float
        Natural log of what this part of the grid adds to p(labels | scores).
    """

    scale: float
    mode: Mode
    log_share: float


def over_scales(density: PosteriorDensity) -> list[GivenScale]:
    """Return the posterior over a grid of scales, outward from FIRST_SCALE until little is left."""
    if density.dimension == 2:  # of one piece, which has no steps
        mode = find_mode(density, density.start(), FIRST_SCALE)
        return [GivenScale(FIRST_SCALE, mode, mode.log_integral)]
    parts = [_given_scale(density, FIRST_SCALE, density.start())]
    for direction in (RATIO, 1.0 / RATIO):
        here = parts[0]
        for _ in range(MOST_STEPS_OUT):
            here = _given_scale(density, here.scale * direction, here.mode.point)
            parts.append(here)
            if here.log_share < max(part.log_share for part in parts) - DEPTH:
                break
    return parts


def propose(
    density: PosteriorDensity, parts: Sequence[GivenScale], rng: np.random.Generator
) -> Mixture:
    """
    Return a mixture that follows a posterior.

    Parameters
    ----------
    density : PosteriorDensity
        The posterior.
    parts : sequence of GivenScale
        Its modes.
    rng : numpy.random.Generator
        Source of the pilot draws that turn modes into means and covariances.
    """
    top = max(part.log_share for part in parts)
    kept = [part for part in parts if part.log_share >= top - DEPTH]
    laplace = [StudentT(part.mode.point, part.mode.root) for part in kept]
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
        # A straight line's posterior leans to one side, with a tail as long as the prior's there.
        (only,) = students
        students.append(StudentT(only.mean, WIDER * only.root))
        log_shares = log_shares + np.array([0.0, math.log(WIDE_SHARE)])
    # Where the pilot draws deny what the modes promised, a share may be 0.
    share = np.exp(np.maximum(log_shares - log_shares.max(), -DEPTH))
    return Mixture(tuple(students), share / share.sum())


def at_modes(parts: Sequence[GivenScale]) -> Mixture:
    """Return the mixture of the modes alone: a rough proposal, which takes no pilot draws."""
    log_share = np.array([part.log_share for part in parts])
    share = np.exp(np.maximum(log_share - log_share.max(), -DEPTH))
    students = tuple(StudentT(part.mode.point, part.mode.root) for part in parts)
    return Mixture(students, share / share.sum())


def _given_scale(density: PosteriorDensity, scale: float, start: Floats) -> GivenScale:
    mode = find_mode(density, start, scale)
    log_prior = _log_prior(scale, density.prior.walk_freedom)
    return GivenScale(scale, mode, mode.log_integral + log_prior)


def _log_prior(scale: float, freedom: float) -> float:
    """Return the log prior probability of a part: the density of log tau times log RATIO."""
    half = 0.5 * freedom
    log_constant = math.log(2.0) + half * math.log(half) - math.lgamma(half)
    log_density = log_constant - freedom * (math.log(scale) + 0.5 / scale**2)
    return log_density + math.log(math.log(RATIO))

"""Draws of parameters that are standard normal before the data, for any likelihood.

Elliptical slice sampling (I. Murray, R. P. Adams and D. J. C. MacKay, AISTATS 2010) around the
mode: the prior's part is that of a normal distribution with the curvature at the mode, all else is
the likelihood's.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from scipy import optimize

from bayescal.support.validation import Floats

CHAINS, BURN_IN, STEPS = 80, 12, 20
Likelihood = Callable[[Floats], Floats]
DIFFERENCE = 1e-4


def draw(log_likelihood: Likelihood, dimension: int, seed: int | np.random.Generator) -> Floats:
    """Return draws of parameters that are standard normal before the data, (draws, dimension)."""
    rng = np.random.default_rng(seed)
    mode, root = laplace(log_likelihood, dimension)
    precision = np.linalg.inv(root @ root.T)

    def beyond(x: Floats) -> Floats:
        """Return the log posterior less that of the normal distribution around the mode."""
        away = x - mode
        normal = 0.5 * np.einsum("ij,jk,ik->i", away, precision, away)
        return np.asarray(log_likelihood(x) - 0.5 * (x**2).sum(axis=1) + normal)

    x = mode + rng.normal(size=(CHAINS, dimension)) @ root.T
    kept, level = [], beyond(x)
    for step in range(BURN_IN + STEPS):
        x, level = elliptical_step(x, level, beyond, mode, root, rng)
        if step >= BURN_IN:
            kept.append(x)
    return np.concatenate(kept)


def elliptical_step(
    x: Floats,
    level: Floats,
    beyond: Likelihood,
    mode: Floats,
    root: Floats,
    rng: np.random.Generator,
) -> tuple[Floats, Floats]:
    """Move every chain along an ellipse through another draw from the normal distribution."""
    n, dimension = x.shape
    own, other = x - mode, rng.normal(size=(n, dimension)) @ root.T
    bar = level + np.log(rng.random(n))
    angle: Floats = np.asarray(rng.uniform(0.0, 2.0 * math.pi, n))
    low, high = angle - 2.0 * math.pi, angle.copy()
    moved, reached = x.copy(), level.copy()
    left = np.arange(n)
    while left.size:
        turn = angle[left, None]
        tried = mode + own[left] * np.cos(turn) + other[left] * np.sin(turn)
        value = beyond(tried)
        good = value > bar[left]
        moved[left[good]], reached[left[good]] = tried[good], value[good]
        left = left[~good]
        below = angle[left] < 0.0
        low[left[below]] = angle[left[below]]
        high[left[~below]] = angle[left[~below]]
        angle[left] = rng.uniform(low[left], high[left])
    return moved, reached


def laplace(log_likelihood: Likelihood, dimension: int) -> tuple[Floats, Floats]:
    """Return the posterior mode, and a root of the inverse of the curvature there."""
    step = DIFFERENCE * np.eye(dimension)

    def value(x: Floats) -> Floats:
        return np.asarray(0.5 * (x**2).sum(axis=1) - log_likelihood(x))

    def gradient(x: Floats) -> Floats:
        rows = np.concatenate([x + step, x - step])
        ahead, behind = np.split(value(rows), 2)
        return np.asarray((ahead - behind) / (2.0 * DIFFERENCE))

    start = np.zeros(dimension)
    start[2] = 0.5

    def single(x: Floats) -> float:
        return float(value(x[None])[0])

    found = optimize.minimize(single, start, jac=gradient, method="BFGS", options={"maxiter": 80})
    wide = 30.0 * step
    curvature = np.stack(
        [(gradient(found.x + e) - gradient(found.x - e)) / (60.0 * DIFFERENCE) for e in wide]
    )
    size, axes = np.linalg.eigh(0.5 * (curvature + curvature.T))
    # A normal distribution that is narrower than the posterior would hold chains back.
    spread = 1.0 / np.sqrt(np.clip(size, 0.5, None))
    return found.x, axes * (1.2 * spread)

"""Hamiltonian Monte Carlo in coordinates in which the posterior is about standard normal."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

from bayescal.support.validation import Floats

Density = Callable[[Floats], tuple[Floats, Floats]]
Refresh = Callable[[Floats, np.random.Generator], Floats]
TARGET = 0.8  # mean acceptance probability that step sizes aim at
LENGTH = 3.0  # of the longest trajectories, for directions wider than the metric says
SHORTEST = 0.3  # the shortest trajectory as a share of LENGTH: one length would come back
MOST_STEPS = 20
FARTHEST = 50.0  # standard deviations that one step may move, so that numbers stay finite


def in_two_threads(density: Density) -> Density:
    """Return a density that works on both halves of the points at the same time."""

    def halves(points: Floats) -> tuple[Floats, Floats]:
        half = (len(points) + 1) // 2
        with ThreadPoolExecutor(1) as pool:
            second = pool.submit(density, points[half:])
            value, gradient = density(points[:half])
        other_value, other_gradient = second.result()
        return np.concatenate([value, other_value]), np.concatenate([gradient, other_gradient])

    return halves


@dataclass(frozen=True)
class Chains:
    """Draws of chains that ran side by side."""

    points: Floats  # (chains, draws, D)
    accepted: float  # mean acceptance probability


def sample(
    density: Density,
    refresh: Refresh,
    start: Floats,
    root: Floats,
    *,
    warmup: int,
    draws: int,
    rng: np.random.Generator,
) -> Chains:
    """
    Return draws of chains from their starts, (chains, D), with the metric (root root^T)^-1.

    `refresh` returns further draws given points, from conditional distributions of the density; it
    follows each trajectory. The step size is adapted during the warm-up.
    """
    inverse = np.linalg.inv(root)

    def standard(at: Floats) -> tuple[Floats, Floats]:
        # Trajectories may leave the range of numbers; they are rejected then.
        with np.errstate(over="ignore", invalid="ignore"):
            value, gradient = density(at @ root.T)
        return np.where(np.isfinite(value), value, -np.inf), np.nan_to_num(gradient @ root)

    chains, size = start.shape
    kept, total, step = np.empty((chains, draws, size)), 0.0, 1.2 * size**-0.25
    at = start @ inverse.T
    for k in range(warmup + draws):
        value, slope = standard(at)
        there, chance = _trajectory(standard, at, value, slope, step, rng)
        move = rng.random(chains) < chance
        point = refresh(np.where(move[:, None], there, at) @ root.T, rng)
        at = point @ inverse.T
        if k < warmup:
            step *= np.exp((chance.mean() - TARGET) / (1.0 + k) ** 0.5)
        else:
            kept[:, k - warmup] = point
            total += float(chance.mean())
    return Chains(kept, total / draws)


def _trajectory(
    density: Density,
    at: Floats,
    value: Floats,
    slope: Floats,
    step: float,
    rng: np.random.Generator,
) -> tuple[Floats, Floats]:
    """Return the ends of trajectories, and the probabilities of accepting them."""
    momentum = rng.standard_normal(at.shape)
    energy = value - 0.5 * (momentum**2).sum(axis=1)
    length = step * rng.uniform(0.8, 1.2)
    wanted = rng.uniform(SHORTEST, 1.0) * LENGTH / step
    for _ in range(int(np.clip(np.ceil(wanted), 1, MOST_STEPS))):
        momentum = momentum + 0.5 * length * slope
        at = at + np.clip(length * momentum, -FARTHEST, FARTHEST)
        value, slope = density(at)
        momentum = momentum + 0.5 * length * slope
    with np.errstate(over="ignore", invalid="ignore"):
        gain = np.nan_to_num(value - 0.5 * (momentum**2).sum(axis=1) - energy, nan=-np.inf)
    return at, np.exp(np.minimum(0.0, gain))


def split_rhat(draws: Floats) -> Floats:
    """Return the split R-hat of each coordinate of draws, (chains, draws, D)."""
    half = draws.shape[1] // 2
    pieces = np.concatenate([draws[:, :half], draws[:, -half:]])
    within = pieces.var(axis=1, ddof=1).mean(axis=0)
    between = half * pieces.mean(axis=1).var(axis=0, ddof=1)
    ratio = between / (half * np.maximum(within, np.finfo(float).tiny))
    rhat: Floats = np.sqrt((half - 1.0) / half + ratio)
    return rhat

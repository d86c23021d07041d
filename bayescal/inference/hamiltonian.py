"""Hamiltonian Monte Carlo around a normal approximation of the posterior."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

from bayescal.support.validation import Floats

Density = Callable[[Floats], tuple[Floats, Floats]]
Redraw = Callable[[Floats, np.random.Generator], Floats]
TARGET = 0.8  # mean acceptance probability that step sizes aim at
LENGTH = 3.0  # of the longest trajectories, for directions wider than the normal distribution
SHORTEST = 0.3  # the shortest trajectory as a share of LENGTH: one length would come back
MOST_STEPS = 20
LONGEST_STEP = 1.5  # a step of pi would only reflect
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
    start: Floats,
    centre: Floats,
    root: Floats,
    *,
    warmup: int,
    draws: int,
    rng: np.random.Generator,
    redraw: Redraw | None = None,
) -> Chains:
    """
    Return draws of chains from their starts, (chains, D).

    Trajectories follow Normal(centre, root root^T) exactly; only what the density differs from it
    is followed in steps (split HMC; Shahbaba et al., Statistics and Computing 2014). The step size
    is adapted during the warm-up. After each trajectory `redraw` moves the points, in a way that
    leaves their distribution unchanged.
    """
    inverse = np.linalg.inv(root)

    def standard(at: Floats) -> tuple[Floats, Floats]:
        # Trajectories may leave the range of numbers; they are rejected then.
        with np.errstate(over="ignore", invalid="ignore"):
            value, gradient = density(centre + at @ root.T)
            gradient = np.nan_to_num(gradient @ root)
        return np.where(np.isfinite(value), value, -np.inf), gradient

    chains, size = start.shape
    kept, total, step = np.empty((chains, draws, size)), 0.0, 1.2 * size**-0.25
    at = (start - centre) @ inverse.T
    value, slope = standard(at)
    for k in range(warmup + draws):
        there, new_value, new_slope, chance = _trajectory(standard, at, value, slope, step, rng)
        move = (rng.random(chains) < chance)[:, None]
        at, slope = np.where(move, there, at), np.where(move, new_slope, slope)
        value = np.where(move[:, 0], new_value, value)
        if redraw is not None:
            at = (redraw(centre + at @ root.T, rng) - centre) @ inverse.T
            value, slope = standard(at)
        if k < warmup:
            step *= np.exp((chance.mean() - TARGET) / (1.0 + k) ** 0.5)
        else:
            kept[:, k - warmup] = centre + at @ root.T
            total += float(chance.mean())
    return Chains(kept, total / draws)


def _trajectory(
    density: Density,
    at: Floats,
    value: Floats,
    slope: Floats,
    step: float,
    rng: np.random.Generator,
) -> tuple[Floats, Floats, Floats, Floats]:
    """Return the ends of trajectories, their densities, gradients and acceptance probabilities."""
    momentum = rng.standard_normal(at.shape)
    energy = value - 0.5 * (momentum**2).sum(axis=1)
    length = min(step * rng.uniform(0.8, 1.2), LONGEST_STEP)
    wanted = rng.uniform(SHORTEST, 1.0) * LENGTH / length
    along, across = np.cos(length), np.sin(length)
    for _ in range(int(np.clip(np.ceil(wanted), 1, MOST_STEPS))):
        momentum = momentum + 0.5 * length * (slope + at)
        there = along * at + across * momentum
        momentum = along * momentum - across * at
        at = at + np.clip(there - at, -FARTHEST, FARTHEST)
        value, slope = density(at)
        momentum = momentum + 0.5 * length * (slope + at)
    with np.errstate(over="ignore", invalid="ignore"):
        gain = np.nan_to_num(value - 0.5 * (momentum**2).sum(axis=1) - energy, nan=-np.inf)
    return at, value, slope, np.exp(np.minimum(0.0, gain))

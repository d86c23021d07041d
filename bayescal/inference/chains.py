"""Chains: Hamiltonian Monte Carlo around a normal approximation, and diagnostics of samplers."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import xarray as xr

from bayescal.inference.newton import root_of_inverse
from bayescal.support.validation import Floats

Density = Callable[[Floats], tuple[Floats, Floats]]
Curvature = Callable[[Floats], Floats]
Redraw = Callable[[Floats, np.random.Generator], Floats]
TARGET = 0.8  # target of the mean acceptance probability
LENGTH = 3.0  # of the longest trajectories, for directions wider than the normal distribution
SHORTEST = 0.3  # the shortest trajectory as a share of LENGTH; a fixed length would be periodic
MOST_STEPS = 20
LONGEST_STEP = 1.5  # a step of pi would be a reflection
FARTHEST = 50.0  # standard deviations that one step may move, so that numbers stay finite


# Updates of a normal approximation, pairs of draws for each gradient, and of those for curvature.
UPDATES, PAIRS, CURVED = 6, 8, 1
FARTHEST_UPDATE = 2.0  # standard deviations
COUNTED = 10  # draws a coordinate that a normal approximation counts as


def find_normal(
    density: Density, curvature: Curvature, start: Floats, rng: np.random.Generator
) -> tuple[Floats, Floats]:
    """Return the mean and a root R of the covariance of a variational normal approximation."""
    # It solves E[gradient] = 0 and (R R^T)^-1 = E[curvature] (Opper and Archambeau, Neural
    # Computation 2009) by damped updates with antithetic draws; `curvature` is minus the Hessian,
    # (D, D).
    centre, precision = start, curvature(start)
    root = root_of_inverse(precision)
    for weight in (1.0 + np.arange(UPDATES)) ** -0.5:
        half = rng.standard_normal((PAIRS, start.size)) @ root.T
        with np.errstate(over="ignore", invalid="ignore"):
            gradient = np.nan_to_num(density(centre + np.concatenate([half, -half]))[1])
        some = [curvature(centre + sign * each) for each in half[:CURVED] for sign in (1.0, -1.0)]
        precision = (1.0 - weight) * precision + weight * np.mean(some, axis=0)
        root = root_of_inverse(precision)
        standard = root.T @ gradient.mean(axis=0)
        standard *= FARTHEST_UPDATE / max(float(np.linalg.norm(standard)), FARTHEST_UPDATE)
        centre = centre + weight * root @ standard
    return centre, root


def updated_root(root: Floats, draws: Floats) -> Floats:
    """Return the root of a covariance averaged with that of draws, (n, D)."""
    seen = np.cov(np.linalg.solve(root, (draws - draws.mean(axis=0)).T))
    weight = len(draws) / (len(draws) + COUNTED * len(root))
    return np.asarray(root @ np.linalg.cholesky((1.0 - weight) * np.eye(len(root)) + weight * seen))


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
    """Return draws of chains, (chains, D); `redraw` is a Gibbs step after each trajectory."""
    # Trajectories follow Normal(centre, root root^T) exactly; only the difference from it is
    # integrated in steps (split HMC; Shahbaba et al., Statistics and Computing 2014).
    inverse = np.linalg.inv(root)

    def standard(at: Floats) -> tuple[Floats, Floats]:
        # Trajectories that overflow are rejected.
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


RHAT_LIMIT = 1.01
RHAT_OF_ANOTHER = 1.5  # larger values rarely mean that chains are only too short
ESS_LIMIT = 400.0
INDEPENDENT = "independent"  # attribute of variables drawn without a chain
IMPROPER = (
    "; chains so far apart mean several modes, or an improper posterior: give every parameter a"
    " proper prior, and check that the data tell parameters apart"
)


@dataclass(frozen=True)
class Diagnostics:
    """Diagnostics of posterior draws, at worst over parameters, parts and topics."""

    rhat: float | None  # the largest rank-normalised; None for one chain and for exact draws
    ess_bulk: float  # the smallest effective sample sizes; the number of exact draws
    ess_tail: float
    divergences: int  # transitions of NUTS
    draws: int  # over all chains
    efficiency: float | None  # effective sample size of exact draws' proposals, as a share
    pareto_k: float | None  # shape of their importance weights, reliable below 0.7
    problems: tuple[str, ...]  # problems with advice

    @property
    def ok(self) -> bool:
        """Return whether the draws can be used."""
        return not self.problems


def check_chains(sampled: xr.Dataset, posterior: xr.Dataset) -> Diagnostics:
    """Check draws of NUTS over all parameters (Vehtari et al., Bayesian Analysis 2021)."""
    import arviz_stats

    posterior = posterior[[n for n, v in posterior.items() if INDEPENDENT not in v.attrs]]
    single = posterior.sizes["chain"] == 1
    with np.errstate(divide="ignore", invalid="ignore"):  # a constant chain's R-hat is nan
        rhat = None if single else _worst(arviz_stats.rhat(posterior), largest=True)
        bulk = _worst(arviz_stats.ess(posterior, method="bulk"))
        tail = _worst(arviz_stats.ess(posterior, method="tail"))
    divergences = int(sampled["diverging"].sum())
    return Diagnostics(
        rhat=None if rhat is None else rhat[0],
        ess_bulk=bulk[0],
        ess_tail=tail[0],
        divergences=divergences,
        draws=int(posterior.sizes["chain"] * posterior.sizes["draw"]),
        efficiency=None,
        pareto_k=None,
        problems=tuple(_problems(rhat, min(bulk, tail), divergences)),
    )


def _worst(dataset: xr.Dataset, *, largest: bool = False) -> tuple[float, str]:
    sign = -1.0 if largest else 1.0
    # nan (a constant chain) counts as the worst value.
    values = {str(name): np.ravel(array.values) for name, array in dataset.items()}
    keyed = [
        (-np.inf if np.isnan(v) else sign * v, float(v), name)
        for name, array in values.items()
        for v in array
    ]
    _, value, name = min(keyed)
    return value, name


def _problems(
    rhat: tuple[float, str] | None, ess: tuple[float, str], divergences: int
) -> list[str]:
    problems = []
    if rhat is not None and not rhat[0] <= RHAT_LIMIT:
        problems.append(
            f"R-hat of {rhat[1]} is {rhat[0]:.3f} (limit {RHAT_LIMIT}): the chains disagree; raise"
            f" sampler_options={{'tune': ...}} or draws"
            f"{'' if rhat[0] < RHAT_OF_ANOTHER else IMPROPER}"
        )
    if not ess[0] >= ESS_LIMIT:
        problems.append(
            f"the effective sample size of {ess[1]} is {ess[0]:.0f} (limit {ESS_LIMIT:.0f}):"
            " raise draws or chains"
        )
    if divergences:
        problems.append(
            f"{divergences} divergent transitions: raise sampler_options={{'target_accept': ...}}"
            " towards 0.99"
        )
    return problems

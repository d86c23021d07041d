"""Posterior draws of a calibration map from scores and labels of several classes."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from scipy import special

from bayescal.fitting.engines.multiclass.density import (
    BLOCKS,
    FREEDOM,
    GLOBALS,
    LEARNED,
    Likelihood,
    MapHyperparameters,
    MapPosterior,
    Maps,
    asymmetry_of,
)
from bayescal.fitting.engines.multiclass.features import (
    FeatureDesign,
    ScoredOptions,
    design,
    typical_gap,
)
from bayescal.fitting.engines.multiclass.mode import (
    ChunkedDocuments,
    derivatives,
    find_mode,
    first_map,
    fit_blocks,
)
from bayescal.inference.chains import Chains, Density, find_normal, sample, updated_root
from bayescal.inference.newton import lower_root
from bayescal.support.validation import Floats, Integers

MOST_FOR_FIRST = 3000  # documents that the first map is fitted to
MOST_SCORES = 200_000  # documents times classes, and classes, for Monte Carlo chains
MOST_CLASSES = 50
KEPT, WARMUP = 10, 4  # trajectories of each walker
ROUNDS = 4  # each further one doubles the trajectories, while the chains disagree
AGREEMENT = 1.05  # the largest R-hat of chains that agree
STARTS = 0.0, 1.5  # lambda of further searches for the mode: there may be two
LEAST_CURVATURE = 1.0  # of the log of a scale, by its prior

CHAINS, AUTO = "chains", "auto"
INFERENCES = (CHAINS, "variational", AUTO)
HAMILTONIAN = "Hamiltonian Monte Carlo"
# With fewer documents times classes chains take little longer than a normal approximation, which
# then loses most.
FEW_SCORES = 2000


@dataclass(frozen=True)
class MapDraws:
    """Posterior draws of a calibration map, chain by chain."""

    design: FeatureDesign
    maps: Maps  # all draws, chain after chain
    scale: Floats  # of each block, (draws, blocks)
    blocks: tuple[str, ...]
    chains: int
    rhat: float  # the largest of any coordinate; nan for independent draws
    accepted: float
    method: str


def fit_map(
    log_p: Floats,
    label: Integers,
    weight: Floats | None,
    *,
    chains: int,
    draws: int,
    rng: np.random.Generator,
    inference: str = CHAINS,
    prior: MapHyperparameters = LEARNED,
    exchangeable: bool = False,
    position_bias: bool = False,
    unit: float | None = None,
) -> MapDraws:
    """Return posterior draws from log-probabilities of shape (n, K) and positions of labels."""
    if log_p.shape[1] <= MOST_CLASSES:
        # Chains amplify rounding errors of sums, so that documents must come in one order.
        order = np.lexsort((label, *log_p.T) if weight is None else (weight, label, *log_p.T))
        log_p, label = log_p[order], label[order]
        weight = None if weight is None else weight[order]
    options = {"exchangeable": exchangeable, "position_bias": position_bias}
    start_at = first_fit(log_p, label, weight, prior=prior, unit=unit, **options)
    if start_at.design.used.any() and (log_p.size > MOST_SCORES or log_p.shape[1] > MOST_CLASSES):
        return _normal_draws(log_p, label, weight, start_at, chains, draws, rng, prior)
    posterior = start_at.posterior(log_p, label, weight, prior)
    modes, share = find_modes(posterior, start_at.first)
    sampled = inference == CHAINS or (inference == AUTO and log_p.size <= FEW_SCORES)
    if sampled:
        drawn, rhat = draw_chains(posterior, modes, share, chains, draws, rng)
    else:
        normals = find_normals(posterior, modes, share, rng)
        drawn, rhat = Chains(normals.draw(chains * draws, rng), 1.0), np.nan
    points = drawn.points.reshape(chains * draws, -1)
    return MapDraws(
        design=start_at.design,
        maps=posterior.maps(points),
        scale=np.exp(points[:, GLOBALS + 1 : posterior.first]),
        blocks=posterior.names,
        chains=chains,
        rhat=rhat,
        accepted=drawn.accepted,
        method=HAMILTONIAN if sampled else "variational normal approximation",
    )


def find_modes(posterior: MapPosterior, first: Maps) -> tuple[Floats, Floats]:
    """Return modes found from several warps of the first map, and their Laplace shares."""
    starts = [first]
    for warp in STARTS:
        globals_ = first.globals_.copy()
        globals_[0, 1] = warp
        starts.append(replace(first, globals_=globals_))
    modes = np.stack([find_mode(posterior, start).point(posterior) for start in starts])
    roots = [lower_root(precision(posterior, mode)) for mode in modes]
    evidence = posterior(modes)[0] - [np.log(np.diag(root)).sum() for root in roots]
    return modes, special.softmax(evidence)


@dataclass(frozen=True)
class NormalModes:
    """Variational normal distributions around modes, with one covariance."""

    density: Density  # the posterior density, in single precision
    centres: Floats  # (M, D)
    centre: Floats  # around the best mode, (D,)
    share: Floats  # (M,)
    root: Floats  # of the covariance, (D, D)

    def draw(self, size: int, rng: np.random.Generator) -> Floats:
        """Return points around modes in proportion to their shares, (size, D)."""
        # A mode with less than half a point's share has none.
        total = np.cumsum(np.where(self.share < 0.5 / size, 0.0, self.share))
        place = np.searchsorted(total, total[-1] * (np.arange(size) + rng.random()) / size)
        noise = rng.standard_normal((size, len(self.root))) @ self.root.T
        return np.asarray(self.centres[place] + noise)


def find_normals(
    posterior: MapPosterior, modes: Floats, share: Floats, rng: np.random.Generator
) -> NormalModes:
    """Return normal distributions around modes, (M, D), of given shares, (M,)."""
    density = replace(posterior, likelihood=posterior.likelihood.in_single_precision())
    best = int(np.argmax(share))
    centre, root = find_normal(density, partial(precision, posterior), modes[best], rng)
    return NormalModes(density, modes + (centre - modes[best]), centre, share, root)


def draw_chains(
    posterior: MapPosterior,
    modes: Floats,
    share: Floats,
    chains: int,
    draws: int,
    rng: np.random.Generator,
    rounds: int = ROUNDS,
) -> tuple[Chains, float]:
    """Return draws of chains around modes, and the largest R-hat of a coordinate."""
    # A chain's walkers start at one point, so that chains agree only if walkers have forgotten it
    # (Margossian et al., Nested R-hat, Bayesian Analysis 2024). Else they go on around a new normal
    # approximation, `rounds` times.
    from arviz_stats.base import array_stats

    around = find_normals(posterior, modes, share, rng)
    density, centre, root = around.density, around.centre, around.root
    walkers = math.ceil(draws / KEPT)
    start = np.repeat(around.draw(chains, rng), walkers, axis=0)
    for times in 2 ** np.arange(rounds):
        drawn = sample(
            density, start, centre, root,
            warmup=WARMUP, draws=KEPT * int(times), rng=rng, redraw=posterior.redraw_scales,
        )  # fmt: skip
        by_time = drawn.points.reshape(chains, walkers, -1, posterior.size).swapaxes(1, 2)
        folded = posterior.folded(by_time).reshape(chains, -1, posterior.size)
        with np.errstate(divide="ignore", invalid="ignore"):  # R-hat of a constant is inf or nan
            of_each = array_stats.rhat(folded, chain_axis=0, draw_axis=1, method="split")
        rhat = float(np.max(of_each))
        if rhat <= AGREEMENT:
            break
        start, centre = drawn.points[:, -1], folded.mean(axis=(0, 1))
        root = updated_root(root, folded.reshape(-1, posterior.size))
    points = drawn.points[:, times - 1 :: times].reshape(chains, -1, posterior.size)
    return Chains(points[:, :draws], drawn.accepted), rhat


def _normal_draws(
    log_p: Floats,
    label: Integers,
    weight: Floats | None,
    start_at: FirstFit,
    chains: int,
    draws: int,
    rng: np.random.Generator,
    prior: MapHyperparameters,
) -> MapDraws:
    """Return independent draws from the normal approximation for many scores."""
    documents = ChunkedDocuments(log_p, label, weight, start_at.design)
    found = fit_blocks(documents, start_at.first, start_at.mean, start_at.sd, prior)
    size = chains * draws
    return MapDraws(
        design=start_at.design,
        maps=found.draw(size, start_at.design.used, prior, rng),
        scale=np.tile(found.scale, (size, 1)),
        blocks=BLOCKS,
        chains=chains,
        rhat=np.nan,
        accepted=1.0,
        method="normal approximation",
    )


@dataclass(frozen=True)
class FirstFit:
    """The first map of documents, and the features around it."""

    first: Maps  # one map with biases alone
    design: FeatureDesign
    mean: Floats  # prior means of (log G, lambda, c)
    sd: Floats

    def posterior(
        self, log_p: Floats, label: Integers, weight: Floats | None, prior: MapHyperparameters
    ) -> MapPosterior:
        """Return the posterior density of all parameters."""
        features = self.design.features(ScoredOptions.of(log_p, self.design.unit))
        likelihood = Likelihood(features, label, weight, self.design)
        return MapPosterior.of(likelihood, self.mean, self.sd, prior, self.design.used)


def first_fit(
    log_p: Floats,
    label: Integers,
    weight: Floats | None,
    *,
    prior: MapHyperparameters = LEARNED,
    exchangeable: bool = False,
    position_bias: bool = False,
    unit: float | None = None,
) -> FirstFit:
    """Return the first map, of at most MOST_FOR_FIRST documents, and the features."""
    unit = typical_gap(log_p, weight) if unit is None else unit
    mean, sd = prior.of_globals(unit)
    part = slice(None, None, 1 + (label.size - 1) // MOST_FOR_FIRST)
    scored = ScoredOptions.of(log_p[part], unit)
    own = None if weight is None else weight[part]
    biases = not exchangeable or position_bias
    first = first_map(scored, label[part], own, prior, mean, sd, biases=biases)
    if log_p.size <= MOST_SCORES:
        scored, own = ScoredOptions.of(log_p, unit), weight
    made = design(scored, unit, first.globals_[0], first.theta[0, 0], own)
    if exchangeable:
        made.used[1:] = False
        made.used[0] = position_bias
    return FirstFit(first, made, mean, sd)


def precision(posterior: MapPosterior, point: Floats) -> Floats:
    """Return the expected curvature of minus the log posterior at a point, (D, D)."""
    maps = posterior.maps(point[None])
    log_scale = point[GLOBALS + 1 : posterior.first]
    block = posterior.block
    # Derivatives of globals and coefficients by the point's globals, log scales and coefficients.
    first = posterior.first
    by = np.zeros((GLOBALS + posterior.used.size, posterior.size))
    by[:GLOBALS, :GLOBALS] = np.eye(GLOBALS)
    by[0, 2] = -1.0
    by[2, 2] = asymmetry_of(point[2])[1]
    at, unit = np.arange(block.size), posterior.unit(point[None])[0]
    by[GLOBALS + at, GLOBALS + 1 + block] = unit * point[first:]
    by[GLOBALS + at, first + at] = unit
    curvature = derivatives(posterior, maps)[0]
    curvature[:GLOBALS, :GLOBALS] += np.diag(posterior.sd**-2.0)
    ratio = 2.0 * FREEDOM * (posterior.scales * np.exp(-log_scale)) ** 2
    of_prior = np.concatenate(
        [
            np.zeros(GLOBALS),
            [2.0 * sum(posterior.prior.lapse) + posterior.likelihood.lapse_information(maps)],
            np.maximum(ratio, LEAST_CURVATURE),
            np.ones(block.size),
        ]
    )
    return np.asarray(by.T @ curvature @ by + np.diag(of_prior))

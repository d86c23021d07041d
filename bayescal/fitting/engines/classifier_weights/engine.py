"""Draws of every problem's coefficients: Laplace's approximation over a grid, weighed by labels.

    p(scales | labels)        by Laplace's evidence at each node of a grid that resolves it
    mu | scales               Gaussian, by Laplace
    b, w, v | mu, scales      Gaussian proposals with Student t tails in b and w

Proposals of a problem are weighed by the ratio of its likelihood to its Gaussian approximation, and
by corrections for mu and the scales from all other problems (`corrections`), Pareto smoothed. With
one problem the draws are exact up to Monte Carlo error, with several up to the smoothness of the
corrections.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import special

from bayescal.fitting.engines.classifier_weights.model import (
    Design,
    JointMode,
    WeightHyperparameters,
    WeightsPopulation,
    find_mode,
)
from bayescal.inference.grid import GridPoint, resolve
from bayescal.inference.importance import FREEDOM, WORST_K, Sample, weighted
from bayescal.inference.newton import climb, root_of_inverse
from bayescal.support.validation import Floats

SMALLEST_DECREMENT, SMALLEST_RISE = 1e-6, 1e-4
# Prior precision of coefficients in proposals, which keeps constant columns at 0.
RIDGE = 1.0


def features(x: Floats) -> Floats:
    """Return 1, x and x^2, standardised; columns of x that do not vary are left out."""
    columns = [np.ones(len(x))]
    for values in x.T:
        if np.ptp(values) > 0.0:
            z = (values - values.mean()) / values.std()
            square = z * z - 1.0
            columns.append(z)
            # The square of two values is constant.
            if np.ptp(square) > 1e-9:
                columns.append(square)
    return np.column_stack(columns)


def log_mean(columns: Floats, log_ratio: Floats) -> Floats:
    """Return log E[exp(log_ratio) | columns] = (1, x, x^2)' beta, by Poisson regression."""
    top = log_ratio.max()
    ratio = np.exp(log_ratio - top)
    level = float(ratio.mean())
    ratio /= level
    penalty = np.r_[0.0, np.full(columns.shape[1] - 1, RIDGE)]

    def value(at: Floats) -> float:
        rate = columns @ at
        with np.errstate(over="ignore"):
            return float((ratio * rate - np.exp(rate)).sum() - 0.5 * RIDGE * at[1:] @ at[1:])

    def newton(at: Floats) -> tuple[Floats, float]:
        mean = np.exp(columns @ at)
        slope = columns.T @ (ratio - mean) - penalty * at
        step = np.linalg.solve((columns.T * mean) @ columns + np.diag(penalty), slope)
        return step, float(slope @ step)

    beta = climb(np.zeros(penalty.size), value, newton, tolerance=SMALLEST_DECREMENT, smallest=1e-6)
    return np.asarray(columns @ beta + top + np.log(level))


# Wider than Laplace's approximation: with separated classes the likelihood is flat on one side of
# the mode, where the posterior is as wide as its prior.
WIDER = 1.5


@dataclass(frozen=True)
class Proposals:
    """Proposals for all problems, the i-th of each with the same population and scales."""

    shared: Floats  # the population's weights, and the logarithms of the scales, (size, m + 2)
    points: list[Floats]  # coefficients of each problem, (size, d_k)
    # Logs of likelihood over Gaussian, plus Gaussian over Student t, by problem, (size,); their
    # mean ratio is the problem's exact evidence over Laplace's
    log_ratios: list[Floats]

    @property
    def size(self) -> int:
        """Return the number of proposals for each problem."""
        return len(self.shared)

    def joined(self, further: Proposals) -> Proposals:
        """Return these proposals joined with others."""
        return Proposals(
            np.concatenate([self.shared, further.shared]),
            _joined(self.points, further.points),
            _joined(self.log_ratios, further.log_ratios),
        )


def draw_population(
    nodes: GridModes, size: int, rng: np.random.Generator
) -> list[tuple[JointMode, Floats]]:
    """Return draws of mu by the modes of their scales."""
    sizes = rng.multinomial(size, nodes.share)
    return [
        (mode, rng.multivariate_normal(mode.mu, mode.covariance, n, method="cholesky"))
        for mode, n in zip(nodes.modes, sizes, strict=True)
        if n
    ]


def propose(nodes: GridModes, size: int, rng: np.random.Generator) -> Proposals:
    """Return proposals from the Gaussian approximations at joint modes."""
    drawn = draw_population(nodes, size, rng)
    shared = [
        np.column_stack([mu, np.tile(mode.model.scales.logs, (len(mu), 1))]) for mode, mu in drawn
    ]
    points: list[Floats] = []
    log_ratios: list[Floats] = []
    for k in range(len(nodes.modes[0].points)):
        parts = [_of_problem(mode, k, mu, rng) for mode, mu in drawn]
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
    # The first rows of a lower triangular root are the marginal of b and w.
    root = root_of_inverse(hessian)
    # In many dimensions most mass of a skew density is far from its mode.
    shift = design.mean_from_mode(at, root @ root.T)
    z = rng.standard_normal((len(mu), at.size))
    stretch = np.sqrt(FREEDOM / rng.chisquare(FREEDOM, len(mu)))
    z[:, :head] *= WIDER * stretch[:, None]
    points = at + shift + (mu - mode.mu) @ mode.pulls[k].T + z @ root.T
    log_ratio = mode.beyond_laplace(k, points)
    # Gaussian over Student t.
    square = (z[:, :head] ** 2).sum(axis=1)
    log_ratio += -0.5 * square + 0.5 * (FREEDOM + head) * np.log1p(square / (FREEDOM * WIDER**2))
    # The Gaussian is centred at the mode, the proposals at the mean.
    moved = np.linalg.solve(root, shift)
    log_ratio -= z @ moved + 0.5 * float(moved @ moved)
    return points, log_ratio


# Proposals for each draw; more, up to a limit, if their weights are uneven.
PROPOSALS, MOST_PROPOSALS = 2, 10
# Smallest effective number of draws, as a share of their number.
LEAST_EFFECTIVE = 0.2
# Nodes of the grid with a smaller share are not drawn from.
SMALLEST_SHARE = 1e-4


@dataclass(frozen=True)
class Weights:
    """The posterior of one problem's coefficients."""

    draws: Floats  # of (b, w_1 .. w_m, v_1 .. v_J), (draws, d)
    point: Floats  # their mode, averaged over the scales, (d,)
    precision: Floats  # prior precision at the likeliest scales, (d,)
    pareto_k: float  # pareto shape of the proposals' weights, and their effective share
    efficiency: float
    effective: float  # effective number of draws

    @property
    def trusted(self) -> bool:
        """Return whether averages over the draws are reliable."""
        return self.pareto_k <= WORST_K and self.effective >= LEAST_EFFECTIVE * len(self.draws)


@dataclass(frozen=True)
class GridModes:
    """Joint modes over the grid of scales."""

    modes: list[JointMode]  # at nodes of more than SMALLEST_SHARE
    share: Floats  # their posterior probability, (nodes,)

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


def fit_modes(designs: Sequence[Design], centre: Floats, prior: WeightHyperparameters) -> GridModes:
    """Return the joint modes of all problems over the grid of scales."""
    dimensions = 1 + any(each.size > centre.size + 1 for each in designs)

    def evaluate(at: Floats, near: JointMode | None) -> GridPoint[JointMode]:
        start = None if near is None else (near.mu, near.points)
        mode = find_mode(WeightsPopulation(designs, centre, prior, prior.scales(at)), start)
        return GridPoint(mode.log_evidence + mode.model.scales.log_mass, mode)

    points = resolve(evaluate, dimensions)
    modes = [point.estimate for point in points]
    share = special.softmax([point.log_mass for point in points])
    kept = share > SMALLEST_SHARE
    kept_modes = [mode for mode, keep in zip(modes, kept, strict=True) if keep]
    return GridModes(kept_modes, share[kept] / share[kept].sum())


def draw_weights(nodes: GridModes, draws: int, rng: np.random.Generator) -> list[Weights]:
    """Return draws of each problem's coefficients."""
    proposals = propose(nodes, PROPOSALS * draws, rng)
    samples = _weigh(proposals)
    worth = min(sample.efficiency for sample in samples)
    wanted = min(draws / worth, MOST_PROPOSALS * draws)
    if wanted > proposals.size:
        further = propose(nodes, math.ceil(wanted) - proposals.size, rng)
        proposals = proposals.joined(further)
        samples = _weigh(proposals)
    model = nodes.likeliest.model
    return [
        Weights(
            sample.resample(draws, rng),
            point,
            model.precision(k),
            sample.pareto_k,
            sample.efficiency,
            sample.efficiency * proposals.size,
        )
        for k, (sample, point) in enumerate(zip(samples, nodes.points, strict=True))
    ]


def follow(weights: Weights, design: Design, evidence: Floats) -> Floats:
    """Return the shift of the mode of bias and weights for other evidence."""
    head = evidence.shape[1] + 1
    precision, start = weights.precision[:head], weights.point[:head]
    # The prior mean implied by the mode, also for the other evidence.
    mean = start - design.gradient(weights.point)[:head] / precision
    offset = design.offset + design.columns[:, head:] @ weights.point[head:]
    others = Design(
        np.column_stack([np.ones(len(evidence)), evidence]), offset, design.positive, design.weight
    )
    point = others.mode(
        mean, np.diag(precision), start, tolerance=SMALLEST_DECREMENT, rise=SMALLEST_RISE
    )
    return np.asarray(np.r_[point - start, np.zeros(weights.point.size - head)])


def _weigh(proposals: Proposals) -> list[Sample]:
    """Return proposals of each problem, weighed by its own labels and by all others' labels."""
    beyond = _beyond_laplace(proposals)
    others = beyond.sum(axis=0) - beyond
    each = zip(proposals.points, proposals.log_ratios, others, strict=True)
    return [weighted(points, log_ratio + rest) for points, log_ratio, rest in each]


def _beyond_laplace(proposals: Proposals) -> Floats:
    """Return the log of each problem's exact evidence over Laplace's, shape (problems, draws)."""
    if len(proposals.points) == 1:  # there are no other problems
        return np.zeros((1, proposals.size))
    columns = features(proposals.shared)
    return np.array([log_mean(columns, log_ratio) for log_ratio in proposals.log_ratios])

r"""Draws of every problem's coefficients: Laplace's approximation over a grid, weighed by labels.

    p(scales | labels)        by Laplace's evidence at each node of a grid that resolves it
    mu | scales               Gaussian, by Laplace
    b, w, v, u | mu, scales   Gaussian proposals with Student t tails in b and w

Proposals of a problem are weighed by its own likelihood over its Gaussian stand-in, and by what all
others' likelihoods say of mu and the scales beyond Laplace (`corrections`), Pareto smoothed. With
one problem the draws are from its posterior, up to Monte Carlo error; with several up to how smooth
those corrections are taken to be.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import special

from bayescal.engines.classifier_weights.corrections import features, log_mean
from bayescal.engines.classifier_weights.design import Design
from bayescal.engines.classifier_weights.grid import Place, resolve
from bayescal.engines.classifier_weights.mode import JointMode, Population, climb, find_mode
from bayescal.engines.classifier_weights.prior import WeightsPrior
from bayescal.engines.classifier_weights.proposals import Proposals, propose
from bayescal.engines.monotone.importance import WORST_K, Sample, weighted
from bayescal.validation import Floats

# Proposals for each draw asked for; more of them, up to a limit, where their weights are uneven.
PROPOSALS, MOST_PROPOSALS = 2, 10
# Of draws asked for, as how many independent ones they have to count.
LEAST_EFFECTIVE = 0.2
# Nodes of the grid whose share is next to nothing are not drawn from.
SMALLEST_SHARE = 1e-4


@dataclass(frozen=True)
class Weights:
    """
    The posterior of one problem's coefficients.

    Attributes
    ----------
    draws : array of shape (draws, d)
        Independent draws of (b, w_1 .. w_m, v_1 .. v_J, u_11 .. u_mq).
    point : array of shape (d,)
        Their mode, averaged over the scales.
    precision : array of shape (d,)
        Of the prior, at the likeliest scales.
    pareto_k, efficiency : float
        How well the draws were made: the Pareto shape of the proposals' weights, and as what share
        of their number they count.
    effective : float
        As how many independent draws they count.
    """

    draws: Floats
    point: Floats
    precision: Floats
    pareto_k: float
    efficiency: float
    effective: float

    @property
    def trusted(self) -> bool:
        """Return whether averages over the draws may be trusted."""
        return self.pareto_k <= WORST_K and self.effective >= LEAST_EFFECTIVE * len(self.draws)


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
    has_shifts = any(each.size - each.weight_shifts > centre.size + 1 for each in designs)
    dimensions = 1 + has_shifts + any(each.weight_shifts for each in designs)

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
    proposals = propose(nodes.modes, nodes.share, PROPOSALS * draws, rng)
    samples = _weigh(proposals)
    worth = min(sample.efficiency for sample in samples)
    wanted = min(draws / worth, MOST_PROPOSALS * draws)
    if wanted > proposals.size:
        further = propose(nodes.modes, nodes.share, math.ceil(wanted) - proposals.size, rng)
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


def _weigh(proposals: Proposals) -> list[Sample]:
    """Return proposals of each problem, weighed by its own labels and by those of all others."""
    beyond = _beyond_laplace(proposals)
    others = beyond.sum(axis=0) - beyond
    return [
        weighted(points, log_ratio + rest)
        for points, log_ratio, rest in zip(
            proposals.points, proposals.log_ratios, others, strict=True
        )
    ]


def _beyond_laplace(proposals: Proposals) -> Floats:
    """Return the log of each problem's exact evidence over Laplace's, shape (problems, draws)."""
    if len(proposals.points) == 1:  # its own likelihood is all that there is
        return np.zeros((1, proposals.size))
    columns = features(proposals.shared)
    return np.array([log_mean(columns, log_ratio) for log_ratio in proposals.log_ratios])

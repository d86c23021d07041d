"""The exact posterior of one class: its evidence, and independent draws."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy import special

from bayescal.families import Family
from bayescal.families.draws import log_jacobian, warp
from bayescal.fitting.engines.exact.joint_density import (
    TAU,
    DensityPrior,
    DeviationSums,
    Hyperparameters,
    JointDensity,
)
from bayescal.fitting.scores import BinaryScores
from bayescal.support.numerics import log_sum_exp
from bayescal.support.validation import Floats

# Regions this far (natural log) below the peak have negligible mass.
DEPTH = 40.0
LARGEST_SHARE = 0.02
LARGEST_BEND = 0.02
NEGLIGIBLE = 1e-7
CELL_ROUNDS = 60
MOST_CELLS = 20_000
MOST_KINKS = 400
FIRST_CELLS = 64


@dataclass(frozen=True)
class ModeCells:
    """Neighbouring cells with the log density at their ends and middles."""

    edge: Floats  # their ends, (k + 1,)
    log_edge: Floats  # log density at the ends, (k + 1,)
    log_middle: Floats  # log density at the middles, (k,)
    good: bool = False  # whether every cell with mass is fine enough

    def nodes(self) -> tuple[Floats, Floats]:
        """Return ends and middles in order, and the log density there."""
        node = np.empty(2 * self.edge.size - 1)
        log_node = np.empty_like(node)
        node[::2], node[1::2] = self.edge, _middle(self.edge)
        log_node[::2], log_node[1::2] = self.log_edge, self.log_middle
        return node, log_node

    @property
    def log_mass(self) -> Floats:
        """Return the log of Simpson's integral over each cell."""
        top = max(float(self.log_edge.max()), float(self.log_middle.max()))
        ends, middle = np.exp(self.log_edge - top), np.exp(self.log_middle - top)
        simpson = (ends[:-1] + 4.0 * middle + ends[1:]) * np.diff(self.edge) / 6.0
        with np.errstate(divide="ignore"):
            return np.log(simpson) + top


def cover(log_density: Callable[[Floats], Floats], nodes: Floats, kinks: Floats) -> ModeCells:
    """Return cells over the bulk of a density."""
    edge = np.unique(nodes)
    edge, log_edge, log_middle = _trim(edge, *_at_ends_and_middles(log_density, edge))
    inside = kinks[(kinks > edge[0]) & (kinks < edge[-1])]
    few = inside[: 0 if inside.size > MOST_KINKS else None]
    edge = np.unique(np.concatenate([edge, few, _quantiles(ModeCells(edge, log_edge, log_middle))]))
    log_edge, log_middle = _at_ends_and_middles(log_density, edge)
    good = False
    for _ in range(CELL_ROUNDS):
        cells = ModeCells(edge, log_edge, log_middle, good=True)
        coarse = np.flatnonzero(_too_coarse(cells))
        if coarse.size == 0:
            good = True
            break
        if edge.size + coarse.size > MOST_CELLS:
            break
        edge, log_edge, log_middle = _split(log_density, cells, coarse)
    return ModeCells(edge, log_edge, log_middle, good)


def _quantiles(cells: ModeCells) -> Floats:
    """Return approximate ends of cells with equal mass."""
    log_mass = cells.log_mass
    share = np.cumsum(np.exp(log_mass - log_mass.max()))
    level = np.linspace(0.0, share[-1], FIRST_CELLS + 1)[1:-1]
    return np.interp(level, np.r_[0.0, share], cells.edge)


def _middle(edge: Floats) -> Floats:
    return 0.5 * (edge[:-1] + edge[1:])


def _at_ends_and_middles(
    log_density: Callable[[Floats], Floats], edge: Floats
) -> tuple[Floats, Floats]:
    at_ends, at_middles = np.split(log_density(np.r_[edge, _middle(edge)]), [edge.size])
    return at_ends, at_middles


def _trim(edge: Floats, log_edge: Floats, log_middle: Floats) -> tuple[Floats, Floats, Floats]:
    top = max(log_edge.max(), log_middle.max())
    high = np.maximum(np.maximum(log_edge[:-1], log_edge[1:]), log_middle) > top - DEPTH
    first, last = np.flatnonzero(high)[[0, -1]]
    # One more cell on either side, where the density may still rise.
    first, last = max(first - 1, 0), min(last + 1, high.size - 1)
    return edge[first : last + 2], log_edge[first : last + 2], log_middle[first : last + 1]


def _too_coarse(cells: ModeCells) -> NDArray[np.bool_]:
    log_mass = cells.log_mass
    share = np.exp(log_mass - np.logaddexp.reduce(log_mass))
    # Distance of the middle from the straight line between the ends, in log density.
    bend = np.abs(cells.log_middle - 0.5 * (cells.log_edge[:-1] + cells.log_edge[1:]))
    matters = share > NEGLIGIBLE
    coarse = matters & ((share > LARGEST_SHARE) | (bend * share > LARGEST_BEND * LARGEST_SHARE))
    coarse |= matters & (bend > 5.0 * LARGEST_BEND)
    divisible = np.diff(cells.edge) > 1e-13 * (1.0 + np.abs(cells.edge[1:]))
    return np.asarray(coarse & divisible)


def _split(
    log_density: Callable[[Floats], Floats], cells: ModeCells, coarse: NDArray[np.intp]
) -> tuple[Floats, Floats, Floats]:
    middle = _middle(cells.edge)[coarse]
    edge = np.insert(cells.edge, coarse + 1, middle)
    log_edge = np.insert(cells.log_edge, coarse + 1, cells.log_middle[coarse])
    quarters = np.concatenate(
        [0.5 * (cells.edge[coarse] + middle), 0.5 * (middle + cells.edge[coarse + 1])]
    )
    log_left, log_right = np.split(log_density(quarters), 2)
    log_middle = cells.log_middle.copy()
    log_middle[coarse] = log_left
    return edge, log_edge, np.insert(log_middle, coarse + 1, log_right)


class LogLinearDensities:
    """Densities whose logarithm is linear between nodes."""

    def __init__(self, node: Floats, log_density: Floats) -> None:
        self._node, self._log_density = node, log_density
        self._rise = np.diff(log_density, axis=1)
        # A cell between neighbouring doubles has no length.
        with np.errstate(divide="ignore"):
            log_length = np.log(np.diff(node))
        log_mass = log_density[:, :-1] + log_length + log_mean_exponential(self._rise)
        top = log_mass.max(axis=1, keepdims=True)
        self._cumulative = np.cumsum(np.exp(log_mass - top), axis=1)
        self._log_total = np.log(self._cumulative[:, -1]) + top[:, 0]

    def draw(self, rng: np.random.Generator, row: NDArray[np.intp]) -> tuple[Floats, Floats]:
        """Return a draw from the density of each row, and its normalised log density there."""
        target = rng.random(row.size) * self._cumulative[row, -1]
        if self._cumulative.shape[0] == 1:
            piece = np.searchsorted(self._cumulative[0], target, side="right")
        else:
            piece = (self._cumulative[row] <= target[:, None]).sum(axis=1)
        piece = np.minimum(piece, self._rise.shape[1] - 1)
        rise = self._rise[row, piece]
        share = _inverse(rng.random(row.size), rise)
        start, end = self._node[piece], self._node[piece + 1]
        log_density = self._log_density[row, piece] + share * rise - self._log_total[row]
        return start + share * (end - start), log_density


def log_mean_exponential(rise: Floats) -> Floats:
    """Return log of the mean of exp(rise t) over t in [0, 1]: log((e^rise - 1)/rise)."""
    small = np.abs(rise) < 1e-6
    steep = np.where(small, 1.0, np.abs(rise))
    # For large rises expm1 overflows: (e^r - 1)/r = e^max(r, 0) (1 - e^-|r|)/|r|.
    log = np.maximum(rise, 0.0) + np.log(-np.expm1(-steep) / steep)
    return np.where(small, 0.5 * rise, log)


def _inverse(u: Floats, rise: Floats) -> Floats:
    small = np.abs(rise) < 1e-6
    steep = np.where(small, 1.0, np.abs(rise))
    # From the higher end, so that nothing overflows; then reversed.
    from_high = -np.log1p(u * np.expm1(-steep)) / steep
    share = np.where(rise > 0.0, 1.0 - from_high, from_high)
    return np.clip(np.where(small, u, share), 0.0, 1.0)


MOST_SCORES_AS_NODES = 64
PRIOR_REACH = 12.0  # standard deviations of the prior that the first cells cover
ROUNDS = 50
LEAST_ACCEPTED, MOST_COPIES = 0.1, 10  # share of accepted proposals; copies of a proposal
# Smallest share of a side, which keeps the density finite.
SMALLEST_SHARE = 1e-12


@dataclass(frozen=True)
class ExactDraws:
    """Independent draws of one class's parameters, in the units of the given scores."""

    theta: Floats  # (draws,): mode
    left_share: Floats  # (draws,): share of the left side
    width: Floats  # (draws,): sum of both sides
    ratios: Floats  # importance weights of all proposals, as shares of the largest

    @property
    def sides(self) -> tuple[Floats, Floats]:
        """Return the left and the right side."""
        return self.left_share * self.width, (1.0 - self.left_share) * self.width


class ClassPosterior:
    """The posterior of one class: its evidence, and draws."""

    def __init__(self, sums: DeviationSums, prior: DensityPrior) -> None:
        joint = JointDensity(sums, prior)
        reach = PRIOR_REACH * prior.theta_scale
        nodes = np.r_[np.linspace(-reach, reach, 97), sums.quantiles(MOST_SCORES_AS_NODES)]
        cells = cover(joint.log_marginal, nodes, sums.scores)
        self.log_evidence = float(log_sum_exp(cells.log_mass, axis=0))
        self.resolved, self.prior = cells.good, prior
        self._joint, self._cells = joint, cells

    @cached_property
    def _proposals(self) -> _Proposals:
        return _Proposals(self._joint, self._cells)

    def draw(self, draws: int, rng: np.random.Generator) -> ExactDraws:
        """Return independent draws from the posterior."""
        theta, v, ratios = _accepted(self._proposals, draws, rng)
        return ExactDraws(
            theta=theta,
            left_share=np.clip(special.expit(v), SMALLEST_SHARE, 1.0 - SMALLEST_SHARE),
            width=self._joint.draw_width(theta, v, rng),
            ratios=ratios,
        )


def _accepted(
    proposals: _Proposals, draws: int, rng: np.random.Generator
) -> tuple[Floats, Floats, Floats]:
    """Return theta and v of accepted proposals, and all importance weights over the largest."""
    # If ROUNDS accept too few, they are resampled: an efficiency near 0 marks them as unreliable.
    rounds: list[Floats] = []
    missing = draws
    for _ in range(ROUNDS):
        size = missing + missing // 2 + 64
        proposed = proposals.draw(rng, size)
        rounds.append(np.stack([*proposed, rng.random(size)]))
        theta, v, log_weight, uniform = np.concatenate(rounds, axis=1)
        # One bound for all rounds, updated by larger weights.
        ratios = np.exp(log_weight - log_weight.max())
        kept = np.repeat(np.arange(theta.size), _copies(ratios, uniform))[:draws]
        missing = draws - kept.size
        if missing <= 0:
            return theta[kept], v[kept], ratios
    drawn = rng.choice(theta.size, draws, p=ratios / ratios.sum())
    return theta[drawn], v[drawn], ratios


def _copies(ratios: Floats, uniform: Floats) -> NDArray[np.intp]:
    """Return the number of copies of each proposal: ratio/bound on average."""
    # No proposal is taken twice, unless fewer than LEAST_ACCEPTED would be accepted because of a
    # few large weights: these are then taken up to MOST_COPIES times.
    taken = float(ratios.mean())
    uneven = LEAST_ACCEPTED / MOST_COPIES <= taken < LEAST_ACCEPTED
    bound = taken / LEAST_ACCEPTED if uneven else 1.0
    return np.floor(ratios / bound - uniform).astype(np.intp) + 1


class _Proposals:
    """Proposals of theta by a log-linear cover, and of logit(share) = mode + step sinh(tau)."""

    def __init__(self, joint: JointDensity, cells: ModeCells) -> None:
        self._joint = joint
        self._node, log_node = cells.nodes()
        self._of_theta = LogLinearDensities(self._node, log_node[None, :])
        if not joint.prior.symmetric:
            self._mode, self._step, log_density = joint.on_share_grid(self._node)
            self._of_tau = LogLinearDensities(TAU, log_density)

    def draw(self, rng: np.random.Generator, size: int) -> tuple[Floats, Floats, Floats]:
        """Return theta, v and the log of the importance weights."""
        joint = self._joint
        theta, log_proposal = self._of_theta.draw(rng, np.zeros(size, dtype=np.intp))
        left, right = joint.sums(theta)
        if joint.prior.symmetric:
            v = np.zeros_like(theta)
            return theta, v, joint.log_density(theta, v, left, right) - log_proposal
        after = np.clip(np.searchsorted(self._node, theta), 1, self._node.size - 1)
        gap = self._node[after] - self._node[after - 1]
        share = (theta - self._node[after - 1]) / gap
        mode = (1.0 - share) * self._mode[after - 1] + share * self._mode[after]
        step = (1.0 - share) * self._step[after - 1] + share * self._step[after]
        tau, log_tau = self._of_tau.draw(rng, np.where(share > 0.5, after, after - 1))
        v = mode + step * np.sinh(tau)
        log_target = joint.log_density(theta, v, left, right) + np.log(step * np.cosh(tau))
        return theta, v, log_target - log_proposal - log_tau


@dataclass(frozen=True)
class Component:
    """One family on one warp of the scores."""

    family: Family  # of both classes
    asinh_scale: float  # of the warp, in score units; inf for none
    centre: float  # centre and spread of the posteriors' standardised units
    spread: float
    classes: tuple[ClassPosterior, ClassPosterior]  # negative, positive
    log_evidence: Floats  # of each class, per unit of raw score, (2,)

    @property
    def resolved(self) -> bool:
        """Return whether both posteriors are resolved."""
        return all(posterior.resolved for posterior in self.classes)


def build_components(
    families: tuple[Family, ...],
    asinh_scales: tuple[float, ...],
    data: BinaryScores,
    settings: Hyperparameters,
) -> list[Component]:
    """Return the components, warps in the outer order."""
    components = []
    centre = settings.centre
    for asinh_scale in np.asarray(asinh_scales) * settings.spread:
        spread = float(warp(np.asarray(centre + settings.spread), centre, asinh_scale)) - centre
        warped = [_warped(*data.of_class(k), centre, asinh_scale, spread) for k in (False, True)]
        powers = {family.power for family in families}
        both = [{p: DeviationSums(x, weight, p) for p in powers} for x, weight, _ in warped]
        for family in families:
            prior = settings.prior_of(family)
            negative, positive = (ClassPosterior(sums[family.power], prior) for sums in both)
            evidence = np.array([negative.log_evidence, positive.log_evidence])
            evidence += [jacobian for *_, jacobian in warped]
            classes = negative, positive
            components.append(
                Component(family, float(asinh_scale), centre, spread, classes, evidence)
            )
    return components


def refit_class(component: Component, klass: int, scores: Floats, weight: Floats) -> Component:
    """Return a component with one class fitted again, in the same units, to weighted scores."""
    centre, asinh_scale, spread = component.centre, component.asinh_scale, component.spread
    x, weights, jacobian = _warped(scores, weight, centre, asinh_scale, spread)
    sums = DeviationSums(x, weights, component.family.power)
    again = ClassPosterior(sums, component.classes[klass].prior)
    evidence = component.log_evidence.copy()
    evidence[klass] = again.log_evidence + jacobian
    negative, positive = component.classes
    classes = (negative, again) if klass == 1 else (again, positive)
    return replace(component, classes=classes, log_evidence=evidence)


def _warped(
    scores: Floats, weight: Floats | None, centre: float, asinh_scale: float, spread: float
) -> tuple[Floats, Floats | None, float]:
    """Return standardised warped scores, their weights, and the log Jacobian of all of them."""
    jacobian = log_jacobian(scores, centre, asinh_scale) - np.log(spread)
    total = jacobian.sum() if weight is None else weight @ jacobian
    return (warp(scores, centre, asinh_scale) - centre) / spread, weight, float(total)

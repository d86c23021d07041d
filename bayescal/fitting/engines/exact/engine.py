"""The exact engine: the posterior of both classes and the class prior, without MCMC.

The priors are the priors of the families' programs. The classes and the class prior are independent
given the labels, so each is drawn separately.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

import numpy as np
import xarray as xr
from numpy.typing import NDArray
from scipy import special

from bayescal.families import FAMILIES, Family
from bayescal.families.draws import (
    IDENTITY,
    DensityDraws,
    Sides,
    density_draws,
    is_monotone,
    log_jacobian,
    warp,
)
from bayescal.fitting.engines.exact import class_posterior
from bayescal.fitting.engines.exact.class_posterior import Component, refit_class
from bayescal.fitting.engines.exact.joint_density import resolve
from bayescal.fitting.posterior import SAMPLE, ClassDraws
from bayescal.fitting.scores import KLASS, BinaryScores
from bayescal.inference.importance import WORST_K, left_out, smooth
from bayescal.inference.newton import stack
from bayescal.support.numerics import even_nodes, log_sum_exp
from bayescal.support.validation import Floats
from bayescal.support.weighting import representatives

# Leave-one-out densities: by importance sampling, exact where its weights are too uneven.
DRAWS = 1000
# Largest numbers of scores of a class, and of draws, for leave-one-out densities.
MOST_NODES, MOST_DRAWS = 256, 1000
MOST_AGAIN = 10  # largest number of documents of a component that are refitted
MOST_REFITS = 30  # and of their mixture
KINKS = 9  # quantiles of each class's modes, where Laplace densities have kinks
LARGEST_K = 10.0  # larger ones are not interpolated


@dataclass(frozen=True)
class MixtureWeights:
    """Posterior probabilities of warps and families."""

    warp: Floats  # P(warp | data), common to both classes, (warps,)
    family: Floats  # P(family of a class | warp, data), (warps, families, 2)


def by_evidence(components: list[Component], families: int) -> MixtureWeights:
    """Return posterior probabilities of equally probable warps and families."""
    evidence = np.array([component.log_evidence for component in components])
    evidence = evidence.reshape(-1, families, 2)
    of_warp = special.logsumexp(evidence, axis=1).sum(axis=1)
    return MixtureWeights(special.softmax(of_warp), special.softmax(evidence, axis=1))


@dataclass(frozen=True)
class MixtureDraws:
    """Draws of both classes' densities."""

    component: NDArray[np.intp]  # (draws, 2): position among the components; one warp for both
    # (3, draws, 2): mode, left and right side, in (warped) score units; see `Family.from_sides`
    sides: Floats
    ratios: dict[tuple[int, int], Floats]  # importance weights of proposals, by component and class
    monotone: float  # share of draws whose log-odds never fall


def draw_mixture(
    components: list[Component], weights: MixtureWeights, draws: int, rng: np.random.Generator
) -> MixtureDraws:
    """Return independent draws."""
    families = weights.family.shape[1]
    warp = rng.choice(weights.warp.size, draws, p=weights.warp)
    component = np.empty((draws, 2), dtype=np.intp)
    sides = np.empty((3, draws, 2))
    ratios = {}
    for k in range(2):
        cumulative = np.cumsum(weights.family[warp, :, k], axis=1)
        family = (rng.random((draws, 1)) * cumulative[:, -1:] > cumulative).sum(axis=1)
        component[:, k] = warp * families + family
        for i in np.unique(component[:, k]):
            which = np.flatnonzero(component[:, k] == i)
            source = components[i]
            drawn = source.classes[k].draw(which.size, rng)
            theta = source.centre + source.spread * drawn.theta
            sides[:, which, k] = theta, *(source.spread * side for side in drawn.sides)
            ratios[int(i), k] = drawn.ratios
    monotone = float(_monotone(components, component, sides).mean())
    return MixtureDraws(component, sides, ratios, monotone)


def _monotone(
    components: list[Component], component: NDArray[np.intp], sides: Floats
) -> NDArray[np.bool_]:
    """Return for which draws log-odds never fall."""
    power = np.array([c.family.power for c in components])

    def of_class(k: int) -> Sides:
        theta, left, right = sides[:, :, k]
        return power[component[:, k]], theta, left, right

    return is_monotone(of_class(0), of_class(1))


MOST_SCORES = 256  # largest number of scores of a class for the weights
# Dirichlet(1 + PSEUDO_COUNT) on the weights: keeps families that few scores cannot rule out.
PSEUDO_COUNT = 0.25


def by_stacking(
    components: list[Component], families: int, data: BinaryScores, rng: np.random.Generator
) -> MixtureWeights:
    """Return weights that maximise the leave-one-out log predictive density of the mixture."""
    # Of a class on a warp: sum_i log sum_f w_f p(x_i | x_-i, f) + 0.25 sum_f log w_f. Weights of
    # warps are proportional to the exponential of the maxima's sum over both classes.
    weights = np.empty((len(components) // families, families, 2))
    reached = np.zeros(len(components) // families)
    for k, positive in enumerate((False, True)):
        own = data.weighted(positive)
        index, weight = representatives(*own, MOST_SCORES)
        for j in range(weights.shape[0]):
            same = components[j * families : (j + 1) * families]
            density = np.stack([loo_log_density(c, k, *own, index, rng) for c in same])
            weights[j, :, k] = stack(density, weight, PSEUDO_COUNT)
            mixed = special.logsumexp(density, axis=0, b=weights[j, :, k, None])
            reached[j] += weight @ mixed
    return MixtureWeights(special.softmax(reached), weights)


SIDES = ("theta", "left", "right")


@dataclass(frozen=True)
class DensitySides(ClassDraws):
    """Draws of mode and sides of both classes' densities; many topics are the first axis."""

    axes: ClassVar = (
        dict.fromkeys((*SIDES, "family"), (SAMPLE, "klass"))
        | dict.fromkeys(("prior", "asinh_scale"), (SAMPLE,))
        | dict.fromkeys(("refit_positive", "refit_score", "refit_log_density"), ("refit",))
    )
    drawn: ClassVar = (*SIDES, "prior", "family", "asinh_scale")

    families: tuple[str, ...]
    theta: Floats  # (draws, 2): mode, of negatives and positives, in (warped) score units
    left: Floats  # (draws, 2): sides, see `Family.from_sides`
    right: Floats
    prior: Floats  # (draws,): P(+)
    # (draws, 2): positions among the families; None for one family on raw scores
    family: NDArray[np.int8] | None = None
    asinh_scale: Floats | None = None  # (draws,): c of the warps, inf for none
    centre: float | None = None  # of the warps
    # Documents of large Pareto k, (refits,): class, score, log p(s | class, all others); or None
    refit_positive: NDArray[np.bool_] | None = None
    refit_score: Floats | None = None
    refit_log_density: Floats | None = None

    def refitted(self, klass: int) -> tuple[Floats, Floats]:
        """Return the scores of a class that were refitted without each, and their log density."""
        if self.refit_positive is None or self.refit_score is None:
            return super().refitted(klass)
        assert self.refit_log_density is not None  # noqa: S101
        mine = self.refit_positive == bool(klass)
        return self.refit_score[mine], self.refit_log_density[mine]

    @property
    def plain(self) -> bool:
        """Return whether all draws are of one family on raw scores."""
        return self.family is None

    @property
    def description(self) -> str:
        """Return the units in words; none for raw scores."""
        return "" if self.plain else DESCRIPTION

    def of_class(self, klass: int) -> DensityDraws:
        """Return the draws of one class's density, 0 negative or 1 positive."""
        families = tuple(FAMILIES[name] for name in self.families)
        sides = np.stack([side[:, klass] for side in (self.theta, self.left, self.right)])
        size = sides.shape[1]
        if self.family is None or self.asinh_scale is None or self.centre is None:
            first, no_warp = np.zeros(size, dtype=np.intp), np.full(size, IDENTITY)
            return density_draws(families, first, sides, no_warp, 0.0)
        which = self.family[:, klass].astype(np.intp)
        return density_draws(families, which, sides, self.asinh_scale, self.centre)


DESCRIPTION = (
    "The engine's own coordinates: mode (theta) and sides of each draw's density in units of the"
    " warped scores x = centre + c asinh((score - centre)/c), where c is asinh_scale. The group"
    " posterior has mode and widths in raw score units."
)


def _sides_of(
    components: list[Component], mixture: MixtureDraws, prior: Floats, centre: float
) -> DensitySides:
    names = tuple(dict.fromkeys(component.family.name for component in components))
    theta, left, right = mixture.sides
    if len(components) == 1 and components[0].asinh_scale == IDENTITY:
        return DensitySides(names, theta, left, right, prior)
    code = np.array([names.index(component.family.name) for component in components], np.int8)
    asinh_scale = np.array([component.asinh_scale for component in components])
    which = mixture.component
    return DensitySides(
        names, theta, left, right, prior, code[which], asinh_scale[which[:, 0]], centre
    )


EFFICIENCY_LIMIT = 0.9  # below it proposals differ too much from the posterior


@dataclass(frozen=True)
class DensityFit:
    """Posterior draws of both class densities and of the class prior."""

    components: list[Component]  # every family on every warp
    weights: MixtureWeights
    mixture: MixtureDraws
    posterior: DensitySides  # the draws
    data: BinaryScores  # the documents fitted

    @cached_property
    def left_out(self) -> tuple[Floats, Floats]:
        """Return the log-odds of every document, each given all others, and Pareto k."""
        # A density is overconfident about the documents that it was fitted to.
        return leave_one_out_of_densities(self.posterior, self.data)

    def leave_one_out(
        self, index: NDArray[np.intp], rng: np.random.Generator
    ) -> tuple[Floats, Floats]:
        """Return the log-odds of + of some documents, each given all others, and Pareto k."""
        log_odds, k = self.left_out
        return log_odds[index], k[index]

    def evidence(self) -> xr.Dataset:
        """Return evidence, weights and diagnostics (klass, family, asinh_scale)."""
        shape = self.weights.family.shape
        families = [component.family.name for component in self.components[: shape[1]]]
        asinh_scales = [component.asinh_scale for component in self.components[:: shape[1]]]
        evidence = np.array([component.log_evidence for component in self.components])
        ratios = [
            [each for (_, k), each in self.mixture.ratios.items() if k == klass]
            for klass in range(2)
        ]
        dims = ("asinh_scale", "family", "klass")
        variables = {
            "log_evidence": (dims, evidence.reshape(shape)),
            "family_weight": (dims, self.weights.family),
            "warp_weight": ("asinh_scale", self.weights.warp),
            "resolved": int(all(component.resolved for component in self.components)),
            "monotone": self.mixture.monotone,
            "efficiency": ("klass", [min(map(efficiency, of_class)) for of_class in ratios]),
            "pareto_k": ("klass", [max(map(pareto_k, of_class)) for of_class in ratios]),
        }
        return xr.Dataset(
            variables, {"asinh_scale": asinh_scales, "family": families, "klass": list(KLASS)}
        )


def fit_densities(
    families: tuple[Family, ...],
    data: BinaryScores,
    rng: np.random.Generator,
    *,
    draws: int,
    hyperparameters: Mapping[str, float] | None = None,
    asinh_scales: tuple[float, ...] = (IDENTITY,),
    averaging: str = "stacking",
    scale: tuple[float, float] | None = None,
    refit: bool = False,
) -> DensityFit:
    """Draw from the posterior of a family, or of several; without documents from the prior."""
    settings = resolve(families, scale or data.centre_and_spread, hyperparameters)
    components = class_posterior.build_components(families, asinh_scales, data, settings)

    def weigh(components: list[Component], data: BinaryScores) -> MixtureWeights:
        if averaging == "stacking" and len(components) > 1 and data.score.size:
            return by_stacking(components, len(families), data, rng)
        return by_evidence(components, len(families))

    weights = weigh(components, data)
    mixture = draw_mixture(components, weights, draws, rng)
    positives, negatives = data.rate_counts
    prior = rng.beta(settings.prior_alpha + positives, settings.prior_beta + negatives, draws)
    sides = _sides_of(components, mixture, prior, settings.centre)
    if refit and data.score.size:
        sides = _with_refits(sides, components, data, weigh)
    return DensityFit(components, weights, mixture, sides, data)


def _with_refits(
    sides: DensitySides,
    components: list[Component],
    data: BinaryScores,
    weigh: Callable[[list[Component], BinaryScores], MixtureWeights],
) -> DensitySides:
    """Return the draws with exact log densities of the documents of largest Pareto k."""
    k = leave_one_out_of_densities(sides, data)[1]
    worst = np.flatnonzero(k > WORST_K)
    both = np.stack([data.score[worst], data.positive[worst]])
    worst = worst[np.unique(both, axis=1, return_index=True)[1]]
    worst = worst[np.argsort(-k[worst])[:MOST_REFITS]]
    log_density = np.empty(worst.size)
    for j, i in enumerate(worst):
        klass, weight = int(data.positive[i]), data.weights.copy()
        own = data.positive == data.positive[i]
        at = int(np.count_nonzero(own[:i]))
        pairs = [without(c, klass, data.score[own], weight[own], at) for c in components]
        others, log_p = zip(*pairs, strict=True)
        weight[i] = max(weight[i] - 1.0, 0.0)
        weights = weigh(list(others), replace(data, weight=weight))
        share = weights.warp[:, None] * weights.family[:, :, klass]
        with np.errstate(divide="ignore"):
            log_density[j] = log_sum_exp(np.array(log_p) + np.log(share.ravel()), axis=0)
    if not worst.size:
        return sides
    return replace(
        sides,
        refit_positive=data.positive[worst],
        refit_score=data.score[worst],
        refit_log_density=log_density,
    )


def efficiency(ratios: Floats) -> float:
    """Return the importance effective sample size of proposals over their number."""
    return float(ratios.sum() ** 2 / (ratios**2).sum() / ratios.size)


def pareto_k(ratios: Floats) -> float:
    """Return the Pareto shape of the proposals' importance weights; see `importance.smooth`."""
    with np.errstate(divide="ignore"):
        return float(smooth(np.log(ratios)[None])[1][0])


def without(
    component: Component, klass: int, scores: Floats, weight: Floats, i: int
) -> tuple[Component, float]:
    """Return a component without score i of a class, and log p(x_i | x_-i) in raw units."""
    rest = weight.copy()
    rest[i] = max(weight[i] - 1.0, 0.0)
    others = refit_class(component, klass, scores, rest)
    rest[i] += 1.0
    # A weight below 1 is left out, and predicted as a document of weight 1.
    all_of_them = component if weight[i] >= 1.0 else refit_class(component, klass, scores, rest)
    return others, float(all_of_them.log_evidence[klass] - others.log_evidence[klass])


def loo_log_density(
    component: Component,
    klass: int,
    scores: Floats,
    weight: Floats,
    index: NDArray[np.intp],
    rng: np.random.Generator,
) -> Floats:
    """Return log p(x_i | x_-i) of some scores by Pareto-smoothed importance sampling."""
    # Weights 1/p(x_i | draw k), smoothed (Vehtari, Gelman and Gabry, Statistics and Computing
    # 2017).
    drawn = component.classes[klass].draw(DRAWS, rng)
    theta = component.centre + component.spread * drawn.theta
    left, right = (component.spread * side for side in drawn.sides)
    parameters = component.family.from_sides(theta, left, right)
    x = warp(scores[index], component.centre, component.asinh_scale)
    log_density = component.family.logpdf(x[:, None], *parameters)
    log_weight, k = smooth(-log_density)
    jacobian = log_jacobian(scores[index], component.centre, component.asinh_scale)
    out: Floats = log_sum_exp(log_weight + log_density, axis=1) + jacobian
    k[weight[index] == 0.0] = -np.inf
    worst = np.argsort(-k)[:MOST_AGAIN]
    for j in worst[k[worst] > WORST_K]:
        out[j] = without(component, klass, scores, weight, int(index[j]))[1]
    return out


def leave_one_out_of_densities(
    draws: ClassDraws, data: BinaryScores, base: tuple[float, float] = (1.0, 1.0)
) -> tuple[Floats, Floats]:
    """Return each document's log-odds of + given all others, and Pareto k (-inf if refitted)."""
    # Bayes' rule with the class prior without the document: the mean of Beta(base + (n+, n-)).
    label, weight = data.positive, data.weight
    thinned = draws.take(np.arange(min(MOST_DRAWS, draws.size)))
    counted = np.ones(label.size, dtype=bool) if weight is None else weight > 0.0
    own_nodes = [even_nodes(data.score[counted & (label == k)], MOST_NODES) for k in (False, True)]
    # Both classes share the nodes of a density: an error of interpolation that the documents of one
    # class alone have would tell labels apart.
    node = np.union1d(*own_nodes)
    if max(each.size for each in own_nodes) >= MOST_NODES:
        kinks = np.concatenate([density.kinks(KINKS) for density in thinned.both])
        node = np.union1d(node, kinks.clip(node[0], node[-1]))
    log_density, k = np.zeros((2, label.size)), np.full(label.size, -np.inf)
    for klass, density in enumerate(thinned.both if node.size else ()):
        log_p = density.logpdf(node).T
        mine, own = np.flatnonzero(label == bool(klass)), own_nodes[klass]
        score, at = data.score[mine], np.searchsorted(node, own)
        of_own = log_p[at]
        predictive = log_sum_exp(log_p, axis=1) - np.log(density.size)
        log_density[klass] = np.interp(data.score, node, predictive)
        if own.size:
            # Densities that underflow have infinite inverses, and are smoothed as logarithms.
            with np.errstate(over="ignore"):
                inverse = np.exp(-of_own)
            of_others, of_node = left_out(inverse, of_own.__getitem__)
            k[mine] = np.interp(score, own, np.clip(of_node, 0.0, LARGEST_K))
            before = predictive[at]
            gap = np.subtract(of_others, before, out=np.zeros(at.size), where=np.isfinite(before))
            log_density[klass, mine] += np.interp(score, own, gap)
        for refitted, exact in zip(*draws.refitted(klass), strict=True):
            same = mine[score == refitted]
            log_density[klass, same], k[same] = exact, -np.inf
    if weight is not None:
        k[weight == 0.0] = -np.inf
    n_positive, n_negative = data.rate_counts
    # Weights below 1 must not make a count negative.
    prior = np.log(np.maximum(n_positive - label, 0.0) + base[0])
    prior -= np.log(np.maximum(n_negative - ~label, 0.0) + base[1])
    log_odds: Floats = prior + log_density[1] - log_density[0]
    return log_odds, k

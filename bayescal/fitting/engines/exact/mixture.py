"""Draws from a mixture of components: which warp, then of each class which family, then where."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray
from scipy import special

from bayescal.families import Family
from bayescal.families.draws import Sides, is_monotone
from bayescal.families.warps import log_jacobian, warp
from bayescal.fitting.engines.exact.class_posterior import ClassPosterior
from bayescal.fitting.engines.exact.joint_density import DensityPrior, DeviationSums
from bayescal.fitting.engines.exact.splitting import monotone_pairs
from bayescal.fitting.scores import BinaryScores
from bayescal.inference.importance import smooth
from bayescal.inference.stacking import stack
from bayescal.support.numerics import log_sum_exp
from bayescal.support.validation import Floats, check_positive


@dataclass(frozen=True)
class Hyperparameters:
    """The programs' keyword arguments, with their defaults; see models/."""

    centre: float
    spread: float
    theta_scale: float = 2.0
    share_alpha: float = 2.0
    share_beta: float = 2.0
    width_shape: float = 2.0
    width_scale: float = 1.0
    prior_alpha: float = 1.0
    prior_beta: float = 1.0

    def prior_of(self, family: Family) -> DensityPrior:
        """Return a class's prior in standardised units."""
        return DensityPrior(
            theta_scale=self.theta_scale,
            share_alpha=self.share_alpha,
            share_beta=self.share_beta,
            width_shape=self.width_shape,
            width_scale=self.width_scale,
            symmetric=family.symmetric,
        )


def resolve(
    families: tuple[Family, ...],
    centre_and_spread: tuple[float, float],
    hyperparameters: Mapping[str, float] | None,
) -> Hyperparameters:
    """Return the hyperparameters that users gave, and the defaults of the others."""
    known = [field.name for field in fields(Hyperparameters)]
    if all(family.symmetric for family in families):
        known = [name for name in known if not name.startswith("share")]
    unknown = sorted(set(hyperparameters or {}) - set(known))
    if unknown:
        raise ValueError(
            f"hyperparameters of family {', '.join(repr(f.name) for f in families)} are"
            f" {', '.join(known)}; got {', '.join(map(repr, unknown))}."
        )
    centre, spread = centre_and_spread
    usual = {"centre": centre, "spread": spread}
    settings = Hyperparameters(**(usual | dict(hyperparameters or {})))
    check_positive(**{name: getattr(settings, name) for name in known if name != "centre"})
    if not math.isfinite(settings.centre):
        raise ValueError(f"centre must be finite, got {settings.centre}.")
    return settings


@dataclass(frozen=True)
class Component:
    """One family on one warp of the scores."""

    family: Family  # of both classes
    asinh_scale: float  # of the warp, in score units; inf for none
    centre: float  # what the posteriors' standardised units stand for
    spread: float
    classes: tuple[ClassPosterior, ClassPosterior]  # negative, positive
    log_evidence: Floats  # of each class, per unit of raw score, (2,)

    @property
    def resolved(self) -> bool:
        """Return whether both posteriors are."""
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
        both = []
        for k, (x, weight, _) in enumerate(warped):
            every = {family.of_class(bool(k)).powers for family in families}
            both.append({powers: DeviationSums(x, weight, powers) for powers in every})
        for family in families:
            prior = settings.prior_of(family)
            negative, positive = (
                ClassPosterior(sums[family.of_class(bool(k)).powers], prior)
                for k, sums in enumerate(both)
            )
            evidence = np.array([negative.log_evidence, positive.log_evidence])
            evidence += [jacobian for *_, jacobian in warped]
            classes = negative, positive
            components.append(
                Component(family, float(asinh_scale), centre, spread, classes, evidence)
            )
    return components


def _warped(
    scores: Floats, weight: Floats | None, centre: float, asinh_scale: float, spread: float
) -> tuple[Floats, Floats | None, float]:
    """Return standardised warped scores, their weights, and the log Jacobian of all of them."""
    jacobian = log_jacobian(scores, centre, asinh_scale) - np.log(spread)
    total = jacobian.sum() if weight is None else weight @ jacobian
    return (warp(scores, centre, asinh_scale) - centre) / spread, weight, float(total)


# Proposals of a draw by rejection; rarer monotone draws are found by `splitting`.
MOST_PROPOSED = 100


@dataclass(frozen=True)
class MixtureWeights:
    """Posterior probabilities of warps and families."""

    warp: Floats  # P(warp | data), common to both classes, (warps,)
    family: Floats  # P(family of a class | warp, data), (warps, families, 2)


def by_evidence(components: list[Component], families: int) -> MixtureWeights:
    """
    Return the posterior probabilities: all warps, and all families, alike a priori.

    p(warp | data) is proportional to the product over classes of sum over families of
    p(class's scores | family, warp).
    """
    evidence = np.array([component.log_evidence for component in components])
    evidence = evidence.reshape(-1, families, 2)
    of_warp = special.logsumexp(evidence, axis=1).sum(axis=1)
    return MixtureWeights(special.softmax(of_warp), special.softmax(evidence, axis=1))


@dataclass(frozen=True)
class MixtureDraws:
    """Draws of both classes' densities."""

    # position among the components, of each class; both on the same warp, (draws, 2) of int
    component: NDArray[np.intp]
    # mode, left and right side, in (warped) score units; see `Family.from_sides`, (3, draws, 2)
    sides: Floats
    # importance weights of the proposals, by component and class
    ratios: dict[tuple[int, int], Floats]
    monotone: float  # share of draws, before any condition, whose log-odds never fall


def draw_mixture(
    components: list[Component],
    weights: MixtureWeights,
    draws: int,
    rng: np.random.Generator,
    *,
    monotone: bool = False,
) -> MixtureDraws:
    """Return independent draws."""
    mixture = _propose(components, weights, draws, rng)
    kept = _monotone(components, mixture)
    share, proposed = float(kept.mean()), draws
    if not monotone:
        return _joined([mixture], np.full(draws, True), share)
    rounds = [mixture]
    while kept.sum() < draws:
        if proposed >= MOST_PROPOSED * draws:
            return _split(components, weights, draws, rng, mixture.ratios)
        # A tenth more than the acceptance rate requires, at most as many as were proposed so far.
        size = min(proposed, int(1.1 * (draws - kept.sum()) * proposed / max(kept.sum(), 1)) + 10)
        rounds.append(_propose(components, weights, size, rng))
        kept = np.concatenate([kept, _monotone(components, rounds[-1])])
        proposed += size
    chosen = np.zeros_like(kept)
    chosen[np.flatnonzero(kept)[:draws]] = True
    return _joined(rounds, chosen, float(kept.mean()))


def _propose(
    components: list[Component], weights: MixtureWeights, draws: int, rng: np.random.Generator
) -> MixtureDraws:
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
    return MixtureDraws(component, sides, ratios, monotone=np.nan)


def _split(
    components: list[Component],
    weights: MixtureWeights,
    draws: int,
    rng: np.random.Generator,
    ratios: dict[tuple[int, int], Floats],
) -> MixtureDraws:
    """Return draws that are rarely monotone, of components in proportion to their evidence."""
    both = (weights.warp[:, None] * weights.family.prod(axis=2)).ravel()
    by_source = {
        i: monotone_pairs(source.classes, draws, rng)
        for i, source in enumerate(components)
        # Log-odds of classes of two families, or of symmetric ones, always fall somewhere.
        if both[i] > 0.0 and not source.family.symmetric and not source.family.mirrored
    }
    log_share = np.array([np.log(both[i]) + each.log_share for i, each in by_source.items()])
    which = rng.choice(list(by_source), draws, p=special.softmax(log_share))
    sides = np.empty((3, draws, 2))
    for i in np.unique(which):
        mine, source = np.flatnonzero(which == i), components[i]
        sides[:, mine] = source.spread * by_source[i].sides[:, : mine.size]
        sides[0, mine] += source.centre
    component = np.repeat(which[:, None], 2, axis=1)
    monotone = float(np.exp(special.logsumexp(log_share)))
    return MixtureDraws(component, sides, ratios, monotone)


def _monotone(components: list[Component], mixture: MixtureDraws) -> NDArray[np.bool_]:
    def sides(k: int) -> Sides:
        powers = np.array([c.family.of_class(k == 1).powers for c in components])
        theta, left, right = mixture.sides[:, :, k]
        return powers[mixture.component[:, k]].T, theta, left, right

    return is_monotone(sides(0), sides(1))


def _joined(rounds: list[MixtureDraws], chosen: NDArray[np.bool_], monotone: float) -> MixtureDraws:
    component = np.concatenate([each.component for each in rounds])[chosen]
    sides = np.concatenate([each.sides for each in rounds], axis=1)[:, chosen]
    return MixtureDraws(component, sides, rounds[0].ratios, monotone)


DRAWS = 1000
MOST_SCORES = 256  # of a class that weights are learnt from, evenly spaced in rank
# Dirichlet(1 + PSEUDO_COUNT) on the weights: keeps families that a few scores cannot rule out.
PSEUDO_COUNT = 0.25


def by_stacking(
    components: list[Component], families: int, data: BinaryScores, rng: np.random.Generator
) -> MixtureWeights:
    """
    Return weights that maximise the leave-one-out log predictive density of the mixture.

    For class c on a warp the weights w maximise sum_i log sum_f w_f p(x_i | x_-i, f) + 0.25 sum_f
    log w_f; warps weigh as the exponential of the sum reached, over both classes.
    """
    weights = np.empty((len(components) // families, families, 2))
    reached = np.zeros(len(components) // families)
    for k, positive in enumerate((False, True)):
        scores, weight = _picked(*data.of_class(positive))
        for j in range(weights.shape[0]):
            same = components[j * families : (j + 1) * families]
            density = np.stack([loo_log_density(c, k, scores, rng) for c in same])
            weights[j, :, k] = stack(density, weight, PSEUDO_COUNT)
            mixed = special.logsumexp(density, axis=0, b=weights[j, :, k, None])
            reached[j] += weight @ mixed
    return MixtureWeights(special.softmax(reached), weights)


def loo_log_density(
    component: Component, klass: int, scores: Floats, rng: np.random.Generator
) -> Floats:
    """
    Return log p(x_i | x_-i) of a class's own scores, by Pareto-smoothed importance sampling.

    The weights of draw k for score i are 1/p(x_i | draw k), smoothed (Vehtari, Gelman and Gabry,
    Statistics and Computing 2017); shape of `scores`, per unit of raw score.
    """
    drawn = component.classes[klass].draw(DRAWS, rng)
    theta = component.centre + component.spread * drawn.theta
    left, right = (component.spread * side for side in drawn.sides)
    family = component.family.of_class(klass == 1)
    parameters = family.from_sides(theta, left, right)
    x = warp(scores, component.centre, component.asinh_scale)
    log_density = family.logpdf(x[:, None], *parameters)
    log_weight, _ = smooth(-log_density)
    jacobian = log_jacobian(scores, component.centre, component.asinh_scale)
    out: Floats = log_sum_exp(log_weight + log_density, axis=1) + jacobian
    return out


def _picked(scores: Floats, weight: Floats | None) -> tuple[Floats, Floats]:
    weight = np.ones(scores.size) if weight is None else weight
    if scores.size <= MOST_SCORES:
        return scores, weight
    order = np.argsort(scores)
    picked = order[np.linspace(0, scores.size - 1, MOST_SCORES).astype(np.intp)]
    return scores[picked], weight[picked] * weight.sum() / weight[picked].sum()

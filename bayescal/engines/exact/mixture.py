"""Draws from a mixture of components: which warp, then of each class which family, then where."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special

from bayescal.engines.exact.components import Component
from bayescal.monotonicity import Sides, is_monotone
from bayescal.validation import Floats

# With fewer than one draw in so many monotone, P(monotone | data) is taken for 0.
MOST_PROPOSED = 500


@dataclass(frozen=True)
class Weights:
    """
    Posterior probabilities of warps and families.

    Attributes
    ----------
    warp : array of shape (warps,)
        P(warp | data), common to both classes.
    family : array of shape (warps, families, 2)
        P(family of a class | warp, data).
    """

    warp: Floats
    family: Floats


def by_evidence(components: list[Component], families: int) -> Weights:
    """
    Return the posterior probabilities: all warps, and all families, alike a priori.

    p(warp | data) is proportional to the product over classes of sum over families of
    p(class's scores | family, warp).
    """
    evidence = np.array([component.log_evidence for component in components])
    evidence = evidence.reshape(-1, families, 2)
    of_warp = special.logsumexp(evidence, axis=1).sum(axis=1)
    return Weights(special.softmax(of_warp), special.softmax(evidence, axis=1))


@dataclass(frozen=True)
class MixtureDraws:
    """
    Draws of both classes' densities.

    Attributes
    ----------
    component : integer array of shape (draws, 2)
        Position among the components, of each class; both on the same warp.
    theta, left, right : array of shape (draws, 2)
        Mode and sides, in (warped) score units; see `Family.from_sides`.
    ratios : dict of (int, int) to array
        Importance weights of the proposals, by component and class.
    monotone : float
        Share of draws, before any condition, whose log-odds never fall.
    """

    component: NDArray[np.intp]
    theta: Floats
    left: Floats
    right: Floats
    ratios: dict[tuple[int, int], Floats]
    monotone: float


def draw_mixture(
    components: list[Component],
    weights: Weights,
    draws: int,
    rng: np.random.Generator,
    *,
    monotone: bool = False,
) -> MixtureDraws:
    """
    Return independent draws.

    Parameters
    ----------
    components : list of Component
        Families in the inner order, as `build_components` gives them.
    weights : Weights
        Of warps and families.
    draws : int
        How many.
    rng : numpy.random.Generator
        Source of randomness.
    monotone : bool
        Whether to keep only draws whose log-odds never fall.

    Raises
    ------
    ValueError
        If so few draws are monotone that the data speak against it.
    """
    found = _propose(components, weights, draws, rng)
    kept = _monotone(components, found)
    share, proposed = float(kept.mean()), draws
    if not monotone:
        return _joined([found], np.full(draws, True), share)
    rounds = [found]
    while kept.sum() < draws:
        if proposed >= MOST_PROPOSED * draws:
            raise ValueError(
                f"monotone=True kept {kept.sum()} of {proposed} draws: the data and the family"
                " speak against monotone log-odds; use monotone=False or another family."
            )
        # A tenth more than what the share so far asks for, at most as many as all so far.
        size = min(proposed, int(1.1 * (draws - kept.sum()) * proposed / max(kept.sum(), 1)) + 10)
        rounds.append(_propose(components, weights, size, rng))
        kept = np.concatenate([kept, _monotone(components, rounds[-1])])
        proposed += size
    chosen = np.zeros_like(kept)
    chosen[np.flatnonzero(kept)[:draws]] = True
    return _joined(rounds, chosen, float(kept.mean()))


def _propose(
    components: list[Component], weights: Weights, draws: int, rng: np.random.Generator
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
            found = source.classes[k].draw(which.size, rng)
            theta = source.centre + source.spread * found.theta
            sides[:, which, k] = theta, *(source.spread * side for side in found.sides)
            ratios[int(i), k] = found.ratios
    theta, left, right = sides
    return MixtureDraws(component, theta, left, right, ratios, monotone=np.nan)


def _monotone(components: list[Component], found: MixtureDraws) -> NDArray[np.bool_]:
    def sides(k: int) -> Sides:
        powers = np.array([c.family.of_class(k == 1).powers for c in components])
        of_draw = powers[found.component[:, k]].T
        return of_draw, found.theta[:, k], found.left[:, k], found.right[:, k]

    return is_monotone(sides(0), sides(1))


def _joined(rounds: list[MixtureDraws], chosen: NDArray[np.bool_], monotone: float) -> MixtureDraws:
    def all_of(name: str) -> Any:
        return np.concatenate([getattr(found, name) for found in rounds])[chosen]

    return MixtureDraws(
        component=all_of("component"),
        theta=all_of("theta"),
        left=all_of("left"),
        right=all_of("right"),
        ratios=rounds[0].ratios,
        monotone=monotone,
    )

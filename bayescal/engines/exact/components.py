"""Components of a mixture: every family on every warp of the scores, both classes of each."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from bayescal.engines.data import BinaryScores
from bayescal.engines.exact.deviations import DeviationSums
from bayescal.engines.exact.hyperparameters import Hyperparameters
from bayescal.engines.exact.posterior import ClassPosterior
from bayescal.families import Family
from bayescal.validation import Floats
from bayescal.warps import log_jacobian, warp


@dataclass(frozen=True)
class Component:
    """
    One family on one warp of the scores.

    Attributes
    ----------
    family : Family
        Of both classes.
    asinh_scale : float
        Of the warp, in score units; inf for none.
    centre, spread : float
        What the posteriors' standardised units stand for.
    classes : tuple of ClassPosterior
        Negative, positive.
    log_evidence : array of shape (2,)
        Of each class, per unit of raw score.
    """

    family: Family
    asinh_scale: float
    centre: float
    spread: float
    classes: tuple[ClassPosterior, ClassPosterior]
    log_evidence: Floats

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
    """
    Return the components, warps in the outer order.

    Parameters
    ----------
    families : tuple of Family
        Each with its own prior, the programs'.
    asinh_scales : tuple of float
        Of the warps, in units of the scores' spread; inf for none.
    data : BinaryScores
        Weights are powers of the likelihood.
    settings : Hyperparameters
        In raw score units; a warp takes them along.
    """
    return list(_components(families, asinh_scales, data, settings))


def _components(
    families: tuple[Family, ...],
    asinh_scales: tuple[float, ...],
    data: BinaryScores,
    settings: Hyperparameters,
) -> Iterator[Component]:
    centre = settings.centre
    for asinh_scale in np.asarray(asinh_scales) * settings.spread:
        spread = float(warp(np.asarray(centre + settings.spread), centre, asinh_scale)) - centre
        warped = [_warped(*data.of_class(k), centre, asinh_scale, spread) for k in (False, True)]
        both = [_sums(families, bool(k), *warped[k][:2]) for k in range(len(warped))]
        for family in families:
            prior = settings.prior_of(family)
            negative, positive = (
                ClassPosterior(sums[family.of_class(bool(k)).powers], prior)
                for k, sums in enumerate(both)
            )
            evidence = np.array([negative.log_evidence, positive.log_evidence])
            evidence += [jacobian for *_, jacobian in warped]
            yield Component(
                family, float(asinh_scale), centre, spread, (negative, positive), evidence
            )


def _sums(
    families: tuple[Family, ...], positive: bool, x: Floats, weight: Floats | None
) -> dict[tuple[int, int], DeviationSums]:
    """Return a class's sums for the powers of all families."""
    every = {family.of_class(positive).powers for family in families}
    return {powers: DeviationSums(x, weight, powers) for powers in every}


def _warped(
    scores: Floats, weight: Floats | None, centre: float, asinh_scale: float, spread: float
) -> tuple[Floats, Floats | None, float]:
    """Return standardised warped scores, their weights, and the log Jacobian of all of them."""
    jacobian = log_jacobian(scores, centre, asinh_scale) - np.log(spread)
    total = jacobian.sum() if weight is None else weight @ jacobian
    return (warp(scores, centre, asinh_scale) - centre) / spread, weight, float(total)

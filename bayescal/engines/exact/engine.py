"""The exact engine: the posterior of both classes and the class prior, without MCMC.

The priors are those of the programs named like the families. The classes and the class prior are
independent given the labels, so each is drawn on its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from bayescal.density_draws import DensityDraws, density_draws
from bayescal.engines.data import KLASS, BinaryScores
from bayescal.engines.exact.components import Component, build_components
from bayescal.engines.exact.datasets import draws_dataset, is_plain
from bayescal.engines.exact.hyperparameters import Hyperparameters, resolve
from bayescal.engines.exact.leave_one_out import leave_one_out_of_densities
from bayescal.engines.exact.mixture import MixtureDraws, Weights, by_evidence, draw_mixture
from bayescal.engines.exact.stacking import by_stacking
from bayescal.engines.pareto import smooth
from bayescal.families import Family
from bayescal.validation import Floats
from bayescal.warps import IDENTITY

EFFICIENCY_LIMIT = 0.9  # below it proposals are not those of the posterior


@dataclass(frozen=True)
class Densities:
    """
    Posterior draws of both class densities and of the class prior.

    Attributes
    ----------
    components : list of Component
        Every family on every warp.
    weights : Weights
        Of the components.
    found : MixtureDraws
        The draws.
    prior : array of shape (draws,)
        Draws of the class prior.
    centre : float
        Of the warps.
    data : BinaryScores
        What they were fitted to.
    """

    components: list[Component]
    weights: Weights
    found: MixtureDraws
    prior: Floats
    centre: float
    data: BinaryScores

    @property
    def plain(self) -> bool:
        """Return whether the draws are in raw score units: of one family, and no warp."""
        return is_plain(self.components)

    @cached_property
    def left_out(self) -> Floats:
        """Return the log-odds of every document, each given all others."""
        # In documents that it was fitted to a density puts too much trust.
        return leave_one_out_of_densities(self.of_class(0), self.of_class(1), self.data)

    def leave_one_out(self, index: NDArray[np.intp], rng: np.random.Generator) -> Floats:
        """Return the log-odds of + of some documents, each given all others."""
        return self.left_out[index]

    def of_class(self, klass: int) -> DensityDraws:
        """Return the draws of one class's density, 0 negative or 1 positive."""
        chosen = self.found.component[:, klass]
        own = [component.family.of_class(klass == 1) for component in self.components]
        families = tuple(dict.fromkeys(own))
        family = np.array([families.index(each) for each in own])
        asinh_scale = np.array([component.asinh_scale for component in self.components])
        found = self.found
        sides = np.stack([side[:, klass] for side in (found.theta, found.left, found.right)])
        return density_draws(families, family[chosen], sides, asinh_scale[chosen], self.centre)

    def dataset(self, chains: int, draws: int) -> xr.Dataset:
        """Return the draws: those of a family's program, or of a mixture (chain, draw, klass)."""
        return draws_dataset(self.components, self.found, self.prior, (chains, draws))

    def constants(self) -> xr.Dataset:
        """Return what draws of a mixture need to be in raw score units."""
        return xr.Dataset({"centre": self.centre})

    def evidence(self) -> xr.Dataset:
        """Return evidence, weights and diagnostics (klass, family, asinh_scale)."""
        return _evidence_dataset(self.components, self.weights, self.found)


def fit_densities(
    families: tuple[Family, ...],
    data: BinaryScores,
    rng: np.random.Generator,
    *,
    draws: int,
    hyperparameters: Mapping[str, float] | None = None,
    asinh_scales: tuple[float, ...] = (IDENTITY,),
    averaging: str = "stacking",
    monotone: bool = False,
) -> Densities:
    """
    Draw independently from the posterior of a family, or of a mixture of several.

    Parameters
    ----------
    families : tuple of Family
        Each with the prior of its program.
    data : BinaryScores
        Weights are powers of the likelihood.
    rng : numpy.random.Generator
        Source of randomness.
    draws : int
        How many.
    hyperparameters : mapping, optional
        Keyword arguments of the programs named like the families.
    asinh_scales : tuple of float
        Warps to average over, in units of the spread; see `bayescal.warps`.
    averaging : {"stacking", "evidence"}
        How several families and warps are weighed.
    monotone : bool
        Whether to condition the posterior on log-odds that never fall.

    Raises
    ------
    ValueError
        If a hyperparameter is unknown or not legal, or a monotone curve out of the question.
    """
    settings = resolve(families, data.centre_and_spread, hyperparameters)
    components = build_components(families, asinh_scales, data, settings)
    if averaging == "stacking" and len(components) > 1:
        weights = by_stacking(components, len(families), data, rng)
    else:
        weights = by_evidence(components, len(families))
    return _draw(components, weights, data, rng, settings, draws=draws, monotone=monotone)


def draw_prior(
    families: tuple[Family, ...],
    data: BinaryScores,
    rng: np.random.Generator,
    *,
    draws: int,
    hyperparameters: Mapping[str, float] | None = None,
    asinh_scales: tuple[float, ...] = (IDENTITY,),
    monotone: bool = False,
) -> Densities:
    """
    Draw from the prior, which is the posterior of no documents; see `fit_densities`.

    Families and warps are alike. The data say what the units are, the centre and the spread of all
    scores, and nothing else.
    """
    settings = resolve(families, data.centre_and_spread, hyperparameters)
    nothing = BinaryScores(np.empty(0), np.empty(0, dtype=bool))
    components = build_components(families, asinh_scales, nothing, settings)
    weights = by_evidence(components, len(families))
    return _draw(components, weights, nothing, rng, settings, draws=draws, monotone=monotone)


def _draw(
    components: list[Component],
    weights: Weights,
    data: BinaryScores,
    rng: np.random.Generator,
    settings: Hyperparameters,
    *,
    draws: int,
    monotone: bool,
) -> Densities:
    found = draw_mixture(components, weights, draws, rng, monotone=monotone)
    prior = rng.beta(
        settings.prior_alpha + data.total(True), settings.prior_beta + data.total(False), draws
    )
    return Densities(components, weights, found, prior, settings.centre, data)


def _evidence_dataset(
    components: list[Component], weights: Weights, found: MixtureDraws
) -> xr.Dataset:
    shape = weights.family.shape
    families = [component.family.name for component in components[: shape[1]]]
    asinh_scales = [component.asinh_scale for component in components[:: shape[1]]]
    evidence = np.array([component.log_evidence for component in components]).reshape(shape)
    worst = {
        name: [
            pick([measure(r) for (_, k), r in found.ratios.items() if k == klass])
            for klass in range(2)
        ]
        for name, pick, measure in (
            ("efficiency", min, efficiency),
            ("pareto_k", max, pareto_k),
        )
    }
    dims = ("asinh_scale", "family", "klass")
    variables = {
        "log_evidence": (dims, evidence),
        "family_weight": (dims, weights.family),
        "warp_weight": ("asinh_scale", weights.warp),
        "resolved": int(all(component.resolved for component in components)),
        "monotone": found.monotone,
        **{name: ("klass", values) for name, values in worst.items()},
    }
    return xr.Dataset(
        variables, {"asinh_scale": asinh_scales, "family": families, "klass": list(KLASS)}
    )


def efficiency(ratios: Floats) -> float:
    """Return the importance effective sample size of proposals over their number."""
    return float(ratios.sum() ** 2 / (ratios**2).sum() / ratios.size)


def pareto_k(ratios: Floats) -> float:
    """Return the Pareto shape of the proposals' importance weights; see `engines.pareto`."""
    with np.errstate(divide="ignore"):
        return float(smooth(np.log(ratios)[None])[1][0])

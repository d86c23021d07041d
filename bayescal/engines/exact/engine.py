"""The exact engine: the posterior of both classes and the class prior, without MCMC.

The priors are those of the programs named like the families. The classes and the class prior are
independent given the labels, so each is drawn on its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import xarray as xr

from bayescal.density_draws import DensityDraws, density_draws
from bayescal.engines.data import ENGINE_CONSTANTS, ENGINE_DRAWS, KLASS, BinaryScores
from bayescal.engines.exact.components import Component, build_components
from bayescal.engines.exact.hyperparameters import resolve
from bayescal.engines.exact.mixture import MixtureDraws, Weights, by_evidence, draw_mixture
from bayescal.engines.exact.stacking import by_stacking
from bayescal.engines.pareto import smooth
from bayescal.families import Family, side_units
from bayescal.validation import Floats
from bayescal.warps import IDENTITY

DESCRIPTION = (
    "The engine's own coordinates: mode (theta) and sides of each draw's density in units of the"
    " warped scores x = centre + bend asinh((score - centre)/bend). The group posterior has mode"
    " and widths in raw score units."
)


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
    """

    components: list[Component]
    weights: Weights
    found: MixtureDraws
    prior: Floats
    centre: float

    def of_class(self, klass: int) -> DensityDraws:
        """Return the draws of one class's density, 0 negative or 1 positive."""
        chosen = self.found.component[:, klass]
        own = [component.family.of_class(klass == 1) for component in self.components]
        families = tuple(dict.fromkeys(own))
        family = np.array([families.index(each) for each in own])
        bend = np.array([component.bend for component in self.components])
        found = self.found
        sides = np.stack([side[:, klass] for side in (found.theta, found.left, found.right)])
        return density_draws(families, family[chosen], sides, bend[chosen], self.centre)

    def groups(self, chains: int, draws: int) -> dict[str, xr.Dataset]:
        """
        Return the draws (chain, draw, klass) and what is known of them.

        Those of one family on raw scores are the group posterior, with the variables of its
        program; those of a mixture have a mode and sides in units of the warped scores.
        """
        plain = len(self.components) == 1 and self.components[0].bend == IDENTITY
        variables = _of_one_family if plain else _of_mixture
        arrays = variables(self.components, self.found) | {"prior": self.prior}
        dataset = _posterior_dataset(arrays, (chains, draws))
        if plain:
            return {"posterior": dataset, "evidence": self.evidence()}
        # The convention for codes: CF metadata, section 3.5.
        names = dict.fromkeys(component.family.name for component in self.components)
        dataset["family"].attrs["flag_meanings"] = " ".join(names)
        return {
            ENGINE_DRAWS: dataset.assign_attrs(description=DESCRIPTION),
            ENGINE_CONSTANTS: xr.Dataset({"centre": self.centre}),
            "evidence": self.evidence(),
        }

    def evidence(self) -> xr.Dataset:
        """Return evidence, weights and diagnostics (klass, family, bend)."""
        return _evidence_dataset(self.components, self.weights, self.found)


def fit_densities(
    families: tuple[Family, ...],
    data: BinaryScores,
    rng: np.random.Generator,
    *,
    draws: int,
    hyperparameters: Mapping[str, float] | None = None,
    bends: tuple[float, ...] = (IDENTITY,),
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
    bends : tuple of float
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
    components = build_components(families, bends, data, settings)
    if averaging == "stacking" and len(components) > 1:
        weights = by_stacking(components, len(families), data, rng)
    else:
        weights = by_evidence(components, len(families))
    found = draw_mixture(components, weights, draws, rng, monotone=monotone)
    prior = rng.beta(
        settings.prior_alpha + data.total(True), settings.prior_beta + data.total(False), draws
    )
    return Densities(components, weights, found, prior, settings.centre)


def draw_posterior(
    family: Family,
    data: BinaryScores,
    rng: np.random.Generator,
    *,
    draws: int,
    chains: int,
    hyperparameters: Mapping[str, float] | None = None,
) -> dict[str, xr.Dataset]:
    """Return the groups "posterior" and "evidence" of one family, chains x draws draws."""
    found = fit_densities(
        (family,), data, rng, draws=draws * chains, hyperparameters=hyperparameters
    )
    return found.groups(chains, draws)


def _of_one_family(components: list[Component], found: MixtureDraws) -> dict[str, Floats]:
    """Return the variables of the program named like the family."""
    both = []
    for k, positive in enumerate((False, True)):
        family = components[0].family.of_class(positive)
        both.append(_of_class(family, found.theta[:, k], found.left[:, k], found.right[:, k]))
    return {name: np.stack([one[name] for one in both], axis=1) for name in both[0]}


def _of_class(family: Family, theta: Floats, left: Floats, right: Floats) -> dict[str, Floats]:
    variables = dict(zip(family.parameters, family.from_sides(theta, left, right), strict=True))
    left_unit, right_unit = side_units(family.powers)
    width = left_unit * left + right_unit * right
    if not family.symmetric:
        variables["left_share"] = left_unit * left / width
    if family.powers == (2, 2):
        return variables | {"squared_width": width**2}
    return variables | {"width": width}


def _of_mixture(components: list[Component], found: MixtureDraws) -> dict[str, Floats]:
    """Return mode and sides, with the family and the warp of each draw."""
    names = list(dict.fromkeys(component.family.name for component in components))
    code = np.array([names.index(component.family.name) for component in components], np.int8)
    bend = np.array([component.bend for component in components])
    return {
        "family": code[found.component],
        "bend": bend[found.component[:, 0]],
        "theta": found.theta,
        "left": found.left,
        "right": found.right,
    }


def _posterior_dataset(variables: dict[str, Floats], shape: tuple[int, int]) -> xr.Dataset:
    dims = ("chain", "draw", "klass")
    arrays = {
        name: (dims[: value.ndim + 1], value.reshape(*shape, *value.shape[1:]))
        for name, value in variables.items()
    }
    coords = {"chain": np.arange(shape[0]), "draw": np.arange(shape[1]), "klass": list(KLASS)}
    return xr.Dataset(arrays, coords)


def _evidence_dataset(
    components: list[Component], weights: Weights, found: MixtureDraws
) -> xr.Dataset:
    shape = weights.family.shape
    families = [component.family.name for component in components[: shape[1]]]
    bends = [component.bend for component in components[:: shape[1]]]
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
    dims = ("bend", "family", "klass")
    variables = {
        "log_evidence": (dims, evidence),
        "family_weight": (dims, weights.family),
        "warp_weight": ("bend", weights.warp),
        "resolved": int(all(component.resolved for component in components)),
        "monotone": found.monotone,
        **{name: ("klass", values) for name, values in worst.items()},
    }
    return xr.Dataset(variables, {"bend": bends, "family": families, "klass": list(KLASS)})


def efficiency(ratios: Floats) -> float:
    """Return the importance effective sample size of proposals over their number."""
    return float(ratios.sum() ** 2 / (ratios**2).sum() / ratios.size)


def pareto_k(ratios: Floats) -> float:
    """Return the Pareto shape of the proposals' importance weights; see `engines.pareto`."""
    with np.errstate(divide="ignore"):
        return float(smooth(np.log(ratios)[None])[1][0])

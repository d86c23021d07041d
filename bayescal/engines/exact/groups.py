"""Draws of class densities as groups of a tree: one family's own variables, or a mixture's."""

from __future__ import annotations

import numpy as np
import xarray as xr

from bayescal.engines.data import ENGINE_CONSTANTS, ENGINE_DRAWS, KLASS
from bayescal.engines.exact.components import Component
from bayescal.engines.exact.mixture import MixtureDraws
from bayescal.families import Family, side_units
from bayescal.validation import Floats
from bayescal.warps import IDENTITY

DESCRIPTION = (
    "The engine's own coordinates: mode (theta) and sides of each draw's density in units of the"
    " warped scores x = centre + bend asinh((score - centre)/bend). The group posterior has mode"
    " and widths in raw score units."
)


def draws_groups(
    components: list[Component], found: MixtureDraws, prior: Floats, shape: tuple[int, int]
) -> dict[str, xr.Dataset]:
    """
    Return the draws (chain, draw, klass) and what they need.

    Those of one family on raw scores are the group posterior, with the variables of its program;
    those of a mixture have a mode and sides in units of the warped scores.

    Parameters
    ----------
    components : list of Component
        Every family on every warp.
    found : MixtureDraws
        The draws.
    prior : array of shape (draws,)
        Draws of the class prior.
    shape : tuple of int
        Chains, and draws of each.
    """
    plain = len(components) == 1 and components[0].bend == IDENTITY
    variables = _of_one_family if plain else _of_mixture
    dataset = _draws_dataset(variables(components, found) | {"prior": prior}, shape)
    if plain:
        return {"posterior": dataset}
    # The convention for codes: CF metadata, section 3.5.
    names = dict.fromkeys(component.family.name for component in components)
    dataset["family"].attrs["flag_meanings"] = " ".join(names)
    return {
        ENGINE_DRAWS: dataset.assign_attrs(description=DESCRIPTION),
        ENGINE_CONSTANTS: xr.Dataset({"centre": components[0].centre}),
    }


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


def _draws_dataset(variables: dict[str, Floats], shape: tuple[int, int]) -> xr.Dataset:
    dims = ("chain", "draw", "klass")
    arrays = {
        name: (dims[: value.ndim + 1], value.reshape(*shape, *value.shape[1:]))
        for name, value in variables.items()
    }
    coords = {"chain": np.arange(shape[0]), "draw": np.arange(shape[1]), "klass": list(KLASS)}
    return xr.Dataset(arrays, coords)

"""Draws of class densities as datasets: one family's own variables, or a mixture's."""

from __future__ import annotations

import numpy as np
import xarray as xr

from bayescal.engines.coordinates import coordinates
from bayescal.engines.data import KLASS
from bayescal.engines.exact.components import Component
from bayescal.engines.exact.mixture import MixtureDraws
from bayescal.families import Family, side_units
from bayescal.validation import Floats
from bayescal.warps import IDENTITY

DESCRIPTION = (
    "The engine's own coordinates: mode (theta) and sides of each draw's density in units of the"
    " warped scores x = centre + c asinh((score - centre)/c), where c is asinh_scale. The group"
    " posterior has mode and widths in raw score units."
)


def is_plain(components: list[Component]) -> bool:
    """Return whether there is one family, on raw scores: its draws are in raw score units."""
    return len(components) == 1 and components[0].asinh_scale == IDENTITY


def draws_dataset(
    components: list[Component], found: MixtureDraws, prior: Floats, shape: tuple[int, int]
) -> xr.Dataset:
    """
    Return the draws (chain, draw, klass).

    Those of one family on raw scores have the variables of its program; those of a mixture have a
    mode and sides in units of the warped scores.

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
    if is_plain(components):
        return _dataset(_of_one_family(components, found) | {"prior": prior}, shape)
    dataset = _dataset(_of_mixture(components, found) | {"prior": prior}, shape)
    # The convention for codes: CF metadata, section 3.5.
    names = dict.fromkeys(component.family.name for component in components)
    dataset["family"].attrs["flag_meanings"] = " ".join(names)
    return dataset.assign_attrs(description=DESCRIPTION)


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
    asinh_scale = np.array([component.asinh_scale for component in components])
    return {
        "family": code[found.component],
        "asinh_scale": asinh_scale[found.component[:, 0]],
        "theta": found.theta,
        "left": found.left,
        "right": found.right,
    }


def _dataset(variables: dict[str, Floats], shape: tuple[int, int]) -> xr.Dataset:
    dims = ("chain", "draw", "klass")
    arrays = {
        name: (dims[: value.ndim + 1], value.reshape(*shape, *value.shape[1:]))
        for name, value in variables.items()
    }
    return xr.Dataset(arrays, coordinates(chain=shape[0], draw=shape[1], klass=KLASS))

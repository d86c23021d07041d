"""Groups of draws in raw score units, beside those in the coordinates that the engines draw in.

Of densities: mode, left_width and right_width, see `bayescal.density_shapes`. Of direct log-odds:
log_odds at raw scores, those where their slope changes and the ends of the scores fitted. Of
recalibrated densities: log_odds where the densities say some log-odds.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
import xarray as xr

from bayescal.density_shapes import raw_shapes
from bayescal.engines.data import KLASS
from bayescal.engines.parts import RECALIBRATED, Part
from bayescal.results.class_draws import ClassDraws, read_mixture
from bayescal.results.monotone_draws import MonotoneDraws, read_monotone
from bayescal.validation import Floats
from bayescal.warps import unwarp

Groups = Mapping[str, xr.Dataset]
# P(+) of .02, .12, .5, .88 and .98: where the curve of recalibrated densities is shown.
SHOWN_LOG_ODDS = np.array([-4.0, -2.0, 0.0, 2.0, 4.0])
DRAWS = ("chain", "draw")
LONG_NAMES = {
    "mode": "mode of the density, in raw score units",
    "left_width": "distance to the left of the mode with 1/e of its side's mass beyond",
    "right_width": "distance to the right of the mode with 1/e of its side's mass beyond",
}
SHAPES = tuple(LONG_NAMES)


def raw_groups(
    groups: Groups, parts: Iterable[Part], reach: tuple[float, float]
) -> dict[str, xr.Dataset]:
    """
    Return the groups of draws in raw score units that go with those of engines.

    Parameters
    ----------
    groups : mapping of str to Dataset
        Of a fit, among them those of the parts.
    parts : iterable of Part
        Whose groups to return: those of parts that are to have one.
    reach : tuple of float
        The smallest and the largest score fitted.
    """
    return {part.raw: _raw_group(groups, part, reach) for part in parts if part.raw}


def _raw_group(groups: Groups, part: Part, reach: tuple[float, float]) -> xr.Dataset:
    draws, constants = (groups[name] for name in (*part.draws, part.constants))
    if part.engine == "exact":
        return _shapes(draws, read_mixture(draws, float(constants["centre"])))
    curve = read_monotone(draws, constants, part.name)
    if part.name == RECALIBRATED:
        return _curve(draws, curve, "density_log_odds", SHOWN_LOG_ODDS)
    return _curve(draws, curve, "score", _nodes(curve, reach))


def _shapes(draws: xr.Dataset, densities: ClassDraws) -> xr.Dataset:
    both = np.stack([raw_shapes(each) for each in (densities.negative, densities.positive)])
    shape = tuple(draws.sizes[dim] for dim in DRAWS)
    variables = {
        name: (
            (*DRAWS, "klass"),
            np.moveaxis(both[:, k].reshape(len(KLASS), *shape), 0, -1),
            {"long_name": LONG_NAMES[name]},
        )
        for k, name in enumerate(SHAPES)
    }
    coords = {name: draws[name].variable for name in (*DRAWS, "klass")}
    return xr.Dataset(variables | {"prior": draws["prior"].variable}, coords)


def _nodes(curve: MonotoneDraws, reach: tuple[float, float]) -> Floats:
    knots = unwarp(curve.centre + curve.spread * curve.pieces.knots, curve.centre, curve.bend)
    return np.unique([reach[0], *knots, reach[1]])


def _curve(draws: xr.Dataset, curve: MonotoneDraws, dim: str, at: Floats) -> xr.Dataset:
    shape = tuple(draws.sizes[name] for name in DRAWS)
    log_odds = (*DRAWS, dim), curve.log_odds(at).reshape(*shape, at.size)
    coords = {name: draws[name].variable for name in DRAWS} | {dim: (dim, at)}
    return xr.Dataset({"log_odds": log_odds, "prior": draws["prior"].variable}, coords)

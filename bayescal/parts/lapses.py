"""The draws of the lapse rate in a tree of results."""

from __future__ import annotations

import xarray as xr

from bayescal.curves.curves import check_finite
from bayescal.engines.coordinates import coordinates
from bayescal.parts.places import DRAWS, LAPSE, Groups
from bayescal.validation import Floats

LONG_NAME = "share of documents whose label has nothing to do with their score"


def lapse_groups(drawn: Floats | None, shape: tuple[int, int]) -> dict[str, xr.Dataset]:
    """Return the group of draws of lambda, (chain, draw), of that shape; no group of no lapses."""
    if drawn is None:
        return {}
    variable = (DRAWS, drawn.reshape(shape), {"long_name": LONG_NAME})
    return {LAPSE: xr.Dataset({LAPSE: variable}, coordinates(chain=shape[0], draw=shape[1]))}


def read_lapse(groups: Groups) -> Floats | None:
    """
    Return the draws of lambda, (draws,); None where there are no lapses.

    Raises
    ------
    ValueError
        If they are not finite.
    """
    if LAPSE not in groups:
        return None
    drawn: Floats = groups[LAPSE][LAPSE].values.ravel()
    check_finite("the lapse rate", drawn)
    return drawn

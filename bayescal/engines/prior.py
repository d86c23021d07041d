"""Draws from the prior of what was fitted."""

from __future__ import annotations

import xarray as xr

from bayescal.engines.data import BinaryScores
from bayescal.engines.inference import Settings, build_program


def draw_prior(
    settings: Settings, data: BinaryScores, posterior: xr.Dataset, draws: int
) -> dict[str, xr.Dataset]:
    """
    Return draws from the prior of densities, one chain, in the groups that a posterior would have.

    Parameters
    ----------
    settings : Settings
        With families; their `rng` draws.
    data : BinaryScores
        That were fitted: they say what the units are.
    posterior : xarray.Dataset
        Whose variables the prior of a program is to have.
    draws : int
        How many.
    """
    if settings.inference == "exact":
        from bayescal.engines.exact.engine import draw_prior as draw_densities

        densities = draw_densities(
            settings.families,
            data,
            settings.rng,
            draws=draws,
            hyperparameters=settings.hyperparameters,
            bends=settings.bends,
            monotone=settings.monotone,
        )
        return densities.groups(1, draws)
    from bayescal.engines import nuts

    model = build_program(settings, data)
    return {"posterior": nuts.draw_prior(model, posterior, draws, settings.rng)}

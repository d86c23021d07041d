"""Inference by a program for PyMC: its model for the data, and the mode of its posterior."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from bayescal import programs
from bayescal.engines.data import KLASS, BinaryScores
from bayescal.families import Family


def build_program(
    program: str | Path, family: Family, data: BinaryScores, hyperparameters: Mapping[str, float]
) -> Any:
    """
    Return the model of a program for the data.

    Parameters
    ----------
    program : str or Path
        Its name or path.
    family : Family
        Whose parameters it is to have.
    data : BinaryScores
        The documents.
    hyperparameters : mapping of str to float
        Keyword arguments of the program.

    Raises
    ------
    ValueError
        If posterior curves could not be read from it.
    """
    # PyMC takes seconds to import: only where it is used.
    from bayescal.engines.program_model import build_model

    model = build_model(programs.load(program), data, hyperparameters)
    _check_model(model, family)
    return model


def _check_model(model: Any, family: Family) -> None:
    """Refuse a program that posterior curves cannot be read from, before sampling it."""
    wanted = (*family.parameters, "prior")
    if missing := [name for name in wanted if name not in model.named_vars]:
        raise ValueError(
            f"the program's posterior must hold {', '.join(wanted)} for family"
            f" {family.name!r}; it holds no {', '.join(missing)}. (Of programs for"
            " labels given scores there is parts='monotone' or 'logistic' with"
            " inference='exact'.)"
        )


def find_posterior_mode(model: Any, rng: np.random.Generator) -> dict[str, xr.Dataset]:
    """
    Return the group of a model's posterior mode.

    Warns
    -----
    UserWarning
        If the search reached its limit of steps.
    """
    from bayescal.engines.maximum_a_posteriori import ParameterSpace, find_mode

    mode = find_mode(ParameterSpace(model), rng)
    if not mode.converged:
        warnings.warn(
            "the search for the posterior mode reached its limit of steps; use inference='nuts'"
            " or rescale the program's parameters.",
            stacklevel=5,
        )
    variables = {
        name: xr.DataArray(value, dims=("klass",) if np.shape(value) == (len(KLASS),) else None)
        for name, value in mode.values.items()
    }
    attrs = {
        "log_density": mode.log_density,
        "agreeing_starts": mode.agreeing_starts,
        "starts": mode.starts,
        "converged": int(mode.converged),
    }
    return {"mode": xr.Dataset(variables, {"klass": list(KLASS)}, attrs)}

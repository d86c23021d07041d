"""Inference by a program for PyMC: draws by NUTS, the mode of its posterior, draws of its prior."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from bayescal import programs
from bayescal.engines.data import KLASS, BinaryScores
from bayescal.families import Family

if TYPE_CHECKING:
    from bayescal.engines.maximum_a_posteriori import Mode


@dataclass(frozen=True)
class ProgramInference:
    """
    How a program's posterior is found.

    Attributes
    ----------
    program : str or Path
        Its name or path.
    family : Family
        Whose parameters it is to have.
    hyperparameters : mapping of str to float
        Keyword arguments of the program.
    draws, chains : int
        Draws of each chain, and chains.
    sampler_options : mapping or None
        Further arguments of pm.sample.
    progressbar : bool
        Whether PyMC shows its progress.
    """

    program: str | Path
    family: Family
    hyperparameters: Mapping[str, float]
    draws: int
    chains: int
    sampler_options: Mapping[str, Any] | None
    progressbar: bool

    # PyMC takes seconds to import: only where it is used.

    def posterior(
        self, inference: str, data: BinaryScores, rng: np.random.Generator
    ) -> dict[str, xr.Dataset]:
        """
        Return the groups posterior and sample_stats by "nuts", or mode by "map".

        Raises
        ------
        ValueError
            If posterior curves could not be read from the program.

        Warns
        -----
        UserWarning
            If the search for the mode reached its limit of steps.
        """
        model = self._model(data)
        if inference == "map":
            from bayescal.engines.maximum_a_posteriori import ParameterSpace, find_mode

            return _mode_group(find_mode(ParameterSpace(model), rng))
        from bayescal.engines.nuts import draw_posterior

        return draw_posterior(
            model,
            rng,
            draws=self.draws,
            chains=self.chains,
            progressbar=self.progressbar,
            options=self.sampler_options,
        )

    def prior(
        self, data: BinaryScores, posterior: xr.Dataset, draws: int, rng: np.random.Generator
    ) -> xr.Dataset:
        """Return one chain of draws from the program's prior, of the posterior's variables."""
        from bayescal.engines.nuts import draw_prior

        return draw_prior(self._model(data), posterior, draws, rng)

    def _model(self, data: BinaryScores) -> Any:
        from bayescal.engines.program_model import build_model

        model = build_model(programs.load(self.program), data, self.hyperparameters)
        _check_model(model, self.family)
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


def _mode_group(mode: Mode) -> dict[str, xr.Dataset]:
    if not mode.converged:
        warnings.warn(
            "the search for the posterior mode reached its limit of steps; use inference='nuts'"
            " or rescale the program's parameters.",
            stacklevel=6,
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

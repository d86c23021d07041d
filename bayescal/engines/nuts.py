"""Posterior draws of a program by NUTS."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np
import xarray as xr

from bayescal import _compat

# One core: a process a chain costs more than small data take, and forking under threads
# (notebooks, joblib) is unsafe. Users with large data pass cores=.
DRAWS = ("chain", "draw")
OPTIONS: dict[str, Any] = {"tune": 1000, "cores": 1, "target_accept": 0.9}


def draw_posterior(
    model: Any,
    rng: np.random.Generator,
    *,
    draws: int,
    chains: int,
    progressbar: bool = False,
    options: Mapping[str, Any] | None = None,
) -> dict[str, xr.Dataset]:
    """
    Draw from the posterior of a model with pm.sample.

    Parameters
    ----------
    model : pymc.Model
        The model with its data.
    rng : numpy.random.Generator
        Seeds the chains.
    draws, chains : int
        Draws a chain after tuning, and chains.
    progressbar : bool
        Whether PyMC shows its progress.
    options : mapping, optional
        Further arguments of pm.sample, such as tune, target_accept, cores, nuts_sampler.

    Returns
    -------
    dict of xarray.Dataset
        Groups "posterior" and "sample_stats", dimensions chain, draw, ...
    """
    import pymc as pm

    arguments = OPTIONS | dict(options or {})
    with model, _quiet("pymc"):
        result = pm.sample(
            draws=draws,
            chains=chains,
            random_seed=int(rng.integers(2**31)),
            progressbar=progressbar,
            compute_convergence_checks=False,  # ours warn with what to do: results/diagnostics.py
            **arguments,
        )
    return _compat.datasets(result, ("posterior", "sample_stats"))


def draw_prior(
    model: Any, posterior: xr.Dataset, draws: int, rng: np.random.Generator
) -> xr.Dataset:
    """Return draws from a model's prior, one chain, of the variables of its posterior."""
    import pymc as pm

    names = [str(name) for name in posterior.data_vars]
    values = pm.draw([model[name] for name in names], draws, random_seed=int(rng.integers(2**31)))
    variables = {
        # pm.draw gives one draw no axis.
        name: (posterior[name].dims, np.reshape(value, (1, draws, *posterior[name].shape[2:])))
        for name, value in zip(names, values, strict=True)
    }
    coords = {name: each for name, each in posterior.coords.items() if name not in DRAWS}
    return xr.Dataset(variables, coords | {"chain": [0], "draw": np.arange(draws)})


@contextmanager
def _quiet(name: str) -> Iterator[None]:
    logger = logging.getLogger(name)
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        logger.setLevel(level)

"""Convergence diagnostics of a sampler: R-hat, effective sample sizes, divergences, in words."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import xarray as xr

RHAT_LIMIT = 1.01
RHAT_OF_ANOTHER = 1.5  # chains this far apart are seldom only too short
ESS_LIMIT = 400.0
INDEPENDENT = "independent"  # attribute of variables that no chain has drawn
IMPROPER = (
    "; chains so far apart mean several modes, or an improper posterior: give every parameter a"
    " proper prior, and check that the data tell parameters apart"
)


class ChainChecks(NamedTuple):
    """The worst numbers of any parameter, and what is wrong with them."""

    rhat: float | None  # the largest rank-normalised; None for one chain
    ess_bulk: float  # the smallest effective sample sizes
    ess_tail: float
    divergences: int
    problems: tuple[str, ...]


def check_chains(sampled: xr.Dataset, posterior: xr.Dataset) -> ChainChecks:
    """Check draws of NUTS, of any of their parameters (Vehtari et al., Bayesian Analysis 2021)."""
    import arviz_stats

    posterior = posterior[[n for n, v in posterior.items() if INDEPENDENT not in v.attrs]]
    single = posterior.sizes["chain"] == 1
    with np.errstate(divide="ignore", invalid="ignore"):  # a constant chain's R-hat is nan
        rhat = None if single else _worst(arviz_stats.rhat(posterior), largest=True)
        bulk = _worst(arviz_stats.ess(posterior, method="bulk"))
        tail = _worst(arviz_stats.ess(posterior, method="tail"))
    divergences = int(sampled["diverging"].sum())
    return ChainChecks(
        None if rhat is None else rhat[0],
        bulk[0],
        tail[0],
        divergences,
        tuple(_problems(rhat, min(bulk, tail), divergences)),
    )


def _worst(dataset: xr.Dataset, *, largest: bool = False) -> tuple[float, str]:
    sign = -1.0 if largest else 1.0
    # nan (a constant chain) is the worst of all.
    values = {str(name): np.ravel(array.values) for name, array in dataset.items()}
    keyed = [
        (-np.inf if np.isnan(v) else sign * v, float(v), name)
        for name, array in values.items()
        for v in array
    ]
    _, value, name = min(keyed)
    return value, name


def _problems(
    rhat: tuple[float, str] | None, ess: tuple[float, str], divergences: int
) -> list[str]:
    problems = []
    if rhat is not None and not rhat[0] <= RHAT_LIMIT:
        problems.append(
            f"R-hat of {rhat[1]} is {rhat[0]:.3f} (limit {RHAT_LIMIT}): the chains disagree; raise"
            f" sampler_options={{'tune': ...}} or draws"
            f"{'' if rhat[0] < RHAT_OF_ANOTHER else IMPROPER}"
        )
    if not ess[0] >= ESS_LIMIT:
        problems.append(
            f"the effective sample size of {ess[1]} is {ess[0]:.0f} (limit {ESS_LIMIT:.0f}):"
            " raise draws or chains"
        )
    if divergences:
        problems.append(
            f"{divergences} divergent transitions: raise sampler_options={{'target_accept': ...}}"
            " towards 0.99"
        )
    return problems

"""Convergence of posterior draws: R-hat, effective sample sizes, divergences, and what to do."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace

import numpy as np
import xarray as xr

from bayescal.parts.kinds import findings, worst
from bayescal.parts.of_topics import HYPERPARAMETERS
from bayescal.parts.places import POSTERIOR, Groups, places

RHAT_LIMIT = 1.01
ESS_LIMIT = 400.0
CHAINS = "sample_stats"  # the group of NUTS


class ConvergenceWarning(UserWarning):
    """Posterior draws that should not be used as they are; the message says what to do."""


@dataclass(frozen=True)
class Diagnostics:
    """
    Diagnostics of posterior draws, over all parameters.

    Attributes
    ----------
    rhat : float or None
        The largest rank-normalised R-hat; None for a single chain and for exact draws.
    ess_bulk, ess_tail : float
        The smallest effective sample sizes, of the centre and of the tails; for exact draws,
        which are independent, their number.
    divergences : int
        Transitions of NUTS that diverged.
    draws : int
        Draws over all chains.
    efficiency, pareto_k : float or None
        For exact draws, the importance effective sample size of their proposals as a share of
        their number, of the worst part, and the Pareto shape of the importance weights, of the
        worst log-odds fit (reliable below 0.7); of densities alone theirs, by which proposals are
        accepted or rejected. Of many topics, the effective share of the worst topic's draws once
        they are reweighted to the population, and the worst Pareto shape of populations' weights.
        None where nothing is weighted.
    problems : tuple of str
        What is wrong and what to do; empty when nothing is.
    """

    rhat: float | None
    ess_bulk: float
    ess_tail: float
    divergences: int
    draws: int
    efficiency: float | None
    pareto_k: float | None
    problems: tuple[str, ...]

    @property
    def ok(self) -> bool:
        """Return whether the draws can be used."""
        return not self.problems


def diagnose(groups: Groups) -> Diagnostics:
    """
    Check the posterior of one problem: chains by their agreement, exact draws part by part.

    Limits: R-hat at most 1.01 and effective sample sizes at least 400 (Vehtari et al., Bayesian
    Analysis 2021), no divergences; of exact draws those of `parts.kinds.findings`.
    """
    if CHAINS in groups:
        return of_chains(groups[CHAINS], groups[POSTERIOR])
    return _of_exact_draws(groups)


def diagnose_topics(groups: Groups) -> Diagnostics:
    """Check the posterior of many topics and their population, part by part; and chains of NUTS."""
    found = _of_exact_draws(groups)
    if CHAINS not in groups:
        return found
    population = groups["population"][list(HYPERPARAMETERS)]
    chains = of_chains(groups[CHAINS], xr.merge([groups[POSTERIOR], population]))
    return replace(chains, problems=(*chains.problems, *found.problems))


def problems_by_topic(groups: Groups) -> list[tuple[str, ...]]:
    """Return what is wrong with the draws of each topic, what topics share among it."""
    found = findings(groups)
    return [
        tuple(each.text() for each in found if each.topics is None or each.topics[k])
        for k in range(groups["topics"].sizes["topic"])
    ]


def _of_exact_draws(groups: Groups) -> Diagnostics:
    draws = _count(groups[places(groups)[0].draws[0]])
    names = groups["topics"]["topic"].values if "topics" in groups else None
    return Diagnostics(
        rhat=None,
        ess_bulk=float(draws),
        ess_tail=float(draws),
        divergences=0,
        draws=draws,
        efficiency=worst(groups, "efficiency", np.nanmin),
        pareto_k=worst(groups, "pareto_k", np.nanmax),
        problems=tuple(each.text(names) for each in findings(groups)),
    )


def of_chains(sampled: xr.Dataset, posterior: xr.Dataset) -> Diagnostics:
    """Check draws of NUTS, of any of its parameters."""
    import arviz_stats

    single = posterior.sizes["chain"] == 1
    with np.errstate(divide="ignore", invalid="ignore"):  # a constant chain's R-hat is nan
        rhat = None if single else _worst(arviz_stats.rhat(posterior), largest=True)
        bulk = _worst(arviz_stats.ess(posterior, method="bulk"))
        tail = _worst(arviz_stats.ess(posterior, method="tail"))
    divergences = int(sampled["diverging"].sum())
    return Diagnostics(
        rhat=None if rhat is None else rhat[0],
        ess_bulk=bulk[0],
        ess_tail=tail[0],
        divergences=divergences,
        draws=_count(posterior),
        efficiency=None,
        pareto_k=None,
        problems=tuple(_problems(rhat, min(bulk, tail), divergences)),
    )


def _count(posterior: xr.Dataset) -> int:
    return int(posterior.sizes["chain"] * posterior.sizes["draw"])


def warn_of_problems(diagnostics: Diagnostics | None) -> None:
    """Warn, once, of all that is wrong with the draws of a fit, and say what to do."""
    if diagnostics is not None and diagnostics.problems:
        message = "the posterior draws are not to be trusted yet: "
        warnings.warn(message + "; ".join(diagnostics.problems) + ".", ConvergenceWarning, 3)


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
            " sampler_options={'tune': ...} or draws"
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

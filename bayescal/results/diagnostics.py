"""Convergence of posterior draws: R-hat, effective sample sizes, divergences, and what to do."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
import xarray as xr

RHAT_LIMIT = 1.01
EFFICIENCY_LIMIT = 0.9
ESS_LIMIT = 400.0
EVIDENCE = ("evidence", "monotone_evidence", "logistic_evidence")


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
        worst direct part (reliable below 0.7); of densities alone theirs, by which proposals are
        accepted or rejected. Else None.
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


def diagnose(tree: xr.DataTree) -> Diagnostics:
    """
    Check the groups posterior and sample_stats of a tree.

    Limits: R-hat at most 1.01 and effective sample sizes at least 400 (Vehtari et al., Bayesian
    Analysis 2021), no divergences.
    """
    posterior = tree["posterior"].to_dataset()
    return _of_exact_draws(tree, posterior) if "evidence" in tree else _of_chains(tree, posterior)


def diagnose_topics(
    tree: xr.DataTree, hyperparameters: tuple[str, ...], *, topics: bool = True
) -> Diagnostics | None:
    """Check what NUTS drew of a population, and of its topics too; None of the fast engine."""
    if "sample_stats" not in tree:
        return None
    of_population = tree["population"].to_dataset()[list(hyperparameters)]
    drawn = [tree["posterior"].to_dataset()] if topics else []
    return _of_chains(tree, xr.merge([*drawn, of_population]))


def _of_exact_draws(tree: xr.DataTree, posterior: xr.Dataset) -> Diagnostics:
    groups = [tree[name].to_dataset() for name in EVIDENCE if name in tree]
    draws = _count(posterior)
    weighted = [group for group in groups if "likelihood_error" in group]
    problems = [problem for group in groups for problem in _independence_problems(group)]
    return Diagnostics(
        rhat=None,
        ess_bulk=float(draws),
        ess_tail=float(draws),
        divergences=0,
        draws=draws,
        efficiency=min(float(group["efficiency"].min()) for group in groups),
        pareto_k=max(float(group["pareto_k"].max()) for group in weighted or groups),
        problems=tuple(problems),
    )


def _independence_problems(evidence: xr.Dataset) -> list[str]:
    resolved = bool(evidence["resolved"].all())
    if "likelihood_error" not in evidence:
        return _grid_problems(float(evidence["efficiency"].min()), resolved)
    if resolved:
        return []
    return [
        "the importance weights of the monotone log-odds are too uneven (Pareto k"
        f" {float(evidence['pareto_k']):.2f}): raise draws, or use the program monotone_log_odds"
        " with inference='nuts'"
    ]


def _of_chains(tree: xr.DataTree, posterior: xr.Dataset) -> Diagnostics:
    import arviz_stats

    single = posterior.sizes["chain"] == 1
    with np.errstate(divide="ignore", invalid="ignore"):  # a constant chain's R-hat is nan
        rhat = None if single else _worst(arviz_stats.rhat(posterior), largest=True)
        bulk = _worst(arviz_stats.ess(posterior, method="bulk"))
        tail = _worst(arviz_stats.ess(posterior, method="tail"))
    divergences = int(tree["sample_stats"]["diverging"].sum())
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


def _grid_problems(efficiency: float, resolved: bool) -> list[str]:
    problems = []
    if not resolved:
        problems.append(
            "the exact engine's grid did not resolve the posterior: check the scores for extreme"
            " outliers, or use inference='nuts'"
        )
    if efficiency < EFFICIENCY_LIMIT:
        problems.append(
            f"the exact engine's proposals have efficiency {efficiency:.2f} (limit"
            f" {EFFICIENCY_LIMIT}): use inference='nuts'"
        )
    return problems

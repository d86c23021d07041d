"""One topic of a report as plain data: curves, bands, draws, bins, tables."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import special

from bayescal.curves.curves import Curves, quantiles_of_log_odds
from bayescal.fitted.problem import FittedProblem
from bayescal.report.bins import empirical_log_odds, histogram
from bayescal.report.by_part import by_part
from bayescal.report.grid import Size, nodes_of, shares, smooth_shares, thinned
from bayescal.report.held_out import HeldOut
from bayescal.report.packing import numbers, packed
from bayescal.report.selection import Asked, describe_selection
from bayescal.validation import Floats

# Log-odds of the priors at which the point estimate is tabulated for the page, which goes
# straight between them: for class densities exactly, for a mixture closely.
PRIORS = np.linspace(-9.0, 9.0, 7)
# Draws end here: a probability of 2e-9 costs nothing, and a byte resolves what is left.
FARTHEST = 20.0
# Log-odds of probabilities that no double tells from 0 or 1.
SATURATED = 1e3
DENSITY_DRAWS = 12


def describe_topic(
    problem: FittedProblem, test: HeldOut | None, asked: Asked, size: Size
) -> dict[str, Any]:
    """
    Return what the page knows of a topic.

    Log-odds are natural; densities are per unit of score.
    """
    x, level = nodes_of(problem, size.nodes), asked.level
    smooth = smooth_shares(problem, x)
    out: dict[str, Any] = {
        "name": problem.name,
        "negatives": numbers(problem.counts[0]),
        "positives": numbers(problem.counts[1]),
        "x": numbers(x, 6),
        "share": numbers(shares(problem, x)),
        "smooth": numbers(smooth),
        "selection": describe_selection(problem, x, smooth, test, asked, size),
        "problems": list(problem.problems),
        "diagnostics": {k: numbers(v) for k, v in problem.diagnostics.items() if v is not None},
        "parameters": _parameters(problem, level),
        "parts": _parts(problem),
        "byPart": by_part(problem, x),
    }
    out |= _curves(problem, x, level) | _decisions(problem, x, size)
    if problem.densities is not None or problem.has_mle:
        out["densities"] = _densities(problem, x)
    if problem.documents.known:
        out["histogram"] = histogram(problem.documents, float(x[0]), float(x[-1]))
        out["bins"] = empirical_log_odds(problem.documents, level)
    out["test"] = None if test is None else test.reliability(level)
    return out


def _curves(problem: FittedProblem, x: Floats, level: float) -> dict[str, Any]:
    out = {"point": numbers(_bounded(problem.log_odds(x)))}
    if problem.has_mle:
        out["mle"] = numbers(_bounded(problem.calibration.fits.log_odds(x)))
    if problem.draws is not None:
        tails = np.array([0.5 - level / 2.0, 0.5 + level / 2.0])
        ends = quantiles_of_log_odds(problem.draws, x, tails)
        out["lower"], out["upper"] = numbers(_bounded(ends))
    return out


def _bounded(log_odds: Floats) -> Floats:
    return np.clip(log_odds, -SATURATED, SATURATED)


def _decisions(problem: FittedProblem, x: Floats, size: Size) -> dict[str, Any]:
    """Return what the page needs to move costs and prior: draws, and the point for each prior."""
    own = problem.log_odds(x)
    if problem.prior_moved is None:
        shifted = np.stack([problem.log_odds(x, float(special.expit(z))) - z for z in PRIORS])
    else:
        shifted = np.tile(own - special.logit(problem.prior_moved), (PRIORS.size, 1))
    out: dict[str, Any] = {"shifted": packed(_bounded(shifted))}
    if problem.draws is None:
        # One draw, the point itself: there is no band.
        prior = own - problem.log_odds(x, 0.5)
        out["draws"] = packed(np.clip(own, -FARTHEST, FARTHEST)[None])
        out["prior"] = packed(np.array([[np.median(prior[np.isfinite(prior)])]]))
        return out
    some = thinned(problem.draws, size.draws)
    out["draws"] = packed(np.clip(some.log_odds(x), -FARTHEST, FARTHEST))
    out["prior"] = packed(prior_log_odds(some, problem.scale[0])[:, None])
    return out


def _densities(problem: FittedProblem, x: Floats) -> dict[str, Any]:
    out: dict[str, Any] = {}
    if problem.densities is not None:
        both = [np.exp(each) for each in problem.densities.log_densities(x)]
        if problem.densities.size > 1:
            few = np.linspace(0, problem.densities.size - 1, DENSITY_DRAWS).astype(np.intp)
            out["draws"] = [packed(each[few], by_column=False) for each in both]
        out["predictive"] = numbers([each.mean(axis=0) for each in both])
    if problem.has_mle:
        out["mle"] = numbers([np.exp(each) for each in problem.calibration.fits.log_densities(x)])
    return out


def _parameters(problem: FittedProblem, level: float) -> dict[str, Any]:
    table = problem.parameters(level)
    rows = [
        [*map(str, names), *(_cell(value) for value in row)]
        for names, row in zip(table.index, table.itertuples(index=False), strict=True)
    ]
    return {"columns": ["class", "parameter", *map(str, table.columns)], "rows": rows}


def _parts(problem: FittedProblem) -> dict[str, Any] | None:
    table = problem.parts
    if table is None:
        return None
    rows = [[str(name), *numbers(row)] for name, row in zip(table.index, table.values, strict=True)]
    return {"columns": ["part", *map(str, table.columns)], "rows": rows}


def _cell(value: Any) -> Any:
    return value if isinstance(value, str) else numbers(value)


def prior_log_odds(draws: Curves, score: float) -> Floats:
    """
    Return logit P(+) of the population that each draw was fitted to.

    Whatever part a draw is of, another prior adds logit(prior) less this to its log-odds.
    """
    at = np.array([score])
    even = draws.with_prior(np.full(draws.size, 0.5)).log_odds(at)[:, 0]
    own: Floats = draws.log_odds(at)[:, 0] - even
    # log-odds far out may be infinite on both sides; a prior has no other trace there
    return np.where(np.isfinite(own), own, special.logit(0.5))

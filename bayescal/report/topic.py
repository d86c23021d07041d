"""One topic of a report as plain data: curves, bands, draws, bins, tables."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import special

from bayescal.report.bins import empirical_log_odds, histogram
from bayescal.report.grid import Size, nodes_of, shares
from bayescal.report.held_out import HeldOut
from bayescal.report.packing import numbers, packed
from bayescal.report.subject import Subject, prior_log_odds
from bayescal.results.curves import quantiles_of_log_odds
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
    subject: Subject, test: HeldOut | None, level: float, size: Size
) -> dict[str, Any]:
    """
    Return what the page knows of a topic.

    Log-odds are natural; densities are per unit of score.
    """
    x = nodes_of(subject, size.nodes)
    out: dict[str, Any] = {
        "name": subject.name,
        "negatives": numbers(subject.counts[0]),
        "positives": numbers(subject.counts[1]),
        "x": numbers(x, 6),
        "share": numbers(shares(subject, x)),
        "problems": list(subject.problems),
        "diagnostics": {k: numbers(v) for k, v in subject.diagnostics.items() if v is not None},
        "parameters": _parameters(subject),
        "parts": _parts(subject),
    }
    out |= _curves(subject, x, level) | _decisions(subject, x, size)
    if subject.densities is not None or subject.mle_densities is not None:
        out["densities"] = _densities(subject, x)
    if subject.fitted is not None and subject.fitted.score.size:
        out["histogram"] = histogram(subject.fitted, float(x[0]), float(x[-1]))
        out["bins"] = empirical_log_odds(subject.fitted, level)
    out["test"] = None if test is None else test.reliability(level)
    return out


def _curves(subject: Subject, x: Floats, level: float) -> dict[str, Any]:
    out = {"point": numbers(_bounded(subject.point(x, None)))}
    if subject.mle is not None:
        out["mle"] = numbers(_bounded(subject.mle(x)))
    if subject.draws is not None:
        tails = np.array([0.5 - level / 2.0, 0.5 + level / 2.0])
        ends = quantiles_of_log_odds(subject.draws, x, tails)
        out["lower"], out["upper"] = numbers(_bounded(ends))
    return out


def _bounded(log_odds: Floats) -> Floats:
    return np.clip(log_odds, -SATURATED, SATURATED)


def _decisions(subject: Subject, x: Floats, size: Size) -> dict[str, Any]:
    """Return what the page needs to move costs and prior: draws, and the point for each prior."""
    own = subject.point(x, None)
    if subject.prior is None:
        shifted = np.stack([subject.point(x, float(special.expit(z))) - z for z in PRIORS])
    else:
        shifted = np.tile(own - special.logit(subject.prior), (PRIORS.size, 1))
    out: dict[str, Any] = {"shifted": packed(_bounded(shifted))}
    if subject.draws is None:
        # One draw, the point itself: there is no band.
        prior = own - subject.point(x, 0.5)
        out["draws"] = packed(np.clip(own, -FARTHEST, FARTHEST)[None])
        out["prior"] = packed(np.array([[np.median(prior[np.isfinite(prior)])]]))
        return out
    index = np.linspace(0, subject.draws.size - 1, min(size.draws, subject.draws.size))
    thinned = subject.draws.take(np.unique(np.rint(index).astype(np.intp)))
    out["draws"] = packed(np.clip(thinned.log_odds(x), -FARTHEST, FARTHEST))
    out["prior"] = packed(prior_log_odds(thinned, subject.scale[0])[:, None])
    return out


def _densities(subject: Subject, x: Floats) -> dict[str, Any]:
    out: dict[str, Any] = {}
    if subject.densities is not None:
        both = [np.exp(each) for each in subject.densities.log_densities(x)]
        if subject.densities.size > 1:
            few = np.linspace(0, subject.densities.size - 1, DENSITY_DRAWS).astype(np.intp)
            out["draws"] = [packed(each[few], by_column=False) for each in both]
        out["predictive"] = numbers([each.mean(axis=0) for each in both])
    if subject.mle_densities is not None:
        out["mle"] = numbers([np.exp(each) for each in subject.mle_densities(x)])
    return out


def _parameters(subject: Subject) -> dict[str, Any]:
    table = subject.parameters
    rows = [
        [*map(str, names), *(_cell(value) for value in row)]
        for names, row in zip(table.index, table.itertuples(index=False), strict=True)
    ]
    return {"columns": ["class", "parameter", *map(str, table.columns)], "rows": rows}


def _parts(subject: Subject) -> dict[str, Any] | None:
    if subject.parts is None:
        return None
    table = subject.parts
    rows = [[str(name), *numbers(row)] for name, row in zip(table.index, table.values, strict=True)]
    return {"columns": ["part", *map(str, table.columns)], "rows": rows}


def _cell(value: Any) -> Any:
    return value if isinstance(value, str) else numbers(value)

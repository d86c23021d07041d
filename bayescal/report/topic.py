"""Data of one topic for a page: curves, bands, draws, bins, tables."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import special

from bayescal.decisions import precision_at, recall_at, threshold_for_recall
from bayescal.fitting.curves.curves import quantiles_of_log_odds
from bayescal.fitting.curves.part_draws import CombinedDraws
from bayescal.fitting.posterior import Posterior
from bayescal.fitting.problems.problem import FittedProblem
from bayescal.fitting.scores import BinaryScores
from bayescal.report.held_out import HeldOut, empirical_log_odds, histogram
from bayescal.report.rendering import numbers, packed
from bayescal.support.intervals import tails
from bayescal.support.numerics import probability
from bayescal.support.validation import Floats

# Table of the probabilities of each part of a combination.

SCORES = 5
CERTAIN = 0.02  # closer to 0 or 1, probabilities of parts hardly differ
ALL = "combined"


def by_part(problem: FittedProblem, x: Floats) -> dict[str, Any] | None:
    """Return a table of probabilities, parts in rows and scores in columns."""
    draws, table = problem.draws, problem.parts
    if table is None or not isinstance(draws, CombinedDraws):
        return None
    at = _open_scores(x, probability(problem.log_odds(x)))
    curves = {ALL: problem.log_odds(at)}
    curves |= {
        str(name): part.predictive(at) for name, part in zip(table.index, draws.parts, strict=True)
    }
    return {
        "columns": ["part", *(f"score {score:.3g}" for score in at)],
        "rows": [[name, *numbers(probability(curve))] for name, curve in curves.items()],
    }


def _open_scores(x: Floats, p: Floats) -> Floats:
    """Return scores of uncertain documents; of all if fewer than two are uncertain."""
    open_ones = x[(p > CERTAIN) & (p < 1.0 - CERTAIN)]
    ends = open_ones if open_ones.size > 1 else x
    return np.linspace(ends[0], ends[-1], SCORES)


# Nodes of curves, and the share of documents at each node.

# Share of each class's scores cut off at either end, as far documents would squeeze the figure.
CUT = 0.002
MARGIN = 0.03
# Cells of the kernel density, and its largest relative width near far documents.
CELLS = 512
WIDEST = 8.0


@dataclass(frozen=True)
class Size:
    """Numbers of nodes and draws that the file holds for a topic."""

    nodes: int  # scores at which curves are evaluated, before repeated quantiles are dropped
    draws: int  # posterior draws for computations in the page

    @classmethod
    def of(cls, topics: int) -> Size:
        """Return the size that keeps 100 topics below 3 MB."""
        if topics <= 4:
            return cls(129, 400)
        return cls(57, 192) if topics <= 100 else cls(49, 128)


def thinned(draws: Posterior, most: int) -> Posterior:
    """Return at most so many draws, evenly spaced by number."""
    index = np.linspace(0, draws.size - 1, min(most, draws.size))
    return draws.take(np.unique(np.rint(index).astype(np.intp)))


def nodes_of(problem: FittedProblem, n: int) -> Floats:
    """Return rising scores: half evenly spaced, half at quantiles of the documents."""
    low, high = _range(problem)
    even = np.linspace(low, high, n - n // 2)
    fitted = problem.documents
    if not fitted.score.size:
        return np.linspace(low, high, n)
    parts = [fitted.score[fitted.positive == klass] for klass in (False, True)]
    levels = (np.arange(n // 4) + 0.5) / (n // 4)
    placed = [np.quantile(part, levels) for part in parts if part.size]
    inside = np.clip(np.concatenate([*placed, even]), low, high)
    # Closer nodes look like one, and their difference is lost in 6 digits.
    step = (high - low) / (16.0 * n)
    return np.unique(low + step * np.rint((inside - low) / step))


def shares(problem: FittedProblem, nodes: Floats) -> Floats:
    """Return the share of documents at each node; they sum to one."""
    if problem.documents.score.size:
        return split_between(problem.documents, nodes)
    if problem.densities is None:
        raise ValueError(
            "a report needs the documents fitted, or class densities in place of them: give fitted,"
            " a DataFrame of the scores and labels."
        )
    negative, positive = (np.exp(each) for each in problem.densities.log_densities(nodes))
    prior = problem.densities.prior[:, None]
    density = (prior * positive + (1.0 - prior) * negative).mean(axis=0)
    mass = density * np.gradient(nodes)
    return np.asarray(mass / mass.sum())


def smooth_shares(problem: FittedProblem, nodes: Floats) -> Floats:
    """Return a smooth share of documents at each node, for documents like those fitted."""
    documents = problem.documents
    if not documents.score.size:
        return shares(problem, nodes)
    density = np.zeros(nodes.size)
    for positive in (False, True):
        score, weight = documents.weighted(positive)
        if weight.sum() > 0.0:
            alike = BinaryScores(score, np.full(score.size, positive), weight)
            density += weight.sum() * _spread_out(alike, nodes)
    mass = density * np.gradient(nodes)
    return np.asarray(mass / mass.sum())


def _spread_out(documents: BinaryScores, nodes: Floats) -> Floats:
    """Return an adaptive kernel density of documents at nodes."""
    cells = np.linspace(nodes[0], nodes[-1], CELLS)
    share = split_between(documents, cells)
    middle = share @ cells
    deviation = np.sqrt(share @ (cells - middle) ** 2)
    ends = np.interp([0.25, 0.75], np.cumsum(share), cells)
    # Silverman's rule, with a least width for equal documents.
    least = (nodes[-1] - nodes[0]) / nodes.size
    narrower = min(float(deviation), float(np.ptp(ends)) / 1.34)
    width = max(0.9 * narrower * documents.score.size**-0.2, least)
    pilot = _kernel(cells, cells, np.full(CELLS, width)) @ share
    held = share > 0.0
    typical = np.exp(share[held] @ np.log(pilot[held]))
    # The limit matters beyond the farthest document, where the pilot vanishes.
    wider = np.maximum(np.sqrt(typical / np.maximum(pilot, typical / WIDEST**2)), 1.0)
    return np.asarray(_kernel(nodes, cells, width * wider) @ share)


def _kernel(at: Floats, centre: Floats, width: Floats) -> Floats:
    """Return Gaussian densities, (at, centre)."""
    z = (at[:, None] - centre) / width
    return np.asarray(np.exp(-0.5 * z**2) / (width * np.sqrt(2.0 * np.pi)))


def split_between(documents: BinaryScores, nodes: Floats) -> Floats:
    """Return the share of documents at each node, each document shared by its neighbours."""
    inside = np.clip(documents.score, nodes[0], nodes[-1])
    right = np.clip(np.searchsorted(nodes, inside, side="right"), 1, nodes.size - 1)
    share = (inside - nodes[right - 1]) / (nodes[right] - nodes[right - 1])
    mass = np.bincount(right, documents.weights * share, nodes.size)
    mass += np.bincount(right - 1, documents.weights * (1.0 - share), nodes.size)
    return np.asarray(mass / mass.sum())


def _range(problem: FittedProblem) -> tuple[float, float]:
    low, high = problem.calibration.score_range
    if problem.documents.score.size:
        fitted = problem.documents
        parts = [fitted.score[fitted.positive == klass] for klass in (False, True)]
        ends = np.array([np.quantile(part, [CUT, 1.0 - CUT]) for part in parts if part.size])
        low, high = ends[:, 0].min(), ends[:, 1].max()
    margin = MARGIN * (high - low) or problem.scale[1]
    return float(low - margin), float(high + margin)


# Precision and recall at a threshold, and the threshold for a recall.

MOST_ELEMENTS = 1_000_000  # draws x documents: a few hundredths of a second for each threshold
MOST = 5_000  # documents, for three digits of a threshold
OF = "population"


@dataclass(frozen=True)
class ReadingGoal:
    """Settings of a report's thresholds."""

    threshold: float | None  # on the calibration's scale; None for probability one half
    recall: float
    level: float  # posterior probability of the intervals


def describe_selection(
    problem: FittedProblem,
    x: Floats,
    share: Floats,
    test: HeldOut | None,
    asked: ReadingGoal,
    size: Size,
) -> dict[str, Any]:
    """Return precision and recall at a threshold, and the threshold for a recall."""
    some = None if problem.draws is None else thinned(problem.draws, size.draws)
    drawn = 1 if some is None else some.size
    scores = typical_scores(x, share, min(MOST, MOST_ELEMENTS // drawn))
    p = special.expit(problem.log_odds(scores)[None] if some is None else some.log_odds(scores))

    def taken(threshold: tuple[float, ...]) -> dict[str, Any]:
        precision, recall = (
            measure(threshold[0], scores, p, of=OF, level=asked.level)
            for measure in (precision_at, recall_at)
        )
        return {
            "threshold": numbers(threshold),
            "precision": numbers([precision.value, precision.lower, precision.upper]),
            "recall": numbers([recall.value, recall.lower, recall.upper]),
            "selected": numbers(precision.selected / scores.size),
            "held_out": None if test is None else counted(test, threshold[0]),
        }

    threshold = asked.threshold
    threshold = half_way(x, problem.log_odds(x)) if threshold is None else threshold
    needed = threshold_for_recall(scores, p, asked.recall, of=OF, level=asked.level)
    return {
        "at": None if threshold is None else taken((threshold,)),
        "wanted": taken((needed.value, needed.lower, needed.upper)),
    }


def half_way(x: Floats, log_odds: Floats) -> float | None:
    """Return the highest score at which a curve rises through log-odds 0; None without any."""
    above = log_odds > 0.0
    rises = np.flatnonzero(above[1:] & ~above[:-1])
    if rises.size:
        before = int(rises[-1])
        low, high = log_odds[before : before + 2]
        return float(x[before] - low / (high - low) * (x[before + 1] - x[before]))
    return float(x[0]) if above[0] else None


def typical_scores(x: Floats, share: Floats, n: int) -> Floats:
    """Return n scores, quantiles of the shares, that represent many documents."""
    ends = np.sort(np.concatenate([x, 0.5 * (x[1:] + x[:-1])]))
    mass = np.repeat(0.5 * share, 2)[1:-1]
    mass[[0, -1]] *= 2.0
    passed = np.concatenate([[0.0], np.cumsum(mass)])
    return np.asarray(np.interp((np.arange(n) + 0.5) / n * passed[-1], passed, ends))


def counted(test: HeldOut, threshold: float) -> dict[str, Any]:
    """Return precision and recall of held-out documents; None for a ratio 0/0."""
    taken = test.score >= threshold
    hits = int((taken & test.positive).sum())
    return {
        "precision": _share(hits, int(taken.sum())),
        "recall": _share(hits, int(test.positive.sum())),
    }


def _share(part: int, whole: int) -> float | None:
    return numbers(part / whole) if whole else None


# Log-odds of the priors at which the page has the point estimate. Linear interpolation is exact for
# class densities and close for a mixture.
PRIORS = np.linspace(-9.0, 9.0, 7)
# Largest log-odds of draws: a probability of 2e-9 has no costs, and a byte resolves the rest.
FARTHEST = 20.0
SATURATED = 1e3  # log-odds whose probabilities round to 0 or 1
DENSITY_DRAWS = 12


def describe_topic(
    problem: FittedProblem, test: HeldOut | None, asked: ReadingGoal, size: Size
) -> dict[str, Any]:
    """Return the page's data of a topic."""
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
    if problem.documents.score.size:
        out["histogram"] = histogram(problem.documents, float(x[0]), float(x[-1]))
        out["bins"] = empirical_log_odds(problem.documents, problem.log_odds, level)
    out["test"] = None if test is None else test.reliability(level)
    return out


def _curves(problem: FittedProblem, x: Floats, level: float) -> dict[str, Any]:
    out = {"point": numbers(_bounded(problem.log_odds(x)))}
    if problem.has_mle:
        out["mle"] = numbers(_bounded(problem.calibration.fits.log_odds(x)))
    if problem.draws is not None:
        shares = np.array(tails(level))
        ends = quantiles_of_log_odds(problem.draws, x, shares)
        out["lower"], out["upper"] = numbers(_bounded(ends))
    return out


def _bounded(log_odds: Floats) -> Floats:
    return np.clip(log_odds, -SATURATED, SATURATED)


def _decisions(problem: FittedProblem, x: Floats, size: Size) -> dict[str, Any]:
    """Return the data for sliders of costs and prior: draws, and the point for each prior."""
    own = problem.log_odds(x)
    if problem.prior_moved is None:
        shifted = np.stack([problem.log_odds(x, float(special.expit(z))) - z for z in PRIORS])
    else:
        shifted = np.tile(own - special.logit(problem.prior_moved), (PRIORS.size, 1))
    out: dict[str, Any] = {"shifted": packed(_bounded(shifted))}
    if problem.draws is None:
        # The point is the only draw: there is no band.
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
        [*map(str, names), *(v if isinstance(v, str) else numbers(v) for v in row)]
        for names, row in zip(table.index, table.itertuples(index=False), strict=True)
    ]
    return {"columns": ["class", "parameter", *map(str, table.columns)], "rows": rows}


def _parts(problem: FittedProblem) -> dict[str, Any] | None:
    table = problem.parts
    if table is None:
        return None
    rows = [[str(name), *numbers(row)] for name, row in zip(table.index, table.values, strict=True)]
    return {"columns": ["part", *map(str, table.columns)], "rows": rows}


def prior_log_odds(draws: Posterior, score: float) -> Floats:
    """Return logit P(+) of the population that each draw was fitted to, which a prior replaces."""
    at = np.array([score])
    even = draws.with_prior(np.full(draws.size, 0.5)).log_odds(at)[:, 0]
    own: Floats = draws.log_odds(at)[:, 0] - even
    # Extreme log-odds may be infinite for both priors
    return np.where(np.isfinite(own), own, special.logit(0.5))

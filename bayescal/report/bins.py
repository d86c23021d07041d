"""Documents in bins: histograms, empirical log-odds, reliability of probabilities."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special, stats

from bayescal.fitted.documents import Documents
from bayescal.metrics import losses
from bayescal.report.packing import numbers
from bayescal.validation import Floats

FEWEST_BARS, MOST_BARS = 8, 36
LEAST, MOST = 3, 12  # bins of about equally many documents
IN_A_BIN = 8.0  # of the rarer class
UNCERTAIN = 3.0  # the variance of a bin's number of positives


def histogram(documents: Documents, low: float, high: float) -> dict[str, Any]:
    """
    Return the number of documents of each class in even bins; those outside are left out.

    There are 2 sqrt(n) bins for n documents of a class, 8 at least and 36 at most.
    """
    counts = []
    for klass in (False, True):
        mine = documents.positive == klass
        score, weight = documents.score[mine], documents.weight[mine]
        bars = int(np.clip(2.0 * np.sqrt(score.size), FEWEST_BARS, MOST_BARS))
        counts.append(np.histogram(score, bars, (low, high), weights=weight)[0])
    shown = [numbers(each) for each in counts]
    return {"low": numbers(low, 6), "high": numbers(high, 6), "counts": shown}


def empirical_log_odds(documents: Documents, level: float) -> dict[str, Any]:
    """
    Return the log-odds of documents in bins of the score, as Bennett's figures show them.

    log((positives + 1/2)/(negatives + 1/2)), whose standard error is
    sqrt(1/(positives + 1/2) + 1/(negatives + 1/2)) (Haldane, Annals of Human Genetics 1956). Bins
    hold equally many of the rarer class.
    """
    rarer = documents.positive == (documents.count(True) <= documents.count(False))
    z = float(special.ndtri(0.5 + level / 2.0))
    out: list[tuple[float, ...]] = []
    for rows in _bins(documents.score, documents.weight * rarer, IN_A_BIN):
        weight, positive = documents.weight[rows], documents.positive[rows]
        plus, minus = float(weight[positive].sum()), float(weight[~positive].sum())
        middle = np.log(plus + 0.5) - np.log(minus + 0.5)
        half = z * np.sqrt(1.0 / (plus + 0.5) + 1.0 / (minus + 0.5))
        score = np.average(documents.score[rows], weights=weight)
        found = (score, middle, middle - half, middle + half, minus, plus)
        out.append(found)
    return _by_name(("x", "y", "lower", "upper", "negatives", "positives"), out)


def reliability(log_odds: Floats, positive: NDArray[np.bool_], level: float) -> dict[str, Any]:
    """
    Return how predictions fared: their losses, and a reliability diagram.

    Bins are about equally uncertain, each with its share of sum p (1 - p): with equally many
    documents nearly all bins of a rare class would be at 0. The band of a bin is where the share of
    positives lies with probability `level` if predictions are right: quantiles of a binomial
    distribution of their mean, a little too wide, since the predictions of a bin differ.
    """
    p = special.expit(log_odds)
    tails = 0.5 - level / 2.0, 0.5 + level / 2.0
    found: list[tuple[float, ...]] = []
    for rows in _bins(p, p * (1.0 - p), UNCERTAIN):
        n, mean = rows.size, float(p[rows].mean())
        low, high = np.asarray(stats.binom.ppf(tails, n, mean)) / n
        values = (mean, positive[rows].mean(), low, high, n, positive[rows].sum())
        found.append(values)
    names = ("predicted", "observed", "lower", "upper", "n", "positives")
    lost = losses(log_odds, positive)
    return {
        "n": lost.n,
        "positives": int(positive.sum()),
        "expected": numbers(p.sum()),
        "log_loss": numbers(lost.log_loss / lost.n),
        "brier": numbers(lost.squared_error / lost.n),
        "errors": lost.errors,
        "bins": _by_name(names, found),
    }


def _by_name(names: tuple[str, ...], rows: list[tuple[float, ...]]) -> dict[str, Any]:
    return dict(zip(names, map(numbers, zip(*rows, strict=True)), strict=True))


def _bins(values: Floats, weight: Floats, least: float) -> list[NDArray[np.intp]]:
    """Return positions in bins of about equal weight, equal values together."""
    total = float(weight.sum())
    n = int(np.clip(total // least, LEAST, MOST))
    order = np.argsort(values, kind="stable")
    ordered = values[order]
    level = np.cumsum(weight[order])
    at = np.searchsorted(level, total * np.arange(1, n) / n)
    # The end of each run of equal values, so that no value is on both sides of an edge.
    ends = np.unique(np.searchsorted(ordered, ordered[np.minimum(at, values.size - 1)], "right"))
    return [part for part in np.split(order, ends) if part.size]

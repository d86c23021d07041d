"""Rates of several systems that a judge scored: differences, and a ranking with its uncertainty.

Each system has its own curve: one curve would be wrong where rates differ, even of one judge.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from bayescal.sampling.hidden import simultaneous_level
from bayescal.sampling.plans import RANDOM
from bayescal.sampling.rates import MODEL, Rate, rate_and_errors
from bayescal.support import validation
from bayescal.support.intervals import Interval, interval_table, percent, tails
from bayescal.support.validation import Floats

if TYPE_CHECKING:
    import pandas as pd

SHRINKAGE = 10.0  # pairs by which correlations of labels are shrunk
JITTER = 1e-9  # breaks ties of draws, which differ by 1 / documents


@dataclass(frozen=True, kw_only=True)
class RateDifference(Interval):
    """The rate of system A less that of system B.

    Attributes
    ----------
    value, lower, upper, level, draws
        Posterior median, equal-tailed interval and draws of the difference.
    first, second : Rate
        The rates of A and B.
    classical : Interval
        Newcombe's interval, of the labels alone.
    probability_above : float
        Posterior probability that A has the higher rate.
    paired : int
        Items with labels of both systems, or clusters if there are any; 0 for unpaired systems.
    """

    first: Rate
    second: Rate
    classical: Interval
    probability_above: float
    paired: int

    @property
    def text(self) -> str:
        """Return rates and difference, that from labels alone, and the assumption."""
        units = "clusters" if self.first.design_effect else "items"
        text = (
            f"The rate of A is {self.first:.1%}, that of B {self.second:.1%}; A less B is"
            f" {self:+.1%}, with {percent(self.level)} intervals. {self.paired:,} {units} are"
            f" labelled for both.\nA is higher with probability"
            f" {percent(self.probability_above, 0)}.\n"
            f"From the labels alone the difference is {self.classical:+.1%}.\n"
            f"This assumes of each system that {self.first.assumption}."
        )
        return "\n".join([text, *dict.fromkeys([*self.first.notes, *self.second.notes])])


@dataclass(frozen=True, kw_only=True)
class RateRanking:
    """Rates of several systems, and their ranks.

    Attributes
    ----------
    rates : dict of str to Rate
        The rate of each system by itself.
    intervals : dict of str to Interval
        Rates with intervals that hold for all systems at once.
    level : float
        Probability of the intervals.
    draws : array of shape (systems, draws)
        Joint posterior draws of the rates.
    rank_probability : array of shape (systems, systems)
        Posterior probability of each system to have rank 1, 2 and so on; rank 1 is the highest
        rate.
    total : Interval or None
        The rate of all slices together; None for systems.
    """

    rates: dict[str, Rate]
    intervals: dict[str, Interval]
    level: float
    draws: Floats = field(repr=False)
    rank_probability: Floats = field(repr=False)
    total: Interval | None = None

    def to_frame(self) -> pd.DataFrame:
        """Return rate, simultaneous interval, P(best) and interval of the rank, best first."""
        table = interval_table(self.intervals).rename_axis("system")
        table["best"] = self.rank_probability[:, 0]
        below = self.rank_probability.cumsum(axis=1)[:, :, None]
        ends = 1 + (below < np.array(tails(self.level)) - JITTER).sum(axis=1)
        table[["rank_from", "rank_to"]] = ends
        return table.sort_values("value", ascending=False)

    @property
    def text(self) -> str:
        """Return a line for each system, best first, and the assumption."""
        level = percent(self.level)
        lines = [
            f"{name}: {self.intervals[str(name)]:.1%}, best with probability"
            f" {percent(row['best'], 0)}, rank {row['rank_from']:.0f} to {row['rank_to']:.0f}"
            for name, row in self.to_frame().iterrows()
        ]
        first = f"Rates with {level} intervals that hold for all at once, ranks with {level} each:"
        if self.total is not None:
            lines.append(f"All together: {self.total:.1%}.")
        assumption = next(iter(self.rates.values())).assumption
        return "\n".join([first, *lines, f"This assumes of each that {assumption}."])


def compare_rates(
    scores_a: ArrayLike,
    labels_a: ArrayLike,
    scores_b: ArrayLike,
    labels_b: ArrayLike,
    *,
    paired: bool | None = None,
    clusters_a: ArrayLike | None = None,
    clusters_b: ArrayLike | None = None,
    level: float = 0.9,
    random_state: Any = 0,
) -> RateDifference:
    """Return the rate of system A less that of system B.

    The labelled items of each system must be a simple random sample. Items with labels of both
    systems couple the two posteriors, by a Gaussian copula with the correlation of labels less
    expectations, shrunk by ten pairs.

    Parameters
    ----------
    scores_a, scores_b : array-like of shape (items of A,) and (items of B,)
        The judge's scores of all items of each system.
    labels_a, labels_b : array-like of the same shapes
        Labels as in `estimate_rate`.
    paired : bool or None
        Whether position i is one item in both systems, such as a question that both answer; None
        means yes for equal numbers of items.
    clusters_a, clusters_b : array-like of shapes (items of A,) and (items of B,), optional
        Items that were drawn together, such as all answers to one prompt, as in `estimate_rate`.
        Both or neither. Clusters with labels of both systems couple the posteriors instead of
        items, by the totals of each.
    level : float
        Probability of the intervals.
    random_state : int, Generator, RandomState or None
        Seeds the posterior draws.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> old, new = rng.random(5_000) < 0.5, rng.random(5_000) < 0.7
    >>> asked = rng.random(5_000) < 0.04
    >>> labels_old, labels_new = (np.where(asked, each, np.nan) for each in (old, new))
    >>> scores_old, scores_new = (each + rng.normal(size=5_000) for each in (old, new))
    >>> change = compare_rates(scores_new, labels_new, scores_old, labels_old)
    >>> bool(change.lower < new.mean() - old.mean() < change.upper), change.paired
    (True, 199)
    """
    rng = validation.generator(random_state)
    systems = {"_a": (scores_a, labels_a, clusters_a), "_b": (scores_b, labels_b, clusters_b)}
    if (clusters_a is None) != (clusters_b is None):
        raise ValueError("clusters_a and clusters_b must be given together, got one of them.")
    (first, second), labels, errors = _rates_of(systems, paired, level, rng)
    alone = [rate.classical for rate in (first, second) if rate.classical is not None]
    draws = _coupled((first, second), _correlations(errors, paired), rng)
    difference = draws[0] - draws[1]
    return RateDifference.of_draws(
        difference,
        level,
        float(np.median(difference)),
        method=MODEL,
        draws=difference,
        first=first,
        second=second,
        classical=_newcombe(alone[0], alone[1], _correlations(labels, paired)[0, 1], level),
        probability_above=float(np.mean(0.5 + 0.5 * np.sign(difference))),
        paired=_pairs(labels[0], labels[1], paired).size,
    )


def rank_rates(
    systems: Mapping[str, tuple[ArrayLike, ArrayLike]],
    *,
    paired: bool | None = None,
    clusters: Mapping[str, ArrayLike] | None = None,
    level: float = 0.9,
    random_state: Any = 0,
) -> RateRanking:
    """Return the rates of several systems with simultaneous intervals, and a ranking.

    The labelled items of each system must be a simple random sample. Systems are coupled as in
    `compare_rates`. For slices of one system use `rates_by_slice`.

    Parameters
    ----------
    systems : mapping of str to (scores, labels)
        Two or more systems by name: the judge's scores of all items, and labels as in
        `estimate_rate`.
    paired : bool or None
        Whether position i is one item in all systems; None means yes for equal numbers of items.
    clusters : mapping of str to array-like of shape (items,), optional
        The clusters of each system's items by its name, as in `compare_rates`.
    level : float
        Probability of the intervals.
    random_state : int, Generator, RandomState or None
        Seeds the posterior draws.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> asked, systems = rng.random(5_000) < 0.04, {}
    >>> for name, share in (("small", 0.5), ("large", 0.7), ("tuned", 0.72)):
    ...     good = rng.random(5_000) < share
    ...     systems[name] = good + rng.normal(size=5_000), np.where(asked, good, np.nan)
    >>> ranking = rank_rates(systems)
    >>> table = ranking.to_frame()
    >>> table.index[-1], bool(table["best"].max() < 0.99)
    ('small', True)
    """
    if len(systems) < 2:
        raise ValueError(f"systems must hold two or more systems, got {len(systems)}.")
    rng = validation.generator(random_state)
    given = dict.fromkeys(systems) if clusters is None else clusters
    if set(given) != set(systems):
        raise ValueError(
            f"clusters must have the names of the systems, {', '.join(systems)}, got"
            f" {', '.join(given)}."
        )
    named = {f" of {name!r}": (*arrays, given[name]) for name, arrays in systems.items()}
    rates, _, errors = _rates_of(named, paired, level, rng)
    draws = _coupled(rates, _correlations(errors, paired), rng)
    return ranking_of(dict(zip(systems, rates, strict=True)), draws, level, rng)


def ranking_of(
    rates: dict[str, Rate],
    draws: Floats,
    level: float,
    rng: np.random.Generator,
    total: Interval | None = None,
) -> RateRanking:
    """Return the ranking of rates with joint draws, (systems, draws)."""
    ranks = stats.rankdata(-draws - JITTER * rng.random(draws.shape), axis=0)
    own = simultaneous_level(draws.T, level)
    intervals = [Interval.of_draws(each, own, float(np.median(each))) for each in draws]
    chances = (ranks[:, :, None] == np.arange(1, len(rates) + 1)).mean(axis=1)
    return RateRanking(
        rates=rates,
        intervals=dict(zip(rates, intervals, strict=True)),
        level=level,
        draws=draws,
        rank_probability=chances,
        total=total,
    )


def _rates_of(
    systems: Mapping[str, tuple[Any, ...]],
    paired: bool | None,
    level: float,
    rng: np.random.Generator,
) -> tuple[list[Rate], list[Floats], list[Floats]]:
    """Return rates of systems by suffix of their arguments, labels, labels less expectations."""
    if paired is not None:
        validation.check_flag(paired=paired)
    found = [
        rate_and_errors(scores, labels, RANDOM, level, rng, suffix, clusters)
        for suffix, (scores, labels, clusters) in systems.items()
    ]
    sizes = [f"{labels.size:,}" for _, labels, _ in found]
    if paired and len(set(sizes)) > 1:
        raise ValueError(
            "paired systems must have the same items in the same order, got"
            f" {' and '.join(sizes)} items: pass paired=False for different items."
        )
    rates, labels, errors = map(list, zip(*found, strict=True))
    names = [np.asarray(each) for *_, each in systems.values() if each is not None]
    if names:  # pairs of clusters in place of items
        labels, errors = (_totals(each, names) for each in (labels, errors))
    return rates, labels, errors


def _totals(values: Sequence[Floats], clusters: Sequence[NDArray[Any]]) -> list[Floats]:
    """Return totals of each system's centred values in all clusters, nan where there is none."""
    every, code = np.unique(np.concatenate(clusters), return_inverse=True)
    ends, totals = np.cumsum([each.size for each in clusters])[:-1], []
    for each, cluster in zip(values, np.split(code, ends), strict=True):
        known = ~np.isnan(each)
        centred, own = each[known] - each[known].mean(), cluster[known]
        number = np.bincount(own, minlength=every.size)
        totals.append(np.where(number, np.bincount(own, centred, every.size), np.nan))
    return totals


def _pairs(one: Floats, other: Floats, paired: bool | None) -> NDArray[np.intp]:
    """Return the positions of items with labels of both systems."""
    if paired is False or one.size != other.size:
        return np.empty(0, np.intp)
    return np.flatnonzero(~np.isnan(one) & ~np.isnan(other))


def _correlations(values: Sequence[Floats], paired: bool | None) -> Floats:
    """Return correlations of the systems' means of values, nan where there is none."""
    matrix, size = np.eye(len(values)), [np.count_nonzero(~np.isnan(each)) for each in values]
    for i, j in combinations(range(len(values)), 2):
        both = _pairs(values[i], values[j], paired)
        shared = both.size / math.sqrt(size[i] * size[j])
        matrix[i, j] = matrix[j, i] = shared * _correlation(values[i][both], values[j][both])
    return matrix


def _coupled(rates: Sequence[Rate], correlations: Floats, rng: np.random.Generator) -> Floats:
    """Return draws of rates in the order of correlated normal numbers, (systems, draws)."""
    draws = np.sort([rate.draws for rate in rates], axis=1)
    size, vectors = np.linalg.eigh(correlations)
    # Correlations from different items may contradict each other: then an eigenvalue is negative.
    root = vectors * np.sqrt(np.maximum(size, 0.0))
    normal = root @ rng.standard_normal(draws.shape)
    return np.take_along_axis(draws, normal.argsort(axis=1).argsort(axis=1), axis=1)


def _correlation(one: Floats, other: Floats) -> float:
    """Return the correlation of paired numbers, shrunk; 0 where it is not defined."""
    if not one.size or np.ptp(one) == 0.0 or np.ptp(other) == 0.0:
        return 0.0
    return float(np.corrcoef(one, other)[0, 1]) * one.size / (one.size + SHRINKAGE)


def _newcombe(a: Interval, b: Interval, correlation: float, level: float) -> Interval:
    """Return Newcombe's interval of a difference (Statistics in Medicine 17, 1998, 2635-2650)."""
    sides = (a.value - a.lower, b.upper - b.value), (a.upper - a.value, b.value - b.lower)
    below, above = (
        math.sqrt(one**2 - 2.0 * correlation * one * other + other**2) for one, other in sides
    )
    value = a.value - b.value
    return Interval(value, value - below, value + above, level)

"""Rates of several systems, or slices, that a judge scored: differences, rankings, uncertainty.

Each system has its own curve: one curve would be wrong where rates differ, even of one judge.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations, product
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special, stats

from bayescal.inference.design_effect import DesignEffect
from bayescal.sampling.hidden import RankedCollection, simultaneous_level
from bayescal.sampling.plans import RANDOM
from bayescal.sampling.rank_curve import SCALES, columns_of, sample_coefficients
from bayescal.sampling.rates import (
    MODEL,
    Rate,
    curve_of,
    draw_rate,
    fit_by_spread,
    rate_and_errors,
    rate_of,
    read_labels,
    wilson_limits,
)
from bayescal.support import validation
from bayescal.support.intervals import Interval, interval_table, percent, tails
from bayescal.support.labels import read_groups
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
    if not isinstance(systems, Mapping) or len(systems) < 2:
        raise ValueError(
            "systems must map the names of two or more systems to scores and labels, got"
            f" {validation.shown(systems)}."
        )
    rng = validation.generator(random_state)
    given = dict.fromkeys(systems) if clusters is None else clusters
    if set(given) != set(systems):
        raise ValueError(
            f"clusters must have the names of the systems, {', '.join(systems)}, got"
            f" {', '.join(map(str, given))}."
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


# Rates of slices of a collection, such as languages, from few labels in each.
#
# One curve of all labels, and for each slice k a deviation of its intercept and of its slope,
#
#     logit P(+ | z, k) = a + b z + sum_j u_j phi_j(z) + a_k + b_k z / 2,  a_k, b_k ~ N(0, sigma^2),
#
# with the curve of `rank_curve`, whose z ranks the whole collection. All sigma of DEVIATIONS are
# equally probable before the labels: where slices are alike each borrows from all others, and where
# the judge serves one of them ill its own labels decide.

DEVIATIONS = (0.25, 0.5, 1.0, 2.0)  # sigma
MOST_SLICES = 100  # since time grows with the cube of their number
SLOPE = 0.5  # scale of slopes' deviations, in units of sigma


def rates_by_slice(
    scores: ArrayLike,
    labels: ArrayLike,
    slices: ArrayLike,
    *,
    clusters: ArrayLike | None = None,
    level: float = 0.9,
    random_state: Any = 0,
) -> RateRanking:
    """Return the rate of each slice of a collection, such as languages or months, and the total.

    Slices borrow from each other: all share a curve P(positive | score), from which each deviates
    as much as the labels of all slices show. A slice without labels has a rate too.

    Parameters
    ----------
    scores : array-like of shape (documents,)
        The judge's scores of the whole collection.
    labels : array-like of shape (documents,)
        Labels as in `estimate_rate`. In each slice the labelled documents must be a simple random
        sample; the share that is labelled may differ between slices.
    slices : array-like of shape (documents,)
        The slice of each document, as text or whole numbers: at most 100 slices; 50 take three
        seconds.
    clusters : array-like of shape (documents,), optional
        Documents that were drawn together, as in `estimate_rate`.
    level : float
        Probability of the intervals.
    random_state : int, Generator, RandomState or None
        Seeds the posterior draws.

    Returns
    -------
    RateRanking
        The rates with simultaneous intervals, ranks, and the total by the slices' numbers of
        documents.

    Raises
    ------
    ValueError
        If there are fewer than two slices or too many, no labels or no documents without one.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> language = np.repeat(["de", "en", "fr", "it"], 500)
    >>> good = rng.random(2_000) < np.repeat([0.6, 0.7, 0.7, 0.8], 500)
    >>> labels = np.where(np.arange(2_000) % 500 < 12, good, np.nan)
    >>> found = rates_by_slice(2.0 * good + rng.normal(size=2_000), labels, language)
    >>> bool(found.total.lower < good.mean() < found.total.upper)
    True
    """
    validation.check_fraction(level=level)
    values, known, cluster = read_labels(scores, labels, clusters)
    names, code = read_groups(slices, "slices", "slice", values.size, "scores")
    if not 2 <= names.size <= MOST_SLICES:
        raise ValueError(
            f"slices must hold 2 to {MOST_SLICES} slices, got {names.size:,}: join small ones."
        )
    rng = validation.generator(random_state)
    labelled, collection = ~np.isnan(known), RankedCollection.even(values)
    curves, spread, useless, effect = _fit_slices(collection, known, code, cluster, rng)
    rates = {}
    for k, (name, p) in enumerate(zip(names.tolist(), curves, strict=True)):
        mine = code == k
        draws = draw_rate(known[mine], collection.count(mine & ~labelled), p, spread, rng)
        curve, own = curve_of(collection, values, p, level), mine & labelled
        alone = wilson_limits(known[own], level, cluster[own]) if own.any() else None
        size = int(np.count_nonzero(mine))
        rates[str(name)] = rate_of(known[mine], size, draws, curve, useless, alone, effect, level)
    joint = np.stack([rate.draws for rate in rates.values()])
    total = np.bincount(code) @ joint / values.size
    whole = Interval.of_draws(total, level, float(np.median(total)))
    return ranking_of(rates, joint, level, rng, whole)


def _fit_slices(
    collection: RankedCollection,
    labels: Floats,
    code: NDArray[np.intp],
    cluster: NDArray[np.intp],
    rng: np.random.Generator,
) -> tuple[Iterator[Floats], float, float, DesignEffect | None]:
    """Return draws of each slice's curve, spread, P(the shared curve is level), design effect."""
    labelled, size, bins = ~np.isnan(labels), int(code.max()) + 1, collection.size.size
    y = labels[labelled]
    cells, row = np.unique(code[labelled] * bins + collection.code[labelled], return_inverse=True)
    own, place = np.eye(size)[cells // bins], cells % bins
    common, steep = columns_of(collection.z), SLOPE * collection.z
    columns = np.column_stack([common[place], own, steep[place, None] * own])
    pairs = product(SCALES, DEVIATIONS)
    scales = np.array([[*curve, *[sigma] * (2 * size)] for curve, sigma in pairs])
    numbers, sums = (np.bincount(row, each).astype(np.float64) for each in (np.ones_like(y), y))

    def fit(power: float) -> tuple[Floats, Floats, Floats]:
        drawn, share = sample_coefficients(columns, scales, numbers, sums, power, rng)
        return special.expit(drawn @ columns.T)[:, row], drawn, share

    drawn, share, spread, effect = fit_by_spread(fit, y, cluster[labelled])
    shared, intercepts, slopes = np.split(drawn, np.cumsum([common.shape[1], size]), axis=1)
    curves = (
        special.expit(shared @ common.T + intercept[:, None] + slope[:, None] * steep)
        for intercept, slope in zip(intercepts.T, slopes.T, strict=True)
    )
    return curves, spread, float(share[: len(DEVIATIONS)].sum()), effect

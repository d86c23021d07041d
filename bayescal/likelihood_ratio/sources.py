"""Comparisons that share sources: their weights, folds, and standard errors of their measures."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bayescal.likelihood_ratio.measures import Comparisons
from bayescal.metrics.inputs import as_truth
from bayescal.support import validation
from bayescal.support.intervals import Interval
from bayescal.support.labels import as_labels
from bayescal.support.validation import Floats, Integers

MOST_GROUPS = 200  # more sources are left out in groups
METHOD = "jackknife"
ROUNDING = 1e-12  # relative standard error of a number that no group changes
LEAST_BEND = 1e-6  # of Hall's transformation, below which it is the identity to rounding


@dataclass(frozen=True)
class SourcePairs:
    """Both sources of each comparison, as codes."""

    first: Integers  # (n,)
    second: Integers  # (n,)
    names: NDArray[Any]  # (sources,): sorted

    @property
    def size(self) -> int:
        """Return the number of sources."""
        return int(self.names.size)


def read_sources(
    sources: Any, positive: NDArray[np.bool_], naming: Callable[[int], str] = "position {}".format
) -> SourcePairs:
    """Return checked sources of comparisons whose truth is known."""
    if not isinstance(sources, tuple | list) or len(sources) != 2:
        raise ValueError(
            "sources must be a tuple (a, b) of two arrays, the sources of the two items of each"
            f" comparison, got {type(sources).__name__}: one array does not say which comparisons"
            " share a source."
        )
    columns = []
    for name, values in zip(("a", "b"), sources, strict=True):
        column = as_labels(values, f"sources {name}", "comparisons without a source")
        if column.ndim != 1:
            raise ValueError(f"sources {name} must have shape (n,), got {column.shape}.")
        validation.check_same_length("y_true", positive.size, f"sources {name}", column.size)
        columns.append(column)
    # Each column is of one type.
    kinds = [_kind(column) for column in columns]
    if kinds[0] != kinds[1]:
        raise ValueError(f"sources a and b must be of one type, got {' and '.join(kinds)}.")
    names, codes = np.unique(np.concatenate(columns), return_inverse=True)
    first, second = codes[: positive.size], codes[positive.size :]
    wrong = np.flatnonzero((first == second) != positive)
    if wrong.size:
        row = int(wrong[0])
        says = "one source" if positive[row] else "different sources"
        one, other = (column[row:].tolist()[0] for column in columns)
        raise ValueError(
            f"y_true must be positive exactly where the two sources are the same;"
            f" {naming(row)} is labelled as {says}, with sources {one!r} and {other!r}"
            f" ({wrong.size} of {positive.size}): correct the labels or the sources."
        )
    return SourcePairs(first, second, names)


def some_pairs(pairs: SourcePairs, rows: NDArray[np.bool_] | Integers) -> SourcePairs:
    """Return the sources of some comparisons."""
    return SourcePairs(pairs.first[rows], pairs.second[rows], pairs.names)


def _kind(column: NDArray[Any]) -> str:
    """Return the type of the sources' names; text may come as an array of objects."""
    first = next(iter(column.tolist()), 0)
    if column.dtype.kind in "mM" or isinstance(first, validation.DATES):
        return "dates"
    return "text" if isinstance(first, str) else "numbers"


def warn_of_repeats(pairs: SourcePairs, values: Floats) -> None:
    """Warn if different-source comparisons come twice, as (a, b) and (b, a)."""
    apart = np.flatnonzero(pairs.first != pairs.second)
    first, second = pairs.first[apart], pairs.second[apart]
    rows = np.stack([np.minimum(first, second), np.maximum(first, second)], axis=1)
    table = np.column_stack([rows.astype(np.float64), values[apart]])
    kept, where, count = np.unique(table, axis=0, return_inverse=True, return_counts=True)
    turned = (first > second).astype(np.float64)
    both_ways = np.bincount(where.ravel(), turned, len(kept))
    repeated = (both_ways > 0.0) & (both_ways < count)
    if repeated.any():
        pair = kept[np.flatnonzero(repeated)[0], :2].astype(np.intp)
        one, other = (pairs.names.tolist()[k] for k in pair)
        twice = int(repeated.sum())
        counted = "1 comparison comes" if twice == 1 else f"{twice} comparisons come"
        validation.warn_user(
            f"{counted} twice, as (a, b) and (b, a) with the same score, such as sources {one!r}"
            f" and {other!r}: keep each once."
        )


def source_weights(y_true: ArrayLike, a: ArrayLike, b: ArrayLike) -> Floats:
    """Return weights (`sample_weight` of `fit`) for comparisons that share sources, shape (n,).

    All same-source comparisons of one source weigh 1 together, and all different-source comparisons
    as much as there are sources. m sources then count as m independent comparisons of each class;
    without weights their m (m - 1) / 2 pairs would, and bands would be far too narrow.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        True for same-source comparisons; see `cllr`.
    a, b : array-like of shape (n,)
        The sources of the two items of each comparison: a[i] == b[i] exactly where y_true[i].

    Examples
    --------
    >>> source_weights([1, 1, 1, 0, 0], ["p", "p", "q", "p", "p"], ["p", "p", "q", "q", "q"])
    array([0.5, 0.5, 1. , 1. , 1. ])
    """
    positive = as_truth(y_true)
    return weights_by_source(positive, read_sources((a, b), positive))


def weights_by_source(positive: NDArray[np.bool_], pairs: SourcePairs) -> Floats:
    """Return the weights of `source_weights`, by the sources of these comparisons alone."""
    sources = np.unique(np.concatenate([pairs.first, pairs.second])).size
    own = np.bincount(pairs.first[positive], minlength=pairs.size)
    weight = np.full(positive.size, sources / max(int((~positive).sum()), 1))
    weight[positive] = 1.0 / own[pairs.first[positive]]
    return weight


def source_folds(
    pairs: SourcePairs, folds: int, rng: np.random.Generator
) -> Iterator[tuple[Integers, Integers]]:
    """Yield positions to fit and to test, so that no source of a test pair is in the fit."""
    # Pairs of folds i and j are tested by a fit without either.
    validation.check_count("folds", folds)
    if not 3 <= folds <= pairs.size:
        raise ValueError(
            f"folds must be 3 or more, and at most the number of sources, {pairs.size}; got"
            f" {folds}."
        )
    fold = rng.permutation(np.arange(pairs.size) % folds)
    one, other = fold[pairs.first], fold[pairs.second]
    for i in range(folds):
        for j in range(i, folds):
            test = np.flatnonzero(((one == i) & (other == j)) | ((one == j) & (other == i)))
            if test.size:
                kept = ~np.isin(one, (i, j)) & ~np.isin(other, (i, j))
                yield np.flatnonzero(kept), test


def random_folds(
    positive: NDArray[np.bool_], folds: int, rng: np.random.Generator
) -> Iterator[tuple[Integers, Integers]]:
    """Yield positions to fit and to test, for comparisons that are independent."""
    validation.check_count("folds", folds)
    fewest = min(int(positive.sum()), int((~positive).sum()))
    if not 2 <= folds <= fewest:
        raise ValueError(
            f"folds must be 2 or more, and at most the size of the smaller class, {fewest}; got"
            f" {folds}."
        )
    fold = np.empty(positive.size, dtype=np.intp)
    for each in (True, False):
        rows = np.flatnonzero(positive == each)
        fold[rng.permutation(rows)] = np.arange(rows.size) % folds
    for k in range(folds):
        yield np.flatnonzero(fold != k), np.flatnonzero(fold == k)


class Jackknife(NamedTuple):
    """A statistic with one source, or independent comparison, left out at a time."""

    value: Floats  # (...): of all comparisons
    without: Floats  # (groups, ...): without each

    @property
    def groups(self) -> int:
        """Return the number of groups."""
        return len(self.without)

    def error(self) -> Floats:
        """Return the standard error, from the spread of the values about their mean."""
        spread = ((self.without - self.without.mean(axis=0)) ** 2).sum(axis=0)
        return np.asarray(np.sqrt((self.groups - 1.0) / self.groups * spread))

    def ends(self, level: float) -> tuple[float, float]:
        """Return the ends of Hall's interval, which corrects t for skewness; nan if none."""
        from scipy import stats

        error = float(self.error())
        if not ROUNDING * abs(self.value) < error < np.inf:
            return np.nan, np.nan
        # The pseudo-values, whose mean is estimated, are skewed against the values without each.
        bend = -float(stats.skew(self.without)) / (3.0 * np.sqrt(self.groups))
        sides = [0.5 + level / 2.0, 0.5 - level / 2.0]
        t: Floats = np.asarray(stats.t.ppf(sides, self.groups - 1))
        if abs(bend) > LEAST_BEND:
            t = (np.cbrt(1.0 + 3.0 * bend * (t - bend / 2.0)) - 1.0) / bend
        lower, upper = (float(self.value - each * error) for each in t)
        return lower, upper


def left_out_groups(pairs: SourcePairs | None, n: int, rng: np.random.Generator) -> SourcePairs:
    """Return the groups to leave out in turn: sources or comparisons, or sets of very many."""
    if pairs is None:
        pairs = SourcePairs(np.arange(n), np.arange(n), np.arange(n))
    if pairs.size <= MOST_GROUPS:
        return pairs
    group = rng.permutation(np.arange(pairs.size) % MOST_GROUPS)
    return SourcePairs(group[pairs.first], group[pairs.second], np.arange(MOST_GROUPS))


def jackknife(groups: SourcePairs, statistic: Callable[[Floats], Floats | float]) -> Jackknife:
    """Return a statistic of comparisons' weights, which are 0 for the group left out."""
    every = np.ones(groups.first.size)
    values = []
    for group in range(groups.size):
        kept = every.copy()
        kept[(groups.first == group) | (groups.second == group)] = 0.0
        values.append(statistic(kept))
    return Jackknife(np.asarray(statistic(every)), np.asarray(values))


@dataclass(frozen=True)
class ClassShares:
    """Comparisons of one class, and the groups of dependent ones."""

    rows: NDArray[np.bool_]  # mask of the class among all comparisons
    groups: SourcePairs  # of the class, left out in turn
    sources: int  # number of sources, or of independent comparisons

    @classmethod
    def of(
        cls, compared: Comparisons, positive: bool, pairs: SourcePairs | None, groups: SourcePairs
    ) -> ClassShares:
        """Return the comparisons of one class."""
        rows = compared.positive == positive
        sources = int(rows.sum())
        if pairs is not None:
            own = some_pairs(pairs, rows)
            sources = np.unique(np.concatenate([own.first, own.second])).size
        return cls(rows, some_pairs(groups, rows), sources)

    def posterior(self, wrong: NDArray[np.bool_]) -> tuple[Floats, Floats]:
        """Return Beta posteriors of shares of `wrong`, (..., n), from the Jeffreys prior."""
        # The effective size is that of independent comparisons with the same standard error (Korn
        # and Graubard 1998), or of sources if the share is 0 or 1.
        values = self.left_out(wrong)
        share, n = values.value, int(self.rows.sum())
        variance = values.error() ** 2
        with np.errstate(divide="ignore", invalid="ignore"):
            size = share * (1.0 - share) / variance
        size = np.where(variance > 0.0, np.minimum(size, n), min(self.sources, n))
        return size * share + 0.5, size * (1.0 - share) + 0.5

    def left_out(self, wrong: NDArray[np.bool_]) -> Jackknife:
        """Return shares of the class without each of its groups."""
        counted = wrong[..., self.rows].astype(np.float64)
        code = np.arange(self.groups.size)[:, None]
        belongs = (self.groups.first == code) | (self.groups.second == code)
        belongs = belongs[belongs.any(axis=1) & ~belongs.all(axis=1)].astype(np.float64)
        n = counted.shape[-1]
        lost = np.moveaxis(counted @ belongs.T, -1, 0)
        kept = (n - belongs.sum(axis=1)).reshape(-1, *[1] * (lost.ndim - 1))
        value = counted.mean(axis=-1)
        without = (n * value - lost) / kept
        return Jackknife(value, without if len(without) else value[None])

    def intervals(self, wrong: NDArray[np.bool_], level: float) -> tuple[Floats, Floats, Floats]:
        """Return shares with the ends of their credible intervals, each of shape (...)."""
        from scipy import stats

        share = wrong[..., self.rows].mean(axis=-1)
        lower, upper = (
            stats.beta.ppf(0.5 + side * level / 2.0, *self.posterior(wrong)) for side in (-1.0, 1.0)
        )
        return share, np.where(share == 0.0, 0.0, lower), np.where(share == 1.0, 1.0, upper)

    def interval(self, wrong: NDArray[np.bool_], level: float) -> Interval:
        """Return one share with its credible interval."""
        share, lower, upper = (float(each) for each in self.intervals(wrong, level))
        return Interval(share, lower, upper, level, METHOD, self.left_out(wrong).without)

"""Nested folds: scores and indicators of documents by members that were fitted without them.

In each fold the base classifiers, and everything that indicators need, are fitted to the training
part alone and applied to the held-out part (dissertation, section 7.1). A combiner that saw scores
of documents that the classifiers were trained on would trust those that remember them best.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold
from sklearn.preprocessing import StandardScaler
from sklearn.utils import _safe_indexing
from sklearn.utils.parallel import Parallel, delayed

from bayescal.calibrators.classifier.folds import (
    Split,
    TrainingDocuments,
    check_apart,
    checked_splits,
    splitter_of,
)
from bayescal.calibrators.classifier.raw_scores import infinite_as
from bayescal.calibrators.classifier.targets import BINARY, Target
from bayescal.inference.design_effect import DesignEffect, design_effect
from bayescal.support import validation
from bayescal.support.numerics import probability
from bayescal.support.validation import Floats, first_of, warn_user


def binary_problems(target: Target) -> list[Target]:
    """Return the target of each column by itself: its class, or label, against the rest."""
    if target.kind == BINARY:
        return [target]
    columns = target.positive.T
    return [Target(BINARY, own.astype(np.int64), np.array([0, 1]), own[:, None]) for own in columns]


def rates_of_few(target: Target, weight: Floats | None) -> Floats:
    """Return the beta of P(+), (columns, 2), where a class has fewer than 2 documents, else nan."""
    positives = target.positive.sum(axis=0)
    few = np.minimum(positives, len(target.y) - positives) < 2
    rates = np.full((few.size, 2), np.nan)
    if few.all():
        rarer = int(np.minimum(positives, len(target.y) - positives).max())
        raise ValueError(
            f"y must hold at least two documents on either side of a class or label, got {rarer}"
            f" ({first_of(target.columns.tolist())}): one to train on and one to judge the"
            " classifiers by. Add documents."
        )
    if few.any():
        counts = np.ones(len(target.y)) if weight is None else weight
        positive = counts @ target.positive[:, few]
        rates[few] = np.stack([positive + 1.0, counts.sum() - positive + 1.0], axis=1)
        warn_user(
            "y holds classes or labels with fewer than two documents on a side"
            f" ({first_of(target.columns[few].tolist())}): their probability is the base rate"
            " (k + 1)/(n + 2), whatever the scores. Add documents to combine classifiers for them."
        )
    return rates


def splits_of(
    problem: Target,
    cv: Any,
    features: Any,
    params: dict[str, Any],
    clusters: NDArray[Any] | None = None,
) -> list[Split]:
    """Return the folds of a binary problem, which keep clusters together: documents of each."""
    grouped = clusters is not None
    params = {**params, "groups": clusters} if grouped else params
    positive = problem.positive[:, 0]
    rarer = int(min(positive.sum(), positive.size - positive.sum()))
    if isinstance(cv, int | np.integer) and not isinstance(cv, bool) and cv >= 2:
        cv = StratifiedKFold(min(int(cv), rarer))
    splitter = splitter_of(cv, problem.y, grouped=grouped)
    splits: Iterable[Split] = splitter.split(features, problem.y, **params)
    checked = checked_splits(splits, problem, repeats=False)
    if clusters is not None:
        check_apart(checked, clusters)
    return checked


def seeded_clone(classifier: Any, seed: Callable[[], int]) -> Any:
    """Return an unfitted copy; a random state of None becomes a seed."""
    copy = clone(classifier)
    if copy.get_params(deep=False).get("random_state", 0) is None:
        copy.set_params(random_state=seed())
    return copy


@dataclass(frozen=True)
class FiniteEnds:
    """Finite substitutes for infinite scores, from the scores that a combiner learns from."""

    low: Floats  # (columns,): replaces minus infinity
    high: Floats  # (columns,): replaces plus infinity

    @classmethod
    def of(cls, scores: Floats) -> FiniteEnds:
        """Return the substitutes for scores to learn from, shape (n, columns)."""
        return cls(*infinite_as(scores))

    def finite(self, scores: Floats) -> Floats:
        """Return scores with infinite values replaced; nan stays."""
        low = np.where(np.isneginf(scores), self.low, scores)
        return np.asarray(np.where(np.isposinf(low), self.high, low))


@dataclass(frozen=True)
class Gaps:
    """The columns of scores with gaps (nan), and neutral values to fill them."""

    known: NDArray[np.bool_]  # (columns,): whether fitted documents had gaps
    neutral: Floats  # (columns,): mean score

    @classmethod
    def of(cls, scores: Floats, *, allowed: bool = True) -> Gaps:
        """Return the gaps of documents to learn from, (n, columns)."""
        scored = ~np.isnan(scores)
        total = np.where(scored, scores, 0.0).sum(axis=0)
        known = ~scored.all(axis=0) & np.array(allowed)
        return cls(np.asarray(known), total / np.maximum(scored.sum(axis=0), 1))

    def check(self, scores: Floats, names: Sequence[str | int]) -> None:
        """Raise ValueError for nan in a column where none is known."""
        gap = np.isnan(scores) & ~self.known
        if gap.any():
            document, column = np.argwhere(gap)[0].tolist()
            raise ValueError(
                f"classifier {names[column]!r} must give numbers, got nan for document {document}"
                f" ({gap[:, column].sum()} of {len(gap)}): if it did not score them, set"
                " allow_missing=True and fit to documents some of which lack its score."
            )

    def filled(self, scores: Floats) -> Floats:
        """Return scores with neutral values in gaps, and a column of gaps for each known one."""
        gap = np.isnan(scores)
        return np.hstack([np.where(gap, self.neutral, scores), gap[:, self.known]])


@dataclass(frozen=True)
class WithinRange:
    """Standardised columns, clipped to the range learned from, since some are nearly constant."""

    scaler: StandardScaler
    low: Floats  # (columns,): smallest standardised values
    high: Floats  # (columns,): largest standardised values

    @classmethod
    def of(cls, columns: Floats, weight: Floats | None = None) -> WithinRange:
        """Return the scale of documents, (n, columns); weights count documents."""
        scaler = StandardScaler()
        if not columns.shape[1]:
            return cls(scaler, np.empty(0), np.empty(0))
        # A column of nan alone has no mean.
        with np.errstate(invalid="ignore"):
            own = scaler.fit_transform(columns, sample_weight=weight)
        # All of these ignore nan.
        return cls(scaler, np.fmin.reduce(own), np.fmax.reduce(own))

    def apply(self, columns: Floats) -> Floats:
        """Return standardised columns, (n, columns)."""
        # StandardScaler refuses tables without rows or columns.
        if not columns.size:
            return columns
        return np.asarray(np.clip(self.scaler.transform(columns), self.low, self.high))


@dataclass(frozen=True)
class Inputs:
    """A combiner's inputs for n documents."""

    scores: Floats  # (n, classifiers): raw scores, finite or nan, larger for likelier positives
    indicators: Floats  # (n, indicators), possibly without columns

    @property
    def matrix(self) -> Floats:
        """Return scores and indicators side by side, the scores first."""
        return np.concatenate([self.scores, self.indicators], axis=1)

    def take(self, rows: NDArray[np.intp]) -> Inputs:
        """Return the inputs of some of the documents."""
        return Inputs(self.scores[rows], self.indicators[rows])

    def filled(self, gaps: Gaps) -> Inputs:
        """Return inputs without nan, columns of the gaps among the scores."""
        return Inputs(gaps.filled(self.scores), self.indicators)


@dataclass(frozen=True)
class Labelled:
    """Documents of one binary problem for a combiner to learn from."""

    inputs: Inputs  # held-out scores and indicators
    positive: NDArray[np.bool_]  # (n,)
    weight: Floats | None  # (n,); None for 1 each
    fold: NDArray[np.intp]  # (n,): fold that held the document out

    @property
    def counts(self) -> Floats:
        """Return the documents' weights, (n,)."""
        return np.ones(self.positive.size) if self.weight is None else self.weight

    def divided_by(self, factor: float) -> Labelled:
        """Return documents that count as 1 / factor each."""
        return replace(self, weight=self.counts / factor)

    def take(self, rows: NDArray[np.intp]) -> Labelled:
        """Return some of the documents."""
        weight = None if self.weight is None else self.weight[rows]
        return Labelled(self.inputs.take(rows), self.positive[rows], weight, self.fold[rows])

    def splits(self) -> list[tuple[NDArray[np.intp], NDArray[np.intp]]]:
        """Return, for each fold, the documents of the others and its own."""
        folds = np.unique(self.fold)
        return [(np.flatnonzero(self.fold != k), np.flatnonzero(self.fold == k)) for k in folds]


@dataclass(frozen=True)
class Members:
    """Fitted classifiers and indicators of one binary problem."""

    classifiers: dict[str, Any]
    indicators: Any
    target: Target
    # None until the scores of all folds are known
    ends: FiniteEnds | None = None
    gaps: Gaps | None = None

    def indicator_names(self, count: int) -> list[str]:
        """Return the names of the indicators' columns."""
        try:
            return [str(name) for name in self.indicators.get_feature_names_out()]
        except AttributeError:  # a pipeline has the method even where a step has none
            return [f"indicator {j}" for j in range(count)]

    def inputs(self, features: Any, part: Split | None = None) -> Inputs:
        """Return the inputs of documents."""
        documents = TrainingDocuments(features, self.target, {})
        columns = [documents.score(fitted, part) for fitted in self.classifiers.values()]
        scores = np.concatenate(columns, axis=1)
        if self.gaps is not None:
            self.gaps.check(scores, list(self.classifiers))
        if self.ends is not None:
            scores = self.ends.finite(scores)
        if part is not None and self.indicators is not None:
            features = _safe_indexing(features, part[1])
        return Inputs(scores, indicators_of(self.indicators, features, len(scores)))


def indicators_of(indicators: Any, features: Any, n: int) -> Floats:
    """Return indicators of n documents, (n, indicators); no columns without a transformer."""
    if indicators is None:
        return np.empty((n, 0))
    values = indicators.transform(features)
    if hasattr(values, "toarray"):
        values = values.toarray()
    values = np.asarray(values, dtype=np.float64)
    if values.ndim != 2 or len(values) != n:
        raise ValueError(
            f"indicators must give a row for each of {n} documents, got shape {values.shape}."
        )
    wrong = np.argwhere(~np.isfinite(values))
    if wrong.size:
        row, column = wrong[0].tolist()
        raise ValueError(
            f"indicators must be finite, got {values[row, column]} in column {column} for document"
            f" {row}."
        )
    return values


def _fit_indicators(
    indicators: Any,
    fitted: dict[str, Any],
    documents: TrainingDocuments,
    rows: NDArray[np.intp] | None,
) -> Any:
    if indicators is None:
        return None
    copy = clone(indicators)
    own = copy.get_params(deep=False)
    # Indicators of the same classifiers take these as fitted.
    if "prefit" in own and [name for name, _ in own["classifiers"]] == list(fitted):
        copy.set_params(classifiers=list(fitted.items()), prefit=True)
    features, y = documents.features, documents.target.y
    if rows is not None:
        features, y = _safe_indexing(features, rows), y[rows]
    return copy.fit(features, y)


@dataclass(frozen=True)
class BinaryProblem:
    """Training documents and folds of one binary problem."""

    documents: dict[str, TrainingDocuments]  # by classifier; only arguments of fit differ
    splits: list[Split]

    @classmethod
    def of(
        cls,
        target: Target,
        features: Any,
        fit_params: Mapping[str, dict[str, Any]],
        cv: Any,
        split_params: dict[str, Any],
        clusters: NDArray[Any] | None = None,
    ) -> Self:
        """Return a binary problem split into folds."""
        documents = {
            each: TrainingDocuments(features, target, own) for each, own in fit_params.items()
        }
        return cls(documents, splits_of(target, cv, features, split_params, clusters))

    @property
    def any_documents(self) -> TrainingDocuments:
        """Return the documents of the first classifier; all have the same features and labels."""
        return next(iter(self.documents.values()))

    def fit(
        self, classifiers: Mapping[str, Any], indicators: Any, part: Split | None = None
    ) -> Members:
        """Fit classifiers, then indicators, to the training part of a split, or to all."""
        rows = None if part is None else part[0]
        fitted = {name: self.documents[name].fit(each, rows) for name, each in classifiers.items()}
        first = self.any_documents
        return Members(fitted, _fit_indicators(indicators, fitted, first, rows), first.target)

    def hold_out(self, classifiers: Mapping[str, Any], indicators: Any, part: Split) -> Inputs:
        """Return the inputs of a split's held-out documents."""
        members = self.fit(classifiers, indicators, part)
        return members.inputs(self.any_documents.features, part)


@dataclass(frozen=True)
class Nested:
    """Results of the nested folds of one binary problem."""

    members: Members  # Classifiers and indicators fitted to all documents, for new ones
    labelled: Labelled  # held-out documents, from which a combiner learns
    rows: NDArray[np.intp]  # their positions among all documents

    def scatter(self, values: Floats, n: int) -> Floats:
        """Return values of the held-out documents at their rows of n, nan elsewhere."""
        out = np.full((n, *values.shape[1:]), np.nan)
        out[self.rows] = values
        return out

    def effect(self, log_odds: Floats, clusters: NDArray[Any], *, sampled: bool) -> DesignEffect:
        """Return the design effect of all documents' clusters on held-out log-odds."""
        own = self.labelled
        p = probability(log_odds)
        _, code = np.unique(clusters[self.rows], return_inverse=True)
        return design_effect(own.positive, p, code, own.weight, sampled=sampled)


def fit_nested(
    classifiers: Mapping[str, Any],
    indicators: Any,
    problems: Sequence[BinaryProblem],
    weight: Floats | None,
    n_jobs: int | None,
    allow_missing: bool = False,
) -> list[Nested]:
    """Fit classifiers and indicators of each problem, in folds and to all documents."""
    jobs = []
    for problem in problems:
        # The fit to all documents takes longest: it goes first.
        jobs.append(delayed(problem.fit)(classifiers, indicators))
        jobs += [delayed(problem.hold_out)(classifiers, indicators, s) for s in problem.splits]
    results = iter(Parallel(n_jobs=n_jobs)(jobs))
    return [_gather(problem, results, weight, allow_missing) for problem in problems]


def check_spreads(name: str, columns: Floats) -> None:
    """Raise ValueError if squares of a column's deviations would underflow."""
    width = np.fmax.reduce(columns) - np.fmin.reduce(columns)
    validation.check_spread(name, width[width > 0.0].min(initial=1.0), 1e-150)


def _gather(
    problem: BinaryProblem, results: Iterator[Any], weight: Floats | None, allow_missing: bool
) -> Nested:
    """Return the members and the inputs of all held-out documents, in their order."""
    fitted, parts = next(results), [next(results) for _ in problem.splits]
    sizes = [held.size for _, held in problem.splits]
    rows = np.concatenate([held for _, held in problem.splits])
    order = np.argsort(rows)
    rows, fold = rows[order], np.repeat(np.arange(len(sizes)), sizes)[order]
    scores = np.concatenate([part.scores for part in parts])[order]
    indicators = np.concatenate([part.indicators for part in parts])[order]
    ends = FiniteEnds.of(scores)
    finite = ends.finite(scores)
    gaps = Gaps.of(finite, allowed=allow_missing)
    gaps.check(finite, list(fitted.classifiers))
    validation.check_magnitude("scores of a classifier", float(np.nanmax(np.abs(finite))))
    check_spreads("scores of a classifier", finite)
    positive = problem.any_documents.target.positive[rows, 0]
    own = None if weight is None else weight[rows]
    labelled = Labelled(Inputs(finite, indicators), positive, own, fold)
    return Nested(replace(fitted, ends=ends, gaps=gaps), labelled, rows)

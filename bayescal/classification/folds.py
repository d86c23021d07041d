"""Scores of documents that a classifier was not trained on: of folds, or of a fitted classifier."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils.metaestimators import _safe_split
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import _check_method_params

from bayescal.classification.raw_scores import raw_scores
from bayescal.classification.targets import Target, check_both_sides
from bayescal.validation import Floats

Split = tuple[NDArray[np.intp], NDArray[np.intp]]


@dataclass(frozen=True)
class Scored:
    """
    A fitted classifier, and raw scores of documents to calibrate it on.

    Attributes
    ----------
    estimator : classifier
        Fitted; what predictions will use.
    rows : array of int, shape (m,)
        The documents, as positions in X.
    scores : array of shape (m, columns)
        Their raw scores, by a classifier that was not trained on them.
    """

    estimator: Any
    rows: NDArray[np.intp]
    scores: Floats


@dataclass(frozen=True)
class Documents:
    """
    What classifiers are fitted on.

    Attributes
    ----------
    features : array-like of n documents
        X, in any form that the classifier takes.
    target : Target
        Their labels.
    fit_params : dict
        Further arguments of the classifier's fit; those of length n are split like X.
    """

    features: Any
    target: Target
    fit_params: dict[str, Any]

    def fit(self, estimator: Any, rows: NDArray[np.intp] | None = None) -> Any:
        """Return a clone of a classifier fitted on some documents; of None on all."""
        copy, params = clone(estimator), self.fit_params
        if rows is None:
            return copy.fit(self.features, self.target.y, **params)
        features, y = _safe_split(copy, self.features, self.target.y, rows)
        return copy.fit(features, y, **_check_method_params(self.features, params, rows))

    def score(self, fitted: Any, part: Split | None = None) -> Floats:
        """Return raw scores of the second part by a classifier of the first; of None, of all."""
        features = self.features
        if part is not None:
            # Of a precomputed kernel the columns are what the classifier was trained on.
            features, _ = _safe_split(fitted, features, None, part[1], part[0])
        target = self.target
        columns = target.columns.size
        return raw_scores(fitted, features, target.kind, columns, turned=target.turned)


def score_fitted(estimator: Any, documents: Documents) -> list[Scored]:
    """
    Return a fitted classifier with scores of all documents, none of which it was trained on.

    Raises
    ------
    ValueError
        If it was not fitted on the classes of y.
    """
    target = documents.target
    known = getattr(estimator, "classes_", None)
    if isinstance(known, np.ndarray) and target.kind != "multilabel":
        unseen = target.names[~np.isin(target.names, known)].tolist()
        absent = known[~np.isin(known, target.names)].tolist()
        if unseen:
            raise ValueError(
                f"y must hold labels that the estimator was fitted on, {known.tolist()}, got"
                f" {', '.join(map(repr, unseen))}: leave those documents out, or fit it anew."
            )
        if absent:
            raise ValueError(
                f"y must hold every class of the fitted estimator, it lacks"
                f" {', '.join(map(repr, absent))}: add documents of it."
            )
    return [Scored(estimator, np.arange(len(target.y)), documents.score(estimator))]


def score_folds(
    estimator: Any, documents: Documents, splits: Iterable[Split], *, n_jobs: int | None
) -> list[Scored]:
    """Return, for each split, a classifier trained on one part and scores of the other."""
    parts = checked_splits(splits, documents.target)
    jobs = [delayed(_train_and_score)(estimator, documents, part) for part in parts]
    return list(Parallel(n_jobs=n_jobs)(jobs))


def score_out_of_fold(
    estimator: Any, documents: Documents, splits: Iterable[Split], *, n_jobs: int | None
) -> list[Scored]:
    """
    Return a classifier trained on all documents, with the out-of-fold scores of its likes.

    Raises
    ------
    ValueError
        If a document is tested twice: its label would count twice.
    """
    parts = checked_splits(splits, documents.target)
    rows = np.concatenate([test for _, test in parts])
    if np.unique(rows).size != rows.size:
        raise ValueError(
            "cv must test no document twice with ensemble=False, for its label would count twice:"
            " use a splitter without repetition, or ensemble=True."
        )
    # The fit on all documents takes longest: it goes first.
    jobs = [delayed(_train_on_all)(estimator, documents)]
    jobs += [delayed(_train_and_score)(estimator, documents, part, keep=False) for part in parts]
    fitted, *found = Parallel(n_jobs=n_jobs)(jobs)
    scores, order = np.concatenate([part.scores for part in found]), np.argsort(rows)
    return [Scored(fitted, rows[order], scores[order])]


def checked_splits(splits: Iterable[Split], target: Target) -> list[Split]:
    """
    Return splits as positions of training and test documents.

    Raises
    ------
    ValueError
        If there is none, or a training part lacks a class.
    """
    every, out = np.arange(len(target.y)), []
    for k, (train, test) in enumerate(splits):
        # Splits may be masks or positions.
        rows = every[train], every[test]
        check_both_sides(target, rows[0], f"the training part of fold {k + 1}")
        out.append(rows)
    if not out:
        raise ValueError("cv must give at least one split, got none.")
    return out


def _train_and_score(
    estimator: Any, documents: Documents, part: Split, keep: bool = True
) -> Scored:
    fitted = documents.fit(estimator, part[0])
    return Scored(fitted if keep else None, part[1], documents.score(fitted, part))


def _train_on_all(estimator: Any, documents: Documents) -> Any:
    return documents.fit(estimator)

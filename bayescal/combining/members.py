"""The classifiers that are combined, and the indicators of where each is reliable, as fitted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils import _safe_indexing

from bayescal.classification.folds import Documents, Split
from bayescal.classification.raw_scores import check_scoring
from bayescal.classification.targets import BINARY, Target
from bayescal.combining.ends import Ends
from bayescal.combining.inputs import Inputs
from bayescal.validation import Floats

Named = Sequence[tuple[str, Any]]


def read_classifiers(classifiers: Any) -> dict[str, Any]:
    """
    Return the classifiers to combine, by name.

    Raises
    ------
    ValueError
        If they are not a list of (name, classifier), there is none, a name comes twice, or one
        gives no scores.

    Examples
    --------
    >>> read_classifiers([])
    Traceback (most recent call last):
    ...
    ValueError: classifiers must hold at least one (name, classifier), got none.
    """
    try:
        pairs = [(name, classifier) for name, classifier in classifiers]
    except (TypeError, ValueError) as err:
        raise ValueError(
            f"classifiers must be a list of (name, classifier), got {classifiers!r}."
        ) from err
    if not pairs:
        raise ValueError("classifiers must hold at least one (name, classifier), got none.")
    names = [name for name, _ in pairs]
    if twice := sorted({str(name) for name in names if names.count(name) > 1}):
        raise ValueError(
            f"classifiers must have names of their own, got {', '.join(map(repr, twice))} more than"
            " once: the same classifier may come twice under two names."
        )
    for name, classifier in pairs:
        try:
            check_scoring(classifier, BINARY)
        except ValueError as err:
            raise ValueError(f"classifier {name!r}: {err}") from err
    return dict(pairs)


@dataclass(frozen=True)
class Members:
    """
    Fitted classifiers and indicators of one binary problem.

    Attributes
    ----------
    classifiers : dict of str to classifier
        Fitted.
    indicators : transformer or None
        Fitted.
    target : Target
        The binary problem.
    ends : Ends or None
        Where infinite scores stand; None while the scores to combine by are not known yet.
    """

    classifiers: dict[str, Any]
    indicators: Any
    target: Target
    ends: Ends | None = None

    def inputs(self, features: Any, part: Split | None = None) -> Inputs:
        """
        Return what a combiner sees of documents.

        Parameters
        ----------
        features : array-like of n documents
            As the classifiers take them.
        part : (training, held-out) positions, optional
            To speak of the second part alone.

        Raises
        ------
        ValueError
            If a classifier's score, or an indicator, is not a number.
        """
        documents = Documents(features, self.target, {})
        columns = [
            _numbers(name, documents.score(fitted, part))
            for name, fitted in self.classifiers.items()
        ]
        scores = np.concatenate(columns, axis=1)
        if self.ends is not None:
            scores = self.ends.finite(scores)
        if part is not None and self.indicators is not None:
            features = _safe_indexing(features, part[1])
        return Inputs(scores, indicators_of(self.indicators, features, len(scores)))


def fit_members(
    classifiers: Mapping[str, Any],
    indicators: Any,
    documents: Mapping[str, Documents],
    part: Split | None = None,
) -> Members:
    """
    Fit the classifiers, and then the indicators, to the training part of a split; of None to all.

    Parameters
    ----------
    classifiers : mapping of str to classifier
        Clones are fitted.
    indicators : transformer or None
        A clone is fitted. One of the same classifiers (`ReliabilityIndicators`) takes those that
        were fitted here.
    documents : mapping of str to Documents
        What each classifier is fitted to; they differ in the arguments of fit alone.
    part : (training, held-out) positions, or None
        Which documents.
    """
    rows = None if part is None else part[0]
    fitted = {name: documents[name].fit(each, rows) for name, each in classifiers.items()}
    first = next(iter(documents.values()))
    return Members(fitted, _fit_indicators(indicators, fitted, first, rows), first.target)


def indicators_of(indicators: Any, features: Any, n: int) -> Floats:
    """Return indicators of n documents, shape (n, indicators), none where there are none."""
    if indicators is None:
        return np.empty((n, 0))
    found = indicators.transform(features)
    values = np.asarray(found.toarray() if hasattr(found, "toarray") else found, dtype=np.float64)
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
    indicators: Any, fitted: dict[str, Any], documents: Documents, rows: NDArray[np.intp] | None
) -> Any:
    if indicators is None:
        return None
    copy = clone(indicators)
    own = copy.get_params(deep=False)
    # Classifiers that are there already need not be fitted again for what is said about them.
    if "prefit" in own and [name for name, _ in own["classifiers"]] == list(fitted):
        copy.set_params(classifiers=list(fitted.items()), prefit=True)
    features, y = documents.features, documents.target.y
    if rows is not None:
        features, y = _safe_indexing(features, rows), y[rows]
    return copy.fit(features, y)


def _numbers(name: str, scores: Floats) -> Floats:
    bad = np.flatnonzero(np.isnan(scores[:, 0]))
    if bad.size:
        raise ValueError(
            f"classifier {name!r} must give numbers, got nan for document {bad[0]}"
            f" ({bad.size} of {len(scores)})."
        )
    return scores

"""The best of several retrieval functions, by itself."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted, validate_data

from bayescal.ranking.measures import mean_average_precision
from bayescal.ranking.queries import as_grades, relevance_threshold_of
from bayescal.ranking.scoring import RankerMixin
from bayescal.validation import Floats, check_count


class BestFunctionRanker(RankerMixin, BaseEstimator):  # type: ignore[misc]
    """
    Rank by the one feature whose mean average precision is the highest, or the second highest, ...

    Parameters
    ----------
    place : int
        1 for the best feature, 2 for the second best.
    ties : {"pessimistic", "expected"}
        The order of documents of equal scores.
    relevance_threshold : float, optional
        The least grade that counts as relevant. By default y must hold two grades.

    Attributes
    ----------
    feature_ : int
        The feature chosen.
    mean_average_precisions_ : array of shape (features,)
        Of each feature, on the queries fitted.
    relevance_threshold_ : float
        The least grade that counts as relevant.

    Examples
    --------
    >>> ranker = BestFunctionRanker().fit([[0.1, 9.0], [0.9, 5.0], [0.2, 7.0]], [0, 1, 0])
    >>> ranker.feature_, ranker.mean_average_precisions_.round(2).tolist()
    (0, [1.0, 0.33])
    """

    def __init__(
        self,
        place: int = 1,
        *,
        ties: str = "pessimistic",
        relevance_threshold: float | None = None,
    ) -> None:
        self.place = place
        self.ties = ties
        self.relevance_threshold = relevance_threshold

    def fit(self, X: Any, y: ArrayLike, qid: Any = None) -> Self:  # noqa: N803
        """
        Choose the feature.

        Parameters
        ----------
        X : array or sparse matrix of shape (documents, features)
            Scores by retrieval functions.
        y, qid
            As in `SVMMAPRanker.fit`.

        Raises
        ------
        ValueError
            If an argument is not as described, there are fewer features than `place`, or no query
            has both classes.
        """
        check_count("place", self.place)
        X, y = validate_data(self, X, y, accept_sparse="csc", dtype=np.float64)  # noqa: N806
        grades = as_grades(y)
        self.relevance_threshold_ = relevance_threshold_of(grades, self.relevance_threshold)
        if X.shape[1] < self.place:
            raise ValueError(
                f"place must be at most the number of features, {X.shape[1]} feature(s), got"
                f" {self.place}."
            )
        self.mean_average_precisions_ = np.array(
            [
                mean_average_precision(
                    grades,
                    _column(X, feature),
                    qid,
                    ties=self.ties,
                    relevance_threshold=self.relevance_threshold_,
                )
                for feature in range(X.shape[1])
            ]
        )
        # Of equally good features the first, on every machine.
        order = np.argsort(-self.mean_average_precisions_, kind="stable")
        self.feature_ = int(order[self.place - 1])
        return self

    def decision_function(self, X: Any) -> Floats:  # noqa: N803
        """Return the feature chosen; shape (documents,)."""
        check_is_fitted(self, "feature_")
        X = validate_data(self, X, accept_sparse="csc", dtype=np.float64, reset=False)  # noqa: N806
        return _column(X, self.feature_)


def _column(features: Any, which: int) -> Floats:
    column = features[:, [which]]
    return np.asarray(column.toarray() if hasattr(column, "toarray") else column)[:, 0]

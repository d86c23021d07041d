"""A classifier of relevance as a ranker: the paper's SVMacc, and logistic regression."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, clone
from sklearn.utils.validation import check_is_fitted, validate_data

from bayescal.classification.raw_scores import check_scoring, raw_scores
from bayescal.ranking.queries import as_grades, group_by_query, relevance_threshold_of
from bayescal.ranking.scoring import RankerMixin
from bayescal.validation import Floats


class ClassifierRanker(RankerMixin, BaseEstimator):  # type: ignore[misc]
    """
    Rank by the raw score of a classifier that tells relevant from other documents.

    Documents of all queries are thrown together: one threshold on the score is meant to do for all,
    and queries with more documents count more.

    Parameters
    ----------
    classifier : scikit-learn classifier
        With `decision_function` or `predict_proba`.
    ties : {"pessimistic", "expected"}
        The order of documents of equal scores that `score` takes.
    relevance_threshold : float, optional
        The least grade that counts as relevant. By default y must hold two grades.

    Attributes
    ----------
    classifier_ : object
        The classifier, fitted.
    relevance_threshold_ : float
        The least grade that counts as relevant.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> ranker = ClassifierRanker(LogisticRegression()).fit([[0.1], [0.9], [0.2]], [0, 1, 0])
    >>> ranker.score([[0.1], [0.9], [0.2]], [0, 1, 0])
    1.0
    """

    def __init__(
        self,
        classifier: Any,
        *,
        ties: str = "pessimistic",
        relevance_threshold: float | None = None,
    ) -> None:
        self.classifier = classifier
        self.ties = ties
        self.relevance_threshold = relevance_threshold

    def fit(self, X: Any, y: ArrayLike, qid: Any = None) -> Self:  # noqa: N803
        """
        Fit the classifier.

        Parameters
        ----------
        X, y, qid
            As in `SVMMAPRanker.fit`; `qid` is checked and not used.

        Raises
        ------
        ValueError
            If an argument is not as described, or all documents are of one class.
        """
        check_scoring(self.classifier, "binary")
        X, y = validate_data(self, X, y, accept_sparse="csr", dtype=np.float64)  # noqa: N806
        grades = as_grades(y)
        group_by_query(qid, grades.size)
        self.relevance_threshold_ = relevance_threshold_of(grades, self.relevance_threshold)
        relevant = grades >= self.relevance_threshold_
        if relevant.all() or not relevant.any():
            raise ValueError(
                "documents must be of both classes, got only 1 class:"
                f" {relevant.sum()} relevant of {relevant.size} samples."
            )
        self.classifier_ = clone(self.classifier).fit(X, relevant)
        return self

    def decision_function(self, X: Any) -> Floats:  # noqa: N803
        """Return the classifier's raw scores; shape (documents,)."""
        check_is_fitted(self, "classifier_")
        X = validate_data(self, X, accept_sparse="csr", dtype=np.float64, reset=False)  # noqa: N806
        return raw_scores(self.classifier_, X, "binary", 1)[:, 0]

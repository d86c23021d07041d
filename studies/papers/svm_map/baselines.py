"""Rankers that SVMMAPRanker is compared with: the paper's baselines, and two common ones.

`BASELINES` maps names to records: how a baseline transforms the scores of retrieval functions, and
its ranker for a given C. `BestFunctionRanker` chooses single functions, which have no C.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, clone
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.utils.validation import check_is_fitted, validate_data

from bayescal.calibrators.classifier.raw_scores import check_scoring, raw_scores
from bayescal.ranking.measures import average_precision
from bayescal.ranking.queries import as_grades, group_by_query, relevance_threshold_of
from bayescal.ranking.ranker import RankerMixin, SVMMAPRanker
from bayescal.support.validation import Floats, check_count
from studies.papers.svm_map.features import (
    BinnedFunctions,
    min_max_within_queries,
    percentiles_within_queries,
)


class BestFunctionRanker(RankerMixin, BaseEstimator):  # type: ignore[misc]
    """Rank by the feature whose mean average precision is the highest, or the second highest, ...

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
    >>> X, y, qid = [[0.1, 9.0], [0.9, 5.0], [0.2, 7.0]], [0, 1, 0], [1, 1, 1]
    >>> ranker = BestFunctionRanker().fit(X, y, qid)
    >>> ranker.feature_, ranker.mean_average_precisions_.round(2).tolist()
    (0, [1.0, 0.33])
    """

    def __init__(
        self, place: int = 1, *, ties: str = "pessimistic", relevance_threshold: float | None = None
    ) -> None:
        self.place = place
        self.ties = ties
        self.relevance_threshold = relevance_threshold

    def fit(self, X: Any, y: ArrayLike, qid: Any = None) -> Self:  # noqa: N803
        """Choose the feature.

        Parameters
        ----------
        X : array or sparse matrix of shape (documents, features)
            Scores by retrieval functions.
        y, qid
            As in `SVMMAPRanker.fit`.
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
                average_precision(
                    grades,
                    _column(X, feature),
                    qid,
                    ties=self.ties,
                    relevance_threshold=self.relevance_threshold_,
                ).mean()
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


class ClassifierRanker(RankerMixin, BaseEstimator):  # type: ignore[misc]
    """Rank by the raw score of a classifier that tells relevant from other documents.

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
    >>> X, y, qid = [[0.1], [0.9], [0.2]], [0, 1, 0], [1, 1, 1]
    >>> ranker = ClassifierRanker(LogisticRegression()).fit(X, y, qid)
    >>> ranker.score(X, y, qid=qid)
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
        """Fit the classifier.

        Parameters
        ----------
        X, y, qid
            As in `SVMMAPRanker.fit`; `qid` is checked and not used.
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


class LambdaRanker(RankerMixin, BaseEstimator):  # type: ignore[misc]
    """Rank by `lightgbm.LGBMRanker`, which needs the extra: pip install lightgbm.

    Trees are not linear: where the relevance of documents is not either, they rank better than any
    SVM of the same features.

    Parameters
    ----------
    n_estimators : int
        Number of trees.
    learning_rate : float
        What each adds.
    num_leaves, min_child_samples : int
        The size of trees.
    ties : {"pessimistic", "expected"}
        The order of documents of equal scores that `score` takes.
    relevance_threshold : float, optional
        The least grade that counts as relevant, which is all that is learnt from. By default y must
        hold two grades.
    random_state : int
        Passed on to LightGBM.

    Attributes
    ----------
    ranker_ : lightgbm.LGBMRanker
        Fitted.
    relevance_threshold_ : float
        The least grade that counts as relevant.

    References
    ----------
    C. Burges, R. Ragno and Q. Le, *Learning to rank with nonsmooth cost functions*, NIPS 2006.
    """

    def __init__(
        self,
        n_estimators: int = 100,
        *,
        learning_rate: float = 0.1,
        num_leaves: int = 31,
        min_child_samples: int = 20,
        ties: str = "pessimistic",
        relevance_threshold: float | None = None,
        random_state: int = 0,
    ) -> None:
        self.n_estimators = n_estimators
        self.learning_rate = learning_rate
        self.num_leaves = num_leaves
        self.min_child_samples = min_child_samples
        self.ties = ties
        self.relevance_threshold = relevance_threshold
        self.random_state = random_state

    def fit(self, X: Any, y: ArrayLike, qid: Any = None) -> Self:  # noqa: N803
        """Grow the trees.

        Parameters
        ----------
        X, y, qid
            As in `SVMMAPRanker.fit`.
        """
        check_count("n_estimators", self.n_estimators)
        X, y = validate_data(self, X, y, accept_sparse="csr", dtype=np.float64)  # noqa: N806
        grades = as_grades(y)
        self.relevance_threshold_ = relevance_threshold_of(grades, self.relevance_threshold)
        relevant = grades >= self.relevance_threshold_
        # LightGBM takes documents sorted by query, and how many each query has.
        queries = group_by_query(qid, grades.size)
        order = np.concatenate(queries.documents)
        sizes = [documents.size for documents in queries.documents]
        self.ranker_ = _lightgbm().LGBMRanker(
            n_estimators=self.n_estimators,
            learning_rate=self.learning_rate,
            num_leaves=self.num_leaves,
            min_child_samples=self.min_child_samples,
            random_state=self.random_state,
            n_jobs=1,
            verbosity=-1,
        )
        self.ranker_.fit(X[order], relevant[order].astype(np.intp), group=sizes)
        return self

    def decision_function(self, X: Any) -> Floats:  # noqa: N803
        """Return the sum of the trees; shape (documents,)."""
        check_is_fitted(self, "ranker_")
        X = validate_data(self, X, accept_sparse="csr", dtype=np.float64, reset=False)  # noqa: N806
        return np.asarray(self.ranker_.predict(X), dtype=np.float64)


def _lightgbm() -> Any:
    try:
        import lightgbm
    except ImportError as err:
        raise ImportError("LambdaRanker needs LightGBM: pip install lightgbm.") from err
    return lightgbm


EVEN_THRESHOLDS = np.linspace(0.0, 1.0, 50)


@dataclass(frozen=True)
class Baseline:
    """A ranker to compare with.

    Attributes
    ----------
    name : str
        As in tables.
    make : callable
        Takes C, or `relevance_threshold=` beside it, and returns a ranker.
    within_query : callable, optional
        What is done to the functions' scores of a query first: takes X and qid. The result is
        binned at 50 even thresholds.
    needs : str
        The package that must be installed.
    has_cost : bool
        Whether C matters.
    cost_of_documents : bool
        Whether C weighs a sum over documents, not a mean over queries.
    sees_bins : bool
        Whether it is linear in binned functions, as in the paper, or takes scores as they are.
    """

    name: str
    make: Callable[..., Any]
    within_query: Callable[[Any, Any], Any] | None = None
    needs: str = "sklearn"
    has_cost: bool = True
    cost_of_documents: bool = False
    sees_bins: bool = True

    @property
    def installed(self) -> bool:
        """Whether its package is installed."""
        return find_spec(self.needs) is not None

    def features(self, X: Any, qid: Any) -> Any:  # noqa: N803
        """Return the ranker's features: the functions' scores, binned or as they are."""
        if self.within_query is None:
            return X
        even = self.within_query(X, qid)
        return BinnedFunctions(EVEN_THRESHOLDS).fit(even).transform(even)


def _svm(cost: float, *, class_weight: str | None = None, **options: Any) -> ClassifierRanker:
    # The squared hinge, whose optimum is found without the iterations that the hinge may lack.
    svm = LinearSVC(C=cost, class_weight=class_weight, dual=False)
    return ClassifierRanker(svm, **options)


def _logistic(cost: float, **options: Any) -> ClassifierRanker:
    classifier = LogisticRegression(C=cost, max_iter=1000)
    return ClassifierRanker(make_pipeline(StandardScaler(with_mean=False), classifier), **options)


def _lambdarank(_: float, **options: Any) -> LambdaRanker:
    return LambdaRanker(**options)


_classifier = partial(Baseline, cost_of_documents=True)

_LIST = [
    Baseline("SVM-ROC", partial(SVMMAPRanker, loss="roc")),
    _classifier("SVMacc", _svm),
    # Errors on relevant documents cost (non-relevant / relevant) times as much as the others.
    _classifier("SVMacc2", partial(_svm, class_weight="balanced")),
    _classifier("SVMacc3", _svm, percentiles_within_queries),
    _classifier("SVMacc4", _svm, min_max_within_queries),
    _classifier("logistic", _logistic, sees_bins=False),
    Baseline("lambdarank", _lambdarank, needs="lightgbm", has_cost=False, sees_bins=False),
]

BASELINES: dict[str, Baseline] = {baseline.name: baseline for baseline in _LIST}
"""By the names of tables 9 to 11: SVM-ROC, SVMacc and its variants; and two peers of today."""

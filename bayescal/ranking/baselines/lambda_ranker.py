"""LightGBM's lambdarank, boosted trees, under the signature of the rankers here."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted, validate_data

from bayescal.ranking.queries import as_grades, group_by_query, relevance_threshold_of
from bayescal.ranking.scoring import RankerMixin
from bayescal.validation import Floats, check_count


class LambdaRanker(RankerMixin, BaseEstimator):  # type: ignore[misc]
    """
    Rank by `lightgbm.LGBMRanker`, which needs the extra: pip install 'bayescal[peers]'.

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
        """
        Grow the trees.

        Parameters
        ----------
        X, y, qid
            As in `SVMMAPRanker.fit`.

        Raises
        ------
        ImportError
            If LightGBM is not installed.
        ValueError
            If an argument is not as described.
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
        raise ImportError("LambdaRanker needs LightGBM: pip install 'bayescal[peers]'.") from err
    return lightgbm

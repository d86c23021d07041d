"""SVMMAPRanker: a linear ranker by a convex bound on the mean average precision."""

from abc import abstractmethod
from collections.abc import Sequence
from copy import copy
from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from bayescal.ranking.measures import TIES, average_precision
from bayescal.ranking.problem import LOSSES, ranking_problem
from bayescal.ranking.queries import group_by_query, relevance_threshold_of
from bayescal.ranking.solvers import BlockFrankWolfe
from bayescal.support import validation
from bayescal.support.validation import Floats, generator


class RankerMixin:
    """Predictions and quality of rankers, with `ties` and, once fitted, `relevance_threshold_`.

    For `qid` in pipelines and searches, use scikit-learn's metadata routing with
    `set_fit_request(qid=True).set_score_request(qid=True)`.
    """

    ties: str
    relevance_threshold_: float

    @abstractmethod
    def decision_function(self, X: Any) -> Floats:  # noqa: N803
        """Return raw scores, larger for documents that rank higher; shape (documents,)."""

    def predict(self, X: Any) -> Floats:  # noqa: N803
        """Return the raw scores of `decision_function`."""
        return self.decision_function(X)

    def score(
        self,
        X: Any,  # noqa: N803
        y: ArrayLike,
        sample_weight: None = None,
        qid: Any = None,
    ) -> float:
        """Return the mean of `average_precision`, for the documents given; arguments as in `fit`.

        Raises ValueError if no query has both classes, or for a `sample_weight`, which is there for
        pipelines: average precision has no weights of documents. Warns of queries left out.
        """
        if sample_weight is not None:
            raise ValueError(
                "sample_weight must be None: average precision has no weights of documents."
            )
        scores, threshold = self.decision_function(X), self.relevance_threshold_
        found = average_precision(y, scores, qid, ties=self.ties, relevance_threshold=threshold)
        return float(found.mean())

    def __sklearn_tags__(self) -> Any:
        """Tell scikit-learn that sparse features are accepted and grades required."""
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.input_tags.sparse = True
        tags.target_tags.required = True
        return tags


@dataclass(eq=False, repr=False)
class SVMMAPRanker(RankerMixin, BaseEstimator):  # type: ignore[misc]
    """Rank documents by w.x, with the w that minimises a convex bound on 1 - MAP.

    It minimises ||w||^2 / 2 + C/n sum_i xi_i over n queries. The slack xi_i of a query is the
    largest value over its rankings y of Delta(y) - w.(Psi(y*) - Psi(y)), at least the loss Delta of
    the ranking by w: the mean slack bounds the mean loss, loosely if average precision is low.

    Parameters
    ----------
    C : float
        Weight of the mean slack. Its useful range depends on the scale of the features: try powers
        of 10 with `fit_path`.
    loss : {"map", "roc"}
        1 - AP, or 1 - the area under the ROC curve.
    tol : float
        Relative duality gap at which to stop: the possible decrease of the objective, as a share of
        the largest possible gain on w = 0.
    max_iter : int
        Most passes over all queries.
    ties : {"pessimistic", "expected"}
        The rule of `score` for equal scores.
    relevance_threshold : float, optional
        The least relevant grade. By default y must hold two grades.
    random_state : int
        Seeds the order in which queries are visited.

    Attributes
    ----------
    coef_ : array of shape (n_features,)
        w, without an intercept, which would not change a ranking. Features that are constant
        within each query get no weight.
    objective_, slack_ : float
        The objective and the mean slack at `coef_`; the slack bounds the mean loss on the queries
        fitted.
    dual_gap_ : float
        The relative duality gap reached.
    n_iter_ : int
        Passes over all queries.
    n_queries_, n_queries_left_out_ : int
        Queries with relevant and non-relevant documents, which are fitted, and the others.
    relevance_threshold_ : float
        The least relevant grade.

    References
    ----------
    Y. Yue, T. Finley, F. Radlinski and T. Joachims, *A support vector method for optimizing average
    precision*, SIGIR 2007: OP1, Proposition 1.

    Examples
    --------
    >>> X = [[3.0, 1.0], [1.0, 2.0], [2.0, 0.0], [0.0, 1.0], [1.0, 0.0]]
    >>> y, qid = [1, 0, 1, 0, 0], ["a", "a", "b", "b", "b"]
    >>> ranker = SVMMAPRanker(C=10.0).fit(X, y, qid=qid)
    >>> ranker.score(X, y, qid=qid)
    1.0
    """

    C: float = 1.0
    _: KW_ONLY
    loss: str = "map"
    tol: float = 1e-2
    max_iter: int = 1000
    ties: str = "pessimistic"
    relevance_threshold: float | None = None
    random_state: Any = 0

    def fit(self, X: Any, y: ArrayLike, qid: Any = None) -> Self:  # noqa: N803
        """Learn the coefficients.

        Parameters
        ----------
        X : array or sparse matrix of shape (documents, features)
            Finite features. Single precision halves the time and gives coefficients to about six
            digits.
        y : array-like of shape (documents,)
            Relevance: two grades, the larger one relevant, or more with `relevance_threshold`.
            Grades of 0 and below are not relevant.
        qid : sequence of shape (documents,) of hashable values
            The query of each document, in any order. It has a default for scikit-learn's sake only.

        Warns
        -----
        QueriesLeftOutWarning
            If queries are left out because their documents are all relevant, or none is.
        ConvergenceWarning
            If `tol` is not reached in `max_iter` passes.
        """
        return self._solved_by(self._solver(X, y, qid))

    def fit_path(
        self,
        costs: Sequence[float],
        X: Any,  # noqa: N803
        y: ArrayLike,
        qid: Any = None,
    ) -> list[Self]:
        """Return a fitted ranker for each C, in the order given, without fitting this one.

        Each is as good as a separate fit, to the same relative duality gap, but takes less time,
        since it continues from the rankings found for the C before: rising C is fastest.

        Parameters
        ----------
        costs : sequence of float
            The values of C.
        X, y, qid
            As in `fit`, like errors and warnings.

        Examples
        --------
        >>> X, y, qid = [[2.0], [1.0], [1.0], [0.0]], [1, 0, 1, 0], [1, 1, 2, 2]
        >>> [each.C for each in SVMMAPRanker().fit_path([1.0, 10.0], X, y, qid)]
        [1.0, 10.0]
        """
        for cost in costs:
            validation.check_positive(C=cost)
        first = clone(self)
        solver = first._solver(X, y, qid)
        return [copy(first).set_params(C=cost)._solved_by(solver) for cost in costs]

    def decision_function(self, X: Any) -> Floats:  # noqa: N803
        """Return the raw scores w.x, comparable within a query; shape (documents,)."""
        check_is_fitted(self, "coef_")
        X = validation.validated(  # noqa: N806
            self, X, accept_sparse="csr", dtype=np.float64, reset=False
        )
        return np.asarray(X @ self.coef_)

    def _solver(self, X: Any, y: ArrayLike, qid: Any) -> BlockFrankWolfe:  # noqa: N803
        """Check parameters and documents, and return a solver of their training problem."""
        validation.check_positive(C=self.C, tol=self.tol)
        validation.check_count("max_iter", self.max_iter)
        validation.check_choice("loss", self.loss, tuple(LOSSES))
        validation.check_choice("ties", self.ties, TIES)
        X, y = validation.validated(  # noqa: N806
            self, X, y, accept_sparse="csr", dtype=[np.float64, np.float32], y_numeric=True
        )
        grades = validation.as_scores(y, "y")
        self.relevance_threshold_ = relevance_threshold_of(grades, self.relevance_threshold)
        queries = group_by_query(qid, grades.size)
        relevant = grades >= self.relevance_threshold_
        problem = ranking_problem(X, relevant, queries, LOSSES[self.loss])
        self.n_queries_ = problem.n_queries
        self.n_queries_left_out_ = len(queries.names) - problem.n_queries
        return BlockFrankWolfe(problem, generator(self.random_state))

    def _solved_by(self, solver: BlockFrankWolfe) -> Self:
        solution = solver.solve(float(self.C), self.tol, self.max_iter)
        self.coef_ = solution.coef
        self.objective_ = solution.objective
        self.slack_ = (solution.objective - float(solution.coef @ solution.coef) / 2.0) / float(
            self.C
        )
        self.dual_gap_ = solution.relative_gap
        self.n_iter_ = solution.n_iter
        if self.dual_gap_ > self.tol:
            validation.warn_user(
                f"the relative duality gap is {self.dual_gap_:.2g} after {self.n_iter_} passes,"
                f" above tol={self.tol:g}: raise max_iter or tol, or lower C or the scale of"
                " features.",
                ConvergenceWarning,
            )
        return self

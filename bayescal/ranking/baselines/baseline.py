"""The baselines of a comparison as data: what is done to scores, and who ranks by the result."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from bayescal.ranking.baselines.classifier_ranker import ClassifierRanker
from bayescal.ranking.baselines.lambda_ranker import LambdaRanker
from bayescal.ranking.binned_functions import BinnedFunctions
from bayescal.ranking.ranker import SVMMAPRanker
from bayescal.ranking.within_query import min_max_within_queries, percentiles_within_queries

EVEN_THRESHOLDS = np.linspace(0.0, 1.0, 50)


@dataclass(frozen=True)
class Baseline:
    """
    A ranker to compare with.

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
        """Return what the ranker sees of the functions' scores: all of them, or binned ones."""
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

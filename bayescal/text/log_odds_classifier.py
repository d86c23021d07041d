"""What classifiers of two classes share whose scores are natural log-odds."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin

from bayescal.bayes import probabilities
from bayescal.validation import Floats


class LogOddsClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A classifier of two classes by its log-odds, with documents sparse or not."""

    classes_: NDArray[Any]

    @abstractmethod
    def decision_function(self, X: Any) -> Floats:  # noqa: N803
        """Return natural log-odds of the positive class; shape (documents,)."""

    def predict_proba(self, X: Any) -> Floats:  # noqa: N803
        """Return probabilities of both classes, in the order of `classes_`; some may be 0."""
        return probabilities(self.decision_function(X))

    def predict(self, X: Any) -> NDArray[Any]:  # noqa: N803
        """Return the likelier class of each document."""
        log_odds = self.decision_function(X)
        likelier: NDArray[Any] = self.classes_[(log_odds > 0.0).astype(np.intp)]
        return likelier

    def __sklearn_tags__(self) -> Any:
        """Tell scikit-learn what comes in: sparse or not, and two classes."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.classifier_tags.multi_class = False
        return tags

"""STRIVE-S Local: a linear SVM whose weights of the base scores depend on the inputs.

K(x, z) = (<x, z> + 1) (<Px, Pz> + 1), P keeping the base scores alone: a part of the quadratic
kernel. With "LSelect" the first factor has the inputs that a decision tree splits by (dissertation,
section 7.2.2).
"""

from __future__ import annotations

from functools import partial
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin

from bayescal.combining.combiners.linear_svm import linear_svc
from bayescal.combining.combiners.stacking import Stacking, mean_square_length
from bayescal.text.decision_tree import DecisionTree
from bayescal.validation import Floats


def product_features(columns: Floats, other: Floats) -> Floats:
    """
    Return features whose inner products are (<x, z> + 1) (<x', z'> + 1).

    Examples
    --------
    >>> product_features(np.array([[2.0]]), np.array([[3.0]]))
    array([[6., 2., 3., 1.]])
    """
    one = np.ones((len(columns), 1))
    left, right = np.hstack([columns, one]), np.hstack([other, one])
    return np.asarray((left[:, :, None] * right[:, None, :]).reshape(len(columns), -1))


class LocalKernelSVM(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """
    The SVM of this kernel, by its explicit features.

    Parameters
    ----------
    scores : int
        How many columns, the first ones, are base scores.
    select : bool
        Whether the first factor has only the columns that a tree of the same documents uses.
    random_state : int
        Of the tree.
    """

    def __init__(self, scores: int = 1, select: bool = False, random_state: int = 0) -> None:
        self.scores = scores
        self.select = select
        self.random_state = random_state

    def fit(self, X: Floats, y: Any, sample_weight: Floats | None = None) -> Self:  # noqa: N803
        """Choose the columns, and fit the SVM."""
        self.classes_ = np.unique(y)
        self.columns_: NDArray[np.intp] = np.arange(X.shape[1])
        if self.select:
            used = DecisionTree(random_state=self.random_state).fit(X, y).tree_.tree_.feature
            self.columns_ = np.unique(used[used >= 0])
        features = self._features(X)
        length = mean_square_length(features, sample_weight)
        self.svm_ = linear_svc(length, self.random_state).fit(features, y, sample_weight)
        return self

    def decision_function(self, X: Floats) -> Floats:  # noqa: N803
        """Return margins, shape (n,)."""
        return np.asarray(self.svm_.decision_function(self._features(X)))

    def _features(self, X: Floats) -> Floats:  # noqa: N803
        return product_features(X[:, self.columns_], X[:, : self.scores])


def _make(length: float, scores: int, seed: int, *, select: bool) -> LocalKernelSVM:
    return LocalKernelSVM(scores, select, seed)


def combiner(*, normalise: bool = True) -> Stacking:
    """Return stacking by the kernel of all inputs."""
    return Stacking(partial(_make, select=False), normalise)


def selecting(*, normalise: bool = True) -> Stacking:
    """Return stacking by the kernel of the inputs that a tree uses."""
    return Stacking(partial(_make, select=True), normalise)

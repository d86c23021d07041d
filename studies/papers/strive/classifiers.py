"""The dissertation's combining classifiers: SVM-light's linear SVM, and the local kernels.

The kernels of STRIVE-S Local (section 7.2.2) let the weights of the base scores depend on the
inputs: K(x, z) = (<x, z> + 1) (<Px, Pz> + 1), where P selects the base scores. LSelect keeps in the
first factor the inputs that a decision tree uses. Inputs have mean 0 and standard deviation 1; the
dissertation's experiments divided by sqrt(E x^2) by mistake (section 7.1.4).
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.svm import SVC

from bayescal.support.validation import Floats
from bayescal.text.word_models import DecisionTree

CACHE = 500.0  # megabytes of kernel values
# Smaller inner products, as of inputs that differ by rounding alone, are 0 to libsvm, which then
# does not end with a C to match.
SHORTEST = 1e-12


def cost_of(columns: Floats) -> float:
    """Return C = 1 / mean <x, x>, as in SVM-light."""
    length = float(np.average((columns**2).sum(axis=1)))
    return 1.0 / length if length > SHORTEST else 1.0


class LinearSVM(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A linear SVM with SVM-light's C, and a free bias."""

    def fit(self, X: Floats, y: Any) -> Self:  # noqa: N803
        """Fit the SVM."""
        self.classes_ = np.unique(y)
        features = self._features(X)
        self.svm_ = SVC(kernel="linear", C=cost_of(features), cache_size=CACHE).fit(features, y)
        return self

    def decision_function(self, X: Floats) -> Floats:  # noqa: N803
        """Return margins, shape (n,)."""
        return np.asarray(self.svm_.decision_function(self._features(X)))

    def _features(self, X: Floats) -> Floats:  # noqa: N803
        return X


def product_features(columns: Floats, other: Floats) -> Floats:
    """Return features whose inner products are (<x, z> + 1) (<x', z'> + 1)."""
    one = np.ones((len(columns), 1))
    left, right = np.hstack([columns, one]), np.hstack([other, one])
    return np.asarray((left[:, :, None] * right[:, None, :]).reshape(len(columns), -1))


class LocalKernelSVM(LinearSVM):
    """The SVM of STRIVE-S Local's kernel, by its explicit features.

    Parameters
    ----------
    scores : int
        Number of base scores, which are the first columns.
    select : bool
        Whether the first factor has the columns that a decision tree uses (LSelect).
    random_state : int, optional
        Of the tree.
    """

    def __init__(
        self, scores: int = 5, select: bool = False, random_state: int | None = None
    ) -> None:
        self.scores = scores
        self.select = select
        self.random_state = random_state

    def fit(self, X: Floats, y: Any) -> Self:  # noqa: N803
        """Choose the columns, and fit the SVM."""
        self.columns_: NDArray[np.intp] = np.arange(X.shape[1])
        if self.select:
            used = DecisionTree(random_state=self.random_state).fit(X, y).tree_.tree_.feature
            self.columns_ = np.unique(used[used >= 0])
        return super().fit(X, y)

    def _features(self, X: Floats) -> Floats:  # noqa: N803
        return product_features(X[:, self.columns_], X[:, : self.scores])


# Finer scores than a single tree's. Early stopping would set aside documents, which may be few.
BOOSTED_TREES = HistGradientBoostingClassifier(
    max_iter=100, learning_rate=0.05, max_leaf_nodes=8, early_stopping=False
)
# Stack-D and STRIVE-D, with smoothed log-odds at the leaves.
TREE = DecisionTree(random_state=None)

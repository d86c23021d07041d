"""A decision tree of words whose leaves give smoothed log-odds."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.validation import check_is_fitted

from bayescal.support.validation import Floats, encode_labels, validated
from bayescal.text.naive_bayes import LogOddsClassifier


def leaf_log_odds(tree: Any) -> Floats:
    """
    Return ln (n(+) + 1)/(n(-) + 1) of each node of a tree, from the documents that it was grown on.

    The log-odds of Laplace's correction (n_c + 1)/(n + 2), which are finite in pure leaves too
    (Bennett's dissertation, equation 6.10).

    Parameters
    ----------
    tree : sklearn.tree.DecisionTreeClassifier
        Fitted to two classes.

    Returns
    -------
    array of shape (nodes,)
        Natural log-odds of the second class.

    Examples
    --------
    >>> tree = DecisionTreeClassifier().fit([[0], [0], [1]], [0, 0, 1])
    >>> leaf_log_odds(tree).round(3)  # the root, and two leaves
    array([-0.405, -1.099,  0.693])
    """
    shares = tree.tree_.value[:, 0, :]
    counts = (
        shares / shares.sum(axis=1, keepdims=True) * tree.tree_.weighted_n_node_samples[:, None]
    )
    return np.asarray(np.log1p(counts[:, 1]) - np.log1p(counts[:, 0]))


class DecisionTree(LogOddsClassifier):
    """
    A tree that splits documents by words; the score is the smoothed log-odds of the leaf.

    scikit-learn's tree, grown by entropy: a split must raise the log likelihood of the labels, so
    that leaves give usable probabilities. Splits that gain less than `penalty` are not made.

    Parameters
    ----------
    penalty : float, optional
        What a split must gain in log likelihood of all documents fitted, in nats. By default
        ln(N)/2 of N documents, which BIC asks for another parameter.
    random_state : int
        Orders words that split equally well.

    Attributes
    ----------
    tree_ : sklearn.tree.DecisionTreeClassifier
        The tree.
    log_odds_ : array of shape (nodes,)
        ln (n(+) + 1)/(n(-) + 1) of each node.

    References
    ----------
    Bennett's dissertation, section 6.3.1 and equation 6.10. His tree's own rule for stopping is
    not given there.

    Examples
    --------
    >>> model = DecisionTree().fit([[0], [0], [0], [2], [1], [1]], [0, 0, 0, 1, 1, 1])
    >>> model.decision_function([[0], [3]]).round(3)
    array([-1.386,  1.386])
    """

    def __init__(self, penalty: float | None = None, random_state: int = 0) -> None:
        self.penalty = penalty
        self.random_state = random_state

    def fit(self, X: Any, y: ArrayLike) -> Self:  # noqa: N803
        """
        Grow the tree.

        Parameters
        ----------
        X : array or sparse matrix of shape (documents, words)
            How often each word occurs.
        y : array-like of shape (documents,)
            Labels, two classes, both present.

        Raises
        ------
        ValueError
            If an argument is not as described.
        """
        X, y = validated(self, X, y, accept_sparse="csr", dtype=np.float64)  # noqa: N806
        self.classes_, positive = encode_labels(y)
        n = positive.size
        gain = np.log(n) / 2.0 if self.penalty is None else self.penalty
        if not 0.0 <= gain < np.inf:
            raise ValueError(f"penalty must be a number of nats, at least 0, got {self.penalty}.")
        # scikit-learn measures entropy in bits, averaged over all documents.
        least = gain / (n * np.log(2.0))
        self.tree_ = DecisionTreeClassifier(
            criterion="entropy", min_impurity_decrease=least, random_state=self.random_state
        ).fit(X, positive)
        self.log_odds_ = leaf_log_odds(self.tree_)
        return self

    def decision_function(self, X: Any) -> Floats:  # noqa: N803
        """Return natural log-odds of the positive class at each document's leaf; (documents,)."""
        check_is_fitted(self, "tree_")
        X = validated(self, X, accept_sparse="csr", dtype=np.float64, reset=False)  # noqa: N806
        return np.asarray(self.log_odds_[self.tree_.apply(X)])

"""Made problems for combinations: classifiers that each see some of the truth."""

import numpy as np
from scipy import special
from sklearn.base import BaseEstimator, ClassifierMixin


class Column(ClassifierMixin, BaseEstimator):
    """A classifier whose score is a column of the documents, whatever the labels."""

    def __init__(self, column=0, sign=1.0):
        self.column = column
        self.sign = sign

    def fit(self, X, y, sample_weight=None):
        self.classes_ = np.unique(y)
        self.n_features_in_ = X.shape[1]
        return self

    def decision_function(self, X):
        return self.sign * np.asarray(X)[:, self.column]


class ByHeart(ClassifierMixin, BaseEstimator):
    """A classifier that knows the labels it was fitted on by heart, and nothing else."""

    def fit(self, X, y, sample_weight=None):
        self.classes_, code = np.unique(y, return_inverse=True)
        self.known_ = {tuple(row): value for row, value in zip(X.tolist(), code, strict=True)}
        return self

    def decision_function(self, X):
        known = [self.known_.get(tuple(row)) for row in np.asarray(X).tolist()]
        # For what it does not know: a number that has nothing to do with the label.
        return np.array(
            [0.01 * row[0] if k is None else 4.0 * k - 2.0 for k, row in zip(known, X, strict=True)]
        )


def views(n, rng, *, share=0.3, sds=(0.8, 1.0, 3.0)):
    """
    Return documents of independent views of the label, labels, and the true log-odds.

    Column i is Normal(+-1, sds[i]): its log likelihood ratio is 2 x / sd^2.
    """
    y = (rng.random(n) < share).astype(int)
    sds = np.asarray(sds)
    X = (2.0 * y - 1.0)[:, None] + sds * rng.standard_normal((n, sds.size))
    return X, y, special.logit(share) + (2.0 * X / sds**2).sum(axis=1)


def columns(k=3):
    """Return classifiers of the first k columns."""
    return [(f"view {i}", Column(i)) for i in range(k)]

"""Made queries for the tests of ranking."""

import numpy as np
from scipy.special import expit


class OneQuery:
    """A mixin for scikit-learn's checks, which pass no queries: then all documents are one."""

    def fit(self, X, y, qid=None):
        return super().fit(X, y, np.zeros(np.shape(y)[:1]) if qid is None else qid)

    def score(self, X, y, sample_weight=None, qid=None):
        return super().score(X, y, sample_weight, np.zeros(np.shape(y)[:1]) if qid is None else qid)


def linear_queries(n_queries=12, size=25, n_features=6, seed=0, noise=0.7, grid=False):
    """
    Return features, relevance and queries of documents that a linear score tells of, mixed.

    On a grid features are whole numbers, so that documents tie.
    """
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(n_queries * size, n_features))
    if grid:
        features = features.round()
    coef = np.random.default_rng(n_features).normal(size=n_features)
    relevant = rng.random(len(features)) < expit((features @ coef - 2.0) / noise)
    relevant[::size], relevant[1::size] = True, False  # both in every query
    qid = np.repeat(np.arange(n_queries), size)
    order = rng.permutation(qid.size)
    return features[order], relevant[order].astype(int), qid[order]

"""The classifiers: features, kind of scores, and training."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import NearestNeighbors
from sklearn.neural_network import MLPClassifier
from sklearn.svm import LinearSVC

from bayescal.support.validation import Floats
from bayescal.text import make_classifier, raw_scores
from studies.problems.data_set import Kind
from studies.problems.features import Space
from studies.problems.folds import Bools

ScoreKind = Literal["margin", "log_odds", "probability"]
Score = Callable[[Any, Bools, Any, int], Floats]
"""From documents to train with (n), their labels (n, classes), new documents (m) and a seed to
scores (m, classes)."""
TEXT: tuple[Kind, ...] = ("texts", "words")
ALL: tuple[Kind, ...] = (*TEXT, "table")
NEIGHBOURS = 25


@dataclass(frozen=True)
class Classifier:
    """A classifier of documents.

    Attributes
    ----------
    score_kind : {"margin", "log_odds", "probability"}
        Kind of its scores.
    space : str
        Name of its features.
    score : callable
        Function that trains it and scores new documents.
    kinds : tuple of str
        Kinds of data sets that it can learn.
    """

    score_kind: ScoreKind
    space: Space
    score: Score
    kinds: tuple[Kind, ...] = ALL


def one_by_one(estimator: Any) -> Score:
    """Return scores of a classifier that is trained for each class against the rest."""

    def score(train: Any, label: Bools, new: Any, seed: int) -> Floats:
        seeded = clone(estimator)
        if "random_state" in seeded.get_params():
            seeded.set_params(random_state=seed)
        fitted = (clone(seeded).fit(train, positive) for positive in label.T)
        return np.stack([raw_scores(one, new) for one in fitted], axis=1)

    return score


def at_once(estimator: Any) -> Score:
    """Return probabilities of a classifier that is trained for all classes together."""

    def score(train: Any, label: Bools, new: Any, seed: int) -> Floats:
        seeded = clone(estimator).set_params(random_state=seed)
        if label.shape[1] == 1:
            return np.asarray(seeded.fit(train, label[:, 0]).predict_proba(new))[:, [1]]
        results = seeded.fit(train, label).predict_proba(new)
        # Forests give two columns for each class, the neural network one.
        columns = [one[:, 1] for one in results] if isinstance(results, list) else results.T
        return np.stack(columns, axis=1)

    return score


def share_of_neighbours(train: Any, label: Bools, new: Any, seed: int) -> Floats:
    """Return the shares of the classes among the nearest 25 documents."""
    near = NearestNeighbors(n_neighbors=min(NEIGHBOURS, len(label))).fit(train)
    shares: Floats = label[near.kneighbors(new, return_distance=False)].mean(axis=1)
    return shares


CLASSIFIERS: dict[str, Classifier] = {
    "linear_svm": Classifier("margin", "weights", one_by_one(LinearSVC())),
    "logistic_regression": Classifier(
        "log_odds", "weights", one_by_one(LogisticRegression(max_iter=1000))
    ),
    "naive_bayes": Classifier(
        "log_odds", "counts", one_by_one(make_classifier("naive_bayes")), TEXT
    ),
    "bernoulli_naive_bayes": Classifier(
        "log_odds", "counts", one_by_one(make_classifier("bernoulli_naive_bayes")), TEXT
    ),
    "gaussian_naive_bayes": Classifier("log_odds", "columns", one_by_one(GaussianNB()), ("table",)),
    "nearest_neighbours": Classifier("probability", "columns", share_of_neighbours),
    "neural_network": Classifier(
        "probability",
        "columns",
        at_once(MLPClassifier((50,), learning_rate_init=0.01, max_iter=60)),
    ),
    "random_forest": Classifier("probability", "columns", at_once(RandomForestClassifier(100))),
    "gradient_boosting": Classifier(
        "log_odds",
        "columns",
        one_by_one(
            HistGradientBoostingClassifier(
                max_iter=60, max_leaf_nodes=15, max_bins=63, early_stopping=False
            )
        ),
    ),
}
"""In the order in which they are made: the slow ones last."""

"""Indicators of linear classifiers and trees: how the score changes as a document changes a little.

Type 3 of Bennett's dissertation. `ModelIndicators` holds the indicators of one kind of classifier.

Multinomial naive Bayes (section 5.1.1). Delta deletes one of the |d| words of a document: word w
with probability tf(w)/|d|. With l_w^c = ln P(w|c) and r_w = l_w^+ - l_w^-, deleting w changes the
log-odds by -r_w. Words outside the training documents do not count.

Bernoulli naive Bayes (section 5.1.2). Delta flips the presence of one of the V words that the model
knows, all equally likely. With a_w^c = ln P(w present|c)/P(w absent|c) and b_w = a_w^+ - a_w^-, a
flip changes the log-odds by b_w where w is absent and by -b_w where it is present. Words of all
training documents or of none do not count. mean^2 + deviation^2 is the same for all documents.

Linear SVM (section 5.1.5). S holds the training documents x with y f(x) <= 1, y in {-1, 1}, and
documents have length 1. With eps half the distance to the nearest v in S, Delta moves d by eps
towards v_i with probability P_i proportional to exp(-|v_i - d|): d_i = d + beta_i (v_i - d), beta_i
= eps/|v_i - d|. The score changes by beta_i (f(v_i) - f(d)). All is 0 if d is in S or S is empty.

Decision tree (section 5.1.4). At every node a document d has a branch b that it does not take, to
node n_b. With delta_b the distance of d to the mean of the training documents at n_b, all of length
1, Delta takes branch b with probability proportional to exp(-delta_b), and then leaf t below it
with the share of n_b's training documents that end there.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from operator import itemgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.naive_bayes import BernoulliNB, MultinomialNB
from sklearn.preprocessing import binarize, normalize
from sklearn.svm import SVC, LinearSVC
from sklearn.tree import DecisionTreeClassifier

from bayescal.support.validation import Floats
from bayescal.text import word_models

CLASSES = {"Positive": 1, "Negative": 0}  # names in indicators, rows in arrays
Indicator = Callable[[Any], Floats]


@dataclass(frozen=True)
class ModelIndicators:
    """The indicators of one kind of classifier."""

    recognises: Callable[[Any], bool]  # whether a fitted classifier is of this kind
    # (classifier, features of its training documents, positive) -> statistics
    learn: Callable[[Any, Any, NDArray[np.bool_]], Any]
    # (statistics, features of documents) -> the argument of the indicators, such as moments
    around: Callable[[Any, Any], Any]
    indicators: Mapping[str, Indicator]  # each gives one value a document
    score: Indicator | None = None  # the classifier's scores, where `around` computes them


def of_each_class(name: str, function: Callable[..., Floats]) -> dict[str, Indicator]:
    """Return an indicator for each class, whose name replaces the braces."""
    return {name.format(label): partial(function, row=row) for label, row in CLASSES.items()}


def is_binary(model: Any, kind: Any) -> bool:
    """Return whether a fitted classifier is of a type, or of one of several, with two classes."""
    return isinstance(model, kind) and len(model.classes_) == 2


def standard_deviation(mean: Floats, mean_of_squares: Floats) -> Floats:
    """Return sqrt(E[x^2] - E[x]^2), of a distribution and not of a sample from it."""
    # Rounding may make the difference negative.
    return np.sqrt(np.maximum(mean_of_squares - mean**2, 0.0))


def ratio(part: Floats, whole: Floats) -> Floats:
    """Return part / whole, and 0 where both are 0."""
    return np.divide(part, whole, out=np.zeros(np.broadcast(part, whole).shape), where=whole != 0.0)


def unit_rows(features: Any) -> Any:
    """Return documents as sparse rows of length 1; a document without features stays empty."""
    return sparse.csr_array(normalize(sparse.csr_array(features, dtype=np.float64)))


def distance(cosine: Floats) -> Floats:
    """Return the Euclidean distance of documents of length 1, sqrt(2 - 2 cos)."""
    return np.sqrt(np.maximum(2.0 - 2.0 * cosine, 0.0))


RATIO = 2  # the row of r_w or b_w, after those of the negative and the positive class


MEAN, DEVIATION = 0, 1


def word_indicators(model: str) -> dict[str, Indicator]:
    """Return the indicators of moments under the deletion or the flip of a word."""
    of_classes = {
        f"{model}{moment}LogOfStrengthGiven{label}": itemgetter((row, of_class))
        for moment, row in (("Mean", MEAN), ("StdDeviation", DEVIATION))
        for label, of_class in CLASSES.items()
    }
    return {
        f"{model}MeanShift": itemgetter((MEAN, RATIO)),
        f"{model}StdDeviation": itemgetter((DEVIATION, RATIO)),
        **of_classes,
    }


def learn_unigram(model: Any, features: Any, positive: NDArray[np.bool_]) -> Floats:
    """Return l_w^-, l_w^+, r_w, their squares, and 1 for known words; 0 for others, (words, 7)."""
    strengths = np.asarray(model.feature_log_prob_)
    known = np.isfinite(strengths).all(axis=0)
    negative, positive_strength = np.where(known, strengths, 0.0)
    values = np.stack([negative, positive_strength, positive_strength - negative])
    return np.vstack([values, values**2, known[None]]).T


def delete(strengths: Floats, features: Any) -> Floats:
    """Return mean and deviation for both classes and the ratio, shape (2, 3, documents)."""
    sums = np.asarray(sparse.csr_array(features) @ strengths).T
    moments = ratio(sums[:6], sums[6])
    return np.stack([moments[:3], standard_deviation(moments[:3], moments[3:])])


UNIGRAM = ModelIndicators(
    recognises=lambda model: is_binary(model, word_models.MultinomialNaiveBayes | MultinomialNB),
    learn=learn_unigram,
    around=delete,
    # Means of sum_w tf(w) r_w / |d| (equations 5.6 and 5.7) and of sum_w tf(w) ln P(w|c) / |d|.
    indicators=word_indicators("Unigram"),
)


@dataclass(frozen=True)
class Flips:
    """Log-odds of the presence of each word."""

    weights: Floats  # (words, 3): a_w^-, a_w^+ and b_w; 0 for uninformative words
    mean: Floats  # (3,): of the weights, over the informative words
    mean_of_squares: Floats  # (3,)
    size: int  # V, number of informative words
    threshold: float | None  # features above it count as present; None for all that are not 0


def learn_bernoulli(model: Any, features: Any, positive: NDArray[np.bool_]) -> Flips:
    """Return the log-odds of each word's presence of a Bernoulli naive Bayes classifier."""
    present, absent, informative = word_models.presence_and_absence(model.feature_log_prob_)
    negative, positive_odds = present - absent
    weights = np.stack([negative, positive_odds, positive_odds - negative], axis=1)
    size = max(int(informative.sum()), 1)
    return Flips(
        weights=weights,
        mean=weights.sum(axis=0) / size,
        mean_of_squares=(weights**2).sum(axis=0) / size,
        size=size,
        threshold=model.binarize if isinstance(model, BernoulliNB) else None,
    )


def flip(flips: Flips, features: Any) -> Floats:
    """Return mean and deviation for both classes and the ratio, shape (2, 3, documents)."""
    if flips.threshold is not None:
        features = binarize(features, threshold=flips.threshold)
    of_present = np.asarray(word_models.presence(features) @ flips.weights)
    mean = (2.0 * of_present / flips.size - flips.mean).T
    return np.stack([mean, standard_deviation(mean, flips.mean_of_squares[:, None])])


BERNOULLI = ModelIndicators(
    recognises=lambda model: is_binary(model, word_models.BernoulliNaiveBayes | BernoulliNB),
    learn=learn_bernoulli,
    around=flip,
    # Means of (2 sum_{w in d} b_w - sum_w b_w) / V (equations 5.15 and 5.19), and with a_w^c.
    indicators=word_indicators("NaiveBayes"),
)


MARGIN = 1.0 + 1e-3  # solvers are accurate to about a thousandth
SAME = 1e-7  # distance of equal documents: the root of a cosine's rounding


@dataclass(frozen=True)
class SupportVectors:
    """The documents of S."""

    model: Any
    vectors: Any  # (vectors, features): of length 1, or empty
    score: Floats  # (vectors,): f(v)
    sign: Floats  # (vectors,): y


def learn_support_vectors(model: Any, features: Any, positive: NDArray[np.bool_]) -> SupportVectors:
    """Return the support vectors among the training documents."""
    score = np.asarray(model.decision_function(features), dtype=np.float64)
    sign = np.where(positive, 1.0, -1.0)
    chosen = np.flatnonzero(sign * score <= MARGIN)
    vectors = unit_rows(features)[chosen]
    return SupportVectors(model, vectors, score[chosen], sign[chosen])


def shift(support: SupportVectors, features: Any) -> Floats:
    """Return moments of moves towards support vectors (equations 5.34 and 5.35), (5, documents)."""
    own = np.asarray(support.model.decision_function(features), dtype=np.float64)
    if support.score.size == 0:
        return np.zeros((5, own.size))
    away = distance((unit_rows(features) @ support.vectors.T).toarray())
    closest = away.argmin(axis=1)
    least = away[np.arange(own.size), closest]
    near = np.exp(least[:, None] - away)
    near /= near.sum(axis=1, keepdims=True)
    # A document at distance 0 gets all 0 below, whatever stands here.
    step = least / 2.0
    np.divide(near, away, out=near, where=away > 0.0)
    ones = np.ones_like(support.score)
    first = near @ np.stack([ones, support.score, support.sign * support.score], axis=1)
    np.divide(near, away, out=near, where=away > 0.0)
    second = near @ np.stack([ones, support.score, support.score**2], axis=1)
    mean = step * (first[:, 1] - own * first[:, 0])
    squares = step**2 * (second[:, 2] - 2.0 * own * second[:, 1] + own**2 * second[:, 0])
    goodness = step * first[:, 2]
    values = (
        mean,
        standard_deviation(mean, squares),
        goodness,
        standard_deviation(goodness, step**2 * second[:, 2]),
        support.sign[closest] * np.exp(-least),
    )
    return np.where(least > SAME, values, 0.0)


SUPPORT_VECTORS = ModelIndicators(
    recognises=lambda model: (
        is_binary(model, LinearSVC) or (is_binary(model, SVC) and model.kernel == "linear")
    ),
    learn=learn_support_vectors,
    around=shift,
    indicators={
        "SVMShiftMeanConfDiff": itemgetter(0),
        "SVMShiftStdDevConfDiff": itemgetter(1),
        "meanGoodSVProximity": itemgetter(2),
        "stdDevGoodSVProximity": itemgetter(3),
        "signedNNSV": itemgetter(4),
    },
)


@dataclass(frozen=True)
class Branches:
    """Statistics of the training documents at each node of a tree."""

    tree: Any
    log_odds: Floats  # (nodes,): ln (n(+) + 1)/(n(-) + 1) of the documents it was grown on
    sibling: NDArray[np.intp]  # (nodes,): other child of the node's parent; 0 for the root
    centroid: Floats  # (features, nodes): mean of the node's training documents, of length 1
    mean: Floats  # (nodes,): of the log-odds at these documents' leaves
    mean_of_squares: Floats  # (nodes,)
    reached: NDArray[np.bool_]  # (nodes,): whether it has a training document


def learn_tree(model: Any, features: Any, positive: NDArray[np.bool_]) -> Branches:
    """Return statistics of the training documents at the nodes of a fitted tree."""
    tree = model.tree_ if isinstance(model, word_models.DecisionTree) else model
    log_odds = word_models.leaf_log_odds(tree)
    features = sparse.csr_array(features, dtype=np.float32)
    path = sparse.csr_array(tree.decision_path(_as_matrix(features)), dtype=np.float64)
    at_leaf = log_odds[tree.apply(_as_matrix(features))]
    number = np.asarray(path.sum(axis=0), dtype=np.float64)
    total = (unit_rows(features).T @ path).toarray()
    return Branches(
        tree=tree,
        log_odds=log_odds,
        sibling=siblings(tree.tree_),
        centroid=ratio(total, number[None, :]),
        mean=ratio(np.asarray(path.T @ at_leaf), number),
        mean_of_squares=ratio(np.asarray(path.T @ at_leaf**2), number),
        reached=number > 0.0,
    )


def detour(branches: Branches, features: Any) -> Floats:
    """Return mean and deviation of lambda(t) - lambda(d), t the leaf of another branch, (2, n)."""
    features = sparse.csr_array(features, dtype=np.float32)
    path = branches.tree.decision_path(_as_matrix(features)).toarray().astype(bool)
    path[:, 0] = False  # the root is no branch
    untaken = path[:, branches.sibling] & branches.reached
    unit = unit_rows(features)
    squared = (
        np.asarray(unit.multiply(unit).sum(axis=1))[:, None]
        - 2.0 * np.asarray(unit @ branches.centroid)
        + (branches.centroid**2).sum(axis=0)
    )
    away = np.sqrt(np.maximum(squared, 0.0))
    weight = np.where(untaken, np.exp(-away), 0.0)
    moments = weight @ np.stack([branches.mean, branches.mean_of_squares], axis=1)
    mean, mean_of_squares = ratio(moments, weight.sum(axis=1, keepdims=True)).T
    own = branches.log_odds[branches.tree.apply(_as_matrix(features))]
    difference = np.where(untaken.any(axis=1), mean - own, 0.0)
    return np.stack([difference, standard_deviation(mean, mean_of_squares)])


def siblings(nodes: Any) -> NDArray[np.intp]:
    """Return the other child of each node's parent, and of the root itself."""
    other = np.zeros(nodes.node_count, dtype=np.intp)
    split = nodes.children_left >= 0
    left, right = nodes.children_left[split], nodes.children_right[split]
    other[left], other[right] = right, left
    return other


def _as_matrix(features: Any) -> Any:
    # scikit-learn's trees take sparse input with 32-bit indices.
    return sparse.csr_matrix(features)


TREE = ModelIndicators(
    recognises=lambda model: (
        isinstance(model, word_models.DecisionTree)
        or (
            isinstance(model, DecisionTreeClassifier)
            and model.n_outputs_ == 1
            and len(model.classes_) == 2
        )
    ),
    learn=learn_tree,
    around=detour,
    indicators={
        "DTreeShiftMeanConfDiff": itemgetter(MEAN),
        "DTreeShiftStdDevConfDiff": itemgetter(DEVIATION),
    },
)

"""Indicators of linear classifiers: how the score changes when a document changes a little.

Type 3 of Bennett's dissertation.

Multinomial naive Bayes (section 5.1.1). Delta deletes one of the |d| words of a document: word w
with probability tf(w)/|d|. With l_w^c = ln P(w|c) and r_w = l_w^+ - l_w^-, deleting w changes the
log-odds by -r_w. Words that no training document has do not count; without known words all is 0.

Bernoulli naive Bayes (section 5.1.2). Delta flips the presence of one of the V words that the model
knows, all equally likely. With a_w^c = ln P(w present|c)/P(w absent|c) and b_w = a_w^+ - a_w^-, a
flip changes the log-odds by b_w where w is absent and by -b_w where it is present. Words of all
training documents or of none do not count. The square of a flip's change is the same in all
documents, so that mean^2 + deviation^2 is constant.

Linear SVM (section 5.1.5). S holds the training documents x with y f(x) <= 1, y in {-1, 1}, and
documents have length 1. With eps half the distance to the nearest v in S, Delta moves d by eps
towards v_i with probability P_i proportional to exp(-|v_i - d|): d_i = d + beta_i (v_i - d), beta_i
= eps/|v_i - d|. The score changes by beta_i (f(v_i) - f(d)). All is 0 where d is one of the v_i,
and where S is empty.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from operator import attrgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.naive_bayes import BernoulliNB, MultinomialNB
from sklearn.preprocessing import binarize
from sklearn.svm import SVC, LinearSVC

from bayescal.combining.indicators.kind import (
    ModelIndicators,
    distance,
    of_each_class,
    ratio,
    standard_deviation,
    unit_rows,
)
from bayescal.support.validation import Floats
from bayescal.text.mutual_information import presence
from bayescal.text.naive_bayes import BernoulliNaiveBayes, MultinomialNaiveBayes

RATIO = 2  # the row of r_w or b_w, after those of the negative and the positive class


@dataclass(frozen=True)
class Moments:
    """Moments under the deletion or the flip of one word.

    Rows are the negative class, the positive class and their difference.
    """

    mean: Floats  # (3, documents)
    deviation: Floats  # (3, documents)


@dataclass(frozen=True)
class Strengths:
    """Log probabilities of words, in the sums that documents need."""

    # (words, 7): l_w^-, l_w^+ and r_w, their squares, and 1 for known words; all 0 for
    # unknown ones
    weights: Floats


def mean_of(moments: Moments, row: int) -> Floats:
    """Return a row of the means, (documents,)."""
    return np.asarray(moments.mean[row])


def deviation_of(moments: Moments, row: int) -> Floats:
    """Return a row of the standard deviations, (documents,)."""
    return np.asarray(moments.deviation[row])


def learn_unigram(model: Any, features: Any, positive: NDArray[np.bool_]) -> Strengths:
    """Return the words' log probabilities of a multinomial naive Bayes classifier."""
    strengths = np.asarray(model.feature_log_prob_)
    known = np.isfinite(strengths).all(axis=0)
    negative, positive_strength = np.where(known, strengths, 0.0)
    values = np.stack([negative, positive_strength, positive_strength - negative])
    return Strengths(np.vstack([values, values**2, known[None]]).T)


def delete(strengths: Strengths, features: Any) -> Moments:
    """Return the moments of documents, from how often each word occurs; O(words of them)."""
    sums = np.asarray(sparse.csr_array(features) @ strengths.weights).T
    moments = ratio(sums[:6], sums[6])
    return Moments(moments[:3], standard_deviation(moments[:3], moments[3:]))


UNIGRAM = ModelIndicators(
    recognises=lambda model: (
        isinstance(model, MultinomialNaiveBayes | MultinomialNB) and len(model.classes_) == 2
    ),
    learn=learn_unigram,
    around=delete,
    indicators={
        # E[lambda(d) - lambda(d')] = sum_w tf(w) r_w / |d| (equations 5.6 and 5.7): what the words
        # add to the log-odds of the class prior, per word.
        "UnigramMeanShift": partial(mean_of, row=RATIO),
        "UnigramStdDeviation": partial(deviation_of, row=RATIO),
        # sum_w tf(w) ln P(w|c) / |d|
        **of_each_class("UnigramMeanLogOfStrengthGiven{}", mean_of),
        **of_each_class("UnigramStdDeviationLogOfStrengthGiven{}", deviation_of),
    },
)


@dataclass(frozen=True)
class Flips:
    """Log-odds of the presence of each word."""

    weights: Floats  # (words, 3): a_w^-, a_w^+ and b_w; 0 for words that say nothing
    mean: Floats  # (3,): of the weights, over the words that say something
    mean_of_squares: Floats  # (3,)
    size: int  # V, how many these are
    threshold: float | None  # A feature above it counts as present; None means any that is not 0


def learn_bernoulli(model: Any, features: Any, positive: NDArray[np.bool_]) -> Flips:
    """Return the log-odds of each word's presence of a Bernoulli naive Bayes classifier."""
    log_present = np.asarray(model.feature_log_prob_)
    informative = (np.isfinite(log_present) & (log_present < 0.0)).all(axis=0)
    present = np.where(informative, log_present, np.log(0.5))
    negative, positive_odds = present - np.log1p(-np.exp(present))
    weights = np.stack([negative, positive_odds, positive_odds - negative], axis=1)
    size = max(int(informative.sum()), 1)
    return Flips(
        weights=weights,
        mean=weights.sum(axis=0) / size,
        mean_of_squares=(weights**2).sum(axis=0) / size,
        size=size,
        threshold=model.binarize if isinstance(model, BernoulliNB) else None,
    )


def flip(flips: Flips, features: Any) -> Moments:
    """Return the moments of documents (equations 5.15 and 5.19); O(words of them)."""
    if flips.threshold is not None:
        features = binarize(features, threshold=flips.threshold)
    of_present = np.asarray(presence(features) @ flips.weights)
    mean = (2.0 * of_present / flips.size - flips.mean).T
    return Moments(mean, standard_deviation(mean, flips.mean_of_squares[:, None]))


BERNOULLI = ModelIndicators(
    recognises=lambda model: (
        isinstance(model, BernoulliNaiveBayes | BernoulliNB) and len(model.classes_) == 2
    ),
    learn=learn_bernoulli,
    around=flip,
    indicators={
        # (2 sum_{w in d} b_w - sum_w b_w) / V (equations 5.15 and 5.19)
        "NaiveBayesMeanShift": partial(mean_of, row=RATIO),
        "NaiveBayesStdDeviation": partial(deviation_of, row=RATIO),
        # The same with a_w^c in place of b_w.
        **of_each_class("NaiveBayesMeanLogOfStrengthGiven{}", mean_of),
        **of_each_class("NaiveBayesStdDeviationLogOfStrengthGiven{}", deviation_of),
    },
)


# Documents on the margin are support vectors; solvers are accurate to about a thousandth.
MARGIN = 1.0 + 1e-3
# At smaller distances a document is the support vector itself: the root of a cosine's rounding.
SAME = 1e-7


@dataclass(frozen=True)
class SupportVectors:
    """The documents of S."""

    model: Any  # Whose score f is
    vectors: Any  # (vectors, features): of length 1, or empty
    score: Floats  # (vectors,): f(v)
    sign: Floats  # (vectors,): y: 1 for positive documents, -1 for negative ones


@dataclass(frozen=True)
class Shift:
    """Moments under the move towards a support vector."""

    mean: Floats  # (documents,): of f(d_i) - f(d)
    deviation: Floats  # (documents,)
    # (documents,): of G_i = y_i beta_i f(v_i), which is positive where v_i is on its class's
    # side
    mean_goodness: Floats
    deviation_of_goodness: Floats  # (documents,)
    nearest: Floats  # (documents,): y exp(-|v - d|) of the nearest v


def learn_support_vectors(model: Any, features: Any, positive: NDArray[np.bool_]) -> SupportVectors:
    """Return the support vectors among the training documents."""
    score = np.asarray(model.decision_function(features), dtype=np.float64)
    sign = np.where(positive, 1.0, -1.0)
    chosen = np.flatnonzero(sign * score <= MARGIN)
    vectors = unit_rows(features)[chosen]
    return SupportVectors(model, vectors, score[chosen], sign[chosen])


def shift(support: SupportVectors, features: Any) -> Shift:
    """Return the moments of documents (equations 5.34 and 5.35); O(vectors) for each."""
    own = np.asarray(support.model.decision_function(features), dtype=np.float64)
    if support.score.size == 0:
        return Shift(*np.zeros((5, own.size)))
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
    return Shift(*np.where(least > SAME, values, 0.0))


SUPPORT_VECTORS = ModelIndicators(
    recognises=lambda model: (
        (isinstance(model, LinearSVC) or (isinstance(model, SVC) and model.kernel == "linear"))
        and len(model.classes_) == 2
    ),
    learn=learn_support_vectors,
    around=shift,
    indicators={
        "SVMShiftMeanConfDiff": attrgetter("mean"),
        "SVMShiftStdDevConfDiff": attrgetter("deviation"),
        "meanGoodSVProximity": attrgetter("mean_goodness"),
        "stdDevGoodSVProximity": attrgetter("deviation_of_goodness"),
        "signedNNSV": attrgetter("nearest"),
    },
)

"""How Bernoulli naive Bayes' log-odds change when a word comes or goes (Type 3).

Delta flips the presence of one of the V words that the model knows, each as likely. With a_w^c =
ln P(w present|c)/P(w absent|c) and b_w = a_w^+ - a_w^-, a flip changes the log-odds by b_w where w
is absent, by -b_w where it is present. Words that no training document has, or all have, say
nothing and are not counted. Bennett's dissertation, section 5.1.2.

Each of the six is a function of two sums over the words of a document; squares of a flip are the
same in all documents, so that mean^2 + deviation^2 is constant.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.naive_bayes import BernoulliNB
from sklearn.preprocessing import binarize

from bayescal.indicators.kind import ModelIndicators, of_each_class, standard_deviation
from bayescal.text.mutual_information import presence
from bayescal.text.naive_bayes import BernoulliNaiveBayes
from bayescal.validation import Floats

RATIO = 2  # the row of b_w, after those of the negative and the positive class


@dataclass(frozen=True)
class Flips:
    """
    What the presence of a word says.

    Attributes
    ----------
    weights : array of shape (words, 3)
        a_w^-, a_w^+ and b_w; 0 for words that say nothing.
    mean, mean_of_squares : arrays of shape (3,)
        Of the weights, over the words that say something.
    size : int
        V, how many these are.
    threshold : float or None
        A feature above it counts as present; None means any that is not 0.
    """

    weights: Floats
    mean: Floats
    mean_of_squares: Floats
    size: int
    threshold: float | None


@dataclass(frozen=True)
class Flip:
    """
    Moments under the flip of one word.

    Attributes
    ----------
    mean, deviation : arrays of shape (3, documents)
        Of ln P(w(d)|c)/P(w'(d)|c) of the negative and the positive class, w(d) whether the word
        is present and w'(d) the opposite, and of their difference.
    """

    mean: Floats
    deviation: Floats


def learn(model: Any, features: Any, positive: NDArray[np.bool_]) -> Flips:
    """Return what each word's presence says, of a fitted Bernoulli naive Bayes classifier."""
    log_present = np.asarray(model.feature_log_prob_)
    telling = (np.isfinite(log_present) & (log_present < 0.0)).all(axis=0)
    present = np.where(telling, log_present, np.log(0.5))
    negative, positive_odds = present - np.log1p(-np.exp(present))
    weights = np.stack([negative, positive_odds, positive_odds - negative], axis=1)
    size = max(int(telling.sum()), 1)
    return Flips(
        weights=weights,
        mean=weights.sum(axis=0) / size,
        mean_of_squares=(weights**2).sum(axis=0) / size,
        size=size,
        threshold=model.binarize if isinstance(model, BernoulliNB) else None,
    )


def flip(flips: Flips, features: Any) -> Flip:
    """Return the moments of documents (equations 5.15 and 5.19); O(words of them)."""
    if flips.threshold is not None:
        features = binarize(features, threshold=flips.threshold)
    of_present = np.asarray(presence(features) @ flips.weights)
    mean = (2.0 * of_present / flips.size - flips.mean).T
    return Flip(mean, standard_deviation(mean, flips.mean_of_squares[:, None]))


def mean_shift(flipped: Flip) -> Floats:
    """Return E[lambda(d) - lambda(d')] = (2 sum_{w in d} b_w - sum_w b_w) / V (equation 5.15)."""
    return np.asarray(flipped.mean[RATIO])


def deviation_of_shift(flipped: Flip) -> Floats:
    """Return the standard deviation of lambda(d) - lambda(d') (equation 5.19)."""
    return np.asarray(flipped.deviation[RATIO])


def mean_log_strength(flipped: Flip, row: int) -> Floats:
    """Return (2 sum_{w in d} a_w^c - sum_w a_w^c) / V."""
    return np.asarray(flipped.mean[row])


def deviation_of_log_strength(flipped: Flip, row: int) -> Floats:
    """Return sqrt(sum_w (a_w^c)^2 / V - mean^2)."""
    return np.asarray(flipped.deviation[row])


BERNOULLI = ModelIndicators(
    recognises=lambda model: (
        isinstance(model, BernoulliNaiveBayes | BernoulliNB) and len(model.classes_) == 2
    ),
    learn=learn,
    around=flip,
    indicators={
        "NaiveBayesMeanShift": mean_shift,
        "NaiveBayesStdDeviation": deviation_of_shift,
        **of_each_class("NaiveBayesMeanLogOfStrengthGiven{}", mean_log_strength),
        **of_each_class("NaiveBayesStdDeviationLogOfStrengthGiven{}", deviation_of_log_strength),
    },
)

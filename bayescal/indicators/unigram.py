"""How multinomial naive Bayes' log-odds change when a word is deleted (Type 3).

Delta deletes one of the |d| words of a document, each as likely: word w with probability tf(w)/|d|.
With l_w^c = ln P(w|c) and r_w = l_w^+ - l_w^-, deleting w changes the log-odds by -r_w. Words that
no training document has are not counted; of a document without known words all is 0. Bennett's
dissertation, section 5.1.1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.naive_bayes import MultinomialNB

from bayescal.indicators.kind import ModelIndicators, of_each_class, ratio, standard_deviation
from bayescal.text.naive_bayes import MultinomialNaiveBayes
from bayescal.validation import Floats

RATIO = 2  # the row of r_w, after those of the negative and the positive class


@dataclass(frozen=True)
class Strengths:
    """
    What a word says, and what documents are summed by.

    Attributes
    ----------
    weights : array of shape (words, 7)
        l_w^-, l_w^+ and r_w, their squares, and 1 for known words; all 0 for unknown ones.
    """

    weights: Floats


@dataclass(frozen=True)
class Deletion:
    """
    Moments under the deletion of one word.

    Attributes
    ----------
    mean, deviation : arrays of shape (3, documents)
        Of l_w^-, l_w^+ and r_w of the word deleted.
    """

    mean: Floats
    deviation: Floats


def learn(model: Any, features: Any, positive: NDArray[np.bool_]) -> Strengths:
    """Return what each word says, of a fitted multinomial naive Bayes classifier."""
    strengths = np.asarray(model.feature_log_prob_)
    known = np.isfinite(strengths).all(axis=0)
    negative, positive_strength = np.where(known, strengths, 0.0)
    values = np.stack([negative, positive_strength, positive_strength - negative])
    return Strengths(np.vstack([values, values**2, known[None]]).T)


def delete(strengths: Strengths, features: Any) -> Deletion:
    """Return the moments of documents, from how often each word occurs; O(words of them)."""
    sums = np.asarray(sparse.csr_array(features) @ strengths.weights).T
    moments = ratio(sums[:6], sums[6])
    return Deletion(moments[:3], standard_deviation(moments[:3], moments[3:]))


def mean_shift(deletion: Deletion) -> Floats:
    """Return E[lambda(d) - lambda(d')] = sum_w tf(w) r_w / |d| (equation 5.6).

    It is what the words add to the log-odds of the class prior, per word.
    """
    return np.asarray(deletion.mean[RATIO])


def deviation_of_shift(deletion: Deletion) -> Floats:
    """Return the standard deviation of lambda(d) - lambda(d'): that of r_w (equation 5.7)."""
    return np.asarray(deletion.deviation[RATIO])


def mean_log_strength(deletion: Deletion, row: int) -> Floats:
    """Return sum_w tf(w) ln P(w|c) / |d|."""
    return np.asarray(deletion.mean[row])


def deviation_of_log_strength(deletion: Deletion, row: int) -> Floats:
    """Return the standard deviation of ln P(w|c) under weights tf(w)/|d|."""
    return np.asarray(deletion.deviation[row])


UNIGRAM = ModelIndicators(
    recognises=lambda model: (
        isinstance(model, MultinomialNaiveBayes | MultinomialNB) and len(model.classes_) == 2
    ),
    learn=learn,
    around=delete,
    indicators={
        "UnigramMeanShift": mean_shift,
        "UnigramStdDeviation": deviation_of_shift,
        **of_each_class("UnigramMeanLogOfStrengthGiven{}", mean_log_strength),
        **of_each_class("UnigramStdDeviationLogOfStrengthGiven{}", deviation_of_log_strength),
    },
)

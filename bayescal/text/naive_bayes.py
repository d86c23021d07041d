"""Naive Bayes for two classes of documents, with log-odds that never pass through probabilities.

Both models are linear in the words: log-odds(d) = b + sum_w x_w r_w. Their smoothing is the
dissertation's (sections 6.3.3 and 6.3.4): a word's overall share weighs as much as one observation.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.naive_bayes import MultinomialNB
from sklearn.utils.validation import check_is_fitted, check_non_negative

from bayescal.support.bayes import probabilities
from bayescal.support.validation import Floats, encode_labels, validated
from bayescal.text.mutual_information import presence

# What classifiers of two classes share whose scores are natural log-odds.


class LogOddsClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A classifier of two classes by its log-odds, with documents sparse or not."""

    classes_: NDArray[Any]

    @abstractmethod
    def decision_function(self, X: Any) -> Floats:  # noqa: N803
        """Return natural log-odds of the positive class; shape (documents,)."""

    def predict_proba(self, X: Any) -> Floats:  # noqa: N803
        """Return probabilities of both classes, in the order of `classes_`; some may be 0."""
        return probabilities(self.decision_function(X))

    def predict(self, X: Any) -> NDArray[Any]:  # noqa: N803
        """Return the likelier class of each document."""
        log_odds = self.decision_function(X)
        likelier: NDArray[Any] = self.classes_[(log_odds > 0.0).astype(np.intp)]
        return likelier

    def __sklearn_tags__(self) -> Any:
        """Tell scikit-learn what comes in: sparse or not, and two classes."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.classifier_tags.multi_class = False
        return tags


class LogLinear(LogOddsClassifier):
    """Base of the two models: an intercept, and log ratios that words add to it."""

    def fit(self, X: Any, y: ArrayLike) -> Self:  # noqa: N803
        """
        Count the words of both classes.

        Parameters
        ----------
        X : array or sparse matrix of shape (documents, words)
            How often each word occurs; none negative.
        y : array-like of shape (documents,)
            Labels, two classes, both present.

        Raises
        ------
        ValueError
            If an argument is not as described.
        """
        X, y = validated(self, X, y, accept_sparse="csr", dtype=np.float64)  # noqa: N806
        self.classes_, positive = encode_labels(y)
        check_non_negative(X, f"{type(self).__name__}.fit")
        n, n_positive = float(positive.size), float(positive.sum())
        # Laplace's m-estimate (n_c + 1/N)/(N + 2/N) of both classes: the denominators cancel.
        prior = np.log((n_positive + 1.0 / n) / (n - n_positive + 1.0 / n))
        self.feature_log_prob_ = self._log_probabilities(sparse.csr_array(X), positive)
        self.log_ratios_, bias = self._log_ratios(self.feature_log_prob_)
        self.intercept_ = float(prior + bias)
        return self

    def decision_function(self, X: Any) -> Floats:  # noqa: N803
        """Return natural log-odds of the positive class; shape (documents,)."""
        check_is_fitted(self, "log_ratios_")
        X = validated(self, X, accept_sparse="csr", dtype=np.float64, reset=False)  # noqa: N806
        return np.asarray(self._features(sparse.csr_array(X)) @ self.log_ratios_ + self.intercept_)

    def __sklearn_tags__(self) -> Any:
        """Tell scikit-learn that counts come in."""
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = True
        tags.classifier_tags.poor_score = True  # made for counts of words
        return tags

    @abstractmethod
    def _features(self, counts: Any) -> Any:
        """Return the features of the model from counts."""

    @abstractmethod
    def _log_probabilities(self, counts: Any, positive: NDArray[np.bool_]) -> Floats:
        """Return ln P(w|c) of the negative and the positive class, shape (2, words)."""

    @abstractmethod
    def _log_ratios(self, log_probabilities: Floats) -> tuple[Floats, float]:
        """Return the log ratio of each word, and the intercept."""


class MultinomialNaiveBayes(LogLinear):
    """
    Multinomial naive Bayes (the dissertation's unigram classifier): repetitions count.

    P(w|c) = (n_cw + n_w/N) / (n_c + 1), where n_cw counts occurrences of w in documents of class
    c, n_w in all, and n_c and N are their sums over words: `MultinomialNB(alpha=n_w / N)`.

    Attributes
    ----------
    feature_log_prob_ : array of shape (2, words)
        ln P(w|c) of the negative and the positive class; -inf for words that no document fitted
        has.
    log_ratios_ : array of shape (words,)
        ln P(w|+) - ln P(w|-); 0 for words that no document fitted has: they are ignored.
    intercept_ : float
        Log-odds of a document without words.

    References
    ----------
    Bennett's dissertation, equations 6.15 and 6.16; the class prior from counts of documents.

    Examples
    --------
    >>> model = MultinomialNaiveBayes().fit([[2, 0], [1, 1], [0, 3]], ["in", "in", "out"])
    >>> model.decision_function([[1, 0], [0, 1], [0, 0]]).round(2)
    array([-2.42,  0.48, -0.56])
    """

    def _features(self, counts: Any) -> Any:
        return counts

    def _log_probabilities(self, counts: Any, positive: NDArray[np.bool_]) -> Floats:
        occurrences = np.asarray(counts.sum(axis=0), dtype=np.float64)
        found = np.full((2, occurrences.size), -np.inf)
        seen = occurrences > 0.0
        if seen.any():
            model = MultinomialNB(alpha=occurrences[seen] / occurrences.sum())
            model.fit(counts[:, np.flatnonzero(seen)], positive)
            found[:, seen] = model.feature_log_prob_
        return found

    def _log_ratios(self, log_probabilities: Floats) -> tuple[Floats, float]:
        seen = np.isfinite(log_probabilities).all(axis=0)
        negative, positive = np.where(seen, log_probabilities, 0.0)
        return positive - negative, 0.0


class BernoulliNaiveBayes(LogLinear):
    """
    Bernoulli naive Bayes: whether a word occurs, and that it does not, both tell.

    P(w = v|c) = (n_{c,w=v} + n_{w=v}/N) / (n_c + 1) for v = present, absent; n counts documents.
    (scikit-learn's BernoulliNB smooths both values of every word alike.)

    Attributes
    ----------
    feature_log_prob_ : array of shape (2, words)
        ln P(w present|c) of the negative and the positive class; -inf for words that no document
        fitted has, 0 for words that all have.
    log_ratios_ : array of shape (words,)
        What the presence of a word adds to the log-odds of a document without words; 0 for words
        that no document fitted has, or all have.
    intercept_ : float
        Log-odds of a document without words: "the null document".

    References
    ----------
    Bennett's dissertation, equations 5.9, 6.13 and 6.14.

    Examples
    --------
    >>> model = BernoulliNaiveBayes().fit([[2, 0], [1, 1], [0, 3]], ["in", "in", "out"])
    >>> model.decision_function([[1, 0], [0, 1], [0, 0]]).round(2)
    array([-2.52,  1.64,  0.25])
    """

    def _features(self, counts: Any) -> Any:
        return presence(counts)

    def _log_probabilities(self, counts: Any, positive: NDArray[np.bool_]) -> Floats:
        present = presence(counts)
        share = np.asarray(present.mean(axis=0))
        sizes = np.array([[float((~positive).sum())], [float(positive.sum())]])
        with_word = np.stack(
            [np.asarray(present.T @ c.astype(np.float64)) for c in (~positive, positive)]
        )
        with np.errstate(divide="ignore"):
            return np.asarray(np.log((with_word + share) / (sizes + 1.0)))

    def _log_ratios(self, log_probabilities: Floats) -> tuple[Floats, float]:
        # A word that all documents share, or none, tells nothing: it is left out.
        telling = (np.isfinite(log_probabilities) & (log_probabilities < 0.0)).all(axis=0)
        present = np.where(telling, log_probabilities, np.log(0.5))
        absent = np.log1p(-np.exp(present))
        of_absence = absent[1] - absent[0]
        return (present[1] - present[0]) - of_absence, float(of_absence.sum())

"""Models of words: selection by mutual information, naive Bayes, and a decision tree.

The classifiers are for two classes; their scores are natural log-odds that never pass through
probabilities. Both models of naive Bayes are linear in the words: log-odds(d) = b + sum_w x_w r_w.
Their smoothing is the dissertation's (sections 6.3.3 and 6.3.4): a word's overall share weighs as
much as one observation.
"""

from abc import abstractmethod
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse, special
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.feature_selection import SelectorMixin
from sklearn.naive_bayes import MultinomialNB
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.validation import check_is_fitted, check_non_negative

from bayescal.metrics.inputs import as_truth
from bayescal.support import validation
from bayescal.support.labels import encode_labels, sorted_labels
from bayescal.support.numerics import probabilities
from bayescal.support.validation import Floats

FEWEST_FOR_MORE = (100, 1000)  # documents from which a word must be in 2, and in 3 of them


def presence(counts: Any) -> Any:
    """Return 1 where a word occurs in a document, as a sparse array of its own."""
    counts = counts if sparse.issparse(counts) else validation.as_reals(counts, "counts")
    if counts.ndim != 2:
        raise ValueError(f"counts must have shape (documents, words), got {counts.shape}.")
    # A copy, since the input may be shared between processes and read-only.
    present = sparse.csr_array(counts, dtype=np.float64, copy=True)
    present.sum_duplicates()
    if present.nnz:
        validation.check_finite(present.data, "counts")
    present.data = (present.data != 0.0).astype(np.float64)
    return present


def mutual_information(counts: Any, positive: ArrayLike) -> Floats:
    """Return the mutual information of each word's presence with the class, in nats.

    I = sum over w in {present, absent} and c in {+, -} of P(w, c) ln(P(w, c) / (P(w) P(c))), from
    document frequencies.

    Parameters
    ----------
    counts : array or sparse matrix of shape (documents, words)
        How often each word occurs; the function uses only whether it does.
    positive : array-like of shape (documents,) of bool
        The class of each document; other lengths raise a ValueError.

    Returns
    -------
    array of shape (words,)
        At least 0, at most ln 2.

    Examples
    --------
    >>> mutual_information([[2, 1], [1, 1], [0, 1], [0, 1]], [True, True, False, False]).round(4)
    array([0.6931, 0.    ])
    """
    present = presence(counts)
    truth = as_truth(positive, "positive").astype(np.float64)
    validation.check_same_length("counts", present.shape[0], "positive", truth.size)
    n, n_positive = float(truth.size), float(truth.sum())
    with_word = np.asarray(present.sum(axis=0), dtype=np.float64)
    with_both = np.asarray(present.T @ truth)
    total = np.zeros(with_word.size)
    for word, both in (
        (with_word, (with_both, with_word - with_both)),
        (n - with_word, (n_positive - with_both, n - n_positive - with_word + with_both)),
    ):
        for size, cell in zip((n_positive, n - n_positive), both, strict=True):
            # A cell of no document contributes nothing, whatever its margins.
            expected = np.where(cell > 0.0, word * size, 1.0)
            total += special.xlogy(cell, cell * n / expected) / n
    # Independent words sum to 0 but for rounding.
    return np.maximum(total, 0.0)


class MutualInformationSelector(SelectorMixin, BaseEstimator):  # type: ignore[misc]
    """Keep the words of highest mutual information with a binary class, or with any of several.

    With several classes the largest value of a word counts (Bennett's choice for nearest
    neighbours, where all classes share one set of words).

    Parameters
    ----------
    k : int
        Number of words; if there are fewer, all are kept.
    min_documents : int, optional
        Words in fewer of the documents fitted are left out. By default 1 of fewer than 100
        documents, 2 of fewer than 1,000, and 3 of more.

    Attributes
    ----------
    mutual_information_ : array of shape (words,)
        Mutual information of each word, in nats; the largest of several classes.

    Examples
    --------
    >>> selector = MutualInformationSelector(k=1, min_documents=1)
    >>> selector.fit_transform([[2, 1], [1, 1], [0, 1]], [1, 1, 0]).tolist()
    [[2], [1], [0]]
    """

    def __init__(self, k: int = 300, min_documents: int | None = None) -> None:
        self.k = k
        self.min_documents = min_documents

    def fit(self, X: Any, y: ArrayLike, topics: ArrayLike | None = None) -> Self:  # noqa: N803
        """Choose the words.

        Parameters
        ----------
        X : array or sparse matrix of shape (documents, words)
            How often each word occurs.
        y : array-like of shape (documents,) or (documents, classes)
            Labels of two classes, or membership of each of several classes.
        topics : array-like of shape (documents, classes), optional
            Replaces y. In a pipeline whose classifier is for one class, scikit-learn's metadata
            routing passes the labels of all classes, fold by fold.

        Raises
        ------
        ValueError
            If an argument is not as described, or no word is in `min_documents` documents.
        """
        validation.check_count("k", self.k)
        if self.min_documents is not None:
            validation.check_count("min_documents", self.min_documents)
        X, y = validation.validated(self, X, y, accept_sparse="csr", multi_output=True)  # noqa: N806
        names = y if topics is None else validation.as_array(topics, "topics")
        labels = np.atleast_2d(np.transpose(names))
        validation.check_same_length("X", X.shape[0], "topics", labels.shape[1])
        # A class of all documents, or of none, gives no information on words: one class is enough.
        varied = [column for column in labels if np.unique(column).size > 1] or labels[:1]
        positive = [encode_labels(column)[1] for column in varied]
        documents = np.asarray(presence(X).sum(axis=0))
        least = self.min_documents
        if least is None:
            least = 1 + int(np.searchsorted(FEWEST_FOR_MORE, X.shape[0], side="right"))
        candidates = np.flatnonzero(documents >= least)
        if candidates.size == 0:
            raise ValueError(
                f"at least one word must be in {least} of the documents, got none in"
                f" {X.shape[0]} documents: are they empty?"
            )
        of_classes = [mutual_information(X, members) for members in positive]
        self.mutual_information_ = np.max(of_classes, axis=0)
        # Ties go to the earlier word, on every machine.
        order = np.argsort(-self.mutual_information_[candidates], kind="stable")
        self._support = np.zeros(documents.size, dtype=bool)
        self._support[candidates[order[: self.k]]] = True
        return self

    def __sklearn_tags__(self) -> Any:
        """Tell scikit-learn that sparse matrices are accepted and labels required."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.required = True
        return tags

    def _get_support_mask(self) -> NDArray[np.bool_]:
        check_is_fitted(self, "mutual_information_")
        return self._support


class WordsClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A classifier of documents, sparse or dense, into two classes by one score."""

    only_counts: ClassVar[bool] = False  # whether negative features are refused
    classes_: NDArray[Any]

    def fit(self, X: Any, y: ArrayLike) -> Self:  # noqa: N803
        """Learn from documents of both classes.

        Parameters
        ----------
        X : array or sparse matrix of shape (documents, words)
            How often each word occurs; none negative.
        y : array-like of shape (documents,)
            Labels, two classes, both present.
        """
        X, y = validation.validated(self, X, y, accept_sparse="csr", dtype=np.float64)  # noqa: N806
        self.classes_, codes = sorted_labels(y)
        if self.only_counts:
            check_non_negative(X, f"{type(self).__name__}.fit")
        self._learn(X, codes == 1)
        return self

    def decision_function(self, X: Any) -> Floats:  # noqa: N803
        """Return a score of each document, larger for likelier positives; shape (documents,)."""
        check_is_fitted(self)
        X = validation.validated(self, X, accept_sparse="csr", dtype=np.float64, reset=False)  # noqa: N806
        return self._scores(X)

    def predict(self, X: Any) -> NDArray[Any]:  # noqa: N803
        """Return the positive class for scores above the threshold, which is 0 for log-odds."""
        positive = self.decision_function(X) > getattr(self, "threshold_", 0.0)
        return np.asarray(self.classes_[positive.astype(np.intp)])

    def __sklearn_tags__(self) -> Any:
        """Tell scikit-learn that sparse matrices and two classes are accepted."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.classifier_tags.multi_class = False
        tags.input_tags.positive_only = tags.classifier_tags.poor_score = self.only_counts
        return tags

    @abstractmethod
    def _learn(self, counts: Any, positive: NDArray[np.bool_]) -> None:
        """Set the fitted attributes."""

    @abstractmethod
    def _scores(self, counts: Any) -> Floats:
        """Return the scores of documents."""


class LogOddsMixin:
    """Probabilities of a classifier whose scores are natural log-odds."""

    def predict_proba(self, X: Any) -> Floats:  # noqa: N803
        """Return probabilities of both classes, in the order of `classes_`; some may be 0."""
        return probabilities(self.decision_function(X))  # type: ignore[attr-defined]


class LogLinear(LogOddsMixin, WordsClassifier):
    """Base of both naive Bayes models: an intercept, and a log ratio of each word."""

    only_counts = True

    def _learn(self, counts: Any, positive: NDArray[np.bool_]) -> None:
        n, n_positive = float(positive.size), float(positive.sum())
        # Laplace's m-estimate (n_c + 1/N)/(N + 2/N) of each class; the denominators cancel.
        prior = np.log((n_positive + 1.0 / n) / (n - n_positive + 1.0 / n))
        self.feature_log_prob_ = self._log_probabilities(sparse.csr_array(counts), positive)
        self.log_ratios_, bias = self._log_ratios(self.feature_log_prob_)
        self.intercept_ = float(prior + bias)

    def _scores(self, counts: Any) -> Floats:
        features = self._features(sparse.csr_array(counts))
        return np.asarray(features @ self.log_ratios_ + self.intercept_)

    def _features(self, counts: Any) -> Any:
        """Return the features of the model from counts."""
        return counts

    @abstractmethod
    def _log_probabilities(self, counts: Any, positive: NDArray[np.bool_]) -> Floats:
        """Return ln P(w|c) of the negative and the positive class, shape (2, words)."""

    @abstractmethod
    def _log_ratios(self, log_probabilities: Floats) -> tuple[Floats, float]:
        """Return the log ratio of each word, and the intercept."""


class MultinomialNaiveBayes(LogLinear):
    """Multinomial naive Bayes (the dissertation's unigram classifier): repetitions count.

    P(w|c) = (n_cw + n_w/N) / (n_c + 1), where n_cw counts occurrences of w in documents of class
    c, n_w in all, and n_c and N are their sums over words: `MultinomialNB(alpha=n_w / N)`.

    Attributes
    ----------
    feature_log_prob_ : array of shape (2, words)
        ln P(w|c) of the negative and the positive class; -inf for words of no fitted document.
    log_ratios_ : array of shape (words,)
        ln P(w|+) - ln P(w|-); 0 for words of no fitted document, which are ignored.
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

    def _log_probabilities(self, counts: Any, positive: NDArray[np.bool_]) -> Floats:
        occurrences = np.asarray(counts.sum(axis=0), dtype=np.float64)
        out = np.full((2, occurrences.size), -np.inf)
        seen = occurrences > 0.0
        if seen.any():
            model = MultinomialNB(alpha=occurrences[seen] / occurrences.sum())
            model.fit(counts[:, np.flatnonzero(seen)], positive)
            out[:, seen] = model.feature_log_prob_
        return out

    def _log_ratios(self, log_probabilities: Floats) -> tuple[Floats, float]:
        seen = np.isfinite(log_probabilities).all(axis=0)
        negative, positive = np.where(seen, log_probabilities, 0.0)
        return positive - negative, 0.0


class BernoulliNaiveBayes(LogLinear):
    """Bernoulli naive Bayes: presence and absence of each word are evidence.

    P(w = v|c) = (n_{c,w=v} + n_{w=v}/N) / (n_c + 1) for v = present, absent; n counts documents.
    (scikit-learn's BernoulliNB smooths both values of every word alike.)

    Attributes
    ----------
    feature_log_prob_ : array of shape (2, words)
        ln P(w present|c) of the negative and the positive class; -inf for words of no fitted
        document, 0 for words of all.
    log_ratios_ : array of shape (words,)
        Added to the log-odds of a document without words if the word is present; 0 for words of no
        fitted document, or of all.
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
        present, absent, _ = presence_and_absence(log_probabilities)
        of_absence = absent[1] - absent[0]
        return (present[1] - present[0]) - of_absence, float(of_absence.sum())


def presence_and_absence(log_present: Floats) -> tuple[Floats, Floats, NDArray[np.bool_]]:
    """Return ln P(w|c) and ln P(not w|c), and True for words that are informative; else 1/2."""
    # A word that all documents share, or none, says nothing of the class.
    informative = np.asarray((np.isfinite(log_present) & (log_present < 0.0)).all(axis=0))
    present = np.where(informative, log_present, np.log(0.5))
    return present, np.log1p(-np.exp(present)), informative


def leaf_log_odds(tree: Any) -> Floats:
    """Return ln (n(+) + 1)/(n(-) + 1) of each node of a tree, from the documents of its growth."""
    shares = tree.tree_.value[:, 0, :]
    counts = (
        shares / shares.sum(axis=1, keepdims=True) * tree.tree_.weighted_n_node_samples[:, None]
    )
    return np.asarray(np.log1p(counts[:, 1]) - np.log1p(counts[:, 0]))


class DecisionTree(LogOddsMixin, WordsClassifier):
    """A tree that splits documents by words; the score is the smoothed log-odds of the leaf.

    scikit-learn's tree, grown by entropy, without splits that raise the labels' log likelihood by
    less than `penalty`.

    Parameters
    ----------
    penalty : float, optional
        Least gain of a split in nats, over all documents fitted; by default BIC's price of a
        parameter, ln(N)/2 of N documents.
    random_state : int, optional
        Orders words that split equally well.

    Attributes
    ----------
    tree_ : sklearn.tree.DecisionTreeClassifier
        The tree.
    log_odds_ : array of shape (nodes,)
        ln (n(+) + 1)/(n(-) + 1) of each node.

    References
    ----------
    Bennett's dissertation, section 6.3.1 and equation 6.10, without a stopping rule.

    Examples
    --------
    >>> model = DecisionTree().fit([[0], [0], [0], [2], [1], [1]], [0, 0, 0, 1, 1, 1])
    >>> model.decision_function([[0], [3]]).round(3)
    array([-1.386,  1.386])
    """

    def __init__(self, penalty: float | None = None, random_state: int | None = 0) -> None:
        self.penalty = penalty
        self.random_state = random_state

    def _learn(self, counts: Any, positive: NDArray[np.bool_]) -> None:
        n = positive.size
        gain = np.log(n) / 2.0 if self.penalty is None else self.penalty
        if not 0.0 <= gain < np.inf:
            raise ValueError(f"penalty must be a number of nats, at least 0, got {self.penalty}.")
        # scikit-learn measures entropy in bits, averaged over all documents.
        least = gain / (n * np.log(2.0))
        self.tree_ = DecisionTreeClassifier(
            criterion="entropy", min_impurity_decrease=least, random_state=self.random_state
        ).fit(counts, positive)
        self.log_odds_ = leaf_log_odds(self.tree_)

    def _scores(self, counts: Any) -> Floats:
        """Return the log-odds of each document's leaf."""
        return np.asarray(self.log_odds_[self.tree_.apply(counts)])

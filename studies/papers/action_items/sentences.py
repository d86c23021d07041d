"""Features of sentences (n-grams, position), and scores of documents from those of sentences."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.utils.validation import check_is_fitted, validate_data

from bayescal.support.validation import Floats, as_scores, check_count, check_same_length

# Neither can be a token: these hold letters, digits or one mark of punctuation.
BEGINNING, END = "<s>", "</s>"
LONGEST = 4
# Words with inner hyphens, apostrophes and points; and the punctuation that ends sentences.
TOKEN = re.compile(r"\w+(?:[-'\u2019.]\w+)*|[.!?]")
# After punctuation that ends a sentence, and where a line is empty.
BOUNDARY = re.compile(r"(?<=[.!?])\s+|\n\s*\n")

Split = Callable[[str], Sequence[str]]


def split_sentences(document: str) -> list[str]:
    """Return the sentences of a document by a simple rule.

    A sentence ends at `.`, `!` or `?` before white space, or at an empty line. Abbreviations
    followed by a space end one too; where that matters, split by a parser and give its sentences.

    Parameters
    ----------
    document : str
        Text.

    Examples
    --------
    >>> split_sentences("Thanks! Can you send the 2.1 draft?  Bob")
    ['Thanks!', 'Can you send the 2.1 draft?', 'Bob']
    """
    return [part.strip() for part in BOUNDARY.split(document) if part.strip()]


def sentence_tokens(sentence: str) -> list[str]:
    """Return the words of a sentence in lower case, and its sentence-ending punctuation.

    One letter is a word too, and `.`, `!` and `?` are tokens: "I" and "?" tell requests from
    reports. Points within words and numbers are no tokens.

    Parameters
    ----------
    sentence : str
        Text.

    Examples
    --------
    >>> sentence_tokens("Could I have it by 5.30 p.m.?")
    ['could', 'i', 'have', 'it', 'by', '5.30', 'p.m', '.', '?']
    """
    return TOKEN.findall(sentence.lower())


def ngrams(tokens: Sequence[str], longest: int) -> list[str]:
    """Return all n-grams of tokens, from single ones up to a length.

    Parameters
    ----------
    tokens : sequence of str
        In their order.
    longest : int
        Tokens in the longest n-grams.

    Examples
    --------
    >>> ngrams(["let", "me", "know"], 2)
    ['let', 'me', 'know', 'let me', 'me know']
    """
    return [
        " ".join(tokens[start : start + size])
        for size in range(1, longest + 1)
        for start in range(len(tokens) - size + 1)
    ]


@dataclass(frozen=True)
class SentenceAnalyzer:
    """The n-grams of a text's sentences, none across two, for `CountVectorizer`.

    Attributes
    ----------
    longest : int
        Tokens in the longest n-grams.
    boundaries : bool
        Whether the beginning and the end of a sentence are tokens.
    split : callable, optional
        From a document to its sentences; None if each text is one sentence.
    """

    longest: int
    boundaries: bool
    split: Split | None = None

    def __call__(self, text: str) -> list[str]:
        """Return the counted tokens."""
        sentences = [text] if self.split is None else self.split(text)
        return [each for one in sentences for each in ngrams(self._tokens(one), self.longest)]

    def _tokens(self, sentence: str) -> list[str]:
        tokens = sentence_tokens(sentence)
        return [BEGINNING, *tokens, END] if self.boundaries else tokens


def sentence_words(*, split: Split | None = None) -> CountVectorizer:
    """Return a vectoriser that counts words and sentence-ending punctuation.

    Parameters
    ----------
    split : callable, optional
        From a document to its sentences, such as `split_sentences`; None if each text is one.

    References
    ----------
    The bag of words of Bennett's dissertation, section 10.3.

    Examples
    --------
    >>> sentence_words().fit(["Can you come?"]).get_feature_names_out().tolist()
    ['?', 'can', 'come', 'you']
    """
    return CountVectorizer(analyzer=SentenceAnalyzer(1, boundaries=False, split=split))


def sentence_ngrams(longest: int = LONGEST, *, split: Split | None = None) -> CountVectorizer:
    """Return a vectoriser that counts all n-grams of sentences, with their beginning and end.

    Each occurrence of an n-gram is one of all n-grams within it too, so that classifiers can fall
    back on shorter ones. The beginning `<s>` and the end `</s>` of a sentence are tokens, for
    e-mail lacks punctuation; no n-gram reaches across two sentences.

    Parameters
    ----------
    longest : int
        Tokens in the longest n-grams, the two that bound a sentence included.
    split : callable, optional
        From a document to its sentences, such as `split_sentences`; None if each text is one.

    References
    ----------
    Bennett's dissertation, section 10.3.

    Examples
    --------
    >>> vectorizer = sentence_ngrams(2).fit(["Have you?"])
    >>> vectorizer.get_feature_names_out().tolist()
    ['</s>', '<s>', '<s> have', '?', '? </s>', 'have', 'have you', 'you', 'you ?']
    """
    check_count("longest", longest)
    return CountVectorizer(analyzer=SentenceAnalyzer(longest, boundaries=True, split=split))


OCTILES = 8


def sentence_positions(documents: ArrayLike) -> Floats:
    """Return where the middle of each sentence is in its document, between 0 and 1.

    The i-th of n sentences, from i = 0, is at (i + 1/2) / n. Compute positions of whole documents
    before sentences are dealt to folds.

    Parameters
    ----------
    documents : array-like of shape (sentences,)
        Which document each sentence is of; those of a document in their order, others may come
        between them.

    Returns
    -------
    array of shape (sentences,)

    Examples
    --------
    >>> sentence_positions(["a", "a", "b", "a", "a"]).tolist()
    [0.125, 0.375, 0.5, 0.625, 0.875]
    """
    number = document_numbers(documents)
    sizes = np.bincount(number)
    order = np.argsort(number, kind="stable")
    place = np.empty(number.size, dtype=np.intp)
    place[order] = np.arange(number.size) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    return np.asarray((place + 0.5) / sizes[number])


def document_numbers(documents: ArrayLike) -> NDArray[np.intp]:
    """Return the number of each sentence's document, from 0 in the sorted order of documents.

    Parameters
    ----------
    documents : array-like of shape (sentences,)
        Which document each sentence is of.

    Examples
    --------
    >>> document_numbers(["b", "a", "b"]).tolist()
    [1, 0, 1]
    """
    values = np.asarray(documents)
    if values.ndim != 1 or values.size == 0:
        raise ValueError(
            "documents must have shape (sentences,), the document of each of at least one"
            f" sentence, got shape {values.shape}."
        )
    return np.asarray(np.unique(values, return_inverse=True)[1], dtype=np.intp)


class PositionOctiles(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Make eight binary features of a sentence's position: which eighth of its document it is in.

    A transformer of one column, `sentence_positions`, for a ColumnTransformer beside n-grams.

    References
    ----------
    Bennett's dissertation, section 10.3: features of sentences beside their n-grams.

    Examples
    --------
    >>> PositionOctiles().fit_transform([[0.05], [0.5]]).astype(int).tolist()
    [[1, 0, 0, 0, 0, 0, 0, 0], [0, 0, 0, 0, 1, 0, 0, 0]]
    """

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: N803
        """Check the positions; there is nothing to learn.

        Parameters
        ----------
        X : array-like of shape (sentences, 1)
            Positions from 0 to 1.
        y : ignored
            There for scikit-learn.
        """
        self._positions(X, reset=True)
        return self

    def transform(self, X: Any) -> Floats:  # noqa: N803
        """Return the features; shape (sentences, 8), in each row a single 1.

        Parameters
        ----------
        X : array-like of shape (sentences, 1)
            Positions from 0 to 1.
        """
        check_is_fitted(self, "n_features_in_")
        positions = self._positions(X, reset=False)
        # The end of the document belongs to its last eighth.
        octile = np.minimum((OCTILES * positions).astype(np.intp), OCTILES - 1)
        return np.asarray(np.eye(OCTILES)[octile])

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Return the names octile1 to octile8.

        Parameters
        ----------
        input_features : ignored
            There for scikit-learn.
        """
        return np.array([f"octile{k + 1}" for k in range(OCTILES)], dtype=object)

    def _positions(self, X: Any, *, reset: bool) -> Floats:  # noqa: N803
        values = validate_data(self, X, dtype=np.float64, reset=reset)
        if values.shape[1] != 1:
            raise ValueError(f"X must have one column of positions, got {values.shape[1]}.")
        outside = np.flatnonzero((values[:, 0] < 0.0) | (values[:, 0] > 1.0))
        if outside.size:
            raise ValueError(
                f"positions must be from 0 to 1, got {values[outside[0], 0]} for sentence"
                f" {outside[0]}: see sentence_positions."
            )
        return np.asarray(values[:, 0])


def document_predictions(predicted: ArrayLike, documents: ArrayLike) -> NDArray[np.bool_]:
    """Return True for documents with a sentence classified as positive.

    Parameters
    ----------
    predicted : array-like of shape (sentences,) of bool
        Whether each sentence is taken.
    documents : array-like of shape (sentences,)
        Which document each sentence is of.

    Returns
    -------
    array of shape (documents,) of bool
        In the order of `numpy.unique(documents)`.

    Examples
    --------
    >>> document_predictions([False, True, False], ["a", "a", "b"]).tolist()
    [True, False]
    """
    number = document_numbers(documents)
    taken = _as_decisions(predicted, number.size)
    return np.bincount(number, weights=taken) > 0.0


def document_scores(
    sentence_scores: ArrayLike, predicted: ArrayLike, documents: ArrayLike, tokens: ArrayLike
) -> Floats:
    """Return ranking scores of documents: the evidence for a positive sentence in each.

    The sum of the scores of the sentences that are taken, or, where none is, the largest score of
    all: psi(d) = (1/n(d)) sum of psi(s) over sentences s taken, else (1/n(d)) max of psi(s), where
    n(d) is the number of tokens of the document, at least 1. Long documents hold more sentences
    that are taken by mistake, hence the division.

    Parameters
    ----------
    sentence_scores : array-like of shape (sentences,)
        Raw scores, larger for likelier positives.
    predicted : array-like of shape (sentences,) of bool
        Whether each sentence is taken for positive. Where that is decided by another threshold
        than 0, give scores less this threshold: taken sentences then count for a document.
    documents : array-like of shape (sentences,)
        Which document each sentence is of.
    tokens : array-like of shape (sentences,)
        How many tokens each sentence has.

    Returns
    -------
    array of shape (documents,)
        In the order of `numpy.unique(documents)`; units of the scores per token.

    References
    ----------
    Bennett's dissertation, section 10.3.2.

    Examples
    --------
    >>> scores, taken = [2.0, -1.0, 1.0, -3.0, -2.0], [True, False, True, False, False]
    >>> document_scores(scores, taken, ["a", "a", "a", "b", "b"], [3, 4, 3, 2, 2]).tolist()
    [0.3, -0.5]
    """
    scores = as_scores(sentence_scores, "sentence_scores")
    number = document_numbers(documents)
    check_same_length("sentence_scores", scores.size, "documents", number.size)
    taken = _as_decisions(predicted, number.size)
    length = np.maximum(np.bincount(number, weights=_as_numbers_of_tokens(tokens, number.size)), 1)
    total = np.bincount(number, weights=np.where(taken, scores, 0.0))
    largest = np.full(length.size, -np.inf)
    np.maximum.at(largest, number, scores)
    found = np.bincount(number, weights=taken) > 0.0
    return np.asarray(np.where(found, total, largest) / length)


def _as_decisions(predicted: ArrayLike, sentences: int) -> NDArray[np.bool_]:
    values: NDArray[Any] = np.asarray(predicted)
    check_same_length("predicted", values.size, "documents", sentences)
    if values.ndim != 1 or not np.isin(values, (0, 1)).all():
        raise ValueError(
            "predicted must hold True for sentences that are taken and False for the others, got"
            f" {values.dtype} of shape {values.shape}: compare scores with a threshold."
        )
    return values.astype(np.bool_)


def _as_numbers_of_tokens(tokens: ArrayLike, sentences: int) -> Floats:
    counts = as_scores(tokens, "tokens")
    check_same_length("tokens", counts.size, "documents", sentences)
    if (counts < 0.0).any():
        raise ValueError(f"tokens must not be negative, got {counts.min()}.")
    return counts

"""Words of documents, counted in the ways that indicators of a document's information need."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from bayescal.text.mutual_information import presence
from bayescal.validation import Floats

KNOWN, ALL = 0, 1
OF_CLASS = 2  # the first of two columns, one a class, for words that occur in it
FAVOURING = 4  # the same for words that occur more often in it than in the other


@dataclass(frozen=True)
class Vocabulary:
    """
    What the training documents say of each word.

    Attributes
    ----------
    kinds : array of shape (words, 6)
        1 where a word is of a kind: seen in training, any; seen in the negative and in the
        positive class; of more occurrences in the negative and in the positive class than in the
        other.
    selected : array of shape (words,)
        1 where the classifiers see a word.
    """

    kinds: Floats
    selected: Floats

    @classmethod
    def of(
        cls, counts: Any, positive: NDArray[np.bool_], selected: NDArray[np.bool_]
    ) -> Vocabulary:
        """
        Return the vocabulary of training documents.

        Parameters
        ----------
        counts : sparse array of shape (documents, words)
            How often each word occurs.
        positive : array of shape (documents,) of bool
            Their classes.
        selected : array of shape (words,) of bool
            Which words the classifiers see.
        """
        both = np.stack(
            [np.asarray(counts.T @ c.astype(np.float64)) for c in (~positive, positive)], axis=1
        )
        known = both.sum(axis=1, keepdims=True) > 0.0
        columns = (known, np.ones_like(known), both > 0.0, both > both[:, ::-1])
        return cls(np.hstack(columns).astype(np.float64), selected.astype(np.float64))


@dataclass(frozen=True)
class Tally:
    """
    How many words of each kind documents have.

    Attributes
    ----------
    tokens : array of shape (documents, 6)
        Occurrences of words of each kind of `Vocabulary`.
    unique : array of shape (documents, 6)
        Different words of each kind.
    """

    tokens: Floats
    unique: Floats


@dataclass(frozen=True)
class DocumentWords:
    """
    Words of documents before and after selection.

    Attributes
    ----------
    before : Tally
        Of all words.
    after : Tally
        Of those that the classifiers see.
    """

    before: Tally
    after: Tally

    @classmethod
    def of(cls, counts: Any, vocabulary: Vocabulary) -> DocumentWords:
        """Return the words of documents, from how often each occurs; (documents, words)."""
        counts = sparse.csr_array(counts)
        kinds = vocabulary.kinds
        both = np.hstack([kinds, kinds * vocabulary.selected[:, None]])
        tokens, unique = np.asarray(counts @ both), np.asarray(presence(counts) @ both)
        size = kinds.shape[1]
        return cls(
            Tally(tokens[:, :size], unique[:, :size]), Tally(tokens[:, size:], unique[:, size:])
        )

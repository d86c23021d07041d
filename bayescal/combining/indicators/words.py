"""Indicators of a document's words: how many there are, and how many feature selection removes.

Types 1 and 2 of Bennett's dissertation, section 5.2.2. T are the words of the training documents,
F the words that the classifiers see. Shares are 0 for documents without words.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from bayescal.combining.indicators.models import Indicator, of_each_class, ratio
from bayescal.support.validation import Floats
from bayescal.text.word_models import presence

KNOWN, ALL = 0, 1
OF_CLASS = 2  # the first of two columns, one a class, for words that occur in it
MORE_FREQUENT = 4  # the same for words that occur more often in it than in the other


@dataclass(frozen=True)
class Vocabulary:
    """Kinds of words, by the training documents, and those that the classifiers see."""

    # (words, 6): 1 if a word is seen in training; for any word; if it is seen in the negative, in
    # the positive class; if it occurs more often in the negative, in the positive class
    membership: Floats
    selected: Floats  # (words,): 1 if the classifiers see the word

    @classmethod
    def of(
        cls, counts: Any, positive: NDArray[np.bool_], selected: NDArray[np.bool_]
    ) -> Vocabulary:
        """Return the vocabulary of training documents."""
        both = np.stack(
            [np.asarray(counts.T @ c.astype(np.float64)) for c in (~positive, positive)], axis=1
        )
        known = both.sum(axis=1, keepdims=True) > 0.0
        columns = (known, np.ones_like(known), both > 0.0, both > both[:, ::-1])
        return cls(np.hstack(columns).astype(np.float64), selected.astype(np.float64))


@dataclass(frozen=True)
class Tally:
    """Numbers of words of each kind in documents."""

    tokens: Floats  # (documents, 6): occurrences of words of each kind of `Vocabulary`
    unique: Floats  # (documents, 6): different words of each kind


@dataclass(frozen=True)
class DocumentWords:
    """Words of documents before and after selection."""

    before: Tally
    after: Tally

    @classmethod
    def of(cls, counts: Any, vocabulary: Vocabulary) -> DocumentWords:
        """Return the words of documents, from how often each occurs; (documents, words)."""
        counts = sparse.csr_array(counts)
        membership = vocabulary.membership
        both = np.hstack([membership, membership * vocabulary.selected[:, None]])
        tokens, unique = np.asarray(counts @ both), np.asarray(presence(counts) @ both)
        size = membership.shape[1]
        return cls(
            Tally(tokens[:, :size], unique[:, :size]), Tally(tokens[:, size:], unique[:, size:])
        )


def number(words: DocumentWords, count: str, kind: int, *, selected: bool = False) -> Floats:
    """Return the number of words of a kind: occurrences ("tokens") or different ones ("unique")."""
    tally = words.after if selected else words.before
    column: Floats = getattr(tally, count)[:, kind]
    return column


def removed(words: DocumentWords, count: str, kind: int = ALL) -> Floats:
    """Return the number of words of a kind minus the number of words that the classifiers see."""
    return number(words, count, kind) - number(words, count, ALL, selected=True)


def share_of_known(words: DocumentWords, count: str, kind: int, row: int) -> Floats:
    """Return the share of known words with a class's kind."""
    return ratio(number(words, count, kind + row), number(words, count, KNOWN))


def share_of_selected(words: DocumentWords, count: str, kind: int, row: int) -> Floats:
    """Return the share of selected words with a class's kind."""
    of_class = number(words, count, kind + row, selected=True)
    return ratio(of_class, number(words, count, ALL, selected=True))


def change_of_share(words: DocumentWords, count: str, kind: int, row: int) -> Floats:
    """Return the share of a class's kind before minus after selection."""
    after = share_of_selected(words, count, kind, row)
    return share_of_known(words, count, kind, row) - after


def share_unknown(words: DocumentWords, count: str) -> Floats:
    """Return the share of words without a training document."""
    every = number(words, count, ALL)
    return ratio(every - number(words, count, KNOWN), every)


def share_removed(words: DocumentWords, count: str) -> Floats:
    """Return the share of words that the classifiers do not see."""
    return ratio(removed(words, count), number(words, count, ALL))


def _shares(names: Sequence[str], function: Callable[..., Floats]) -> dict[str, Indicator]:
    """Return indicators of each class: words in it, and words more frequent in it."""
    membership = itertools.product((OF_CLASS, MORE_FREQUENT), ("tokens", "unique"))
    return {
        name: indicator
        for pattern, (kind, count) in zip(names, membership, strict=True)
        for name, indicator in of_each_class(
            pattern, partial(function, count=count, kind=kind)
        ).items()
    }


DOCUMENT_INDICATORS: Mapping[str, Indicator] = {
    "DocumentLength": partial(number, count="tokens", kind=ALL),  # sum_w tf(w, d)
    "EffectiveDocumentLength": partial(number, count="tokens", kind=KNOWN),  # over w in T
    "NumUniqueWords": partial(number, count="unique", kind=ALL),  # #{w: tf(w, d) > 0}
    "EffectiveUniqueWords": partial(number, count="unique", kind=KNOWN),  # over w in T
    # Different words / words: 1 if none is repeated.
    "PercentUnique": lambda words: ratio(
        number(words, "unique", ALL), number(words, "tokens", ALL)
    ),
    "PercentOOV": partial(share_unknown, count="tokens"),
    "PercentUniqueOOV": partial(share_unknown, count="unique"),
    **_shares(
        (
            "PercentIn{}BeforeFS",
            "UpercentIn{}BeforeFS",
            "%Favoring{}BeforeFS",
            "U%Favoring{}BeforeFS",
        ),
        share_of_known,
    ),
}
SELECTION_INDICATORS: Mapping[str, Indicator] = {
    "DocumentLengthAfterFS": partial(number, count="tokens", kind=ALL, selected=True),
    "UniqueAfterFS": partial(number, count="unique", kind=ALL, selected=True),
    "PercentRemoved": partial(share_removed, count="tokens"),
    "UniquePercentRemoved": partial(share_removed, count="unique"),
    **_shares(
        ("PercentIn{}AfterFS", "UpercentIn{}AfterFS", "%Favoring{}AfterFS", "U%Favoring{}AfterFS"),
        share_of_selected,
    ),
    "NumWordsDiscarded": partial(removed, count="tokens"),
    "NumTrainingWordsDiscarded": partial(removed, count="tokens", kind=KNOWN),
    "NumFeaturesDiscarded": partial(removed, count="unique"),
    "NumTrainingFeaturesDiscarded": partial(removed, count="unique", kind=KNOWN),
    **_shares(
        (
            "WordsSeenIn{}Delta",
            "FeaturesSeenIn{}Delta",
            "PercentWordsPointingTo{}Delta",
            "UPercentWordsPointingTo{}Delta",
        ),
        change_of_share,
    ),
}

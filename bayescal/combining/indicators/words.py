"""Indicators of a document's words: how many there are, and how many feature selection removes.

Types 1 and 2 of Bennett's dissertation, section 5.2.2. T are the words of the training documents,
F the words that the classifiers see. Shares are 0 for documents without words.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from operator import itemgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from bayescal.combining.indicators.models import CLASSES, Indicator, ratio
from bayescal.support.validation import Floats
from bayescal.text.word_models import presence

# Axes of numbers of words, see `count_words`.
BEFORE, AFTER = 0, 1
TOKENS, UNIQUE = 0, 1
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


def count_words(counts: Any, vocabulary: Vocabulary) -> Floats:
    """Return word counts (before or after selection, occurrences or words, kind, document)."""
    counts, membership = sparse.csr_array(counts), vocabulary.membership
    both = np.hstack([membership, membership * vocabulary.selected[:, None]])
    numbers = np.stack([counts @ both, presence(counts) @ both])
    return numbers.reshape(2, -1, 2, membership.shape[1]).transpose(2, 0, 3, 1)


def removed(words: Floats, count: int, kind: int = ALL) -> Floats:
    """Return the number of words of a kind minus the number of words that the classifiers see."""
    return np.asarray(words[BEFORE, count, kind] - words[AFTER, count, ALL])


def share_of_known(words: Floats, count: int, kind: int) -> Floats:
    """Return the share of known words with a class's kind."""
    return ratio(words[BEFORE, count, kind], words[BEFORE, count, KNOWN])


def share_of_selected(words: Floats, count: int, kind: int) -> Floats:
    """Return the share of selected words with a class's kind."""
    return ratio(words[AFTER, count, kind], words[AFTER, count, ALL])


def change_of_share(words: Floats, count: int, kind: int) -> Floats:
    """Return the share of a class's kind before minus after selection."""
    return share_of_known(words, count, kind) - share_of_selected(words, count, kind)


def share_unknown(words: Floats, count: int) -> Floats:
    """Return the share of words without a training document."""
    known, every = words[BEFORE, count, [KNOWN, ALL]]
    return ratio(every - known, every)


def share_removed(words: Floats, count: int) -> Floats:
    """Return the share of words that the classifiers do not see."""
    return ratio(removed(words, count), words[BEFORE, count, ALL])


def _shares(names: Sequence[str], function: Callable[..., Floats]) -> dict[str, Indicator]:
    """Return indicators of each class: words in it, and words more frequent in it."""
    membership = itertools.product((OF_CLASS, MORE_FREQUENT), (TOKENS, UNIQUE))
    return {
        name.format(label): partial(function, count=count, kind=kind + row)
        for name, (kind, count) in zip(names, membership, strict=True)
        for label, row in CLASSES.items()
    }


DOCUMENT_INDICATORS: Mapping[str, Indicator] = {
    "DocumentLength": itemgetter((BEFORE, TOKENS, ALL)),  # sum_w tf(w, d)
    "EffectiveDocumentLength": itemgetter((BEFORE, TOKENS, KNOWN)),  # over w in T
    "NumUniqueWords": itemgetter((BEFORE, UNIQUE, ALL)),  # #{w: tf(w, d) > 0}
    "EffectiveUniqueWords": itemgetter((BEFORE, UNIQUE, KNOWN)),  # over w in T
    # Different words / words: 1 if none is repeated.
    "PercentUnique": lambda words: ratio(words[BEFORE, UNIQUE, ALL], words[BEFORE, TOKENS, ALL]),
    "PercentOOV": partial(share_unknown, count=TOKENS),
    "PercentUniqueOOV": partial(share_unknown, count=UNIQUE),
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
    "DocumentLengthAfterFS": itemgetter((AFTER, TOKENS, ALL)),
    "UniqueAfterFS": itemgetter((AFTER, UNIQUE, ALL)),
    "PercentRemoved": partial(share_removed, count=TOKENS),
    "UniquePercentRemoved": partial(share_removed, count=UNIQUE),
    **_shares(
        ("PercentIn{}AfterFS", "UpercentIn{}AfterFS", "%Favoring{}AfterFS", "U%Favoring{}AfterFS"),
        share_of_selected,
    ),
    "NumWordsDiscarded": partial(removed, count=TOKENS),
    "NumTrainingWordsDiscarded": partial(removed, count=TOKENS, kind=KNOWN),
    "NumFeaturesDiscarded": partial(removed, count=UNIQUE),
    "NumTrainingFeaturesDiscarded": partial(removed, count=UNIQUE, kind=KNOWN),
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

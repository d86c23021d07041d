"""How much information a document holds: counts and shares of its words (Type 1).

Bennett's dissertation, section 5.2.2. Shares of no words at all are 0.
"""

from __future__ import annotations

from collections.abc import Mapping

from bayescal.indicators.kind import Indicator, of_each_class, ratio
from bayescal.indicators.words import ALL, FAVOURING, KNOWN, OF_CLASS, DocumentWords
from bayescal.validation import Floats


def length(words: DocumentWords) -> Floats:
    """Return sum_w tf(w, d): how many words the document has, unknown ones too."""
    return words.before.tokens[:, ALL]


def known_length(words: DocumentWords) -> Floats:
    """Return sum over w in T of tf(w, d), T the words of the training documents."""
    return words.before.tokens[:, KNOWN]


def unique_words(words: DocumentWords) -> Floats:
    """Return #{w: tf(w, d) > 0}: how many different words the document has."""
    return words.before.unique[:, ALL]


def known_unique_words(words: DocumentWords) -> Floats:
    """Return #{w in T: tf(w, d) > 0}."""
    return words.before.unique[:, KNOWN]


def share_unique(words: DocumentWords) -> Floats:
    """Return different words / words: 1 if none is repeated."""
    return ratio(unique_words(words), length(words))


def share_unknown(words: DocumentWords) -> Floats:
    """Return the share of words that no training document has."""
    return ratio(length(words) - known_length(words), length(words))


def share_unique_unknown(words: DocumentWords) -> Floats:
    """Return the share of different words that no training document has."""
    return ratio(unique_words(words) - known_unique_words(words), unique_words(words))


def share_in_class(words: DocumentWords, row: int) -> Floats:
    """Return the share of known words that occur in training documents of a class."""
    return ratio(words.before.tokens[:, OF_CLASS + row], known_length(words))


def unique_share_in_class(words: DocumentWords, row: int) -> Floats:
    """Return the share of different known words that occur in a class."""
    return ratio(words.before.unique[:, OF_CLASS + row], known_unique_words(words))


def share_favouring(words: DocumentWords, row: int) -> Floats:
    """Return the share of known words with more occurrences in a class than in the other.

    Occurrences are counted, whatever the sizes of the classes: a rough vote of the words.
    """
    return ratio(words.before.tokens[:, FAVOURING + row], known_length(words))


def unique_share_favouring(words: DocumentWords, row: int) -> Floats:
    """Return the share of different known words with more occurrences in a class."""
    return ratio(words.before.unique[:, FAVOURING + row], known_unique_words(words))


INDICATORS: Mapping[str, Indicator] = {
    "DocumentLength": length,
    "EffectiveDocumentLength": known_length,
    "NumUniqueWords": unique_words,
    "EffectiveUniqueWords": known_unique_words,
    "PercentUnique": share_unique,
    "PercentOOV": share_unknown,
    "PercentUniqueOOV": share_unique_unknown,
    **of_each_class("PercentIn{}BeforeFS", share_in_class),
    **of_each_class("UpercentIn{}BeforeFS", unique_share_in_class),
    **of_each_class("%Favoring{}BeforeFS", share_favouring),
    **of_each_class("U%Favoring{}BeforeFS", unique_share_favouring),
}

"""What selection of words takes away from a document (Type 2).

Bennett's dissertation, section 5.2.2. Shares after selection are shares of the words that are left,
and 0 where none is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from bayescal.indicators import document
from bayescal.indicators.kind import Indicator, of_each_class, ratio
from bayescal.indicators.words import ALL, FAVOURING, OF_CLASS, DocumentWords
from bayescal.validation import Floats


def length_left(words: DocumentWords) -> Floats:
    """Return sum over w in F of tf(w, d), F the words that the classifiers see."""
    return words.after.tokens[:, ALL]


def unique_words_left(words: DocumentWords) -> Floats:
    """Return #{w in F: tf(w, d) > 0}."""
    return words.after.unique[:, ALL]


def share_removed(words: DocumentWords) -> Floats:
    """Return the share of words that the classifiers do not see."""
    return ratio(words_discarded(words), document.length(words))


def unique_share_removed(words: DocumentWords) -> Floats:
    """Return the share of different words that the classifiers do not see."""
    return ratio(unique_words_discarded(words), document.unique_words(words))


def share_in_class(words: DocumentWords, row: int) -> Floats:
    """Return the share of words left that occur in training documents of a class."""
    return ratio(words.after.tokens[:, OF_CLASS + row], length_left(words))


def unique_share_in_class(words: DocumentWords, row: int) -> Floats:
    """Return the share of different words left that occur in a class."""
    return ratio(words.after.unique[:, OF_CLASS + row], unique_words_left(words))


def share_favouring(words: DocumentWords, row: int) -> Floats:
    """Return the share of words left with more occurrences in a class than in the other."""
    return ratio(words.after.tokens[:, FAVOURING + row], length_left(words))


def unique_share_favouring(words: DocumentWords, row: int) -> Floats:
    """Return the share of different words left with more occurrences in a class."""
    return ratio(words.after.unique[:, FAVOURING + row], unique_words_left(words))


def words_discarded(words: DocumentWords) -> Floats:
    """Return how many words are taken away."""
    return document.length(words) - length_left(words)


def known_words_discarded(words: DocumentWords) -> Floats:
    """Return how many words of the training documents are taken away."""
    return document.known_length(words) - length_left(words)


def unique_words_discarded(words: DocumentWords) -> Floats:
    """Return how many different words are taken away."""
    return document.unique_words(words) - unique_words_left(words)


def known_unique_words_discarded(words: DocumentWords) -> Floats:
    """Return how many different words of the training documents are taken away."""
    return document.known_unique_words(words) - unique_words_left(words)


def change(before: Callable[..., Floats], after: Callable[..., Floats]) -> Callable[..., Floats]:
    """Return the indicator before selection minus the same one after it."""
    return lambda words, row: before(words, row=row) - after(words, row=row)


INDICATORS: Mapping[str, Indicator] = {
    "DocumentLengthAfterFS": length_left,
    "UniqueAfterFS": unique_words_left,
    "PercentRemoved": share_removed,
    "UniquePercentRemoved": unique_share_removed,
    **of_each_class("PercentIn{}AfterFS", share_in_class),
    **of_each_class("UpercentIn{}AfterFS", unique_share_in_class),
    **of_each_class("%Favoring{}AfterFS", share_favouring),
    **of_each_class("U%Favoring{}AfterFS", unique_share_favouring),
    "NumWordsDiscarded": words_discarded,
    "NumTrainingWordsDiscarded": known_words_discarded,
    "NumFeaturesDiscarded": unique_words_discarded,
    "NumTrainingFeaturesDiscarded": known_unique_words_discarded,
    **of_each_class("WordsSeenIn{}Delta", change(document.share_in_class, share_in_class)),
    **of_each_class(
        "FeaturesSeenIn{}Delta", change(document.unique_share_in_class, unique_share_in_class)
    ),
    **of_each_class(
        "PercentWordsPointingTo{}Delta", change(document.share_favouring, share_favouring)
    ),
    **of_each_class(
        "UPercentWordsPointingTo{}Delta",
        change(document.unique_share_favouring, unique_share_favouring),
    ),
}

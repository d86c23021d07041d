"""Indicators of documents' words against counting them, token by token."""

import pytest
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline

from bayescal.combining.indicators import ReliabilityIndicators
from bayescal.text import MultinomialNaiveBayes, MutualInformationSelector, make_classifier
from tests.indicator_data import COUNTS, LABELS, NEW, fitted, values_of

VALUES = values_of(fitted(), NEW)
CLASSES = {"Positive": True, "Negative": False}


def tokens(counts):
    """Return the words of a document, each as often as it occurs."""
    return [word for word, count in enumerate(counts) for _ in range(int(count))]


TRAINING = [(tokens(document), label) for document, label in zip(COUNTS, LABELS, strict=True)]
SEEN = {word for document, _ in TRAINING for word in document}
OCCURRENCES = {
    name: [word for document, label in TRAINING if label == which for word in document]
    for name, which in CLASSES.items()
}
SELECTED = set(
    dict(fitted().classifiers_)["linear_svm"].named_steps["words"].get_support(indices=True)
)


def share(part, whole):
    return len(part) / len(whole) if whole else 0.0


def of_words(words, name):
    """Return the share of words that a class has, and of words that it has more often."""
    own, other = OCCURRENCES[name], OCCURRENCES[{*CLASSES}.difference([name]).pop()]
    inside = [word for word in words if word in own]
    favouring = [word for word in words if own.count(word) > other.count(word)]
    return share(inside, words), share(favouring, words)


def by_hand(document):
    """Return all 39 indicators of a list of words, as the dissertation's text defines them."""
    known = [word for word in document if word in SEEN]
    left = [word for word in document if word in SELECTED]
    found = {
        "DocumentLength": len(document),
        "EffectiveDocumentLength": len(known),
        "NumUniqueWords": len({*document}),
        "EffectiveUniqueWords": len({*known}),
        "PercentUnique": share({*document}, document),
        "PercentOOV": share([w for w in document if w not in SEEN], document),
        "PercentUniqueOOV": share({*document} - SEEN, {*document}),
        "DocumentLengthAfterFS": len(left),
        "UniqueAfterFS": len({*left}),
        "PercentRemoved": share([w for w in document if w not in SELECTED], document),
        "UniquePercentRemoved": share({*document} - SELECTED, {*document}),
        "NumWordsDiscarded": len(document) - len(left),
        "NumTrainingWordsDiscarded": len(known) - len(left),
        "NumFeaturesDiscarded": len({*document}) - len({*left}),
        "NumTrainingFeaturesDiscarded": len({*known}) - len({*left}),
    }
    for name in CLASSES:
        (before, favouring), (after, favouring_after) = of_words(known, name), of_words(left, name)
        found[f"PercentIn{name}BeforeFS"] = before
        found[f"%Favoring{name}BeforeFS"] = favouring
        found[f"PercentIn{name}AfterFS"] = after
        found[f"%Favoring{name}AfterFS"] = favouring_after
        found[f"WordsSeenIn{name}Delta"] = before - after
        found[f"PercentWordsPointingTo{name}Delta"] = favouring - favouring_after
        (before, favouring), (after, favouring_after) = (
            of_words({*known}, name),
            of_words({*left}, name),
        )
        found[f"UpercentIn{name}BeforeFS"] = before
        found[f"U%Favoring{name}BeforeFS"] = favouring
        found[f"UpercentIn{name}AfterFS"] = after
        found[f"U%Favoring{name}AfterFS"] = favouring_after
        found[f"FeaturesSeenIn{name}Delta"] = before - after
        found[f"UPercentWordsPointingTo{name}Delta"] = favouring - favouring_after
    return found


def test_all_of_them_token_by_token():
    for k, counts in enumerate(NEW):
        expected = by_hand(tokens(counts))
        assert len(expected) == 39
        assert {name: VALUES[name][k] for name in expected} == pytest.approx(expected, abs=1e-12)


def test_data_have_what_makes_them_differ():
    assert 0.0 < VALUES["PercentOOV"].mean() < VALUES["PercentRemoved"].mean() < 1.0
    assert VALUES["PercentUnique"].min() < 1.0
    assert VALUES["%FavoringPositiveBeforeFS"].max() > 0.0


def test_an_empty_document_is_0_throughout():
    assert {name: VALUES[name][3] for name in by_hand([])} == dict.fromkeys(by_hand([]), 0.0)


def test_words_that_neighbours_see_are_not_those_of_the_representation():
    """Bennett's indicators of selection are of the other classifiers' words."""
    many = make_classifier("nearest_neighbours", words=7)  # 21 words
    few = make_pipeline(MutualInformationSelector(3), MultinomialNaiveBayes())
    indicators = ReliabilityIndicators([("many", many), ("few", few)]).fit(COUNTS, LABELS)
    selected = few.fit(COUNTS, LABELS)[0].get_support()
    found = values_of(indicators, NEW)["DocumentLengthAfterFS"]
    assert found.tolist() == NEW[:, selected].sum(axis=1).tolist()


def test_without_selection_nothing_is_removed():
    indicators = ReliabilityIndicators([("plain", GaussianNB())]).fit(COUNTS, LABELS)
    found = values_of(indicators, NEW)
    assert not found["NumWordsDiscarded"].any()
    assert not found["PercentRemoved"].any()

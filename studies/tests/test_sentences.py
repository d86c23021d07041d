"""Sentences: their tokens and n-grams, where they are in documents, what documents get of them."""

import pickle
import re

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.feature_selection import SelectKBest, chi2
from sklearn.pipeline import make_pipeline

from bayescal.text import MultinomialNaiveBayes
from studies.papers.action_items.sentences import (
    PositionOctiles,
    document_predictions,
    document_scores,
    sentence_ngrams,
    sentence_positions,
    sentence_tokens,
    sentence_words,
    split_sentences,
)

MAIL = "Hi Ann! The draft is 2.1 pages long. Can you read it by 5 p.m.?\n\nthanks"


class TestTokens:
    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ("Can I?", ["can", "i", "?"]),
            ("Don't, please!!", ["don't", "please", "!", "!"]),
            ("At 5.30, page 2.", ["at", "5.30", "page", "2", "."]),
            ("Today!$LINK", ["today", "!", "link"]),
            ("It\u2019s half-done", ["it\u2019s", "half-done"]),
            ("Ähm...", ["ähm", ".", ".", "."]),
            (" ,;: ", []),
        ],
    )
    def test_words_and_what_ends_sentences(self, text, expected):
        assert sentence_tokens(text) == expected

    def test_sentences(self):
        assert split_sentences(MAIL) == [
            "Hi Ann!",
            "The draft is 2.1 pages long.",
            "Can you read it by 5 p.m.?",
            "thanks",
        ]
        assert split_sentences(" \n\n ") == []
        assert split_sentences("one line\nof two") == ["one line\nof two"]


class TestNgrams:
    def test_of_one_sentence_they_are_scikit_learns(self):
        texts = ["Can you, Ann, come?", "You can come. Can Ann?", ""]
        reference = CountVectorizer(
            tokenizer=lambda text: ["<s>", *re.findall(r"\w+|[.?]", text), "</s>"],
            token_pattern=None,
            ngram_range=(1, 4),
        )
        ours = sentence_ngrams()
        expected, found = reference.fit_transform(texts), ours.fit_transform(texts)
        np.testing.assert_array_equal(
            ours.get_feature_names_out(), reference.get_feature_names_out()
        )
        np.testing.assert_array_equal(found.toarray(), expected.toarray())

    def test_each_counts_all_that_it_holds(self):
        vectorizer = sentence_ngrams(4).fit(["let me know"])
        counts = vectorizer.transform(["let me know"])
        # Five tokens, with the two that bound the sentence, have 5 + 4 + 3 + 2 n-grams.
        assert counts.sum() == 14
        assert counts.max() == 1

    def test_none_reaches_across_sentences(self):
        apart = sentence_ngrams(2, split=split_sentences).fit([MAIL])
        names = set(apart.get_feature_names_out())
        assert {"! </s>", "<s> the", "thanks </s>", "<s> thanks"} <= names
        assert not {"! the", "</s> <s>", "? thanks"} & names
        assert "! the" in sentence_ngrams(2).fit([MAIL]).vocabulary_

    def test_a_document_has_the_sum_of_its_sentences(self):
        sentences = split_sentences(MAIL)
        vectorizer = sentence_ngrams(3, split=split_sentences).fit([MAIL])
        whole, parts = vectorizer.transform([MAIL]), vectorizer.transform(sentences)
        np.testing.assert_array_equal(whole.toarray()[0], parts.toarray().sum(axis=0))

    def test_words_are_the_single_ones_without_boundaries(self):
        words = sentence_words(split=split_sentences).fit([MAIL])
        single = sentence_ngrams(1, split=split_sentences).fit([MAIL])
        assert set(single.vocabulary_) - set(words.vocabulary_) == {"<s>", "</s>"}
        assert {"!", ".", "?", "2.1", "p.m"} <= set(words.vocabulary_)

    def test_order_tells(self):
        texts = ["have you seen it", "you have seen it"]
        words, pairs = (
            v.fit_transform(texts).toarray() for v in (sentence_words(), sentence_ngrams(2))
        )
        np.testing.assert_array_equal(words[0], words[1])
        assert (pairs[0] != pairs[1]).any()

    def test_clones_and_pickles(self):
        vectorizer = sentence_ngrams(2, split=split_sentences)
        expected = vectorizer.fit_transform([MAIL]).toarray()
        for copy in (clone(vectorizer), pickle.loads(pickle.dumps(vectorizer))):
            np.testing.assert_array_equal(copy.fit_transform([MAIL]).toarray(), expected)

    @pytest.mark.parametrize("longest", [0, -1, 2.0, True])
    def test_wrong_length(self, longest):
        with pytest.raises(ValueError, match="longest must be a positive whole number"):
            sentence_ngrams(longest)


class TestPositions:
    def test_brute_force(self):
        rng = np.random.default_rng(0)
        documents = rng.integers(0, 6, size=60)
        found = sentence_positions(documents)
        for document in range(6):
            own = found[documents == document]
            np.testing.assert_allclose(own, (np.arange(own.size) + 0.5) / own.size)

    @pytest.mark.parametrize("n", [1, 2, 3, 7, 8, 9, 16, 23, 24, 31, 1000])
    def test_octiles_hold_the_middle_of_the_sentence(self, n):
        positions = sentence_positions(np.zeros(n))
        features = PositionOctiles().fit_transform(positions[:, None])
        assert features.shape == (n, 8)
        np.testing.assert_array_equal(features.sum(axis=1), 1.0)
        # Integers alone: the middle is at (2 i + 1) / 2 n, and octile k begins at k / 8.
        expected = [(8 * (2 * i + 1)) // (2 * n) for i in range(n)]
        np.testing.assert_array_equal(features.argmax(axis=1), expected)
        # From the other end it is the same but for middles that lie on the border of two octiles.
        borders = [(8 * (2 * i + 1)) % (2 * n) == 0 for i in range(n)]
        mirrored = 7 - features.argmax(axis=1)[::-1]
        np.testing.assert_array_equal(mirrored + borders, expected)

    def test_eight_sentences_have_one_each(self):
        features = PositionOctiles().fit_transform(sentence_positions(["a"] * 8)[:, None])
        np.testing.assert_array_equal(features, np.eye(8))

    def test_ends(self):
        features = PositionOctiles().fit_transform([[0.0], [1.0]])
        assert features.argmax(axis=1).tolist() == [0, 7]
        assert PositionOctiles().get_feature_names_out().tolist()[0] == "octile1"

    def test_names_need_no_fit(self):
        assert len(PositionOctiles().get_feature_names_out()) == 8

    @pytest.mark.parametrize(
        ("positions", "message"),
        [
            ([[0.5, 0.5]], "one column of positions, got 2"),
            ([[0.5], [1.2]], "from 0 to 1, got 1.2 for sentence 1"),
            ([[-0.1]], "from 0 to 1, got -0.1 for sentence 0"),
            ([[np.nan]], "NaN"),
            ([0.5], "2D array"),
        ],
    )
    def test_wrong_positions(self, positions, message):
        with pytest.raises(ValueError, match=message):
            PositionOctiles().fit(positions)

    @pytest.mark.parametrize("documents", [[], [[1, 2]], 3])
    def test_wrong_documents(self, documents):
        with pytest.raises(ValueError, match=r"documents must have shape \(sentences,\)"):
            sentence_positions(documents)


def brute_scores(scores, taken, documents, tokens):
    """Return section 10.3.2's scores document by document."""
    out = []
    for document in sorted(set(documents)):
        own = [k for k, each in enumerate(documents) if each == document]
        length = max(1, sum(tokens[k] for k in own))
        positive = [scores[k] for k in own if taken[k]]
        out.append((sum(positive) if positive else max(scores[k] for k in own)) / length)
    return out


class TestDocumentScores:
    @pytest.mark.parametrize("seed", range(5))
    def test_brute_force(self, seed):
        rng = np.random.default_rng(seed)
        documents = rng.choice([f"mail {k}" for k in range(12)], size=50)
        scores, tokens = rng.normal(-0.5, size=50), rng.integers(0, 9, size=50)
        taken = scores > 0.3
        found = document_scores(scores, taken, documents, tokens)
        assert found == pytest.approx(
            brute_scores(scores.tolist(), taken.tolist(), documents.tolist(), tokens.tolist())
        )
        assert 0 < document_predictions(taken, documents).sum() < np.unique(documents).size
        np.testing.assert_array_equal(
            document_predictions(taken, documents),
            pd.Series(taken).groupby(documents).any().to_numpy(),
        )

    def test_of_no_tokens(self):
        assert document_scores([0.5], [True], ["a"], [0]).tolist() == [0.5]

    def test_a_sentence_that_is_not_taken_counts_where_none_is(self):
        alone = document_scores([-1.0, -2.0], [False, False], ["a", "a"], [5, 5])
        assert alone.tolist() == [-0.1]
        taken = document_scores([3.0, 9.0], [True, False], ["a", "a"], [5, 5])
        assert taken.tolist() == [0.3]

    def test_order_of_sentences_does_not_tell(self):
        rng = np.random.default_rng(1)
        documents, scores = rng.integers(0, 4, 20), rng.normal(size=20)
        order = rng.permutation(20)
        pair = [
            document_scores(scores[rows], scores[rows] > 0, documents[rows], np.ones(20))
            for rows in (np.arange(20), order)
        ]
        np.testing.assert_allclose(*pair)

    @pytest.mark.parametrize(
        ("change", "message"),
        [
            ({"sentence_scores": [1.0]}, "sentence_scores and documents must have the same length"),
            ({"predicted": [True]}, "predicted and documents must have the same length"),
            ({"predicted": [0.3, 0.7]}, "predicted must hold True .* compare scores with a thres"),
            ({"tokens": [1]}, "tokens and documents must have the same length"),
            ({"tokens": [1, -2]}, "tokens must not be negative, got -2"),
            ({"sentence_scores": [1.0, np.nan]}, "sentence_scores must be finite"),
            ({"documents": [["a"], ["b"]]}, "documents must have shape"),
        ],
    )
    def test_wrong_input(self, change, message):
        good = {
            "sentence_scores": [1.0, 2.0],
            "predicted": [True, False],
            "documents": ["a", "b"],
            "tokens": [1, 2],
        }
        with pytest.raises(ValueError, match=message):
            document_scores(**(good | change))


def test_from_sentences_to_documents():
    """Return mails: a pair of words marks the requests, which stand at the end."""
    rng = np.random.default_rng(0)
    rows = []
    for mail in range(80):
        asks = mail % 2 == 0
        for k in range(4):
            request = asks and k == 3
            filler = " ".join(rng.choice(["draft", "talk", "paper", "group"], 3))
            start = "have you" if request else "you have"
            rows.append((f"mail {mail:02d}", f"{start} {filler}", request))
    frame = pd.DataFrame(rows, columns=["mail", "text", "request"])
    frame["position"] = sentence_positions(frame["mail"])
    features = ColumnTransformer(
        [("ngrams", sentence_ngrams(), "text"), ("position", PositionOctiles(), ["position"])]
    )
    model = make_pipeline(features, SelectKBest(chi2, k=20), MultinomialNaiveBayes())
    train, test = frame[frame["mail"] < "mail 60"], frame[frame["mail"] >= "mail 60"]
    model.fit(train, train["request"])
    chosen = set(features.fit(train).get_feature_names_out()[model[1].get_support()])
    assert {"ngrams__have you", "ngrams__<s> have", "position__octile8"} <= chosen
    scores = model.decision_function(test)
    lengths = test["text"].map(lambda text: len(sentence_tokens(text)))
    ranked = document_scores(scores, scores > 0, test["mail"], lengths)
    truth = test.groupby("mail")["request"].any().to_numpy()
    assert ranked[truth].min() > ranked[~truth].max()
    np.testing.assert_array_equal(document_predictions(scores > 0, test["mail"]), truth)

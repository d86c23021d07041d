"""Text parts against references that share no formula with them."""

import warnings
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn import config_context
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.feature_selection import mutual_info_classif
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import mutual_info_score
from sklearn.model_selection import KFold, StratifiedKFold, cross_val_predict
from sklearn.naive_bayes import MultinomialNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC
from sklearn.utils.estimator_checks import parametrize_with_checks

from bayescal.text import (
    BernoulliNaiveBayes,
    MultinomialNaiveBayes,
    MutualInformationSelector,
    cross_val_scores,
    linear_svm,
    make_classifier,
    mutual_information,
    raw_scores,
)
from bayescal.text.classifiers import CLASSIFIERS
from bayescal.text.word_models import presence_and_absence

RNG = np.random.default_rng(8)
COUNTS = RNG.poisson(0.4, (60, 12)).astype(float)
COUNTS[:, 3] = 0.0  # a word that occurs nowhere
COUNTS[:, 4] += 1.0  # one that occurs everywhere
LABELS = (RNG.random(60) < 0.2 + 0.6 * (COUNTS[:, 0] > 0)).astype(int)
NEW = RNG.poisson(0.6, (9, 12)).astype(float)


class TestMutualInformation:
    def test_is_that_of_scikit_learn(self):
        expected = [mutual_info_score(column > 0, LABELS) for column in COUNTS.T]
        assert mutual_information(COUNTS, LABELS == 1) == pytest.approx(expected, abs=1e-12)
        other = mutual_info_classif(COUNTS > 0, LABELS, discrete_features=True)
        found = mutual_information(sparse.csr_matrix(COUNTS), LABELS == 1)
        assert found == pytest.approx(other, abs=1e-12)
        # How often a word occurs does not count, though it may tell more.
        assert mutual_info_score(COUNTS[:, 0], LABELS) != pytest.approx(expected[0], abs=1e-3)

    def test_counts_in_pieces_are_the_same_counts(self):
        # Two entries of one cell, one of them 0 once summed: a matrix as it may come.
        pieces = sparse.csr_matrix(([1.0, -1.0, 2.0, 1.0], ([0, 0, 0, 1], [0, 0, 1, 1])))
        assert mutual_information(pieces, [True, False]).tolist() == [0.0, 0.0]

    def test_is_symmetric_in_the_classes_and_bounded(self):
        found = mutual_information(COUNTS, LABELS == 1)
        assert found == pytest.approx(mutual_information(COUNTS, LABELS == 0), abs=1e-12)
        assert found.min() >= 0.0
        assert found.max() <= np.log(2)
        assert found[[3, 4]].tolist() == [0.0, 0.0]

    def test_selects_the_best_of_frequent_words(self):
        selector = MutualInformationSelector(k=2, min_documents=3).fit(COUNTS, LABELS)
        scores = np.where((COUNTS > 0).sum(0) >= 3, mutual_information(COUNTS, LABELS == 1), -1.0)
        assert set(selector.get_support(indices=True)) == set(np.argsort(-scores)[:2])
        # The negative: a word in one positive document only tells a lot, and is left out.
        rare = np.zeros((60, 1))
        rare[np.flatnonzero(LABELS)[0]] = 1.0
        with_rare = np.hstack([rare, COUNTS])
        kept = MutualInformationSelector(k=99, min_documents=2).fit(with_rare, LABELS)
        assert not kept.get_support()[0]

    def test_of_several_classes_the_most_telling_counts(self):
        several = np.stack([LABELS == 1, COUNTS[:, 7] > 0, RNG.random(60) < 0.5], axis=1)
        scores = np.max([mutual_information(COUNTS, column) for column in several.T], axis=0)
        for form in (several, several.astype(int)):
            selector = MutualInformationSelector(k=2, min_documents=3).fit(COUNTS, form)
            assert selector.mutual_information_.tolist() == scores.tolist()
            assert selector.get_support()[7]
        alone = MutualInformationSelector(k=2, min_documents=3).fit(COUNTS, several[:, :1])
        assert alone.mutual_information_.tolist() == mutual_information(COUNTS, LABELS).tolist()
        with_none = np.hstack([np.zeros((60, 1)), several])
        again = MutualInformationSelector(k=2, min_documents=3).fit(COUNTS, with_none)
        assert again.mutual_information_.tolist() == scores.tolist()
        with pytest.raises(ValueError, match="only one class"):
            MutualInformationSelector().fit(COUNTS, np.zeros((60, 2)))
        with pytest.raises(ValueError, match="X and topics must have the same length, got 60 and"):
            MutualInformationSelector().fit(COUNTS, LABELS, several[:9])

    def test_topics_are_routed_to_it_fold_by_fold(self):
        """Pipelines of one class choose words by the labels of all, as far as they may see."""
        several = np.stack([LABELS == 1, COUNTS[:, 7] > 0], axis=1)
        folds = KFold(3)
        with config_context(enable_metadata_routing=True):
            selector = MutualInformationSelector(2, 1).set_fit_request(topics=True)
            model = make_pipeline(selector, MultinomialNaiveBayes())
            found = cross_val_predict(
                model, COUNTS, LABELS, cv=folds, method="decision_function",
                params={"topics": several},
            )  # fmt: skip
        for train, test in folds.split(COUNTS):
            words = MutualInformationSelector(2, 1).fit(COUNTS[train], several[train]).get_support()
            alone = MultinomialNaiveBayes().fit(COUNTS[train][:, words], LABELS[train])
            assert found[test].tolist() == alone.decision_function(COUNTS[test][:, words]).tolist()

    def test_does_not_change_what_it_is_given(self):
        frozen = sparse.csr_matrix(COUNTS)
        frozen.data.setflags(write=False)
        frozen.indices.setflags(write=False)
        frozen.indptr.setflags(write=False)
        MutualInformationSelector(3, 1).fit_transform(frozen, LABELS)
        assert (frozen != sparse.csr_matrix(COUNTS)).nnz == 0

    def test_ties_go_to_the_first_word(self):
        same = np.tile(LABELS[:, None], (1, 5))
        selector = MutualInformationSelector(k=2).fit(same, LABELS)
        assert selector.get_support(indices=True).tolist() == [0, 1]

    @pytest.mark.parametrize(
        ("arguments", "labels", "message"),
        [
            ({"k": 0}, LABELS, "k must be a positive whole number"),
            ({"min_documents": 0}, LABELS, "min_documents must be a positive"),
            ({"min_documents": 61}, LABELS, "at least one word must be in 61 of the documents"),
            ({}, np.zeros(60), "only one class"),
        ],
    )
    def test_refuses(self, arguments, labels, message):
        with pytest.raises(ValueError, match=message):
            MutualInformationSelector(**arguments).fit(COUNTS, labels)


def by_hand(kind, counts, labels, document):
    """Return log-odds of the dissertation's section 6.3, in fractions, word by word."""
    total, size = counts.astype(int), len(labels)

    priors = [Fraction(int((labels == c).sum())) + Fraction(1, size) for c in (0, 1)]
    result = np.log(float(priors[1] / priors[0]))
    seen = total > 0 if kind is BernoulliNaiveBayes else total
    overall = seen.sum(0)
    whole = size if kind is BernoulliNaiveBayes else int(seen.sum())
    for w, n in enumerate(overall.tolist()):
        if n == 0 or (kind is BernoulliNaiveBayes and n == size):
            continue
        p = []
        for c in (0, 1):
            part = seen[labels == c]
            n_c = len(part) if kind is BernoulliNaiveBayes else int(part.sum())
            p.append((int(part[:, w].sum()) + Fraction(n, whole)) / (n_c + 1))
        if kind is MultinomialNaiveBayes:
            result += document[w] * np.log(float(p[1] / p[0]))
        elif document[w] > 0:
            result += np.log(float(p[1] / p[0]))
        else:
            result += np.log(float((1 - p[1]) / (1 - p[0])))
    return result


@pytest.mark.parametrize("kind", [MultinomialNaiveBayes, BernoulliNaiveBayes])
class TestNaiveBayes:
    @pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix, sparse.csr_array])
    def test_is_the_dissertations_formula(self, kind, form):
        model = kind().fit(form(COUNTS), LABELS)
        expected = [by_hand(kind, COUNTS, LABELS, document) for document in NEW]
        assert model.decision_function(form(NEW)) == pytest.approx(expected, rel=1e-10)

    def test_a_document_without_known_words_gets_the_intercept(self, kind):
        model = kind().fit(COUNTS, LABELS)
        unknown = np.zeros((1, 12))
        assert model.decision_function(unknown)[0] == model.intercept_
        unknown[0, 3] = 7.0  # occurs in no document fitted
        assert model.decision_function(unknown)[0] == model.intercept_

    def test_scores_do_not_pass_through_probabilities(self, kind):
        model = kind().fit(COUNTS, LABELS)
        long = np.zeros((1, 12))
        long[0, np.argmax(np.abs(model.log_ratios_))] = 1e5
        scores = model.decision_function(long)
        assert np.isfinite(scores).all()
        if kind is MultinomialNaiveBayes:
            assert np.abs(scores[0]) > 1e4
            assert model.predict_proba(long).max() == 1.0

    def test_refuses_negative_counts(self, kind):
        with pytest.raises(ValueError, match="Negative values in data"):
            kind().fit(-COUNTS, LABELS)


def refused(_):
    return {"check_decision_proba_consistency": "its data hold negative counts"}


@parametrize_with_checks(
    [MultinomialNaiveBayes(), BernoulliNaiveBayes()], expected_failed_checks=refused
)
def test_scikit_learns_checks(estimator, check):
    check(estimator)


class TestCrossValidatedScores:
    def test_are_scikit_learns_of_the_same_folds(self):
        folds = StratifiedKFold(5, shuffle=True, random_state=3)
        model = make_pipeline(MutualInformationSelector(4, 1), LinearSVC(random_state=0))
        expected = cross_val_predict(model, COUNTS, LABELS, cv=folds, method="decision_function")
        found = cross_val_scores(model, COUNTS, LABELS, random_state=3)
        assert found.tolist() == expected.tolist()
        assert found.tolist() != cross_val_scores(model, COUNTS, LABELS, random_state=4).tolist()
        shuffled = pd.DataFrame(COUNTS, np.random.default_rng(0).permutation(len(COUNTS)))
        assert found.tolist() == cross_val_scores(model, shuffled, LABELS, random_state=3).tolist()

    def test_take_labels_of_type_object(self):
        labels = LABELS.astype(object)
        found = cross_val_scores(MultinomialNaiveBayes(), COUNTS, labels)
        assert found.tolist() == cross_val_scores(MultinomialNaiveBayes(), COUNTS, LABELS).tolist()

    @pytest.mark.parametrize("name", CLASSIFIERS)
    def test_labels_of_a_fold_do_not_reach_its_scores(self, name):
        """Selection too is inside the fold: other labels there change no score of it."""
        folds, model = KFold(4), make_classifier(name, words=4)
        found = cross_val_scores(model, COUNTS, LABELS, folds=folds)
        for _, test in folds.split(COUNTS):
            other = LABELS.copy()
            other[test] = 1 - other[test]
            again = cross_val_scores(model, COUNTS, other, folds=folds)
            assert again[test].tolist() == found[test].tolist()
        # The negative: words chosen from all documents carry the labels over.
        chosen = MutualInformationSelector(4).fit(COUNTS, LABELS).transform(COUNTS)
        leaky = cross_val_scores(MultinomialNaiveBayes(), chosen, LABELS, folds=folds)
        test = np.arange(15)
        other = LABELS.copy()
        other[test] = RNG.permutation(1 - other[test])
        chosen = MutualInformationSelector(4).fit(COUNTS, other).transform(COUNTS)
        again = cross_val_scores(MultinomialNaiveBayes(), chosen, other, folds=folds)
        assert again[test].tolist() != leaky[test].tolist()

    def test_lists_of_texts_do(self):
        texts = ["corn up", "corn down", "oil up", "oil down"] * 3
        labels = ["corn", "corn", "oil", "oil"] * 3
        model = make_pipeline(CountVectorizer(), MultinomialNB())
        scores = cross_val_scores(model, texts, labels, folds=3)
        assert ((scores > 0) == (np.array(labels) == "oil")).all()

    @pytest.mark.parametrize(
        ("labels", "folds", "message"),
        [
            ([1] * 4 + [0] * 56, 5, "folds must be from 2 to 4, the documents of the rarest class"),
            ([1] * 30 + [0] * 30, 1, "folds must be from 2 to 30"),
            ([1] * 30 + [0] * 30, KFold(2), "leaves 0 only: take stratified or fewer folds"),
            ([1] * 60, 5, "only one class"),
        ],
    )
    def test_folds_without_a_class_are_refused(self, labels, folds, message):
        with pytest.raises(ValueError, match=message):
            cross_val_scores(make_classifier("naive_bayes"), COUNTS, labels, folds=folds)

    def test_documents_that_no_fold_holds_are_refused(self):
        class First:
            def split(self, X, y):
                yield np.arange(20, 60), np.arange(20)

        with pytest.raises(ValueError, match="got 40 documents in none"):
            cross_val_scores(make_classifier("naive_bayes"), COUNTS, LABELS, folds=First())


class TestRawScores:
    def test_margins_or_log_space_where_there_are_none(self):
        model = MultinomialNB().fit(COUNTS, LABELS)
        joint = model.predict_joint_log_proba(100 * NEW)
        assert raw_scores(model, 100 * NEW) == pytest.approx(joint[:, 1] - joint[:, 0])
        assert np.abs(raw_scores(model, 1000 * NEW)).max() > 100  # where probabilities are 0 and 1
        model = LogisticRegression().fit(COUNTS, LABELS)
        assert raw_scores(model, NEW).tolist() == model.decision_function(NEW).tolist()

    def test_refuses_probabilities_of_0_and_1(self):
        with pytest.raises(ValueError, match="scores of KNeighborsClassifier must be finite"):
            raw_scores(KNeighborsClassifier(1).fit(COUNTS, LABELS), NEW)


class TestClassifiers:
    @pytest.mark.parametrize("name", CLASSIFIERS)
    def test_separate_what_is_separable(self, name):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            model = make_classifier(name, words=3).fit(COUNTS, COUNTS[:, 0] > 0)
        # Neighbours have eight more words in common, which say nothing of this.
        least = 0.9 if name == "nearest_neighbours" else 0.95
        assert (model.predict(COUNTS) == (COUNTS[:, 0] > 0)).mean() > least

    @pytest.mark.parametrize(
        ("weights", "normalise", "expected"),
        [
            ("binary", False, [1.0, 1.0]),
            ("tf", False, [3.0, 1.0]),
            ("log_tf", False, [1.0 + np.log(3.0), 1.0]),
            ("tf", True, [3.0 / 10**0.5, 1.0 / 10**0.5]),
        ],
    )
    def test_weights_of_words(self, weights, normalise, expected):
        documents = np.array([[3.0, 1.0], [0.0, 1.0], [2.0, 0.0], [0.0, 2.0]] * 2)
        model = linear_svm(weights=weights, normalise=normalise).fit(documents, [1, 0] * 4)
        found = model[:-1].transform(documents[:1])
        assert np.asarray(found.todense())[0] == pytest.approx(expected)

    @pytest.mark.parametrize("name", CLASSIFIERS)
    def test_words_are_as_many_as_asked_for(self, name):
        times = 3 if name == "nearest_neighbours" else 1
        assert make_classifier(name, words=7).get_params()["words__k"] == 7 * times

    def test_unknown_names(self):
        with pytest.raises(ValueError, match="classifier must be one of 'naive_bayes'"):
            make_classifier("svm")
        with pytest.raises(ValueError, match="weights must be one of 'binary'"):
            linear_svm(weights="tfidf")


def test_a_word_that_all_documents_of_one_class_hold_is_not_informative():
    present, absent, informative = presence_and_absence(np.log([[1.0, 0.2], [0.3, 0.4]]))
    np.testing.assert_array_equal(informative, [False, True])
    np.testing.assert_allclose(np.exp(present), [[0.5, 0.2], [0.5, 0.4]])
    np.testing.assert_allclose(np.exp(absent), [[0.5, 0.8], [0.5, 0.6]])


def test_of_words_that_tie_the_earliest_are_kept():
    odd = np.arange(200) % 2 == 1  # words of one class alone; even ones are in half of each class
    counts = np.array([np.ones(200), odd, ~odd, np.zeros(200)], dtype=float)
    found = MutualInformationSelector(k=150, min_documents=1).fit(counts, [1, 1, 0, 0])
    np.testing.assert_array_equal(found.get_support(), odd | (np.arange(200) < 100))

"""Inputs of combiners for a topic in the experiments: folds, arguments of fit, errors."""

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from bayescal.text.classifiers import linear_svm, make_classifier
from studies.papers.strive.methods import nested_inputs

# Each of six words out of twelve.
CLASSIFIERS = {"SVM": linear_svm(words=6), "kNN": make_classifier("nearest_neighbours", words=2)}


def made_counts(positive, seed=0):
    """Return counts of twelve words, of which three are likelier in positive documents."""
    means = np.where(positive[:, None] & (np.arange(12) < 3), 5.0, 1.0)
    return np.random.default_rng(seed).poisson(means).astype(float)


def inputs_of(positive, truth=np.arange(40) % 4 == 0, **options):  # noqa: B008
    features = made_counts(positive), made_counts(truth, 1)
    return nested_inputs("corn", CLASSIFIERS, features, positive, best="SVM", **options)


@pytest.mark.parametrize(("positives", "folds"), [(3, 3), (12, 5)])
def test_no_fold_is_without_positives(positives, folds):
    positive = np.arange(60) < positives
    labelled, _ = inputs_of(positive)
    assert np.array_equal(labelled.positive, positive)
    assert set(labelled.fold[positive]) == set(labelled.fold) == set(range(folds))


def test_folds_are_of_the_seed():
    positive = np.arange(60) < 12
    first, again, other = (inputs_of(positive, random_state=seed)[0] for seed in (1, 1, 2))
    assert np.array_equal(first.fold, again.fold)
    assert not np.array_equal(first.fold, other.fold)


def test_new_documents_are_judged_by_what_was_learnt():
    truth = np.arange(40) % 4 == 0
    labelled, new = inputs_of(np.arange(60) % 4 == 0, truth)
    assert new.scores.shape == (40, 2)
    assert new.indicators.shape == (40, labelled.inputs.indicators.shape[1])
    assert all(roc_auc_score(truth, scores) > 0.8 for scores in new.scores.T)


def test_indicators_of_words_are_of_text_alone():
    positive = np.arange(60) % 4 == 0
    (words, _), (others, _) = (inputs_of(positive, text=text) for text in (True, False))
    assert words.inputs.indicators.shape[1] > others.inputs.indicators.shape[1]
    np.testing.assert_array_equal(words.inputs.scores, others.inputs.scores)


def test_further_arguments_of_fit_reach_their_classifier_alone():
    positive = np.arange(60) % 4 == 0
    topics = (np.arange(60) % 7 == 0)[:, None]
    (plain, _), (given, _) = (
        inputs_of(positive, fit_params=own) for own in (None, {"kNN": {"words__topics": topics}})
    )
    np.testing.assert_array_equal(plain.inputs.scores[:, 0], given.inputs.scores[:, 0])
    assert not np.array_equal(plain.inputs.scores[:, 1], given.inputs.scores[:, 1])


def test_a_single_positive_is_refused():
    with pytest.raises(ValueError, match=r"topic 'corn' needs at least two positives, got 1"):
        inputs_of(np.arange(60) < 1)

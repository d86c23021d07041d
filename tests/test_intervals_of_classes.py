"""Intervals of several classes: by some draws as by all, and draws independent of each other."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.svm import LinearSVC

from bayescal import CalibratedClassifier
from bayescal.calibrators import calibrated_classifier

X, Y = make_classification(600, n_classes=3, n_informative=6, random_state=0)
ENOUGH = 0.04  # of an interval's width, root mean square


@pytest.fixture(scope="module")
def fitted():
    return CalibratedClassifier(LinearSVC(), "one_vs_rest", random_state=0).fit(X, Y)


def error(fitted, monkeypatch, draws):
    """Return the distance of intervals by some draws from those by all, in widths."""
    found = []
    for how_many in (draws, 10**6):
        monkeypatch.setattr(calibrated_classifier, "INTERVAL_DRAWS", how_many)
        found.append(fitted.predict_interval(X[:200]))
    some, every = found
    return np.sqrt((((some - every) / np.diff(every)) ** 2).mean())


def test_intervals_by_some_draws_are_near_those_by_all(fitted, monkeypatch):
    assert 0.0 < error(fitted, monkeypatch, calibrated_classifier.INTERVAL_DRAWS) < ENOUGH


def test_a_document_has_the_same_interval_alone(fitted):
    assert (fitted.predict_interval(X[:3]) == fitted.predict_interval(X)[:3]).all()


def excess(first, second):
    """Return the share of k-th draws of two classes from the same part, less that by chance."""
    same = (first.which == second.which).mean()
    return same - (first.weight * second.weight).sum()


def test_draws_of_one_class_say_nothing_of_anothers_parts(fitted):
    first, second, _ = (
        one._fitted.calibration.draws for one in fitted.calibrated_classifiers_[0].calibrators
    )
    assert abs(excess(first, second)) < 4.0 * np.sqrt(0.25 / first.size)
    # The negative: the same order of parts in both.
    assert excess(first, replace(second, which=first.which)) > 0.2

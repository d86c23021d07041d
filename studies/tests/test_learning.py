"""The prior learned from the library of problems, and the data sets that it uses."""

from collections import Counter

import numpy as np
import pytest

from studies.learning import GROUPS, KINDS, groups_of, populations_of
from studies.tests.unseen_data import write_library

SETS = ("one", "two", "three")


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    """Return a folder of three data sets; the scores of the third mean three times as much."""
    folder = write_library(tmp_path_factory.mktemp("library"), SETS)
    for path in (folder / "three").glob("linear_svm.npz"):
        with np.load(path) as file:
            arrays = dict(file.items())
        np.savez(path, **arrays | {"score": arrays["score"] / 3.0})
    return folder


def test_every_data_set_is_judged_once():
    names = [f"set {k}" for k in range(11)]
    groups = groups_of(names)
    assert len(groups) == GROUPS
    assert sorted(name for group in groups for name in group) == sorted(names)
    assert {len(group) for group in groups} == {3, 4}


@pytest.mark.slow
def test_populations_are_learnt_from_the_data_sets_named(library):
    slope = {
        left_out: populations_of(library, [name for name in SETS if name != left_out])[
            0
        ].usual_slope
        for left_out in ("one", "three")
    }
    assert slope["three"] == pytest.approx(1.0, rel=0.3)
    assert slope["one"] > 1.4 * slope["three"]
    assert [each.name for each in populations_of(library)] == ["margins", "shares"]
    # Three problems of a kind are too few.
    assert populations_of(library, ["one"]) == []


def test_every_classifier_is_of_one_kind():
    counts = Counter(each for classifiers, _ in KINDS.values() for each in classifiers)
    assert set(counts.values()) == {1}

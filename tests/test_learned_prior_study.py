"""The study of the learnt prior: what it learns from, what it judges, and all of it in little."""

import sys
from collections import Counter

import numpy as np
import pandas as pd
import pytest

from bayescal.learned_prior import read_populations, write_populations
from studies.command import Options, main
from studies.learned_prior import GROUPS, groups_of, measure, run
from studies.learning import KINDS, populations_of
from studies.problems.library import EmptyLibraryError
from studies.unseen_methods import DEFAULT, LEARNED
from tests.unseen_data import problem, write_library

pytestmark = pytest.mark.one_era
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


def test_populations_are_learnt_from_the_data_sets_named(library):
    slope = {
        left_out: populations_of(library, [name for name in SETS if name != left_out])[
            0
        ].usual_slope
        for left_out in ("one", "three")
    }
    assert slope["three"] == pytest.approx(1.0, rel=0.3)
    assert slope["one"] > 1.4 * slope["three"]
    # Three problems of a kind are too few.
    assert populations_of(library, ["one"]) == []


def test_every_classifier_is_of_one_kind():
    counts = Counter(each for classifiers, _ in KINDS.values() for each in classifiers)
    assert set(counts.values()) == {1}


def test_both_priors_are_measured_on_the_same_documents(library, tmp_path):
    path = write_populations(populations_of(library), tmp_path / "populations.json")
    assert [each.name for each in read_populations(path)] == ["margins", "shares"]
    rows = pd.DataFrame(measure(problem(), (5,), path))
    ours = rows[rows["method"].isin([DEFAULT, LEARNED]) & (rows["time"] == "same")]
    assert len(ours) == 2
    assert ours["bits"].nunique() == 2
    assert ours["coverage"].notna().all()


def test_the_page_shows_what_was_measured(library, tmp_path, monkeypatch, capsys):
    arguments = ["--quick", "--jobs", "1", "--problems", str(library), "--out", str(tmp_path)]
    monkeypatch.setattr(sys, "argv", ["learned_prior", *arguments])
    main("learned_prior")
    assert "learned_prior.md" in capsys.readouterr().out
    page = (tmp_path / "learned_prior.md").read_text(encoding="utf-8")
    assert "| all kinds | same |" in page
    assert "$" not in page


def test_a_folder_without_problems_is_an_error_that_says_what_to_do(tmp_path):
    with pytest.raises(EmptyLibraryError, match=r"python -m studies\.problems"):
        run(Options(out=tmp_path, problems=tmp_path))

"""Labels of held-out files: matched where they mean the same, explained where they may not."""

import numpy as np
import pytest

from tests.cli_tools import MLE, make_frame, run, write
from tests.report_data import data_of

pytestmark = pytest.mark.one_era
FRAME = make_frame()


def spelled(negative, positive):
    return FRAME.assign(label=np.where(FRAME["label"] == 1, positive, negative))


def fit(frame, folder, *options):
    run("fit", write(frame, folder / "fitted.csv"), *MLE, *options, "--out", folder / "out")
    return folder / "out"


def verdict(folder, frame, *options, code=0):
    path = write(frame, folder / "held_out.csv")
    options = ("--test", "--out", folder / "p.csv", *options)
    return run("predict", folder / "out", path, *options, code=code)


@pytest.mark.parametrize("fitted", [(0, 1), ("no", "yes"), ("negative", "positive")])
@pytest.mark.parametrize(
    "held_out", [(0, 1), ("No", "YES"), ("False", "True"), ("neg", "Pos"), ("0.0", "1.0")]
)
def test_words_for_no_and_yes_are_matched(fitted, held_out, tmp_path):
    fit(spelled(*fitted), tmp_path)
    same, other = (verdict(tmp_path, spelled(*labels)) for labels in (fitted, held_out))
    assert same.stdout == other.stdout
    assert "are read as those fitted" not in same.stderr
    if held_out != fitted:
        assert f"{str(held_out[1])!r} as {str(fitted[1])!r}" in other.stderr


def test_the_positive_class_may_be_the_word_for_no(tmp_path):
    fit(spelled("no", "yes"), tmp_path, "--positive", "no")
    same, other = (
        verdict(tmp_path, spelled(*labels)) for labels in (("no", "yes"), ("false", "true"))
    )
    assert same.stdout == other.stdout


def test_capitals_of_any_label_are_matched(tmp_path):
    fit(spelled("ham", "spam"), tmp_path)
    same, other = (
        verdict(tmp_path, spelled(*labels)) for labels in (("ham", "spam"), ("Ham ", "SPAM"))
    )
    assert same.stdout == other.stdout
    assert "'SPAM' as 'spam'" in other.stderr


def test_other_labels_are_explained_and_may_be_named(tmp_path):
    fit(spelled("ham", "spam"), tmp_path)
    told = verdict(tmp_path, spelled(0, 1), code=2).stderr
    assert "must hold the labels that were fitted, 'ham' and 'spam', got '0', '1'" in told
    assert "name the one that stands for 'spam' with --positive" in told
    assert not (tmp_path / "p.csv").exists()
    same = verdict(tmp_path, spelled("ham", "spam"))
    named = verdict(tmp_path, spelled(0, 1), "--positive", "1")
    assert named.stdout == same.stdout
    assert "'0' as 'ham', '1' as 'spam'" in named.stderr
    told = verdict(tmp_path, spelled(0, 1), "--positive", "spam", code=2).stderr
    assert "--positive must be one of the labels in" in told


def test_report_matches_them_too(tmp_path):
    fit(spelled(0, 1), tmp_path)
    path = write(spelled("No", "Yes"), tmp_path / "held_out.csv")
    result = run("report", tmp_path / "out", "--test", path, "--out", tmp_path / "r.html")
    assert data_of(tmp_path / "r.html")["topics"][0]["test"]["point"]["positives"] == 10
    assert "'No' as '0', 'Yes' as '1'" in result.stderr


def test_labels_to_fit_that_differ_in_capitals_are_refused(tmp_path):
    frame = spelled("no", "yes").assign(label=lambda f: f["label"].where(f.index != 0, "Yes"))
    told = run("fit", write(frame, tmp_path / "s.csv"), *MLE, code=2).stderr
    assert "got 3 classes ('Yes', 'no', 'yes')" in told
    assert "Some differ in capitals or blanks only: spell them alike" in told

"""Labels of held-out files: matched where they mean the same, explained where they may not."""

import numpy as np
import pytest

from tests.cli_tools import MLE, make_frame, read, run, summary_of, write
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


SPAM = ("ham", "spam")
HELD_OUT = [(0, 1), ("No", "YES"), ("False", "True"), ("neg", "Pos"), ("0.0", "1.0")]


@pytest.mark.parametrize("fitted", [(0, 1), ("no", "yes"), ("negative", "positive")])
def test_words_for_no_and_yes_are_matched(fitted, tmp_path):
    fit(spelled(*fitted), tmp_path)
    same = verdict(tmp_path, spelled(*fitted))
    assert "are read as those fitted" not in same.stderr
    for held_out in HELD_OUT:
        if held_out != fitted:
            other = verdict(tmp_path, spelled(*held_out))
            assert same.stdout == other.stdout, held_out
            assert f"{str(held_out[1])!r} as {str(fitted[1])!r}" in other.stderr


def test_either_class_and_any_capitals_are_matched(tmp_path):
    fit(spelled("no", "yes"), tmp_path, "--positive", "no")
    same, other = (verdict(tmp_path, spelled(*each)) for each in (("no", "yes"), HELD_OUT[2]))
    assert same.stdout == other.stdout
    fit(spelled(*SPAM), tmp_path)
    same, other = (verdict(tmp_path, spelled(*each)) for each in (SPAM, ("Ham ", "SPAM")))
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


# One file with blank labels: the usual export of a review


def blank(frame, every=3):
    kept = np.arange(len(frame)) % every == 0
    return frame.astype({"label": object}).assign(label=lambda f: f["label"].where(kept)), kept


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_blank_labels_are_answered_and_not_fitted(suffix, tmp_path):
    frame = make_frame(120, weight=1.0 + np.arange(120) % 2)
    scores, kept = blank(frame)
    scores.loc[~kept, "weight"] = np.nan
    weights = ("--weight-column", "weight", "--out")
    result = run("fit", write(scores, tmp_path / f"s{suffix}"), *MLE, *weights, tmp_path / "out")
    assert "40 of 120 rows have a label" in result.stdout
    assert "the other 80 get a probability only" in result.stdout
    alone = write(frame[kept], tmp_path / "kept.csv")
    assert "have a label" not in run("fit", alone, *MLE, *weights, tmp_path / "alone").stdout
    run("predict", tmp_path / "alone", write(frame[["score"]], tmp_path / "all.csv"),
        "--out", tmp_path / "expected.csv")  # fmt: skip
    found, expected = read(tmp_path / "out/probabilities.csv"), read(tmp_path / "expected.csv")
    assert found["probability"].equals(expected["probability"])
    assert found["label"].tolist() == [
        str(y) if k else "" for y, k in zip(frame["label"], kept, strict=True)
    ]
    assert summary_of(tmp_path / "out")["topics"][0]["rows"]["negatives"] == 30


@pytest.mark.slow
def test_blank_labels_of_topics_and_splits(tmp_path):
    split = np.where(np.arange(120) % 2, "test", "train").astype(object)
    frame, kept = blank(make_frame(120, topic=np.where(np.arange(120) < 60, "a", "b")))
    frame["split"] = np.where(kept, split, None)
    scores, by_topic = write(frame, tmp_path / "s.csv"), ("--topic-column", "topic")
    for options in (MLE, ("--pool", "--draws", "20")):
        run("fit", scores, *by_topic, *options, "--out", tmp_path / "out")
        rows = summary_of(tmp_path / "out")["topics"][0]["rows"]
        assert rows == {"negatives": 5, "positives": 5, "test": 10}
        assert (read(tmp_path / "out/probabilities.csv")["probability"] != "").all()
    result = run("predict", tmp_path / "out", scores, *by_topic, "--test",
                 "--out", tmp_path / "p.csv")  # fmt: skip
    (line,) = (line for line in result.stdout.splitlines() if line.startswith("all "))
    assert line.split()[1] == "40"
    run("report", tmp_path / "out", "--test", scores, "--out", tmp_path / "r.html")
    topics = data_of(tmp_path / "r.html")["topics"]
    assert [topic["test"]["point"]["n"] for topic in topics] == [10, 10]


@pytest.mark.slow
def test_compare_holds_out_labelled_rows_only(tmp_path):
    scores, _ = blank(make_frame(120))
    run("compare", write(scores, tmp_path / "s.csv"), "--draws", "20", "--out", tmp_path / "out")
    table = read(tmp_path / "out/probabilities.csv")
    assert (table.loc[table["held_out"], "label"] != "").all()
    assert summary_of(tmp_path / "out")["topics"][0]["rows"]["test"] == 12


@pytest.mark.slow
def test_lower_scores_may_stand_for_positives(tmp_path):
    frame = make_frame()
    scores = write(frame, tmp_path / "s.csv")
    distances = write(frame.assign(score=-frame["score"]), tmp_path / "d.csv")
    few = ("--family", "gaussian", "--draws", "50", "--out")
    run("fit", scores, *few, tmp_path / "up")
    text = run("fit", distances, "--lower-is-positive", *few, tmp_path / "down").stdout
    up, down = (read(tmp_path / name / "probabilities.csv") for name in ("up", "down"))
    assert down["probability"].equals(up["probability"])
    assert down["score"].equals(-up["score"])
    assert f"{-frame.loc[frame['label'] == 1, 'score'].median():.4g}" in text
    # The folder remembers; a calibrator that is moved elsewhere needs the option.
    moved = tmp_path / "moved.nc"
    moved.write_bytes((tmp_path / "down/posterior.nc").read_bytes())
    for words in ((tmp_path / "down",), (moved, "--lower-is-positive")):
        run("predict", words[0], distances, *words[1:], "--out", tmp_path / "p.csv")
        assert read(tmp_path / "p.csv")["probability"].equals(up["probability"])
    _, downs = (
        run("decide", tmp_path / name, path, "--recall", "0.8", "--out", tmp_path / f"{name}.csv")
        for name, path in (("up", scores), ("down", distances))
    )
    assert "up to score" in downs.stdout
    first, second = (read(tmp_path / f"{name}.csv").iloc[0] for name in ("up", "down"))
    assert second["threshold"] == -first["threshold"]
    assert second["threshold_lower"] == -first["threshold_upper"]
    assert second["selected"] == first["selected"]
    at = run("decide", tmp_path / "down", distances, "--at-score", "-0.5").stdout
    assert "Documents whose score is -0.5 or less are taken" in at
    assert f"{(frame['score'] >= 0.5).sum()} of 40" in at
    result = run("report", tmp_path / "down", "--test", distances, "--out", tmp_path / "r.html")
    assert "takes -score in place of score" in result.stderr
    assert data_of(tmp_path / "r.html")["topics"][0]["test"]["point"]["positives"] == 10
    result = run("export", tmp_path / "down", "--out", tmp_path / "c.py")
    assert "takes -score in place of score" in result.stderr
    refused = run("fit", distances, "--lower-is-positive", "--scores-are", "probabilities", code=2)
    assert "--lower-is-positive turns the sign of scores" in refused.stderr

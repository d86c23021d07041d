"""`bayescal decide`: what a threshold takes and misses, and the threshold for a wanted recall."""

import re

import numpy as np
import pandas as pd
import pytest

from bayescal import load
from bayescal.decisions import rates_by_topic, thresholds_by_topic
from bayescal.report.rendering import count, percent
from tests.cli_tools import make_frame, make_topics, read, run, write

FEW = ("--family", "gaussian", "--draws", "50")
BY_TOPIC = ("--topic-column", "topic")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return a folder with one calibrator, four topics pooled, and three of four apart."""
    path = tmp_path_factory.mktemp("decide")
    one, topics = write(make_frame(), path / "one.csv"), write(make_topics(), path / "topics.csv")
    frame = make_topics()
    few = write(frame[(frame["topic"] != "a") | (frame["label"] == 0)], path / "few.csv")
    run("fit", one, *FEW, "--out", path / "one")
    run("fit", topics, *FEW, *BY_TOPIC, "--pool", "--out", path / "pooled")
    run("fit", few, *FEW, *BY_TOPIC, "--out", path / "apart")
    return path


def rows_of(text, names):
    return [line for line in text.splitlines() if line.startswith(tuple(f"{n} " for n in names))]


@pytest.mark.slow
def test_at_a_probability_it_is_the_functions_table(folder):
    out = folder / "rates.csv"
    result = run("decide", folder / "pooled", folder / "topics.csv", *BY_TOPIC,
                 "--at", "0.4", "--level", "0.8", "--out", out)  # fmt: skip
    frame, fitted = make_topics(), load(folder / "pooled")
    expected = rates_by_topic(
        fitted, frame["score"], frame["topic"].to_numpy(str), probability=0.4, level=0.8,
        random_state=0,
    )  # fmt: skip
    found = pd.read_csv(out, keep_default_na=False).set_index("topic")
    pd.testing.assert_frame_equal(found, expected, check_exact=True)
    head = "Documents whose P(1) is 0.4 or more are taken; topics that miss most positives first"
    assert head in result.stdout
    names = expected.index.tolist()
    assert [line.split("  ")[0] for line in rows_of(result.stdout, names)] == names
    first = expected.iloc[0]
    (line,) = rows_of(result.stdout, names[:1])
    assert line.split("  ")[-1] == percent(first["precision"])
    assert re.search(rf"{first['selected']:.0f} of 40 +{count(first['found'])} ", line)
    assert f"{count(first['missed_lower'])} to {count(first['missed_upper'])}" in result.stdout
    assert "below: 80 % intervals" in result.stdout


def test_for_a_recall_it_is_the_functions_threshold(folder):
    text = run("decide", folder / "one", folder / "one.csv", "--recall", "0.8").stdout
    found = thresholds_by_topic(load(folder / "one"), make_frame()["score"], recall=0.8,
                                random_state=0).iloc[0]  # fmt: skip
    assert "Thresholds for a recall of 0.8\n" in text
    assert f"{found['selected']:.0f} of 40" in text
    ends = found[["threshold_lower", "threshold_upper"]]
    for shown in (f"{found['threshold']:.4g}", "{:.4g} to {:.4g}".format(*ends)):
        assert shown in text
    assert "topic" not in text
    surer = ("--recall", "0.8", "--assurance", "0.95", "--out", folder / "t.parquet")
    text = run("decide", folder / "one", folder / "one.csv", *surer).stdout
    table = pd.read_parquet(folder / "t.parquet")
    assert "a recall of 0.8 with probability 0.95" in text
    assert table["selected"][0] >= found["selected"]
    assert table["assurance"][0] >= 0.95


def test_at_a_score_those_above_it_are_taken(folder):
    text = run("decide", folder / "one", folder / "one.csv", "--at-score", "0.7").stdout
    taken = (make_frame()["score"] >= 0.7).sum()
    assert "Documents whose score is 0.7 or more are taken\n" in text
    assert f"{taken} of 40" in text


@pytest.mark.slow
def test_topics_left_out_of_the_fit_are_left_out_and_said(folder):
    out = folder / "left.csv"
    result = run("decide", folder / "apart", folder / "few.csv", *BY_TOPIC,
                 "--recall", "0.9", "--out", out)  # fmt: skip
    assert sorted(read(out)["topic"]) == ["B x", "NA", "b/x"]
    assert "30 rows of 1 topic that the fit left out ('a')" in result.stderr
    assert "topics with most to read first" in result.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "give one of --at PROBABILITY, --at-score SCORE and --recall SHARE, got none"),
        (["--at", "0.5", "--recall", "0.9"], "got --at and --recall"),
        (["--at", "50"], "--at must lie between 0 and 1 (both excluded), got 50"),
        (["--recall", "1"], "--recall must lie between 0 and 1 (both excluded), got 1"),
        (["--at-score", "nan"], "--at-score must be a finite number, got nan"),
        (["--at", "0.5", "--assurance", "0.9"], "--assurance needs --recall, got --at"),
        (["--recall", "0.9", "--assurance", "2"], "--assurance must lie between 0 and 1"),
        (["--at", "0.5", "--out", "one.csv"], "--out must differ from the input file one.csv"),
        (["--at", "0.5", *BY_TOPIC], "has no column 'topic'"),
    ],
)
def test_wrong_calls_are_one_line(arguments, message, folder, monkeypatch):
    monkeypatch.chdir(folder)
    before = set(folder.rglob("*"))
    result = run("decide", "one", "one.csv", *arguments, code=2)
    assert result.stderr.count("\n") == 1
    assert message in result.stderr
    assert result.stdout == ""
    assert set(folder.rglob("*")) == before


# Scores that rank nothing


def calibrator_of(frame, folder, *options):
    run("fit", write(frame, folder / "s.csv"), *FEW, *options, "--out", folder / "out")
    return folder / "out", folder / "s.csv"


QUESTIONS = [("--at", "0.5"), ("--at-score", "0"), ("--recall", "0.9")]


@pytest.mark.slow
@pytest.mark.parametrize("topics", [(), BY_TOPIC, (*BY_TOPIC, "--pool")])
def test_scores_the_wrong_way_round_are_refused(topics, tmp_path):
    frame = make_topics().assign(score=lambda f: -f["score"])
    paths = calibrator_of(frame, tmp_path, *topics)
    for question in QUESTIONS:
        message = run("decide", *paths, *topics[:2], *question, code=2).stderr
        assert "scores of class '1', the positive one, lie below those of '0' (AUC 0.0" in message
        assert "fit again with --lower-is-positive" in message


@pytest.mark.parametrize("constant", [True, False])
def test_scores_that_say_nothing_are_refused(constant, tmp_path):
    rng = np.random.default_rng(0)
    score = np.ones(1000) if constant else rng.normal(size=1000)
    paths = calibrator_of(make_frame(1000).assign(score=score), tmp_path)
    for question in QUESTIONS:
        message = run("decide", *paths, *question, code=2).stderr
        assert "scores do not separate '1' from '0' (AUC 0.5" in message


def test_a_curve_that_turns_is_decided_by_probability_only(tmp_path):
    frame = make_frame(1000)
    inner, outer = np.linspace(-1.0, 1.0, 750), np.linspace(2.0, 5.0, 125)
    frame.loc[frame["label"] == 0, "score"] = inner
    frame.loc[frame["label"] == 1, "score"] = np.r_[-outer, outer]
    paths = calibrator_of(frame, tmp_path)
    run("decide", *paths, "--at", "0.5")
    assert "do not separate" in run("decide", *paths, "--recall", "0.9", code=2).stderr

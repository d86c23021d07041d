"""One topic that cannot be fitted does not stop the others: it is listed, with the reason."""

import numpy as np
import pandas as pd
import pytest

from bayescal.cli import fitting
from tests.cli_tools import MLE, make_frame, make_topics, read, run, summary_of, write
from tests.report_data import data_of

BY_TOPIC = ("--topic-column", "topic")
WHY = "both classes need rows to fit (not of split 'test', not of weight 0), got none with label 1"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return a folder with scores of four topics, "a" without positives, and their fit."""
    path = tmp_path_factory.mktemp("left_out")
    frame = make_topics()
    few = frame[(frame["topic"] != "a") | (frame["label"] == 0)]
    write(few, path / "scores.csv")
    result = run("fit", path / "scores.csv", *MLE, *BY_TOPIC, "--out", path / "out")
    (path / "stdout").write_text(result.stdout, encoding="utf-8")
    return path


def test_the_others_are_fitted_as_without_it(folder, tmp_path):
    others = read(folder / "scores.csv").query("topic != 'a'")
    run("fit", write(others, tmp_path / "s.csv"), *MLE, *BY_TOPIC, "--out", tmp_path / "out")
    summary, alone = summary_of(folder / "out"), summary_of(tmp_path / "out")
    assert summary["topics"] == alone["topics"]
    assert (list(summary["left_out"]), alone["left_out"]) == (["a"], {})
    assert WHY in summary["left_out"]["a"]
    found = read(folder / "out/probabilities.csv")
    assert (found.loc[found["topic"] == "a", ["probability", "log_odds"]] == "").all(axis=None)
    of_others = found[found["topic"] != "a"].drop(columns=["probability", "log_odds"])
    assert len(of_others) == len(others)
    assert (found.loc[found["topic"] != "a", "probability"] != "").all()


def test_it_is_listed_with_the_reason(folder):
    text = (folder / "stdout").read_text(encoding="utf-8")
    assert "1 topic left out of the fit; the others are not affected" in text
    assert WHY in text
    assert "--pool fits all topics together, and answers for these too." in text


def test_predict_and_report_leave_its_rows_out_and_say_so(folder, tmp_path):
    out = tmp_path / "p.csv"
    arguments = ("predict", folder / "out", folder / "scores.csv", *BY_TOPIC)
    result = run(*arguments, "--test", "--out", out)
    pd.testing.assert_frame_equal(read(out), read(folder / "out/probabilities.csv"))
    assert "30 rows of 1 topic that the fit left out ('a')" in result.stderr
    (all_rows,) = (line for line in result.stdout.splitlines() if line.startswith("all "))
    assert all_rows.split()[1] == "120"
    only = write(read(folder / "scores.csv").query("topic == 'a'"), tmp_path / "a.csv")
    result = run("predict", folder / "out", only, *BY_TOPIC, code=2)
    assert "must hold topics that were fitted: there are only 30 rows of 1 topic" in result.stderr
    out = tmp_path / "report.html"
    result = run("report", folder / "out", "--test", folder / "scores.csv", "--out", out)
    topics = {topic["name"]: topic["test"]["point"]["n"] for topic in data_of(out)["topics"]}
    assert topics == {"b/x": 40, "NA": 40, "B x": 40}
    assert "that the fit left out ('a')" in result.stderr


@pytest.mark.slow
def test_pooled_it_has_the_populations_answer(folder, tmp_path):
    pool = ("--pool", "--draws", "50", "--out", tmp_path / "out")
    run("fit", folder / "scores.csv", *BY_TOPIC, *pool)
    assert summary_of(tmp_path / "out")["left_out"] == {}
    assert (read(tmp_path / "out/probabilities.csv")["probability"] != "").all()


def test_what_a_calibrator_refuses_is_left_out_too(folder, monkeypatch):
    original = fitting.calibrate_one

    def refuse(problem, *others):
        if problem.topic == "NA":
            raise ValueError("such scores have no curve")
        return original(problem, *others)

    monkeypatch.setattr(fitting, "calibrate_one", refuse)
    text = run("fit", folder / "scores.csv", *MLE, *BY_TOPIC).stdout
    assert "2 topics left out of the fit" in text
    assert "such scores have no curve" in text


def test_where_none_is_left_nothing_is_written(tmp_path):
    frame = make_frame().assign(topic=lambda f: np.where(f["label"] == 1, "corn", "ship"))
    scores = write(frame, tmp_path / "scores.csv")
    result = run("fit", scores, *MLE, *BY_TOPIC, "--out", tmp_path / "out", code=2)
    assert result.stderr.startswith("Error: topic 'corn': both classes need rows to fit")
    assert "None of 2 topics can be fitted." in result.stderr
    assert not (tmp_path / "out").exists()

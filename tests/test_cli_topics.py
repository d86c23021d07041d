"""Topics pooled by the command line, and topics that cannot be fitted: listed with the reason."""

import numpy as np
import pandas as pd
import pytest
from scipy import special

from bayescal import TopicCalibrator, load
from bayescal.cli import fitting
from tests.cli_tools import MLE, make_frame, make_topics, read, run, summary_of, write
from tests.report_data import data_of

POOL = ("--topic-column", "topic", "--pool", "--draws", "100")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return a folder with scores.csv, and what pooling them wrote into out."""
    path = tmp_path_factory.mktemp("pooled")
    write(make_topics(), path / "scores.csv")
    result = run("fit", path / "scores.csv", *POOL, "--out", path / "out")
    (path / "stdout").write_text(result.stdout, encoding="utf-8")
    return path


@pytest.mark.slow
def test_results_are_those_of_the_estimator(folder):
    frame = make_topics()
    expected = TopicCalibrator(draws=100, random_state=0)
    expected.fit(frame["score"].to_numpy(), frame["label"].to_numpy(), frame["topic"].to_numpy())
    found = read(folder / "out/probabilities.csv")
    assert found["topic"].tolist() == frame["topic"].tolist()
    arguments = frame["score"].to_numpy(), frame["topic"].to_numpy()
    assert found["log_odds"].to_numpy() == pytest.approx(expected.decision_function(*arguments))
    band = expected.predict_interval(*arguments)
    assert found[["lower", "upper"]].to_numpy() == pytest.approx(band)


@pytest.mark.slow
def test_the_topic_with_most_undecided_rows_comes_first(folder):
    summary = summary_of(folder / "out")
    topics = pd.DataFrame(summary["topics"])
    assert summary["diagnostics"]["problems"] == []
    assert set(topics["topic"]) == {"b/x", "a", "NA", "B x"}
    assert topics["undecided"].is_monotonic_decreasing
    assert (topics["file"] == "topics.nc").all()
    assert (topics["positives"] == 10).all()
    assert (topics["negatives"] == 30).all()
    found = read(folder / "out/probabilities.csv")
    undecided = ((found["lower"] < 0.5) & (found["upper"] > 0.5)).groupby(found["topic"]).sum()
    assert topics.set_index("topic")["undecided"].to_dict() == undecided.to_dict()
    width = (found["upper"] - found["lower"]).groupby(found["topic"]).mean()
    assert topics.set_index("topic")["width"].to_dict() == pytest.approx(width.to_dict())
    shown = (folder / "stdout").read_text(encoding="utf-8")
    where = [shown.index(f"\n{topic} ") for topic in topics["topic"]]
    assert where == sorted(where)


@pytest.mark.slow
@pytest.mark.parametrize("what", ["out", "out/topics.nc"])
def test_predict_says_the_same(folder, what):
    run("predict", folder / what, folder / "scores.csv", "--topic-column", "topic",
        "--out", folder / "again.csv")  # fmt: skip
    again, first = read(folder / "again.csv"), read(folder / "out/probabilities.csv")
    assert again["probability"].tolist() == first["probability"].tolist()
    assert again["lower"].tolist() == first["lower"].tolist()


@pytest.mark.slow
def test_a_topic_that_was_not_fitted_has_the_populations_wide_band(folder):
    new = write(make_frame(topic="new"), folder / "new.csv")
    run("predict", folder / "out", new, "--topic-column", "topic", "--out", folder / "of_new.csv")
    found, first = read(folder / "of_new.csv"), read(folder / "out/probabilities.csv")
    width, known = (each["upper"] - each["lower"] for each in (found, first))
    assert width.mean() > known.mean()


@pytest.mark.slow
@pytest.mark.parametrize("band", ["hdi", "simultaneous"])
def test_predictions_for_another_prior_with_another_band(folder, band):
    options = ("--prior", "0.1", "--band", band, "--level", "0.5", "--topic-column", "topic")
    frame = pd.concat([make_topics(), make_frame(topic="new")])
    scores = write(frame, folder / "more.csv")
    run("predict", folder / "out", scores, *options, "--out", folder / "moved.csv")
    found, fitted = read(folder / "moved.csv"), load(folder / "out")
    arguments = frame["score"].to_numpy(), frame["topic"].to_numpy().astype(str)
    expected = fitted.predict_proba(*arguments, prior=0.1)[:, 1]
    np.testing.assert_array_equal(found["probability"], expected)
    interval = fitted.predict_interval(*arguments, 0.5, band, 0.1)
    np.testing.assert_array_equal(found[["lower", "upper"]], interval)


@pytest.mark.slow
def test_new_topics_are_refused_where_the_calibrator_refuses_them(folder):
    strict = load(folder / "out").set_params(new_topics="error")
    scores = make_topics()
    strict.fit(*(scores[name].to_numpy() for name in ("score", "label", "topic")))
    path = strict.save(folder / "strict.nc")
    new = write(make_frame(topic="new"), folder / "new.csv")
    result = run("predict", path, new, "--topic-column", "topic", code=2)
    assert "must hold topics that have a calibrator, 'B x', 'NA', 'a', 'b/x'; got 'new'" in (
        result.stderr
    )


def test_the_record_tells_of_pooled_topics_what_it_tells_of_others(folder):
    run("fit", folder / "scores.csv", *POOL[:2], *MLE, "--out", folder / "apart")
    pooled, apart = summary_of(folder / "out"), summary_of(folder / "apart")
    assert set(pooled["topics"][0]) | {"diagnostics", "score_problems"} == set(apart["topics"][0])
    for topic in pooled["topics"]:
        assert topic["rows"] == {"negatives": 30, "positives": 10, "test": 0}
        mode = topic["parameters"]["1"]["theta"]
        assert mode["lower"] < mode["pooled"] < mode["upper"]
    assert set(pooled) - set(apart) == {"diagnostics", "score_problems"}


@pytest.mark.slow
def test_probabilities_are_pooled_by_their_log_odds(tmp_path):
    frame = make_topics().assign(score=lambda f: special.expit(f["score"]))
    path, options = write(frame, tmp_path / "s.parquet"), ("--scores-are", "probabilities")
    run("fit", path, *POOL, "--family", "laplace", *options, "--out", tmp_path / "out")
    found, fitted = read(tmp_path / "out/probabilities.csv"), load(tmp_path / "out")
    assert fitted.scores_are == "probabilities"
    arguments = frame["score"].to_numpy(), frame["topic"].to_numpy()
    np.testing.assert_array_equal(found["log_odds"], fitted.decision_function(*arguments))


@pytest.mark.slow
def test_topics_without_a_class_are_flagged(tmp_path):
    frame = make_topics()
    frame = frame[(frame["topic"] != "a") | (frame["label"] == 0)]
    result = run("fit", write(frame, tmp_path / "s.csv"), *POOL, "--out", tmp_path / "out")
    summary = summary_of(tmp_path / "out")
    flags = {each["topic"]: each["flag"] for each in summary["topics"]}
    assert "no documents of class 1 that count" in flags["a"]
    assert flags["B x"] == ""
    assert "no documents of class 1 that count" in result.stdout
    assert summary["left_out"] == {}
    assert (read(tmp_path / "out/probabilities.csv")["probability"] != "").all()


@pytest.mark.slow
def test_rows_set_apart_are_tested_on(tmp_path):
    frame = make_topics().assign(split=lambda f: np.where(np.arange(len(f)) % 2, "train", "test"))
    result = run("fit", write(frame, tmp_path / "s.parquet"), *POOL, "--out", tmp_path / "out")
    losses = summary_of(tmp_path / "out")["losses"]
    assert losses["n"] == 80
    assert f"{losses['log_loss']:.1f}" in result.stdout


@pytest.mark.slow
def test_labels_the_other_way_round(tmp_path):
    frame = make_topics()
    frame = frame.assign(label=np.where(frame["label"] == 1, "relevant", "x"))
    path = write(frame, tmp_path / "s.csv")
    run("fit", path, *POOL, "--positive", "relevant", "--out", tmp_path / "out")
    found = read(tmp_path / "out/probabilities.csv")
    relevant = found["label"] == "relevant"
    assert found["probability"][relevant].mean() > found["probability"][~relevant].mean()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--pool",), "--pool needs topics: name their column with --topic-column"),
        ((*POOL, *MLE), "--pool needs --inference exact, got mle"),
        ((*POOL, "--model", "laplace"), "--pool takes no program, got --model laplace"),
        ((*POOL, "--family", "average"), "--family with --pool must be one of"),
    ],
)
def test_what_cannot_be_pooled(tmp_path, options, message):
    frame = make_topics().assign(score=lambda f: f["score"] + 10.0)
    result = run("fit", write(frame, tmp_path / "s.csv"), *options, code=2)
    assert message in result.output


@pytest.mark.slow
@pytest.mark.parametrize("name", ["weight", "inclusion"])
def test_weights_of_rows_are_those_of_the_estimator(name, tmp_path):
    frame, third = make_topics(), np.arange(160) % 3
    given = third if name == "weight" else np.where(third, 0.04, 1.0)
    scores = write(frame.assign(**{name: given}), tmp_path / "scores.csv")
    run("fit", scores, *POOL, f"--{name}-column", name, "--out", tmp_path / "out")
    expected = TopicCalibrator(draws=100, random_state=0)
    score, label, topic = (frame[column].to_numpy() for column in ("score", "label", "topic"))
    argument = {"sample_weight" if name == "weight" else name: given}
    of_rows = expected.fit(score, label, topic, **argument).predict_proba(score, topic)[:, 1]
    found = read(tmp_path / "out/probabilities.csv")["probability"]
    np.testing.assert_allclose(found, of_rows, rtol=1e-9)


def test_parameters_of_pooled_topics_are_those_of_the_summary(topics, tmp_path):
    words = ("--topic-column", "topic", "--pool", "--draws", "20", "--chains", "2")
    said = run("fit", topics, *words, "--parameters", "--out", tmp_path).stdout
    table = load(tmp_path).summary(0.9)
    for row in table.to_dict("records"):
        assert f"{row['pooled']:.4g}" in said
        assert f"[{row['lower']:.4g}, {row['upper']:.4g}]" in said
        assert f"{row['population']:.4g}" in said


# One topic that cannot be fitted does not stop the others: it is listed, with the reason

BY_TOPIC = ("--topic-column", "topic")
WHY = "both classes need rows to fit (not of split 'test', not of weight 0), got none with label 1"


@pytest.fixture(scope="module")
def left_out_folder(tmp_path_factory):
    """Return a folder with scores of four topics, "a" without positives, and their fit."""
    path = tmp_path_factory.mktemp("left_out")
    frame = make_topics()
    few = frame[(frame["topic"] != "a") | (frame["label"] == 0)]
    write(few, path / "scores.csv")
    result = run("fit", path / "scores.csv", *MLE, *BY_TOPIC, "--out", path / "out")
    (path / "stdout").write_text(result.stdout, encoding="utf-8")
    return path


def test_the_others_are_fitted_as_without_it(left_out_folder, tmp_path):
    others = read(left_out_folder / "scores.csv").query("topic != 'a'")
    run("fit", write(others, tmp_path / "s.csv"), *MLE, *BY_TOPIC, "--out", tmp_path / "out")
    summary, alone = summary_of(left_out_folder / "out"), summary_of(tmp_path / "out")
    assert summary["topics"] == alone["topics"]
    assert (list(summary["left_out"]), alone["left_out"]) == (["a"], {})
    assert WHY in summary["left_out"]["a"]
    found = read(left_out_folder / "out/probabilities.csv")
    assert (found.loc[found["topic"] == "a", ["probability", "log_odds"]] == "").all(axis=None)
    of_others = found[found["topic"] != "a"].drop(columns=["probability", "log_odds"])
    assert len(of_others) == len(others)
    assert (found.loc[found["topic"] != "a", "probability"] != "").all()


def test_it_is_listed_with_the_reason(left_out_folder):
    text = (left_out_folder / "stdout").read_text(encoding="utf-8")
    assert "1 topic left out of the fit; the others are not affected" in text
    assert WHY in text
    assert "--pool fits all topics together, and answers for these too." in text


def test_predict_and_report_leave_its_rows_out_and_say_so(left_out_folder, tmp_path):
    out = tmp_path / "p.csv"
    arguments = ("predict", left_out_folder / "out", left_out_folder / "scores.csv", *BY_TOPIC)
    result = run(*arguments, "--test", "--out", out)
    pd.testing.assert_frame_equal(read(out), read(left_out_folder / "out/probabilities.csv"))
    assert "30 rows of 1 topic that the fit left out ('a')" in result.stderr
    (all_rows,) = (line for line in result.stdout.splitlines() if line.startswith("all "))
    assert all_rows.split()[1] == "120"
    only = write(read(left_out_folder / "scores.csv").query("topic == 'a'"), tmp_path / "a.csv")
    result = run("predict", left_out_folder / "out", only, *BY_TOPIC, code=2)
    assert "must hold topics that were fitted: there are only 30 rows of 1 topic" in result.stderr
    out = tmp_path / "report.html"
    result = run(
        "report", left_out_folder / "out", "--test", left_out_folder / "scores.csv", "--out", out
    )
    topics = {topic["name"]: topic["test"]["point"]["n"] for topic in data_of(out)["topics"]}
    assert topics == {"b/x": 40, "NA": 40, "B x": 40}
    assert "that the fit left out ('a')" in result.stderr


def test_what_a_calibrator_refuses_is_left_out_too(left_out_folder, monkeypatch):
    original = fitting.calibrate_one

    def refuse(problem, *others):
        if problem.topic == "NA":
            raise ValueError("such scores have no curve")
        return original(problem, *others)

    monkeypatch.setattr(fitting, "calibrate_one", refuse)
    text = run("fit", left_out_folder / "scores.csv", *MLE, *BY_TOPIC).stdout
    assert "2 topics left out of the fit" in text
    assert "such scores have no curve" in text


def test_where_none_is_left_nothing_is_written(tmp_path):
    frame = make_frame().assign(topic=lambda f: np.where(f["label"] == 1, "corn", "ship"))
    scores = write(frame, tmp_path / "scores.csv")
    result = run("fit", scores, *MLE, *BY_TOPIC, "--out", tmp_path / "out", code=2)
    assert result.stderr.startswith("Error: topic 'corn': both classes need rows to fit")
    assert "None of 2 topics can be fitted." in result.stderr
    assert not (tmp_path / "out").exists()

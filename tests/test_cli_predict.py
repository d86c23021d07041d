"""`bayescal predict`, and rows that `bayescal fit` holds out."""

import numpy as np
import pandas as pd
import pytest

import bayescal
from bayescal.cli import predictions
from bayescal.fitting.curves import curves
from bayescal.metrics import losses
from tests.cli_tools import MLE, NUTS, fitted, make_frame, read, run, summary_of, write


@pytest.mark.slow
def test_predict_equals_what_fit_wrote(scores, fake_nuts, tmp_path):
    run("fit", scores, *NUTS, "--out", tmp_path / "out")
    for calibrator in (tmp_path / "out", tmp_path / "out/posterior.nc"):
        new = tmp_path / "new.csv"
        result = run("predict", calibrator, scores, "--out", new)
        assert new.read_bytes() == (tmp_path / "out/probabilities.csv").read_bytes()
        assert str(new) in result.stdout


def test_predict_needs_scores_only(scores, frame, tmp_path):
    run("fit", scores, *MLE, "--out", tmp_path / "out")
    margins = write(frame[["score"]].rename(columns={"score": "margin"}), tmp_path / "m.parquet")
    arguments = ("predict", tmp_path / "out/posterior.nc", margins, "--score-column", "margin")
    run(*arguments, "--out", tmp_path / "new.parquet")
    table = pd.read_parquet(tmp_path / "new.parquet")
    assert list(table) == ["margin", "probability", "log_odds"]
    assert (table["probability"] == fitted(frame).predict_proba(frame["score"])[:, 1]).all()


@pytest.mark.one_era
@pytest.mark.slow
def test_predict_for_another_prior_with_another_band(scores, frame, tmp_path):
    fit = ("--family", "average", "--draws", "200", "--seed", "3")
    run("fit", scores, *fit, "--out", tmp_path / "out")
    options = ("--prior", "0.01", "--band", "simultaneous", "--level", "0.5")
    run("predict", tmp_path / "out", scores, *options, "--out", tmp_path / "new.csv")
    table = pd.read_csv(tmp_path / "new.csv")
    calibrator = bayescal.load(tmp_path / "out/posterior.nc")
    assert calibrator.parts == bayescal.Densities("average")
    shifted = calibrator.predict_proba(frame["score"], prior=0.01)[:, 1]
    np.testing.assert_allclose(table["probability"], shifted)
    assert (table["probability"] < calibrator.predict_proba(frame["score"])[:, 1]).all()
    band = calibrator.predict_interval(frame["score"], 0.5, "simultaneous", 0.01)
    np.testing.assert_allclose(table[["lower", "upper"]], band)


def test_predict_without_out_is_a_table_on_stdout_quiet_or_not(scores, tmp_path):
    run("fit", scores, *MLE, "--out", tmp_path / "out")
    for quiet in ([], ["--quiet"]):
        result = run("predict", tmp_path / "out", scores, *quiet)
        assert result.stdout == (tmp_path / "out/probabilities.csv").read_text()
        assert result.stderr == "" if quiet else "Positive label, as fitted: '1'" in result.stderr


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_predict_answers_by_blocks_as_at_once(suffix, scores, frame, tmp_path, monkeypatch):
    run("fit", scores, *MLE, "--out", tmp_path / "out")
    new = write(frame, tmp_path / f"new{suffix}")
    run("predict", tmp_path / "out", new, "--out", tmp_path / f"whole{suffix}")
    monkeypatch.setattr("bayescal.cli.commands.predict.ROWS", 7)
    seen = []
    real = predictions.curve_at
    monkeypatch.setattr(
        predictions, "curve_at", lambda *a, **k: seen.append(a[1].size) or real(*a, **k)
    )
    run("predict", tmp_path / "out", new, "--out", tmp_path / f"blocks{suffix}")
    assert max(seen) == 7
    assert sum(seen) == len(frame)
    tables = [
        (pd.read_csv if suffix == ".csv" else pd.read_parquet)(tmp_path / f"{name}{suffix}")
        for name in ("whole", "blocks")
    ]
    pd.testing.assert_frame_equal(*tables)


def test_blocks_share_the_tables_of_curves(scores, tmp_path, monkeypatch):
    run("fit", scores, "--draws", 300, "--out", tmp_path / "out")
    table = pd.DataFrame({"score": np.linspace(-1.0, 1.0, 1200)})
    new = write(table, tmp_path / "new.parquet")
    made = []
    real = curves.refine
    monkeypatch.setattr(curves, "refine", lambda *a, **k: made.append(1) or real(*a, **k))
    for rows in (1200, 400):
        made.clear()
        monkeypatch.setattr("bayescal.cli.commands.predict.ROWS", rows)
        run("predict", tmp_path / "out", new, "--out", tmp_path / "p.parquet")
        assert len(made) == 2  # of the point and of the band


def test_predict_reads_the_files_of_a_folder_or_a_pattern(scores, frame, tmp_path):
    run("fit", scores, *MLE, "--out", tmp_path / "out")
    (tmp_path / "new").mkdir()
    for k, rows in enumerate((slice(0, 15), slice(15, None))):
        write(frame.iloc[rows], tmp_path / f"new/{k}.parquet")
    run("predict", tmp_path / "out", scores, "--out", tmp_path / "whole.csv")
    for source in (tmp_path / "new", tmp_path / "new/*.parquet"):
        run("predict", tmp_path / "out", source, "--out", tmp_path / "all.csv")
        found, expected = read(tmp_path / "all.csv"), read(tmp_path / "whole.csv")
        pd.testing.assert_frame_equal(found, expected)
    result = run("predict", tmp_path / "out", tmp_path / "new/*.csv", code=2)
    assert "there is no file" in " ".join(result.stderr.split())
    write(frame.drop(columns="document"), tmp_path / "new/2.parquet")
    result = run("predict", tmp_path / "out", tmp_path / "new", "--out", tmp_path / "p.csv", code=2)
    expected = "2.parquet must have the columns of"
    assert expected in " ".join(result.stderr.split())
    result = run("predict", tmp_path / "out", tmp_path / "new", "--test", code=2)
    assert "need all rows in one" in " ".join(result.stderr.split())


def test_predict_names_file_and_row_of_a_bad_score_in_a_later_block(
    scores, frame, tmp_path, monkeypatch
):
    run("fit", scores, *MLE, "--out", tmp_path / "out")
    monkeypatch.setattr("bayescal.cli.commands.predict.ROWS", 7)
    (tmp_path / "new").mkdir()
    write(frame, tmp_path / "new/a.csv")
    write(
        frame.assign(score=frame["score"].astype(str).where(frame.index != 30, "x")),
        tmp_path / "new/b.csv",
    )
    result = run("predict", tmp_path / "out", tmp_path / "new", "--out", tmp_path / "p.csv", code=2)
    message = " ".join(result.stderr.split())
    assert "new/b.csv must hold a finite number in every row, got 'x' in row 32" in message
    assert not (tmp_path / "p.csv").exists()


def test_blocks_of_a_file_have_one_format_of_numbers(scores, tmp_path, monkeypatch):
    run("fit", scores, *MLE, "--out", tmp_path / "out")
    monkeypatch.setattr("bayescal.cli.commands.predict.ROWS", 2)
    new = tmp_path / "new.csv"
    call = ("predict", tmp_path / "out", new, "--out", tmp_path / "p.csv")
    new.write_text("document;score\na;0,5\nb;3\nc;1,250\nd;2,125\n")
    run(*call)
    assert read(tmp_path / "p.csv")["score"].tolist() == [0.5, 3.0, 1.25, 2.125]
    new.write_text("document;score\na;50%\nb;30%\nc;60\nd;70%\n")
    assert "got '60' in row 4" in " ".join(run(*call, code=2).stderr.split())


HOLDOUT = ("fit", "--holdout", 0.3)


@pytest.mark.slow
def test_fit_holds_out_three_tenths_of_each_class(scores, frame, fake_nuts, tmp_path):
    tables = []
    for seed in (2, 3, 3):
        result = run(*HOLDOUT, scores, *NUTS, "--seed", seed, "--out", tmp_path / "out")
        tables.append(read(tmp_path / "out/probabilities.csv"))
    other, table, same = (each["held_out"].to_numpy(dtype=bool) for each in tables)
    assert (table == same).all()
    assert (table != other).any()
    table = tables[-1]
    held = table["held_out"].to_numpy(dtype=bool)
    assert table[held].groupby("label").size().to_dict() == {0: 9, 1: 3}
    assert "12 of 40 rows held out at random, 30 % of each class" in result.stdout
    (topic,) = summary_of(tmp_path / "out")["topics"]
    expected = fitted(frame[~held]).decision_function(frame["score"][held])
    found = losses(expected, frame["label"][held] == 1)
    assert topic["losses"]["mle"]["log_loss"] == found.log_loss
    assert set(topic["losses"]) == {"mle", "nuts"}
    lines = result.stdout.splitlines()
    assert sum(line.startswith(("MLE ", "posterior ")) for line in lines) == 2


@pytest.mark.slow
def test_fit_leaves_each_class_a_row_to_fit_or_says_that_none_is_left(fake_nuts, tmp_path):
    frame = make_frame(9)
    scores = write(frame[(frame["label"] == 0) | (frame.index == 0)], tmp_path / "scores.csv")
    run("fit", scores, *NUTS, "--holdout", 0.9, "--out", tmp_path / "out")
    table = read(tmp_path / "out/probabilities.csv")
    assert table.groupby("label")["held_out"].sum().to_dict() == {0: 5, 1: 0}
    frame = make_frame(5)
    few = frame[(frame["label"] == 1) | (frame.index == 1)].iloc[:2].round(2)
    result = run(*HOLDOUT, write(few, tmp_path / "scores.csv"), *NUTS)
    assert "no row is left to test on" in result.stderr
    assert "Losses on test rows" not in result.stdout


@pytest.mark.slow
def test_losses_of_topics_add_up(topics, fake_nuts, tmp_path):
    arguments = ("--topic-column", "topic", *NUTS, "--out", tmp_path / "out")
    text = run(*HOLDOUT, topics, *arguments).stdout
    each = [topic["losses"]["mle"]["log_loss"] for topic in summary_of(tmp_path / "out")["topics"]]
    line = next(line.split() for line in text.splitlines() if line.startswith("all "))
    assert line[:3] == ["all", "MLE", "48"]
    assert float(line[3]) == pytest.approx(sum(each), abs=0.06)


@pytest.mark.slow
def test_map_is_tested_without_a_band(scores):
    text = run(*HOLDOUT, scores, "--inference", "map").stdout
    assert "MAP" in text
    assert "band" not in text


@pytest.mark.one_era
@pytest.mark.slow
def test_scores_that_were_only_taken_for_probabilities_are_spoken_of_wherever_they_are_read(
    tmp_path,
):
    # As of margins that happen to lie between 0 and 1 where labels are known.
    frame = make_frame(60)
    inside = frame.assign(score=(frame["score"] - frame["score"].min()).div(20.0))
    scores = write(inside, tmp_path / "scores.csv")
    fit = ("fit", scores, "--draws", "50", "--out", tmp_path / "out")
    assert "say scores_are='probabilities'" in run(*fit).stderr
    outside = write(inside.assign(score=inside["score"] + 0.8), tmp_path / "new.csv")
    split = np.where(np.arange(60) < 40, "calibration", "test")
    raised = inside["score"] + 0.8 * (split == "test")
    both = write(inside.assign(score=raised, split=split), tmp_path / "both.csv")
    for words in (
        ("predict", tmp_path / "out", outside, "--out", tmp_path / "p.csv"),
        ("decide", tmp_path / "out", outside, "--at", "0.5"),
        ("fit", both, "--draws", "50"),
    ):
        said = run(*words).stderr
        once = said.replace("\n", " ").count("is no probability, for which the scores were taken")
        assert once == 1, words
        assert "this: --positive, --lower-is-positive, --scores-are." in said.replace("\n", " ")

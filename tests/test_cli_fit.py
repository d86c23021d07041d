"""`bayescal fit`: printed and written numbers are those of the estimator."""

import warnings
from dataclasses import asdict

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import bayescal
from bayescal import Densities, Program, ScoreCalibrator
from bayescal.cli.columns import names_in
from bayescal.cli.fitting import parts_of
from bayescal.fitting import fitted_scores
from bayescal.metrics import losses
from tests.cli_tools import MLE, NUTS, fitted, make_frame, make_topics, read, run, summary_of, write


def test_fit_writes_what_the_estimator_says(scores, frame, tmp_path):
    result = run("fit", scores, *MLE, "--out", tmp_path / "out")
    names = {"posterior.nc", "probabilities.csv", "summary.json"}
    assert {path.name for path in (tmp_path / "out").iterdir()} == names
    table, expected = read(tmp_path / "out/probabilities.csv"), fitted(frame)
    pd.testing.assert_frame_equal(table[list(frame)], frame, check_dtype=False)
    assert_array_equal(table["probability"], expected.predict_proba(frame["score"])[:, 1])
    assert_array_equal(table["log_odds"], expected.decision_function(frame["score"]))
    assert "lower" not in table
    assert f"bayescal predict {tmp_path / 'out'} new.csv" in result.stdout.replace("\n", "")
    assert str(tmp_path / "out") in result.stdout


@pytest.mark.one_era
@pytest.mark.slow
def test_prior_knowledge_is_that_of_the_estimator(scores, frame, tmp_path):
    run("fit", scores, "--prior-knowledge", "vague", "--draws", "100", "--out", tmp_path / "out")
    asked = ScoreCalibrator(prior_knowledge="vague", draws=100, random_state=0)
    asked.fit(frame["score"], frame["label"])
    written = bayescal.load(tmp_path / "out" / "posterior.nc")
    assert_array_equal(written.predict_proba(frame["score"]), asked.predict_proba(frame["score"]))


def test_fit_prints_and_writes_nothing_without_out(scores, frame, tmp_path):
    text = run("fit", scores, *MLE, "--parameters").stdout
    assert list(tmp_path.iterdir()) == [scores]
    assert "--out" in text
    fit = fitted(frame).mle_.positive
    assert all(f"{fit.parameters[name]:.4g}" in text for name in ("theta", "beta", "gamma"))
    assert "asymmetric_laplace, 10 positives, 30 negatives" in text
    # The class prior beside them is no optimum of the likelihood, 10/40, and does not pass as one.
    assert f"{11 / 42:.4g}+" in text
    assert "+ with one document of each class added: (positives + 1) / (documents + 2)" in text
    assert fitted(frame).summary()["guard"]["1", "prior"] == "add_one"


def test_the_answer_is_probabilities_at_a_few_scores(scores, frame):
    text = run("fit", scores, "--draws", "50").stdout
    assert "10 positives, 30 negatives" in text
    assert "P(1)" in text
    assert "90 % band" in text
    assert "densities 0." in text
    assert "at: quantiles of the scores of negatives (-) and positives (+)" in text
    assert "R-hat" not in text  # parameters are on request
    middle = float(np.median(frame.loc[frame["label"] == 1, "score"]))
    calibrator = fitted(frame, inference="exact", draws=50, random_state=0)
    p = calibrator.predict_proba([middle])[0, 1]
    low, high = calibrator.predict_interval([middle])[0]
    (row,) = [line for line in text.splitlines() if "+ 50 %" in line]
    expected = f"{middle:.4g} + 50 % {p:.4f} [{low:.4f}, {high:.4f}]"
    assert " ".join(row.split()) == expected


@pytest.mark.one_era
@pytest.mark.slow
def test_several_topics_are_one_table(topics):
    text = run("fit", topics, "--topic-column", "topic", *MLE).stdout
    assert "4 topics by themselves; those with the fewest positives first" in text
    assert text.count("positives") == 2
    banded = run("fit", topics, "--topic-column", "topic", "--draws", "20").stdout
    assert "those with most undecided rows first" in banded
    assert "undecided: rows whose 90 % band holds 0.5, to look at, or to label" in banded
    rows = [line.split() for line in banded.splitlines() if line[:1].isalnum()]
    undecided = [int(row[-2]) for row in rows if row[-1].replace(".", "").isdigit()]
    assert len(undecided) == 4
    assert undecided == sorted(undecided, reverse=True)
    text = run("fit", topics, "--topic-column", "topic", *MLE, "--parameters").stdout
    assert text.count("theta") == 8


def test_parquet_equals_csv(scores, frame, tmp_path):
    parquet = write(frame, tmp_path / "scores.parquet")
    run("fit", scores, *MLE, "--out", tmp_path / "a")
    run("fit", parquet, *MLE, "--out", tmp_path / "b", "--format", "parquet")
    from_csv = read(tmp_path / "a/probabilities.csv")
    from_parquet = pd.read_parquet(tmp_path / "b/probabilities.parquet")
    pd.testing.assert_frame_equal(from_csv, from_parquet, check_dtype=False, check_exact=True)
    assert summary_of(tmp_path / "a")["topics"] == summary_of(tmp_path / "b")["topics"]


def test_summary_tells_what_was_asked_and_found(scores, frame, tmp_path):
    run("fit", scores, *MLE, "--family", "gaussian", "--seed", "7", "--out", tmp_path / "out")
    summary = summary_of(tmp_path / "out")
    assert {"python", "bayescal", "pymc"} <= set(summary["versions"])
    assert (summary["seed"], summary["family"]) == (7, "gaussian")
    assert summary["classes"] == {"negative": 0, "positive": 1}
    assert summary["arguments"]["command"] == "fit"
    (topic,) = summary["topics"]
    assert topic["rows"] == {"negatives": 30, "positives": 10, "test": 0}
    assert topic["losses"] == {}
    positives = frame.loc[frame["label"] == 1, "score"]
    assert topic["parameters"]["1"]["mu"]["mle"] == pytest.approx(positives.mean())
    assert topic["parameters"]["1"]["prior"]["mle"] == pytest.approx(11 / 42)


def test_topics_get_a_calibrator_each(topics, tmp_path):
    run("fit", topics, *MLE, "--topic-column", "topic", "--out", tmp_path / "out")
    table = read(tmp_path / "out/probabilities.csv")
    files = {topic["topic"]: topic["file"] for topic in summary_of(tmp_path / "out")["topics"]}
    assert list(files) == table["topic"].drop_duplicates().tolist()
    assert len({name.lower() for name in files.values()}) == 4
    for topic, rows in table.groupby("topic"):
        expected = fitted(rows).predict_proba(rows["score"])[:, 1]
        assert_array_equal(rows["probability"], expected)
        loaded = bayescal.load(tmp_path / "out" / files[topic])
        assert_array_equal(loaded.predict_proba(rows["score"])[:, 1], expected)


@pytest.mark.parametrize(
    ("option", "fit_name"), [([], "calibration"), (["--split-column", "part"], "train")]
)
def test_test_rows_are_not_fitted_but_tested_on(option, fit_name, tmp_path):
    name = option[1] if option else "split"
    test = np.arange(60) >= 40
    frame = make_frame(60, **{name: np.where(test, "test", fit_name)})
    scores = write(frame, tmp_path / "scores.csv")
    text = run("fit", scores, *MLE, *option, "--out", tmp_path / "out").stdout
    expected = fitted(frame[~test])
    table = read(tmp_path / "out/probabilities.csv")
    assert_array_equal(table["log_odds"], expected.decision_function(frame["score"]))
    found = losses(expected.decision_function(frame["score"][test]), frame["label"][test] == 1)
    (topic,) = summary_of(tmp_path / "out")["topics"]
    assert topic["losses"]["mle"] == asdict(found)
    assert found.n == 20
    assert f"{found.log_loss:.1f}" in text


def test_weights_equal_repetition(tmp_path):
    frame = make_frame(weight=np.arange(40) % 3 + 1)
    repeated = frame.loc[frame.index.repeat(frame["weight"])]
    weighted = write(frame, tmp_path / "weighted.csv")
    run("fit", weighted, *MLE, "--weight-column", "weight", "--out", tmp_path / "out")
    table = read(tmp_path / "out/probabilities.csv")
    expected = fitted(repeated).predict_proba(frame["score"])[:, 1]
    assert_allclose(table["probability"], expected, rtol=1e-12)


def test_inclusion_probabilities_are_those_of_the_calibrator(tmp_path):
    frame = make_frame(inclusion=np.where(np.arange(40) % 3, 0.04, 1.0))
    options = ("--family", "asymmetric_laplace", "--draws", "100", "--seed", "0")
    given = write(frame, tmp_path / "s.csv"), *options, "--inclusion-column", "inclusion"
    run("fit", *given, "--out", tmp_path / "out")
    calibrator = ScoreCalibrator("asymmetric_laplace", draws=100, random_state=0)
    calibrator.fit(frame["score"], frame["label"], inclusion=frame["inclusion"])
    table = read(tmp_path / "out/probabilities.csv")
    expected = calibrator.predict_proba(frame["score"])[:, 1]
    assert_allclose(table["probability"], expected, rtol=1e-9)
    counted = ScoreCalibrator("asymmetric_laplace", draws=100, random_state=0)
    with pytest.warns(UserWarning, match="pass inclusion"):
        counted.fit(frame["score"], frame["label"], sample_weight=1.0 / frame["inclusion"] + 0.5)
    assert np.abs(counted.predict_proba(frame["score"])[:, 1] - expected).max() > 1e-3


def test_positive_names_the_class_whatever_its_order(scores, frame, tmp_path):
    run("fit", scores, *MLE, "--out", tmp_path / "one", "--positive", "1")
    run("fit", scores, *MLE, "--out", tmp_path / "zero", "--positive", "0")
    one, zero = (read(tmp_path / name / "probabilities.csv") for name in ("one", "zero"))
    assert_allclose(one["log_odds"], -zero["log_odds"])
    assert summary_of(tmp_path / "zero")["classes"] == {"negative": 1, "positive": 0}
    parameters = [
        summary_of(tmp_path / name)["topics"][0]["parameters"] for name in ("one", "zero")
    ]
    assert parameters[0]["1"]["theta"] == parameters[1]["1"]["theta"]
    assert bayescal.load(tmp_path / "one/posterior.nc").classes_.tolist() == [0, 1]


KINDS = [("ham", "spam"), (-1, 1), (False, True), ("1.0", "2.0"), ("01", "02"), (2, 10)]


@pytest.mark.one_era
@pytest.mark.parametrize("labels", KINDS, ids=str)
def test_labels_of_every_kind(labels, frame, tmp_path):
    named = frame.assign(label=np.where(frame["label"] == 1, labels[1], labels[0]))
    for suffix in (".csv", ".parquet"):
        scores = write(named, tmp_path / f"scores{suffix}")
        run("fit", scores, *MLE, "--out", tmp_path / "out")
        table = read(tmp_path / "out/probabilities.csv")
        expected = fitted(frame).predict_proba(frame["score"])[:, 1]
        assert_array_equal(table["probability"], expected)
        classes = summary_of(tmp_path / "out")["classes"]
        assert [str(classes["negative"]), str(classes["positive"])] == [str(x) for x in labels]


def test_text_of_other_columns_is_kept(tmp_path):
    path = tmp_path / "scores.csv"
    path.write_text("\ufeffscore,label,note\n-1,0,007\n1,1,NA\n2,1,\n-2,0,1.50\n", encoding="utf-8")
    run("fit", path, *MLE, "--out", tmp_path / "out")
    lines = (tmp_path / "out/probabilities.csv").read_text(encoding="utf-8").splitlines()
    assert lines[0] == "score,label,note,probability,log_odds"
    assert [line.split(",")[2] for line in lines[1:]] == ["007", "NA", "", "1.50"]


@pytest.mark.slow
def test_band_comes_with_nuts(scores, frame, fake_nuts, tmp_path):
    options = "--level", "0.8", "--parameters", "--out", tmp_path / "out"
    text = run("fit", scores, *NUTS, *options).stdout
    table = read(tmp_path / "out/probabilities.csv")
    calibrator = bayescal.load(tmp_path / "out/posterior.nc")
    band = calibrator.predict_interval(frame["score"], 0.8)
    assert_array_equal(table[["lower", "upper"]], band)
    assert_array_equal(table["probability"], calibrator.predict_proba(frame["score"])[:, 1])
    assert list(table)[-4:] == ["probability", "lower", "upper", "log_odds"]
    assert calibrator.posterior_["posterior"].sizes["draw"] == 200
    (topic,) = summary_of(tmp_path / "out")["topics"]
    assert topic["diagnostics"]["problems"] == []
    assert topic["parameters"]["0"]["theta"]["rhat"] == pytest.approx(1.0, abs=0.01)
    assert "80 % band" in text
    assert "R-hat" in text


@pytest.mark.slow
def test_same_seed_same_bits_and_a_single_chain_has_no_r_hat(scores, fake_nuts, tmp_path):
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        options = ("--seed", seed, "--chains", 1, "--draws", 800)
        run("fit", scores, *NUTS[:2], *options, "--out", tmp_path / name)
    assert summary_of(tmp_path / "a")["topics"][0]["diagnostics"]["rhat"] is None
    a, b, c = ((tmp_path / name / "probabilities.csv").read_bytes() for name in "abc")
    assert a == b != c
    assert summary_of(tmp_path / "a") == summary_of(tmp_path / "b")


@pytest.mark.slow
def test_bad_draws_are_told_on_stderr(topics, fake_nuts, recwarn):
    result = run("fit", topics, "--topic-column", "topic", *NUTS, "--draws", 10)
    lines = result.stderr.splitlines()
    assert len(lines) == 4
    assert lines[0].startswith("Warning: topic '")
    assert "effective sample size" in lines[0]
    assert "--draws" in lines[0]
    assert not recwarn.list


def test_other_warnings_are_told_on_stderr(scores, monkeypatch):
    def fit(*arguments, **weights):
        warnings.warn("a word of caution", UserWarning, stacklevel=1)
        return original(*arguments, **weights)

    original = fitted_scores.fit_scores
    monkeypatch.setattr(fitted_scores, "fit_scores", fit)
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        result = run("fit", scores, *MLE)
    assert result.stderr.strip() == "Warning: a word of caution"


@pytest.mark.slow
def test_quiet_prints_nothing(scores, topics, fake_nuts, tmp_path):
    for arguments in (
        ("fit", scores, *MLE),
        ("fit", topics, "--topic-column", "topic", *NUTS, "--draws", 10),
        ("fit", scores, *NUTS, "--draws", 10, "--holdout", 0.3, "--out", tmp_path / "out"),
    ):
        result = run(*arguments, "--quiet")
        assert result.output == ""
    assert (tmp_path / "out/summary.json").is_file()


def test_existing_folder_keeps_its_other_files(scores, tmp_path):
    out = tmp_path / "deep" / "out"
    out.mkdir(parents=True)
    (out / "mine.txt").write_text("mine")
    (out / "summary.json").write_text("old")
    run("fit", scores, *MLE, "--out", out)
    assert (out / "mine.txt").read_text() == "mine"
    assert summary_of(out)["seed"] == 0
    assert sorted(path.name for path in out.iterdir())[0] == "mine.txt"  # no .bayescal- folder left


@pytest.mark.slow
def test_programs_of_the_user_run(scores, fake_nuts, tmp_path):
    mine = tmp_path / "mine.py"
    mine.write_text(run("models", "asymmetric_laplace").stdout, encoding="utf-8")
    run("fit", scores, *NUTS, "--model", mine, "--out", tmp_path / "out")
    assert summary_of(tmp_path / "out")["arguments"]["model"] == str(mine)
    assert bayescal.load(tmp_path / "out/posterior.nc").parts == Program(str(mine))
    assert run("models", tmp_path / "out/posterior.nc").stdout == mine.read_text(encoding="utf-8")


def test_model_of_the_package_implies_its_family(scores, fake_nuts, tmp_path):
    run("fit", scores, *NUTS, "--model", "gaussian", "--out", tmp_path / "out")
    assert summary_of(tmp_path / "out")["family"] == "gaussian"


@pytest.mark.one_era
@pytest.mark.slow
def test_processes_change_nothing(tmp_path):
    scores = write(make_topics(), tmp_path / "scores.csv")
    arguments = ("fit", scores, "--topic-column", "topic", "--draws", 100, "--family", "gaussian")
    for jobs in (1, 2):
        run(*arguments, "--jobs", jobs, "--out", tmp_path / str(jobs))
    one, two = (read(tmp_path / jobs / "probabilities.csv") for jobs in "12")
    assert one.equals(two)
    first, second = (summary_of(tmp_path / jobs) for jobs in "12")
    assert first["topics"] == second["topics"]


@pytest.mark.slow
def test_errors_and_warnings_of_processes_name_the_topic(tmp_path):
    constant = make_frame(topic="constant").assign(score=1.0)
    scores = write(pd.concat([make_topics(), constant]), tmp_path / "scores.csv")
    arguments = ("fit", scores, "--topic-column", "topic", "--draws", 100)
    alone = run(*arguments, "--family", "gaussian", *MLE, "--jobs", 1)
    other = run(*arguments, "--family", "gaussian", *MLE, "--jobs", 2)
    assert other.stderr == alone.stderr
    assert run(*arguments, "--jobs", 0, code=2).stderr.count("--jobs must be at least 1, got 0")


@pytest.mark.parametrize(
    ("parts", "family", "model", "expected"),
    [
        ("auto", None, None, "auto"),
        ("auto", "gaussian", None, Densities("gaussian")),
        ("auto", None, "mine.py", Program("mine.py")),
        ("monotone, logistic", None, None, ["monotone", "logistic"]),
        ("densities,monotone", "gaussian", None, [Densities("gaussian"), "monotone"]),
        ("combined", "gaussian", None, ["combined", Densities("gaussian")]),
    ],
)
def test_options_make_parts(parts, family, model, expected):
    assert parts_of(names_in(parts), family, model) == expected

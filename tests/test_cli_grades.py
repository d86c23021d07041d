"""Ordered grades on the command line."""

import numpy as np
import pandas as pd
import pytest

import bayescal
from bayescal import OrdinalCalibrator
from bayescal.metrics import class_verdict
from tests.cli_tools import run, summary_of

GRADES = np.array(["poor", "fair", "good"])
ORDER = ("--grades", "poor,fair,good")
QUICK = ("--parts", "logistic", "--draws", 60, "--chains", 2)


def table(n, seed):
    rng = np.random.default_rng(seed)
    score = rng.normal(size=n).round(3)
    grade = np.digitize(score + 0.5 * rng.logistic(size=n), [-0.2, 0.9])
    document = [f"{row:03d}" for row in range(n)]
    return pd.DataFrame(
        {"document": document, "score": score, "label": GRADES[grade], "stars": grade + 1}
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    out = tmp_path_factory.mktemp("grades")
    fitted = table(120, 0)
    fitted.loc[3, "label"] = None
    fitted.assign(split=["train"] * 90 + ["test"] * 30).to_csv(out / "grades.csv", index=False)
    table(80, 1).to_csv(out / "new.csv", index=False)
    shown = run("fit", out / "grades.csv", *ORDER, *QUICK, "--out", out / "cal")
    (out / "shown.txt").write_text(shown.stdout)
    return out


def expected_columns(calibrator, scores, level=0.9, band="pointwise"):
    """Return the columns of answers, computed by the methods of the calibrator."""
    p, reached = calibrator.predict_proba(scores), calibrator.exceedance(scores)
    interval = calibrator.predict_interval(scores, level, band)
    gain = calibrator.gain_interval(scores, level, band)
    names = calibrator.classes_.tolist()
    columns = {f"P({name})": p[:, k] for k, name in enumerate(names)}
    for k, name in enumerate(names[1:]):
        columns[f"P(>= {name})"] = reached[:, k]
        columns[f"lower(>= {name})"] = interval[:, k, 0]
        columns[f"upper(>= {name})"] = interval[:, k, 1]
    columns["expected_grade"] = calibrator.expected_gain(scores)
    return columns | {"expected_grade_lower": gain[:, 0], "expected_grade_upper": gain[:, 1]}


def test_fit_writes_the_calibrator_of_the_rows_to_fit(folder):
    frame = pd.read_csv(folder / "grades.csv")
    own = frame[:90].dropna(subset="label")
    plain = OrdinalCalibrator("logistic", grades=GRADES, draws=60, chains=2, random_state=0)
    plain.fit(own["score"], own["label"])
    read = bayescal.load(folder / "cal")
    np.testing.assert_array_equal(
        read.sample_proba(frame["score"]), plain.sample_proba(frame["score"])
    )
    written = pd.read_csv(folder / "cal" / "probabilities.csv")
    for name, values in expected_columns(plain, frame["score"]).items():
        np.testing.assert_allclose(written[name], values, rtol=1e-9, err_msg=name)


def test_fit_shows_each_threshold_and_the_verdict_of_test_rows(folder):
    shown = (folder / "shown.txt").read_text()
    counts = pd.read_csv(folder / "grades.csv")[:90]["label"].value_counts()
    for event, low in ((">= fair", ["poor"]), (">= good", ["poor", "fair"])):
        below = sum(counts[name] for name in low)
        assert f"{event}: {counts.sum() - below} positives, {below} negatives" in shown
        assert f"P({event})" in shown
    assert "Probabilities of 3 classes against 30 held-out labels" in shown
    record = summary_of(folder / "cal")
    assert record["classes"] == GRADES.tolist()
    assert record["rows"] == counts.to_dict()
    assert record["verdict"]["documents"] == 30
    assert list(record["diagnostics"]) == [">= fair", ">= good"]
    assert record["diagnostics"][">= good"]["diagnostics"]["draws"] == 120


def test_predict_adds_the_calibrators_answers_to_each_row(folder, tmp_path):
    out, new = tmp_path / "p.csv", pd.read_csv(folder / "new.csv", dtype={"document": str})
    arguments = ("predict", folder / "cal", folder / "new.csv", "--out", out)
    run(*arguments, "--level", 0.8, "--band", "hdi")
    frame = pd.read_csv(out, dtype={"document": str})
    pd.testing.assert_frame_equal(frame[list(new)], new)
    calibrator = bayescal.load(folder / "cal")
    columns = expected_columns(calibrator, new["score"], 0.8, "hdi")
    assert list(frame) == [*new, "predicted", *columns]
    assert frame["predicted"].tolist() == calibrator.predict(new["score"]).tolist()
    np.testing.assert_allclose(frame[list(columns)], pd.DataFrame(columns), rtol=1e-9)
    printed = run(*arguments[:3]).stdout.splitlines()
    assert printed[0].split(",") == list(frame)
    assert len(printed) == 81


def test_predict_tests_the_probabilities_by_labels(folder, tmp_path):
    new, calibrator = pd.read_csv(folder / "new.csv"), bayescal.load(folder / "cal")
    out = ("--test", "--out", tmp_path / "p.csv")
    arguments = ("predict", folder / "cal", folder / "new.csv", *out)
    shown = " ".join(run(*arguments).stdout.split())
    p, draws = (ask(new["score"]) for ask in (calibrator.predict_proba, calibrator.sample_proba))
    verdict = class_verdict(new["label"], p, GRADES, draws=draws)
    assert " ".join(verdict.test.split()) in shown
    refused = run(*arguments, "--label-column", "stars", code=2)
    assert "must hold grades, 'poor', 'fair', 'good', in every row, got '1'" in refused.stderr


def test_numbers_are_grades_in_the_order_given(folder, tmp_path):
    stars = ("--label-column", "stars", *QUICK, "--out", tmp_path / "n")
    for order in ("1,2,3", "3,2,1"):
        run("fit", folder / "new.csv", "--grades", order, *stars)
        calibrator = bayescal.load(tmp_path / "n")
        assert calibrator.classes_.tolist() == [int(grade) for grade in order.split(",")]
    written = pd.read_csv(tmp_path / "n" / "probabilities.csv")
    assert written["expected_grade"].between(1.0, 3.0).all()
    assert {"P(1)", "P(>= 1)", "P(>= 2)"} <= set(written) - {"P(>= 3)"}


def test_weights_clusters_and_held_out_rows_are_those_of_other_fits(folder, tmp_path):
    frame = table(90, 2).assign(count=np.tile([1, 2], 45), page=np.arange(90) // 2)
    frame.to_csv(tmp_path / "w.csv", index=False)
    arguments = ("--weight-column", "count", "--cluster-column", "page", "--holdout", 0.3)
    shown = run("fit", tmp_path / "w.csv", *ORDER, *QUICK, *arguments, "--out", tmp_path / "cal")
    assert "30 % of clusters" in shown.stdout
    calibrator = bayescal.load(tmp_path / "cal")
    written = pd.read_csv(tmp_path / "cal" / "probabilities.csv")
    fitted = written[~written["held_out"]]
    assert calibrator.design_effect_.clusters == fitted["page"].nunique()
    assert fitted["page"].nunique() == 45 - round(0.3 * 45)
    assert calibrator.design_effect_.documents == fitted["count"].sum()


@pytest.mark.slow
def test_other_commands_read_thresholds_as_topics(folder, tmp_path):
    run("report", folder / "cal", "--out", tmp_path / "r.html")
    assert "&gt;= good" in (tmp_path / "r.html").read_text(encoding="utf-8")
    asked = pd.read_csv(folder / "new.csv").assign(event=">= good")
    asked.to_csv(tmp_path / "asked.csv", index=False)
    arguments = ("decide", folder / "cal", tmp_path / "asked.csv", "--at", 0.4)
    told = run(*arguments, code=2).stderr
    assert "name their column with --topic-column; they are '>= fair', '>= good'" in told
    run(*arguments, "--topic-column", "event", "--out", tmp_path / "d.csv")
    p = bayescal.load(folder / "cal").exceedance(asked["score"])[:, 1]
    assert pd.read_csv(tmp_path / "d.csv")["selected"].tolist() == [(p >= 0.4).sum()]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--grades", "good"], "--grades must name at least two grades, as a,b,c; got 'good'"),
        (["--grades", "poor,fair,fair"], "--grades must name every grade once, got 'fair' twice"),
        (["--grades", "poor,fair"], "must hold grades, 'poor', 'fair', in every row, got 'good'"),
        (["--grades", "poor,fair,good,best"], "got none of 'best': leave it out of grades"),
        ([*ORDER, "--label-column", "score"], "must name different columns, got 'score' for both"),
        ([*ORDER, "--topic-column", "document"], "--topic-column is not for ordered grades"),
        ([*ORDER, "--classes", "a,b"], "--classes is not for ordered grades: leave it out"),
        ([*ORDER, "--model", "ordinal"], "--model is not for ordered grades"),
        ([*ORDER, "--plan", "p.csv"], "--plan and --id-column need --labels"),
        ([*ORDER, "--inference", "mle"], "--inference must be 'exact' or 'nuts', with draws, got"),
        ([*ORDER, "--parts", "none"], "--parts must be one of"),
        ([], "OrdinalCalibrator (--grades) grades of one score"),
    ],
)  # fmt: skip
def test_fit_refuses(options, message, folder, tmp_path):
    shown = run("fit", folder / "grades.csv", *options, "--out", tmp_path / "cal", code=2)
    assert message in " ".join(shown.stderr.split())
    assert not (tmp_path / "cal").exists()


def test_columns_of_the_output_are_free(folder, tmp_path):
    frame = pd.read_csv(folder / "new.csv").rename(columns={"stars": "P(>= fair)"})
    frame.to_csv(tmp_path / "taken.csv", index=False)
    for first in (("predict", folder / "cal"), ("fit", *ORDER)):
        shown = run(*first, tmp_path / "taken.csv", code=2)
        assert "has a column 'P(>= fair)', which the output adds" in shown.stderr


@pytest.mark.parametrize(
    ("option", "message"),
    [
        (["--prior", "0.2"], "--prior is not for ordered grades"),
        (["--shares", "0.2,0.8"], "--shares is not for ordered grades"),
        (["--topic-column", "label"], "--topic-column is not for ordered grades"),
        (["--likelihood-ratio"], "--likelihood-ratio is not for ordered grades"),
        (["--score-column", "label"], "must hold a finite number in every row, got"),
    ],
)
def test_predict_refuses(option, message, folder):
    shown = run("predict", folder / "cal", folder / "new.csv", *option, code=2)
    assert message in shown.stderr

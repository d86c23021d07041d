"""Several classes on the command line."""

import html
import json

import numpy as np
import pandas as pd
import pytest
from scipy import special

import bayescal
from bayescal.metrics import pointwise_losses
from tests.cli_tools import run
from tests.report_data import data_of

CLASSES = ["ant", "bee", "wasp"]
ALL = ("--classes", "ant,bee,wasp")


def table(n, seed):
    rng = np.random.default_rng(seed)
    scores = 6.0 * rng.normal(size=(n, 3))
    y = [rng.choice(3, p=each) for each in special.softmax(scores / 3.0, axis=1)]
    return pd.DataFrame(scores, columns=CLASSES).assign(label=np.array(CLASSES)[y])


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    out = tmp_path_factory.mktemp("classes")
    fitted = table(120, 0)
    fitted.loc[3, "label"] = None
    fitted.assign(split=["calibration"] * 90 + ["test"] * 30, count=[1, 2] * 60).to_csv(
        out / "logits.csv", index=False
    )
    table(150, 1).to_csv(out / "held_out.csv", index=False)
    arguments = (*ALL, "--draws", 60, "--chains", 2, "--out", out / "cal")
    shown = run("fit", out / "logits.csv", "--weight-column", "count", *arguments)
    (out / "shown.txt").write_text(shown.stdout)
    return out


@pytest.mark.slow
def test_fit_writes_a_calibrator_that_is_read_again(folder):
    calibrator = bayescal.load(folder / "cal")
    assert calibrator.classes_.tolist() == CLASSES
    record = json.loads((folder / "cal" / "summary.json").read_text())
    assert sum(record["rows"].values()) == 89
    assert record["verdict"]["documents"] == 45
    frame = pd.read_csv(folder / "cal" / "probabilities.csv")
    p = frame[[f"P({name})" for name in CLASSES]].to_numpy()
    np.testing.assert_allclose(p, calibrator.predict_proba(frame[CLASSES]), rtol=1e-9)
    assert (frame["lower"] <= frame["probability"]).all()
    assert "Are the probabilities right?" in (folder / "shown.txt").read_text()


def test_predict_is_the_calibrators_answer(folder, tmp_path):
    out = tmp_path / "p.csv"
    shown = run("predict", folder / "cal", folder / "held_out.csv", "--test", "--out", out)
    assert "against 150 held-out labels" in " ".join(shown.stdout.split())
    frame, calibrator = pd.read_csv(out), bayescal.load(folder / "cal")
    assert frame["predicted"].tolist() == calibrator.predict(frame[CLASSES]).tolist()
    shares = [0.2, 0.3, 0.5]
    text = run("predict", folder / "cal", folder / "held_out.csv", "--shares", "0.2,0.3,0.5").stdout
    first = dict(zip(*(line.split(",") for line in text.splitlines()[:2]), strict=True))
    own = calibrator.predict_proba(frame[CLASSES], prior=shares)[0]
    np.testing.assert_allclose([float(first[f"P({name})"]) for name in CLASSES], own, rtol=1e-9)
    into = ("--out", tmp_path / "answers")
    shown = run("predict", folder / "cal", folder / "held_out.csv", *into, code=2)
    assert "--out must be a .csv or .parquet file" in shown.stderr


def test_decide_abstains_at_a_cost(folder, tmp_path):
    out, costs = tmp_path / "d.csv", tmp_path / "costs.csv"
    rows = [["ant", 0, 4, 1], ["bee", 1, 0, 1], ["wasp", 1, 1, 0], ["look", 0.1, 0.1, 0.1]]
    pd.DataFrame(rows, columns=["decision", *CLASSES]).to_csv(costs, index=False)
    arguments = ("decide", folder / "cal", folder / "held_out.csv", "--out", out)
    run(*arguments, "--costs", costs)
    frame, calibrator = pd.read_csv(out), bayescal.load(folder / "cal")
    prices = np.array([row[1:] for row in rows])
    found = calibrator.decide(frame[CLASSES], prices)
    assert frame["decision"].tolist() == [rows[k][0] for k in found.decision]
    costs.write_text(costs.read_text().replace("look,0.1", "look,dear"))
    message = "costs.csv must hold a number for every cost"
    assert message in run(*arguments, "--costs", costs, code=2).stderr
    run(*arguments, "--abstain-cost", 0.05)
    assert (pd.read_csv(out)["decision"] == "abstain").mean() > 0.5


def test_rows_that_cannot_be_fitted_are_named_by_their_row_of_the_file(folder, tmp_path):
    frame = pd.read_csv(folder / "held_out.csv")
    frame.loc[6, frame["label"][6]] = -np.inf
    frame.to_csv(tmp_path / "l.csv", index=False)
    shown = run("fit", tmp_path / "l.csv", *ALL, code=2)
    assert "a score above -inf, row 8 of the file (its first row is row 1) does not" in shown.stderr
    (tmp_path / "l.csv").write_text("ant,bee,wasp,label\n0.2,0.3,0.5,ant\n\n0.2,0.3,0.9,bee\n")
    told = run("fit", tmp_path / "l.csv", *ALL, "--scores-are", "probabilities", code=2).stderr
    assert "those of row 4 of the file (its first row is row 1) sum to 1.4" in told


def test_fit_shows_the_losses_of_methods_on_held_out_rows(folder, tmp_path):
    # Columns of another order than scikit-learn's, and sampled labels.
    frame = pd.read_csv(folder / "logits.csv").iloc[:, [2, 0, 1, 3, 4]].dropna()
    held_out = (frame["split"] == "test").to_numpy()
    frame = frame.assign(chance=np.where(frame["label"] == "bee", 0.5, 1.0))
    frame.to_csv(tmp_path / "logits.csv", index=False)
    arguments = ("--classes", "wasp,ant,bee", "--inclusion-column", "chance")
    shown = run("fit", tmp_path / "logits.csv", *arguments, "--out", tmp_path / "cmp").stdout
    rows = {line[:20].strip(): line[20:].split() for line in shown.splitlines()}
    new, weight = frame[held_out], 1.0 / frame["chance"][held_out]
    p = bayescal.load(tmp_path / "cmp").predict_proba(new[["wasp", "ant", "bee"]])
    raw = special.softmax(new[CLASSES].to_numpy(), axis=1)
    losses = {
        "one map": pointwise_losses(new["label"], p, classes=["wasp", "ant", "bee"]),
        "scores as given": pointwise_losses(new["label"], raw, classes=CLASSES),
    }
    for name, each in losses.items():
        assert float(rows[name][0]) == round(weight.sum())
        assert float(rows[name][2]) == pytest.approx((weight @ each) / weight.sum(), rel=1e-3)
    more = np.average(losses["scores as given"] - losses["one map"], weights=weight)
    assert float(rows["scores as given"][5]) == pytest.approx(more, abs=1e-4)
    # Methods that know the labels lose less than scores without calibration.
    for name in ("one against the rest", "temperature"):
        assert 0.5 < float(rows[name][2]) < float(rows["scores as given"][2])
    assert "Are the probabilities right?" in shown


def test_fit_holds_rows_of_each_class_out_or_says_that_none_is_left(folder, tmp_path):
    arguments = (*ALL, "--holdout", 0.2, "--seed", 3, "--quiet")
    quick = ("--draws", 20, "--chains", 2)
    run("fit", folder / "held_out.csv", *arguments, *quick, "--out", tmp_path / "cmp")
    frame = pd.read_csv(tmp_path / "cmp" / "probabilities.csv")
    held_out = frame.groupby("label")["held_out"]
    assert held_out.sum().tolist() == (0.2 * held_out.size()).round().tolist()
    few = pd.read_csv(folder / "held_out.csv").drop_duplicates("label")
    few.to_csv(tmp_path / "few.csv", index=False)
    shown = run("fit", tmp_path / "few.csv", *ALL, "--holdout", 0.2)
    assert "no row is left to test on" in shown.stderr


def test_a_report_ignores_no_option(folder, tmp_path):
    arguments = ("report", folder / "cal", "--out", tmp_path / "r.html")
    for option in (["--likelihood-ratio"], ["--at-score", 1.0], ["--topic-column", "label"]):
        shown = run(*arguments, *option, code=2)
        assert f"{option[0]} is for one score" in shown.stderr


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--inference", "mle"], "--inference is for one score"),
        (["--holdout", "0.2"], "--holdout is for files without test rows"),
        (["--weight-column", "half"], "must hold whole numbers in rows to test on"),
        (["--weight-column", "half", "--inclusion-column", "half"], "leave out one of them"),
    ],
)
def test_fit_refuses(folder, options, message, tmp_path):
    pd.read_csv(folder / "logits.csv").assign(half=0.5).to_csv(tmp_path / "l.csv", index=False)
    shown = run("fit", tmp_path / "l.csv", *ALL, *options, code=2)
    assert message in shown.stderr


def test_export(folder, tmp_path):
    out = tmp_path / "map.json"
    run("export", folder / "cal", "--format", "json", "--out", out)
    assert json.loads(out.read_text())["classes"] == CLASSES


@pytest.mark.parametrize(
    ("change", "options", "message"),
    [
        (None, ["--classes", "ant"], "must name at least two classes"),
        (None, ["--classes", "ant,ant"], "every class once, got 'ant' twice"),
        (None, ["--classes", "ant,bee,cat"], "it lacks 'cat'"),
        (None, ["--classes", "ant,bee"], "classes, 'ant', 'bee', in every row, got 'wasp'"),
        (None, [*ALL, "--pool"], "--pool is for one score"),
        (None, [*ALL, "--label-column", "ant"], "must be no class"),
        (["-inf"] * 3, ALL, "not excluded, row 6 of"),
        (("bee", "x"), ALL, "excluded class, in every row, got 'x'"),
        (("bee", "inf"), ALL, "-inf for an excluded class"),
        (("bee", None), ALL, "-inf for an excluded class"),
        (None, [*ALL, "--scores-are", "probabilities"], "must lie between 0 and 1"),
    ],
)
def test_bad_files(change, options, message, tmp_path):
    frame = table(20, 0).astype(object)
    if isinstance(change, list):
        # A row without a label, which no fit would see.
        frame.loc[4, [*CLASSES, "label"]] = [*change, None]
    elif change is not None:
        frame.loc[4, change[0]] = change[1]
    path = tmp_path / "logits.csv"
    frame.to_csv(path, index=False)
    shown = run("fit", path, *options, "--out", tmp_path / "cal", code=2)
    assert message in shown.stderr
    assert not (tmp_path / "cal").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("predict", "--prior", "0.2"), "give the shares of all with --shares"),
        (("predict", "--shares", "0.5,0.5"), "a share for each class"),
        (("predict", "--shares", "a,b,c"), "must be numbers in the order of the classes"),
        (("predict", "--band", "hdi"), "--band is for one score"),
        (("predict", "--topic-column", "label"), "--topic-column is for one score"),
        (("decide", "--at", "0.5"), "--at is for one score"),
        (("decide", "--prior", "0.5"), "--prior is for one score"),
        (("decide", "--costs", "held_out.csv"), "must have a column 'decision'"),
    ],
)
def test_wrong_questions(folder, arguments, message):
    command, option, value = arguments
    value = folder / value if value.endswith(".csv") else value
    shown = run(command, folder / "cal", folder / "held_out.csv", option, value, code=2)
    assert message in shown.stderr


def test_report_judges_the_probabilities_that_predict_writes(folder, tmp_path):
    out = tmp_path / "report.html"
    run("report", folder / "cal", "--test", folder / "held_out.csv", "--out", out)
    data = data_of(out)
    words = html.unescape(out.read_text())
    assert all(found in words for found in bayescal.load(folder / "cal").findings(0.9))
    frame, calibrator = pd.read_csv(folder / "held_out.csv"), bayescal.load(folder / "cal")
    p = calibrator.predict_proba(frame[CLASSES])
    assert [each["name"] for each in data["figures"]] == ["the likeliest class", *CLASSES]
    for k, figure in enumerate(data["figures"][1:]):
        assert figure["n"] == 150
        assert figure["positives"] == (frame["label"] == CLASSES[k]).sum()
        np.testing.assert_allclose(figure["expected"], p[:, k].sum(), rtol=1e-3)

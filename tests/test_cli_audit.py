"""`bayescal audit` and `bayescal recalibrate` on files, with every mistake that a user may make."""

import hashlib
import json
import re
from dataclasses import replace
from datetime import date

import numpy as np
import pandas as pd
import pytest

import bayescal
from bayescal.monitoring import Recalibrator, audit, labels_needed, load_heart_disease
from tests.cli_tools import run, write


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("audits")
    patients = load_heart_disease()
    write(patients, path / "heart.csv")
    write(patients[["p", "site"]], path / "new.csv")
    return path


def fails(*words):
    result = run(*words, code=2)
    assert result.stderr.startswith("Error: ")
    return result.stderr


def test_the_advice_comes_first(folder, tmp_path):
    page = tmp_path / "audit.html"
    options = ("--threshold", "0.1", "--out", page)
    result = run("audit", folder / "heart.csv", *options)
    patients = load_heart_disease()
    found = audit(patients["y"], patients["p"], threshold=0.1, noun="patient", random_state=0)
    assert result.stdout.startswith(found.advice)
    assert f"of {len(patients)} patients are positive (label 1)" in result.stdout
    assert "observed / expected" in result.stdout
    assert "saving by recalibrating" in result.stdout
    assert found.advice[:30] in page.read_text()


def test_sites_and_costs(folder):
    result = run("audit", folder / "heart.csv", "--site-column", "site", "--miss-cost", "9")
    assert "site by site" in result.stdout
    assert "Between sites" in result.stdout
    assert "of your costs" in result.stdout
    command = f"bayescal recalibrate {folder / 'heart.csv'} --site-column site --out FOLDER"
    assert f"Next: {command}" in result.stdout


@pytest.mark.slow
def test_documents_sampled_by_their_outcome(tmp_path):
    patients = load_heart_disease()
    chance = np.where(patients["y"] == 1, 1.0, 0.2)
    kept = np.random.default_rng(0).random(chance.size) < chance
    some = patients.assign(chance=chance)[kept]
    some.loc[some.index[:20], "y"] = None
    path = write(some, tmp_path / "sampled.csv")
    options = ("--inclusion-column", "chance")
    labelled = some[some["y"].notna()]
    weights = {"inclusion": labelled["chance"], "random_state": 0}
    expected = replace(audit(labelled["y"], labelled["p"], **weights), noun="patient").text
    assert run("audit", path, *options).stdout.startswith(expected.splitlines()[0])
    run("recalibrate", path, *options, "--out", tmp_path / "again")
    again = Recalibrator(random_state=0)
    again.fit(labelled["p"], labelled["y"], inclusion=labelled["chance"])
    table = pd.read_csv(tmp_path / "again" / "probabilities.csv")
    np.testing.assert_allclose(
        table["probability"], again.predict_proba(some["p"])[:, 1], atol=1e-4
    )
    labels = ("audit", "--no-labels", path, path)
    assert "--inclusion-column" in fails(*labels, *options)


def test_names_of_columns_words_for_labels_and_missing_outcomes(folder, tmp_path):
    patients = load_heart_disease().rename(columns={"p": "risk", "y": "died"})
    patients["died"] = np.where(patients["died"] == 1, "yes", "no")
    patients.loc[600:, "died"] = None
    write(patients, tmp_path / "words.csv")
    result = run(
        "audit", tmp_path / "words.csv", "--probability-column", "risk", "--label-column", "died"
    )
    assert "of 600 patients are positive" in result.stdout


def test_one_class_alone(tmp_path):
    frame = pd.DataFrame({"p": np.linspace(0.05, 0.3, 40), "y": 0})
    write(frame, tmp_path / "none.csv")
    result = run("audit", tmp_path / "none.csv")
    assert "0 of 40 patients are positive" in result.stdout
    assert "one class" in result.stdout
    write(frame.assign(y="gone"), tmp_path / "word.csv")
    told = fails("audit", tmp_path / "word.csv")
    assert "got 'gone' only: name the positive label with --positive" in told
    for positive, number in (("gone", 40), ("here", 0)):
        shown = run("audit", tmp_path / "word.csv", "--positive", positive).stdout
        assert f"{number} of 40 patients are positive" in shown


@pytest.mark.filterwarnings("always:Row 24")
def test_an_impossible_outcome_is_named_by_its_row_of_the_file(tmp_path):
    rows = ["0.5,"] + ["0.3,1", "0.2,0"] * 10 + ["", "0,1"]
    (tmp_path / "s.csv").write_text("\n".join(["p,y", *rows]) + "\n")
    told = run("audit", tmp_path / "s.csv", "--out", tmp_path / "a.html")
    assert "Row 24 of the file" in told.stderr
    page = (tmp_path / "a.html").read_text()
    assert "counted from 0" not in page
    digest = hashlib.sha256((tmp_path / "s.csv").read_bytes()).hexdigest()
    facts = {
        f"SHA-256 of {tmp_path / 's.csv'}": digest,
        "Rows": "22 read, 21 used, 1 left out without a label",
        "Positive label": 1,
        "Unit of counting": "patients",
        "Date": date.today().isoformat(),
        "command": "audit",
        "label_column": "y",
        "seed": 0,
    }
    for name, value in facts.items():
        assert f"<dt>{name}</dt><dd>{value}</dd>" in page
    assert "Reviewed and signed" in page


def test_documents_keep_their_numbers_where_others_do_not_count():
    p, y = np.append(np.full(20, 0.3), 0.0), np.append(np.arange(20) % 3 == 0, True)
    with pytest.warns(UserWarning, match="Document 20 .counted from 0. is positive"):
        found = audit(y, p, sample_weight=np.append(np.arange(20) > 4, 1.0))
    assert "Document 20 (counted from 0)" in found.verdict.impossible


def test_scores_in_place_of_unlabelled_probabilities(folder, tmp_path):
    write(pd.DataFrame({"p": np.linspace(-1.0, 2.0, 20)}), tmp_path / "new.csv")
    told = fails("audit", "--no-labels", folder / "heart.csv", tmp_path / "new.csv")
    assert "new.csv must lie between 0 and 1, got -1" in told


def test_without_labels(folder):
    result = run("audit", "--no-labels", folder / "heart.csv", folder / "new.csv")
    assert "accuracy: case mix 0." in result.stdout
    assert ", label shift 0." in result.stdout
    assert "No score can show" in result.stdout


def test_audit_without_labels_takes_clusters(tmp_path):
    rng = np.random.default_rng(5)
    for name, n in (("old.csv", 100), ("new.csv", 60)):
        p = np.repeat(rng.uniform(0.1, 0.9, n), 4)
        y = np.repeat(rng.random(n) < p[::4], 4).astype(int)
        table = pd.DataFrame({"p": p, "y": y, "patient": np.repeat(np.arange(n), 4)})
        table.drop(columns="y" if name == "new.csv" else []).to_csv(tmp_path / name, index=False)
    asked = ("audit", "--no-labels", tmp_path / "old.csv", tmp_path / "new.csv")

    def width(*more):
        text = run(*asked, *more).stdout
        lower, upper = re.search(
            r"share of positives: case mix \S+ \((\S+) to (\S+)\)", text
        ).groups()
        return float(upper) - float(lower)

    assert width("--cluster-column", "patient") > 1.4 * width()


def test_recalibrate_writes_what_predict_reads(folder, tmp_path):
    out = tmp_path / "again"
    result = run("recalibrate", folder / "heart.csv", "--refit", "never", "--out", out)
    assert "bayescal predict" in result.stdout
    written = pd.read_csv(out / "probabilities.csv")
    again = bayescal.load(out)
    p = load_heart_disease()["p"]
    np.testing.assert_allclose(written["probability"], again.predict_proba(p)[:, 1])
    assert (written["lower"] <= written["probability"] + 1e-9).all()
    record = json.loads((out / "summary.json").read_text())
    assert sum(record["model_probability"].values()) == pytest.approx(1.0)
    run("predict", out, folder / "new.csv", "--score-column", "p", "--out", tmp_path / "p.csv")
    new = pd.read_csv(tmp_path / "p.csv")
    np.testing.assert_allclose(new["probability"], written["probability"], atol=1e-6)


@pytest.mark.slow
def test_recalibrate_sites(folder, tmp_path):
    out = tmp_path / "again"
    run("recalibrate", folder / "heart.csv", "--site-column", "site", "--out", out)
    again = bayescal.load(out)
    assert again.sites_ == ["hungarian", "switzerland", "va"]
    write(pd.DataFrame({"p": [0.2, 0.5], "site": ["va", "elsewhere"]}), tmp_path / "two.csv")
    words = ("--score-column", "p", "--topic-column", "site", "--out", tmp_path / "p.csv")
    run("predict", out, tmp_path / "two.csv", *words)
    expected = again.predict_proba([0.2, 0.5], sites=["va", "elsewhere"])[:, 1]
    np.testing.assert_allclose(pd.read_csv(tmp_path / "p.csv")["probability"], expected, atol=1e-6)


def test_a_plan_of_a_validation_states_each_number_of_outcomes(folder):
    normal = ("--log-odds", -5, 2.5, "--prevalence", 0.018, "--auc", 0.8, "--ratio-width", 1)
    found = run("plan-validation", *normal).stdout
    for words in ("slope 0.2 4,554 82", "expected 1 906 16", "(C-statistic) 0.1 4,252 77"):
        assert words in " ".join(found.split())
    assert "Collect 4,554 outcomes, 82 of them positive, for all widths." in found
    p = load_heart_disease()["p"]
    needed = labels_needed(p, slope_width=0.2, ratio_width=0.2, auc_width=0.1)
    found = run("plan-validation", folder / "heart.csv").stdout
    assert all(f" {n:,} " in found for n in needed.values())


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("plan-validation",), "give FILE or --log-odds MEAN SD, and not both"),
        (("plan-validation", "heart.csv", "--auc-width", "0"), "--auc-width must be positive"),
        (("plan-validation", "heart.csv", "--saving-width", ".1"), "must be given together"),
        (("plan-validation", "--log-odds", "0", "-1"), "--log-odds must have a positive SD, got"),
        (("audit",), "Missing argument"),
        (("audit", "heart.csv", "new.csv"), "FILES must be one file, got 2"),
        (("audit", "--no-labels", "heart.csv"), "FILES must be the reference and the new file"),
        (("audit", "heart.csv", "--probability-column", "risk"), "--probability-column"),
        (("audit", "heart.csv", "--label-column", "dead"), "--label-column"),
        (("audit", "heart.csv", "--probability-column", "y"), "columns, got 'y' for both"),
        (("audit", "heart.csv", "--site-column", "clinic"), "--site-column"),
        (("audit", "heart.csv", "--inclusion-column", "y"), "column 'y' of"),
        (("audit", "heart.csv", "--threshold", "2"), "threshold must lie between 0 and 1"),
        (("audit", "heart.csv", "--threshold", ".1", "--miss-cost", "9"), "not both"),
        (("audit", "heart.csv", "--miss-cost", "-1"), "--miss-cost must be positive"),
        (("audit", "heart.csv", "--level", "90"), "--level must lie between"),
        (("audit", "heart.csv", "--positive", "2"), "--positive must be one of"),
        (("audit", "heart.csv", "--out", "audit.txt"), "audit.txt"),
        (("audit", "heart.csv", "--noun", " "), "--noun must be a word such as patient, got ' '"),
        (("audit", "--no-labels", "heart.csv", "new.csv", "--site-column", "site"), "none of"),
        (("recalibrate", "heart.csv"), "--out"),
        (("recalibrate", "heart.csv", "--refit", "yes", "--out", "x"), "refit must be one of"),
    ],
)
def test_mistakes_end_in_one_line(folder, words, message):
    named = [folder / word if word.endswith(".csv") else word for word in words]
    assert message in fails(*named)


def test_per_cent_and_scores_are_refused(tmp_path):
    frame = pd.DataFrame({"p": [20.0, 45.0, 70.0], "y": [0, 1, 1]})
    write(frame, tmp_path / "cent.csv")
    assert "look like per cent" in fails("audit", tmp_path / "cent.csv")
    write(frame.assign(p=[-2.0, 0.3, 1.5]), tmp_path / "scores.csv")
    assert "ScoreCalibrator" in fails("audit", tmp_path / "scores.csv")

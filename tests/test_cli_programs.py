"""`bayescal fit --model`: every shipped program and the template, end to end; wrong programs."""

import runpy
import textwrap

import numpy as np
import pandas as pd
import pytest

import bayescal
from bayescal import Density, ScoreCalibrator
from tests.cli_tools import make_frame, run, summary_of, write

MAP = ("--inference", "map")
NUTS = ("--draws", 100, "--chains", 2, "--tune", 200)
NO_CONVERGENCE = pytest.mark.filterwarnings("ignore:the posterior draws are not to be trusted")


@pytest.fixture(autouse=True)
def scores(tmp_path, monkeypatch):
    """Work in a folder with labelled scores and new ones."""
    monkeypatch.chdir(tmp_path)
    write(make_frame(80), tmp_path / "scores.csv")
    write(make_frame(30, seed=1).drop(columns="label"), tmp_path / "new.csv")


def check_everything_after(band):
    """Run all commands on the folder `cal`, and compare them with the calibrator in Python."""
    new = pd.read_csv("new.csv")
    calibrator = bayescal.load("cal")
    p = calibrator.predict_proba(new["score"])[:, 1]
    run("predict", "cal", "new.csv", "--out", "p.csv")
    found = pd.read_csv("p.csv")
    np.testing.assert_allclose(found["probability"], p, rtol=1e-6)
    assert ("lower" in found) == band
    if band:
        ends = calibrator.predict_interval(new["score"])
        np.testing.assert_allclose(found[["lower", "upper"]], ends, rtol=1e-6)
    assert (
        "Are the probabilities right?"
        in run("predict", "cal", "scores.csv", "--test", "--out", "tested.csv").stdout
    )
    run("report", "cal", "--test", "scores.csv", "--out", "report.html")
    run("export", "cal", "--out", "curve.py", *([] if band else ["--no-band"]))
    exported = runpy.run_path("curve.py")["predict"](new["score"].to_numpy())
    np.testing.assert_allclose(exported[0] if band else exported, p, atol=2e-4)
    shown = run("decide", "cal", "new.csv", "--recall", 0.9, code=0 if band else 2)
    assert band or "intervals need a posterior" in shown.stderr
    return calibrator, new["score"], p


@pytest.mark.slow
@pytest.mark.parametrize("name", ["logistic", "monotone_log_odds", "asymmetric_laplace"])
def test_programs_by_their_mode(name, tmp_path):
    run("fit", "scores.csv", "--model", name, *MAP, "--out", "cal")
    assert summary_of(tmp_path / "cal")["arguments"]["model"] == name
    # The commands treat all programs of log-odds alike, and all programs of densities.
    if name in {"logistic", "asymmetric_laplace"}:
        check_everything_after(band=False)
    score = pd.read_csv("new.csv")["score"]
    p = bayescal.load("cal").predict_proba(score)[:, 1]
    # Scores of the classes have means 1.5 and -1.
    assert np.corrcoef(score, p)[0, 1] > 0.7


@pytest.mark.slow
@NO_CONVERGENCE
def test_a_program_by_nuts():
    run("models", "new", "mine.py")
    run("fit", "scores.csv", "--model", "mine.py", *NUTS, "--out", "cal")
    calibrator, score, p = check_everything_after(band=True)
    # NUTS again, with the program where it was.
    more = make_frame(40, seed=2)
    calibrator.update(more["score"], more["label"])
    again = calibrator.predict_proba(score)[:, 1]
    assert 1e-3 < np.abs(again - p).max() < 0.3


@pytest.mark.slow
def test_a_density_of_python_is_used_in_a_shell():
    frame = pd.read_csv("scores.csv")
    fitted = ScoreCalibrator(Density("StudentT", nu=4), "map", random_state=0)
    fitted.fit(frame["score"], frame["label"]).save("cal.nc")
    run("predict", "cal.nc", "new.csv", "--out", "p.csv")
    p = fitted.predict_proba(pd.read_csv("new.csv")["score"])[:, 1]
    np.testing.assert_allclose(pd.read_csv("p.csv")["probability"], p, rtol=1e-6)
    run("report", "cal.nc", "--test", "scores.csv", "--out", "report.html")
    run("export", "cal.nc", "--no-band", "--out", "curve.py")


LOG_ODDS = """
    import pymc as pm

    def model(score, label):
        with pm.Model() as program:
            a = pm.Normal("a", 0, 2)
            pm.Bernoulli("label", logit_p=a + score, observed=label)
        return program

    def log_odds(score, a):
        return a + score
"""


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("import pymc as pm", "raise RuntimeError('boom')", "line 2, does not run: RuntimeError"),
        ("import pymc as pm", "import sys; sys.exit(0)", "line 2, does not run: SystemExit: 0"),
        ('a = pm.Normal("a", 0, 2)', "1 / 0", "line 6, fails: ZeroDivisionError"),
        ("return a + score", "return len(a)", "line 11, fails: TypeError"),
        ("def log_odds", "def other", "must define how its parameters answer for new scores"),
        ("def model", "def other", "it defines no `model`"),
    ],
)
def test_wrong_programs_are_refused_in_one_message(old, new, message, tmp_path):
    assert LOG_ODDS.count(old) == 1
    (tmp_path / "mine.py").write_text(textwrap.dedent(LOG_ODDS.replace(old, new)))
    shown = run("fit", "scores.csv", "--model", "mine.py", *MAP, "--out", "cal", code=2)
    assert message in shown.stderr
    assert shown.stderr.startswith("Error: ")
    assert "Traceback" not in shown.stderr
    assert "mine.py" in shown.stderr
    assert not (tmp_path / "cal").exists()


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("guassian", "there is no program 'guassian'; expected one of asymmetric_gaussian"),
        ("logistik", "Did you mean 'logistic' or 'noisy_logistic'?"),
        ("mine", "Did you mean 'mine.py'?"),
        ("topics", "is a model of many topics"),
        ("joint_multiclass", "is a model of many topics, classes or grades"),
        ("ordinal", "MulticlassCalibrator or OrdinalCalibrator"),
        ("none.py", "there is no program file 'none.py'"),
        ("binary.py", "is no text of Python"),
    ],
)
def test_names_that_are_no_program(name, message, tmp_path):
    (tmp_path / "binary.py").write_bytes(bytes(range(256)))
    (tmp_path / "mine.py").touch()
    shown = run("fit", "scores.csv", "--model", name, code=2)
    assert message in " ".join(shown.stderr.split())

"""The command line as a whole: help, start, programs, the demo, real sampling."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from typer.main import get_command

import bayescal
from bayescal.cli import commands
from bayescal.cli.app import app
from bayescal.cli.commands import demo
from bayescal.cli.commands.demo import APART, PLATT, POOLED, sample, topics_losses
from bayescal.distributions import programs
from bayescal.families import FAMILIES
from bayescal.text.reuters_scores import load_reuters_scores
from tests.cli_tools import MLE, run, summary_of
from tests.report_data import data_of

COMMANDS = (
    "demo", "fit", "predict", "decide", "report", "export", "models", "audit", "recalibrate", "lr",
    "sample", "recall", "stop", "rate", "examples", "plan-validation",
)  # fmt: skip
GROUPS = ("ranking", "text")
HEAVY = ("pandas", "pymc", "pytensor", "matplotlib", "sklearn", "xarray", "scipy")


@pytest.mark.parametrize("command", COMMANDS)
def test_help_teaches_with_an_example(command):
    text = run(command, "--help").stdout
    assert f"bayescal {command} " in text
    assert "[bold]" not in text


def test_every_file_is_a_command_that_help_names_with_the_families():
    files = {path.stem.replace("_", "-") for path in Path(commands.__path__[0]).glob("[a-z]*.py")}
    assert set(get_command(app).commands) == files == {*COMMANDS, *GROUPS}
    assert all(f" {command} " in run("--help").stdout for command in COMMANDS)
    words = run("fit", "--help").stdout.replace("│", " ").replace(",", " ").split()
    assert set(FAMILIES) <= {word.strip(".") for word in words}


def test_the_version_is_shown_by_command_and_module():
    assert run("--version").stdout == f"bayescal {bayescal.__version__}\n"
    command = [sys.executable, "-m", "bayescal", "--version"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.startswith("bayescal ")


@pytest.mark.parametrize("arguments", [[], ["--help"], ["fit", "--help"]], ids=str)
def test_nothing_heavy_is_imported_for_help(arguments):
    code = (
        "import sys\nfrom bayescal.cli.app import app\n"
        f"try:\n    app({arguments!r})\nexcept SystemExit:\n    pass\n"
        f"sys.exit(','.join(set({HEAVY!r}) & set(sys.modules)) or 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert "predict" in done.stdout or "--family" in done.stdout


def test_models_lists_every_program():
    text = run("models").stdout
    for name in programs.available():
        program = programs.load(name)
        assert program.summary in text
        assert str(program.path) in text
        assert all(f"{key}={value}" in text for key, value in program.hyperparameters().items())


@pytest.mark.parametrize("name", programs.available())
def test_models_prints_the_source_as_it_is(name):
    assert run("models", name).stdout == programs.load(name).path.read_text(encoding="utf-8")


@pytest.mark.slow
@pytest.mark.one_era
def test_demo_runs_and_says_where_the_files_are(tmp_path, monkeypatch):
    out, ten = tmp_path / "demo", []

    def recorded(*args):
        ten.append(topics_losses(*args))
        return ten[-1]

    monkeypatch.setattr(demo, "topics_losses", recorded)
    text = run("demo", "--out", out).stdout
    names = {"naive_bayes.nc", "linear_svm.nc", "probabilities.csv", "summary.json", "scores.csv"}
    assert {path.name for path in out.iterdir()} == names | {
        *("demo.png", "report.html", "report.numbers.json")
    }
    assert str(out / "demo.png") in text
    assert str(out / "report.html") in text
    assert f"the scores are in {out}. Try:" in " ".join(text.split())
    topics = data_of(out / "report.html")["topics"]
    assert [topic["test"]["point"]["n"] for topic in topics] == [3299, 3299]
    summary = summary_of(out)
    for topic in summary["topics"]:
        assert topic["rows"] == {"negatives": 521, "positives": 10, "test": 3299}
        assert topic["diagnostics"]["problems"] == []
        # Ten positives teach more than the share of positives alone, 0.124 bits per document.
        assert topic["losses"]["exact"]["log_loss"] / 3299 < 0.1
    assert text.count("MLE without floor") == 2
    run("fit", out / "scores.csv", *MLE, "--topic-column", "classifier", "--out", out / "again")
    again = summary_of(out / "again")["topics"]
    assert {each["topic"] for each in again} == {"naive_bayes", "linear_svm"}
    assert len(ten) == 2
    for losses in ten:
        assert {each.n for each in losses.values()} == {32_990}
        assert losses[POOLED].log_loss < 0.9 * losses[PLATT].log_loss
        assert losses[APART].log_loss < 0.9 * losses[PLATT].log_loss


@pytest.mark.one_era
def test_negatives_come_in_proportion():
    calibration = load_reuters_scores("linear_svm", "corn", "calibration")
    few = sample(calibration, np.random.default_rng(0))
    assert few["label"].sum() == 5
    share = calibration["label"].mean()
    assert few["label"].mean() == pytest.approx(share, rel=0.02)
    assert not few.index.has_duplicates

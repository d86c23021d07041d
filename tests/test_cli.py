"""The command line as a whole: help, start, programs, the demo, real sampling."""

import subprocess
import sys
from pathlib import Path

import pytest
from typer.main import get_command

import bayescal
from bayescal.cli import commands
from bayescal.cli.app import app
from bayescal.cli.commands import demo
from bayescal.cli.commands.demo import APART, PLATT, POOLED, topics_losses
from bayescal.distributions import programs
from bayescal.families import FAMILIES
from tests.cli_tools import MLE, make_frame, read, run, summary_of, write
from tests.report_data import data_of

COMMANDS = ("demo", "fit", "predict", "compare", "decide", "report", "export", "models")
COMMANDS += ("audit", "recalibrate", "lr", "sample", "elusion", "recall", "stop")
GROUPS = ("text",)
HEAVY = ("pandas", "pymc", "pytensor", "matplotlib", "sklearn", "xarray", "scipy")


# Help, version, start


@pytest.mark.parametrize("command", COMMANDS)
def test_help_teaches_with_an_example(command):
    text = run(command, "--help").stdout
    assert f"bayescal {command} " in text
    assert "[bold]" not in text


def test_a_file_is_a_command():
    files = {path.stem for path in Path(commands.__path__[0]).glob("[a-z]*.py")}
    assert set(get_command(app).commands) == files == {*COMMANDS, *GROUPS}


def test_help_names_the_commands_and_the_families():
    assert all(f" {command} " in run("--help").stdout for command in COMMANDS)
    words = run("fit", "--help").stdout.replace("│", " ").replace(",", " ").split()
    assert set(FAMILIES) <= {word.strip(".") for word in words}


def test_version():
    assert run("--version").stdout == f"bayescal {bayescal.__version__}\n"


@pytest.mark.parametrize("arguments", [[], ["--help"], ["fit", "--help"]], ids=str)
def test_nothing_heavy_is_imported_for_help(arguments):
    code = (
        "import sys\nfrom bayescal.cli.app import app\n"
        f"try:\n    app({arguments!r})\nexcept SystemExit:\n    pass\n"
        f"sys.exit(','.join(set({HEAVY!r}) & set(sys.modules)) or 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert "compare" in done.stdout or "--family" in done.stdout


def test_module_runs():
    command = [sys.executable, "-m", "bayescal", "--version"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.startswith("bayescal ")


# models


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


# Real sampling


@pytest.mark.slow
def test_fit_samples(tmp_path):
    frame = make_frame()
    scores = write(frame, tmp_path / "scores.csv")
    arguments = ("--inference", "nuts", "--draws", 60, "--tune", 60, "--chains", 2, "--seed", 5)
    run("fit", scores, *arguments, "--out", tmp_path / "out", "--quiet")
    own = bayescal.load(tmp_path / "out/posterior.nc")
    assert own.posterior_["posterior"].sizes["chain"] == 2
    table = read(tmp_path / "out/probabilities.csv")
    assert (table["lower"] <= table["upper"]).all()
    assert table["probability"].between(0.0, 1.0).all()
    assert table["probability"].corr(frame["label"]) > 0.5


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
    assert {path.name for path in out.iterdir()} == names | {"demo.png", "report.html"}
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
    assert {topic["topic"] for topic in summary_of(out / "again")["topics"]} == {
        "naive_bayes",
        "linear_svm",
    }
    assert len(ten) == 2
    for losses in ten:
        assert {each.n for each in losses.values()} == {32_990}
        assert losses[POOLED].log_loss < 0.9 * losses[PLATT].log_loss
        assert losses[APART].log_loss < 0.9 * losses[PLATT].log_loss

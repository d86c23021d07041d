"""The examples that `--help` shows, run on the files that `bayescal examples` writes."""

import re
import shlex
from importlib import import_module
from pkgutil import iter_modules

import pandas as pd
import pytest

from bayescal.cli import commands
from tests.cli_tools import run

pytestmark = pytest.mark.one_era

# In an order in which each finds the folders that others write.
ORDER = (
    "examples", "fit", "predict", "report", "compare", "audit", "recalibrate", "lr", "sample",
    "recall", "stop", "rate", "decide", "export", "elusion",
    "plan-validation",
)  # fmt: skip
# They take files of other kinds: programs, texts, runs and judgements of rankings.
OTHERS = {"models", "text", "ranking", "demo"}


def shown(command):
    """Return the examples of a command, as words."""
    module = import_module(f"bayescal.cli.commands.{command.replace('-', '_')}")
    text = " ".join(each.callback.__doc__ for each in module.app.registered_commands)
    lines = re.findall(r"\[bold\]bayescal (.*?)\[/bold\]", text, re.DOTALL)
    return [shlex.split(line) for line in lines if "mine.py" not in line]


def test_each_command_is_tried_or_takes_other_files():
    names = {each.name.replace("_", "-") for each in iter_modules(commands.__path__)}
    assert names == set(ORDER) | OTHERS


@pytest.mark.slow
def test_every_example_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for command in ORDER:
        assert shown(command)
        for words in shown(command):
            if ">" in words:
                output = run(*words[: words.index(">")]).stdout
                assert "probability,log_odds" in output
                continue
            run(*words)
            if command == "examples":
                monkeypatch.chdir(tmp_path / words[-1])
            if command == "sample":
                labels = pd.read_csv("held_out.csv").set_index("document")["label"]
                drawn = pd.read_csv(words[-1])
                drawn.assign(label=labels[drawn["document"]].to_numpy()).to_csv(
                    words[-1], index=False
                )


def test_examples_replace_no_file(tmp_path):
    (tmp_path / "new.csv").write_text("mine")
    assert "must not have new.csv" in run("examples", tmp_path, code=2).stderr
    assert (tmp_path / "new.csv").read_text() == "mine"

"""The examples that `--help` shows, run on the files that `bayescal examples` writes."""

import json
import re
import shlex
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

import pandas as pd
import pytest

from bayescal.cli import commands
from bayescal.report.rendering import SHOWN
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


PAGES = (
    ("recall", "new.csv", "--labels", "read.csv", "--at-score", "0", "--report"),
    ("rate", "answers.csv", "--labels", "read_answers.csv", "--design", "random", "--report"),
    ("audit", "outcomes.csv", "--site-column", "site", "--out"),
    ("lr", "pairs.csv", "--source-columns", "a,b", "--folds", "5", "--draws", "50", "--out"),
    ("report", "topics", "--topic-column", "topic", "--collection", "topics.csv", "--out"),
    ("report", "insects", "--test", "logits.csv", "--out"),
)


def numbers_in(value):
    """Yield the numbers of plain data that intervals and cells hold."""
    for name, each in value.items() if isinstance(value, dict) else enumerate(value):
        if isinstance(each, dict | list):
            yield from numbers_in(each)
        elif name in ("value", "lower", "upper") and each is not None:
            yield each


@pytest.mark.slow
def test_each_number_beside_a_page_is_on_it(tmp_path, monkeypatch):
    run("examples", tmp_path / "files")
    monkeypatch.chdir(tmp_path / "files")
    run("fit", "topics.csv", "--topic-column", "topic", "--parts", "logistic", "--out", "topics")
    run("fit", "logits.csv", "--classes", "ant,bee,wasp", "--draws", "100", "--out", "insects")
    for k, words in enumerate(PAGES):
        run(*words, f"{k}.html")
        page = Path(f"{k}.html").read_text()
        # Between blanks a number is no part of a longer one.
        markup = re.compile(r"<(script|style).*?</\1>|[<>=\"]", re.DOTALL)
        text = " ".join(markup.sub(" ", page).split())
        found = list(numbers_in(json.loads(Path(f"{k}.numbers.json").read_text())))
        assert len(found) > 5, words
        for number in found:
            shown = [f"{number:.6g}", *(show(number) for show in SHOWN.values())]
            assert any(f" {' '.join(each.split())} " in text for each in shown), (words, number)

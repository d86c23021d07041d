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
    "recall", "stop", "rate", "decide", "export",
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


# Every command that reads rows, with quick settings; sample draws rows, and its plan names them.
ANY_ORDER = (
    "fit scores.csv --parts logistic --out calibrated",
    "predict calibrated held_out.csv --test --out p.csv",
    "decide calibrated new.csv --at 0.5",
    "decide calibrated new.csv --recall 0.9 --out t.csv",
    "fit topics.csv --topic-column topic --inference mle --out topics",
    "fit logits.csv --classes ant,bee,wasp --out insects",
    "predict insects logits.csv --out pi.csv",
    "compare scores.csv --draws 100",
    "audit outcomes.csv --site-column site --threshold 0.2",
    "audit --no-labels outcomes.csv later.csv",
    "recalibrate outcomes.csv --out recalibrated",
    "recalibrate outcomes.csv --site-column site --out sites",
    "lr pairs.csv --source-columns a,b --folds 5 --draws 50 --ratios lr.csv",
    "stop new.csv --labels read.csv",
    "recall new.csv --labels read.csv --at-score 0",
    "rate answers.csv --labels read_answers.csv --against old_answers.csv"
    " --against-labels read_old_answers.csv",
    "rate answers.csv --labels read_answers.csv --design random",
    "fit new.csv --labels read.csv --parts logistic --out review",
    "plan-validation later.csv",
)


def reordered(source, target):
    """Write the files of a folder with rows and columns in another order, each row with a name."""
    target.mkdir()
    for k, path in enumerate(sorted(source.glob("*.csv"))):
        frame = pd.read_csv(path, dtype=str)
        if "document" not in frame:
            frame.insert(0, "document", [f"d{row}" for row in range(len(frame))])
            frame.to_csv(path, index=False)
        mixed = frame.sample(frac=1.0, random_state=k).iloc[:, ::-1]
        mixed.to_csv(target / path.name, index=False)


@pytest.mark.slow
def test_the_order_of_rows_and_columns_changes_no_number(tmp_path, monkeypatch):
    folders = tmp_path / "files", tmp_path / "mixed"
    run("examples", folders[0])
    reordered(*folders)
    for line in ANY_ORDER:
        said, written = [], []
        for folder in folders:
            monkeypatch.chdir(folder)
            before = set(folder.rglob("*.csv"))
            said.append(run(*line.split()).stdout)
            new = sorted(set(folder.rglob("*.csv")) - before)
            written.append([pd.read_csv(path) for path in new])
        assert said[0] == said[1], line
        for one, other in zip(*written, strict=True):
            keys = [name for name in ("document", "topic") if name in one] or [one.columns[0]]
            first, second = (each.sort_values(keys, ignore_index=True) for each in (one, other))
            pd.testing.assert_frame_equal(first, second[first.columns], rtol=1e-4, atol=1e-5)

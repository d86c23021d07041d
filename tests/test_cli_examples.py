"""The examples that `--help` shows, run on the files that `bayescal examples` writes."""

import json
import re
import shlex
import shutil
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

import numpy as np
import pandas as pd
import pytest

from bayescal.cli import commands
from bayescal.report.rendering import SHOWN
from tests.cli_tools import run
from tests.pages import write_samples

# In an order in which each finds the folders that others write.
ORDER = (
    "examples", "fit", "predict", "report", "audit", "recalibrate", "lr", "sample",
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


FIT = "fit scores.csv --parts logistic --draws 100 --out calibrated"
FIT_TOPICS = "fit topics.csv --topic-column topic --parts logistic --draws 100 --out topics"
FIT_CLASSES = "fit logits.csv --classes ant,bee,wasp --draws 100 --out insects"
FIT_GRADES = "fit grades.csv --grades poor,fair,good --parts logistic --draws 100 --out graded"
PAGES = {
    "recall": ("recall new.csv --labels read.csv --at-score 0 --report",),
    "rate": ("rate answers.csv --labels read_answers.csv --design random --report",),
    "audit": ("audit outcomes.csv --site-column site --out",),
    "lr": ("lr pairs.csv --source-columns a,b --folds 4 --draws 50 --out",),
    "topic": (FIT, "report calibrated --test held_out.csv --out"),
    "topics": (FIT_TOPICS, "report topics --collection topics.csv --out"),
    "classes": (FIT_CLASSES, "report insects --test logits.csv --out"),
    "ranking": ("ranking fit qrels.txt bm25.run --report",),
}


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A folder with the files of examples, a third of their rows, and with texts and rankings."""
    folder, samples = tmp_path_factory.mktemp("files") / "all", tmp_path_factory.mktemp("samples")
    run("examples", folder)
    write_samples(samples)
    for name in ("docs.csv", "new_docs.csv", "qrels.txt", "bm25.run", "dense.run"):
        shutil.copy(samples / name, folder)
    for path in folder.glob("*.csv"):
        frame = pd.read_csv(path, dtype=str)
        if "document" not in frame:
            frame.insert(0, "document", [f"{row}" for row in range(len(frame))])
        few = 1 if path.name == "pairs.csv" else 3
        frame[frame["document"].astype(int) % few == 0].to_csv(path, index=False)
    return folder


@pytest.fixture
def here(files, tmp_path, monkeypatch):
    """The files in a folder of the test's own, which is the current one."""
    folder = shutil.copytree(files, tmp_path / "files")
    monkeypatch.chdir(folder)
    return folder


def numbers_in(value):
    """Yield the numbers of plain data that intervals and cells hold."""
    for name, each in value.items() if isinstance(value, dict) else enumerate(value):
        if isinstance(each, dict | list):
            yield from numbers_in(each)
        elif name in ("value", "lower", "upper") and each is not None:
            yield each


@pytest.mark.slow
@pytest.mark.parametrize("lines", PAGES.values(), ids=PAGES)
def test_each_number_beside_a_page_is_on_it(lines, here):
    for line in lines:
        page = ["page.html"] * (line is lines[-1])
        run(*line.split(), *page)
    # Between blanks a number is no part of a longer one.
    markup = re.compile(r"<(script|style).*?</\1>|[<>=\"()]", re.DOTALL)
    text = " ".join(markup.sub(" ", Path("page.html").read_text()).split())
    found = list(numbers_in(json.loads(Path("page.numbers.json").read_text())))
    assert len(found) > 5
    absent = []
    for number in found:
        shown = [f"{number:.6g}", *(show(number) for show in SHOWN.values())]
        if not any(f" {' '.join(each.split())} " in text for each in shown):
            absent.append(number)
    assert absent == []


# Every command that reads rows, with quick settings, and those whose folders others read.
ANY_ORDER = {
    "predict": (FIT, "predict calibrated held_out.csv --test --out p.csv"),
    "decide": (
        FIT,
        "decide calibrated new.csv --at 0.5",
        "decide calibrated new.csv --recall 0.9 --out t.csv",
    ),
    "report": (FIT, "report calibrated --test held_out.csv --collection new.csv --out r.html"),
    "holdout": ("fit scores.csv --draws 100 --holdout 0.3",),
    "topics": (FIT_TOPICS, "report topics --collection topics.csv --out r.html"),
    "classes": (FIT_CLASSES, "predict insects logits.csv --test --out p.csv"),
    "grades": (FIT_GRADES, "predict graded grades.csv --test --out p.csv"),
    "audit": (
        "audit outcomes.csv --site-column site --threshold 0.2 --out r.html",
        "audit --no-labels outcomes.csv later.csv",
        "plan-validation later.csv",
    ),
    "recalibrate": ("recalibrate outcomes.csv --out recalibrated",),
    "sites": ("recalibrate outcomes.csv --site-column site --out sites",),
    "lr": (
        "lr pairs.csv --source-columns a,b --folds 4 --draws 50 --ratios lr.csv --out r.html",
    ),
    "recall": (
        "stop new.csv --labels read.csv",
        "recall new.csv --labels read.csv --at-score 0 --report r.html",
    ),
    "labels": ("fit new.csv --labels read.csv --parts logistic --draws 100 --out review",),
    "sample": (
        "sample new.csv --n 60 --at-score 0 --out drawn.csv",
        "sample new.csv --labels read.csv --n 60 --at-score 0 --out more.csv",
    ),
    "rate": (
        "rate answers.csv --labels read_answers.csv --against old_answers.csv"
        " --against-labels read_old_answers.csv",
        "rate answers.csv --labels read_answers.csv --design random --report r.html",
    ),
    "text": ("text fit docs.csv --folds 3 --out texts",),
    "evaluate": ("ranking evaluate qrels.txt bm25.run dense.run --out e.csv",),
    "ranking": ("ranking fit qrels.txt bm25.run --out p.csv --report r.html",),
}  # fmt: skip


def reordered(source, target):
    """Write the files of a folder with rows and columns in another order."""
    target.mkdir()
    for k, path in enumerate(sorted(source.iterdir())):
        if path.suffix == ".csv":
            frame = pd.read_csv(path, dtype=str)
            frame = frame.sample(frac=1.0, random_state=k).iloc[:, ::-1]
            frame.to_csv(target / path.name, index=False)
        else:
            lines = path.read_text().splitlines(keepends=True)
            order = np.random.default_rng(k).permutation(len(lines))
            (target / path.name).write_text("".join(lines[row] for row in order))
    return target


@pytest.mark.slow
@pytest.mark.parametrize("lines", ANY_ORDER.values(), ids=ANY_ORDER)
def test_the_order_of_rows_and_columns_changes_no_number(lines, here, tmp_path, monkeypatch):
    folders = here, reordered(here, tmp_path / "mixed")
    for line in lines:
        said, tables, pages = [], [], []
        for folder in folders:
            monkeypatch.chdir(folder)
            before = set(folder.rglob("*"))
            said.append(run(*line.split()).stdout)
            new = sorted(set(folder.rglob("*")) - before)
            tables.append([pd.read_csv(each) for each in new if each.suffix == ".csv"])
            copies = [each for each in new if each.name.endswith(".numbers.json")]
            pages.append([list(numbers_in(json.loads(each.read_text()))) for each in copies])
        assert said[0] == said[1], line
        for one, other in zip(*pages, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-3, atol=1e-4)
        for one, other in zip(*tables, strict=True):
            keys = [name for name in ("document", "topic", "query_id", "doc_id") if name in one]
            keys = keys or [one.columns[0]]
            first, second = (
                each.drop(columns="row", errors="ignore").sort_values(keys, ignore_index=True)
                for each in (one, other)
            )
            pd.testing.assert_frame_equal(first, second[first.columns], rtol=1e-3, atol=1e-4)

"""Tables fit a terminal of 80 columns: nothing is cut, and one of a thing is not several."""

import io
import re

import numpy as np
import pandas as pd
import pytest
from rich.console import Console

from bayescal.cli.terminal import Screen, _LiteralConsole
from tests.cli_tools import MLE, make_frame, run, write

BY_TOPIC = ("--topic-column", "topic")
SEVERAL = re.compile(r"\b1 (positives|negatives|rows|topics|more topics|cells|documents)\b")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return a folder with a dozen topics: one with a long name, some with one positive."""
    path = tmp_path_factory.mktemp("width")
    parts = []
    for k in range(12):
        frame = make_frame(24, seed=k, topic=f"topic {k}" if k else "a long name " * 5)
        parts.append(frame[(frame["label"] == 0) | (frame.index < (1 if k % 2 else 24))])
    frame = pd.concat(parts).assign(
        split=lambda f: np.where(np.arange(len(f)) % 3, "train", "test")
    )
    frame.loc[frame["label"] == 1, "split"] = "train"
    write(frame, path / "topics.csv")
    write(parts[1].drop(columns="topic"), path / "one.csv")
    few = ("--family", "gaussian", "--draws", "20", "--chains", "2")
    run("fit", path / "topics.csv", *few, *BY_TOPIC, "--pool", "--out", path / "pooled")
    run("fit", path / "one.csv", *few, "--out", path / "one")
    return path


CALLS = {
    "fit one": ("fit", "one.csv", "--draws", "20", "--parameters"),
    "fit topics": ("fit", "topics.csv", *BY_TOPIC, *MLE),
    "predict": ("predict", "pooled", "topics.csv", *BY_TOPIC, "--test", "--out", "p.csv"),
    "decide at": ("decide", "pooled", "topics.csv", *BY_TOPIC, "--at", "0.5"),
    "decide recall": ("decide", "pooled", "topics.csv", *BY_TOPIC, "--recall", "0.9"),
    "decide one": ("decide", "one", "one.csv", "--recall", "0.9", "--out", "d.csv"),
    "fit and test": ("fit", "one.csv", "--draws", "20", "--holdout", "0.4"),
}


@pytest.mark.parametrize("name", CALLS)
def test_nothing_is_cut_at_80_columns(name, folder, monkeypatch):
    monkeypatch.chdir(folder)
    monkeypatch.setattr("bayescal.cli.terminal.WIDTH_OF_FILES", 80)
    text = run(*CALLS[name]).stdout
    assert "…" not in text
    tables = [line for line in text.splitlines() if "bayescal " not in line]
    assert max(map(len, tables)) <= 80
    assert SEVERAL.search(text) is None


def terminal(**options):
    """Return a screen whose errors go to a terminal of colours, and what was written there."""
    screen, written = Screen(**options), io.StringIO()
    screen._err = _LiteralConsole(file=written, force_terminal=True, width=60, highlight=False)
    return screen, written


def test_a_terminal_shows_progress_and_clears_it():
    screen, written = terminal()
    with screen.progress("Fitting topics", 7) as update:
        update(completed=3)
    shown = written.getvalue()
    assert "Fitting topics" in shown
    assert "3/7" in re.sub(r"\x1b\[[\d;]*m", "", shown)
    # Up to the line of the bar, which is erased.
    assert shown.endswith("\x1b[1A\x1b[2K")
    for quiet in (True, False):
        screen, written = terminal(quiet=quiet)
        screen._err = screen._err if quiet else Console(file=written)
        with screen.progress("Fitting topics", 7) as update:
            update(completed=7)
        assert written.getvalue() == ""


def test_a_terminal_shows_warnings_in_colour_and_a_quiet_one_none():
    screen, written = terminal()
    screen.warn("two  words\n [bold]of[/bold] \x1b[0m")
    screen.say("a line", stderr=True)
    screen.say("", stderr=True)
    screen.show("a table", stderr=True)
    first, *rest = written.getvalue().split("\n")
    assert first.startswith("\x1b[1;33mWarning: \x1b[0m")
    assert first.endswith("two words [bold]of[/bold] \N{SYMBOL FOR ESCAPE}[0m")
    assert rest == ["a line", "a table", "", ""]
    screen, written = terminal(quiet=True)
    screen.warn("words")
    screen.say("a line", stderr=True)
    screen.show("a table", stderr=True)
    assert written.getvalue() == ""

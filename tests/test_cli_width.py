"""Tables fit a terminal of 80 columns: nothing is cut, and one of a thing is not several."""

import re

import numpy as np
import pandas as pd
import pytest

from tests.cli_tools import MLE, make_frame, run, write

pytestmark = pytest.mark.one_era
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
    "compare": ("compare", "one.csv", "--draws", "20", "--holdout", "0.4"),
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

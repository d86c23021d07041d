"""Runs that were killed go on from what they had written, and from nothing else."""

import os
import signal
import subprocess
import sys
import time

import pandas as pd
import pytest
import xarray as xr

from bayescal import TopicCalibrator
from bayescal.fitting.results import storage
from tests.cli_tools import read, run, summary_of, write
from tests.scale_out_tools import FEW, made

pytestmark = pytest.mark.slow
OPTIONS = ("--topic-column", "topic", "--family", "asymmetric_laplace", "--draws", "20")
TOPICS = 10


@pytest.fixture(scope="module")
def scores(tmp_path_factory):
    score, label, topic = made(TOPICS)
    frame = pd.DataFrame({"score": score, "label": label, "topic": topic})
    return write(frame, tmp_path_factory.mktemp("resume") / "scores.csv")


def kill_when(arguments, enough):
    """Run a command of Python in its own group of processes and kill it as soon as enough()."""
    done = subprocess.Popen(
        [sys.executable, *map(str, arguments)],
        start_new_session=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=os.environ,
    )
    deadline = time.monotonic() + 120.0
    while not enough():
        assert done.poll() is None, "it ended before it was killed"
        assert time.monotonic() < deadline
        time.sleep(0.01)
    os.killpg(done.pid, signal.SIGKILL)
    done.wait()


def kept_in(out):
    """Return the files of topics that an unfinished run of a command has kept."""
    return list(out.glob(".unfinished/**/output.pkl"))


def count(monkeypatch, name):
    """Return a list that grows with every call of a function."""
    import importlib

    module, attribute = name.rsplit(".", 1)
    function, calls = getattr(importlib.import_module(module), attribute), []

    def counted(*arguments, **options):
        calls.append(name)
        return function(*arguments, **options)

    monkeypatch.setattr(name, counted)
    return calls


def test_a_killed_command_goes_on_bit_for_bit(scores, tmp_path, monkeypatch):
    out = tmp_path / "out"
    kill_when(
        ("-m", "bayescal", "fit", scores, *OPTIONS, "--out", out, "--jobs", "2"),
        lambda: len(kept_in(out)) >= 3,
    )
    there = len(kept_in(out))
    assert 3 <= there < TOPICS
    half = kept_in(out)[0].parent.with_name("half")
    half.mkdir()
    (half / "output.pkl.thread-1-pid-1").write_bytes(b"half a file")
    result = run("fit", scores, *OPTIONS, "--out", out, code=2)
    assert "resume it, or delete that folder" in result.output
    result = run("fit", scores, *OPTIONS, "--out", out, "--resume", "--seed", "1", code=2)
    assert "seed was 0, is 1" in result.output
    frame = pd.read_csv(scores)
    frame.loc[0, "score"] += 1e-9
    changed = write(frame, tmp_path / "changed.csv")
    result = run("fit", changed, *OPTIONS, "--out", out, "--resume", code=2)
    assert "scores was" in result.output

    fits = count(monkeypatch, "bayescal.cli.fitting.fit_rows")
    run("fit", scores, *OPTIONS, "--out", out, "--resume")
    assert len(fits) == TOPICS - there
    assert not (out / ".unfinished").exists()
    run("fit", scores, *OPTIONS, "--out", tmp_path / "whole")
    names = {path.name for path in (tmp_path / "whole").iterdir()}
    assert {path.name for path in out.iterdir()} == names
    for name in names - {"summary.json", "probabilities.csv"}:
        one, other = (storage.read_tree(folder / name) for folder in (out, tmp_path / "whole"))
        xr.testing.assert_identical(one, other)
    pd.testing.assert_frame_equal(
        read(out / "probabilities.csv"), read(tmp_path / "whole/probabilities.csv")
    )
    assert summary_of(out)["topics"] == summary_of(tmp_path / "whole")["topics"]


def test_another_run_begins_anew_unless_it_is_to_resume(scores, tmp_path, monkeypatch):
    calls = []

    def fail(*_):
        calls.append(1)
        if len(calls) > 2:
            raise KeyboardInterrupt
        return original(*_)

    from bayescal.cli import fitting

    original = fitting.fit_rows
    with monkeypatch.context() as patched:
        patched.setattr("bayescal.cli.fitting.fit_rows", fail)
        run("fit", scores, *OPTIONS, "--out", tmp_path / "out", code=130)
    assert len(kept_in(tmp_path / "out")) == 2
    mle = (*OPTIONS[:4], "--inference", "mle")
    run("fit", scores, *mle, "--out", tmp_path / "out")
    assert not (tmp_path / "out/.unfinished").exists()


def test_resuming_what_was_never_begun_is_a_run(scores, tmp_path):
    mle = (*OPTIONS[:4], "--inference", "mle")
    run("fit", scores, *mle, "--out", tmp_path / "out", "--resume")
    assert len(list(tmp_path.glob("out/*.nc"))) == TOPICS
    result = run("fit", scores, *mle, "--resume", code=2)
    assert "--resume needs --topic-column and --out" in result.output


FIT = """
import sys
from bayescal import TopicCalibrator
from tests.scale_out_tools import FEW, made
TopicCalibrator("none", memory=sys.argv[1], **FEW).fit(*made(75))
"""


def test_a_killed_fit_goes_on_from_its_memory(tmp_path, monkeypatch):
    memory = tmp_path / "memory"
    kill_when(("-c", FIT, memory), lambda: len(list(memory.rglob("output.pkl"))) >= 3)
    whole = TopicCalibrator("none", **FEW).fit(*made(75))
    draws = count(monkeypatch, "bayescal.fitting.engines.pooled.engine.ClassPosterior")
    resumed = TopicCalibrator("none", memory=memory, **FEW).fit(*made(75))
    assert 0 < len(draws) < 2 * 75
    xr.testing.assert_identical(
        resumed.posterior_["posterior"].to_dataset(), whole.posterior_["posterior"].to_dataset()
    )
    # Other scores find nothing of use there, and the same ones all.
    draws.clear()
    TopicCalibrator("none", memory=memory, **FEW).fit(*made(75))
    assert draws == []
    TopicCalibrator("none", memory=memory, **FEW).fit(*made(25, seed=1))
    assert len(draws) == 2 * 25


def test_pooled_commands_resume_too(scores, tmp_path, monkeypatch):
    options = ("--topic-column", "topic", "--pool", "--draws", "20", "--chains", "1")
    few = write(pd.read_csv(scores).query("topic < 4"), tmp_path / "few.csv")
    with monkeypatch.context() as patched:
        # All topics are drawn, and then it fails.
        patched.setattr("bayescal.cli.fitting.calibrated", None)
        with pytest.raises(AssertionError):
            run("fit", few, *options, "--out", tmp_path / "out")
    assert (tmp_path / "out/.unfinished").is_dir()
    draws = count(monkeypatch, "bayescal.fitting.engines.pooled.engine.ClassPosterior")
    run("fit", few, *options, "--out", tmp_path / "out", "--resume")
    assert draws == []
    run("fit", few, *options, "--out", tmp_path / "whole")
    assert draws != []
    again, whole = (read(tmp_path / each / "probabilities.csv") for each in ("out", "whole"))
    pd.testing.assert_frame_equal(again, whole)

"""Helpers that the tests of the command line share."""

import json
from contextlib import contextmanager
from unittest import mock

import numpy as np
import pandas as pd
import xarray as xr
from typer.testing import CliRunner

from bayescal import ScoreCalibrator
from bayescal.cli.app import app
from bayescal.cli.terminal import Screen

MLE = ("--inference", "mle")
NUTS = ("--inference", "nuts", "--draws", "200")


PROGRESS = Screen.progress


@contextmanager
def whole_progress(screen, what, total):
    """Show a progress bar that must reach its end unless an error ends the command."""
    with PROGRESS(screen, what, total) as update:
        yield update
        (task,) = update.func.__self__.tasks
        assert total in (None, task.completed), f"{what}: {task.completed} of {total}"


def run(*arguments, code=0, app=app):
    """Call a command line, by default bayescal's, and expect an exit code."""
    with mock.patch.object(Screen, "progress", whole_progress):
        result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert result.exit_code == code, (result.output, result.exception)
    return result


def make_frame(n=40, seed=0, **columns):
    """Return scores of n documents, every fourth positive."""
    rng = np.random.default_rng(seed)
    label = np.arange(n) % 4 == 0
    score = np.round(rng.normal(np.where(label, 1.5, -1.0), 1.0), 3)
    document = [f"{i:03d}" for i in range(n)]
    frame = pd.DataFrame({"document": document, "score": score, "label": label.astype(int)})
    return frame.assign(**columns)


def make_topics():
    """Return the scores of four topics with awkward names, mixed."""
    names = ["b/x", "a", "NA", "B x"]
    parts = [make_frame(seed=seed, topic=topic) for seed, topic in enumerate(names)]
    return pd.concat(parts).sample(frac=1.0, random_state=0)


def write(frame, path):
    if path.suffix == ".csv":
        frame.to_csv(path, index=False)
    else:
        frame.to_parquet(path, index=False)
    return path


def read(path):
    return pd.read_csv(path, dtype={"document": str}, keep_default_na=False)


def summary_of(folder):
    return json.loads((folder / "summary.json").read_text(encoding="utf-8"))


def fitted(frame, **options):
    """Fit a calibrator to a frame without the command line."""
    calibrator = ScoreCalibrator(**({"inference": "mle"} | options))
    return calibrator.fit(frame["score"], frame["label"])


def replace_sampler(monkeypatch):
    """Replace NUTS by `scatter_draws`; programs, models and all the rest stay real."""
    monkeypatch.setattr("bayescal.fitting.engines.program.draw_posterior", scatter_draws)


def scatter_draws(model, rng, *, draws, chains, **_):
    """Return draws scattered independently around a point."""

    def variable(centre, spread):
        shape = (chains, draws, *np.shape(centre))
        return ("chain", "draw", "klass")[: len(shape)], rng.normal(centre, spread, shape)

    if "gamma" in model.named_vars:
        centres = {"theta": [-1.5, 1.0], "beta": [1.5, 1.0], "gamma": [1.0, 1.5]}
    else:
        centres = {"mu": [-1.0, 1.5], "sigma": [1.0, 1.5]}
    posterior = {name: variable(centre, 0.1) for name, centre in centres.items()}
    posterior["prior"] = variable(0.3, 0.02)
    coords = {"chain": range(chains), "draw": range(draws)}
    stats = {"diverging": (("chain", "draw"), np.zeros((chains, draws), dtype=bool))}
    return {
        "posterior": xr.Dataset(posterior, coords | {"klass": ["negative", "positive"]}),
        "sample_stats": xr.Dataset(stats, coords),
    }

"""Fit every method to samples of every problem, and store losses, coverage and seconds."""

from __future__ import annotations

import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from bayescal.fitting.engines.multiclass.density import MapHyperparameters
from bayescal.fitting.engines.multiclass.engine import AUTO, fit_map
from bayescal.fitting.engines.multiclass.engine import CHAINS as BY_CHAINS
from bayescal.fitting.fitted_classes import BlockedMap
from studies.multiclass.measures import coverage, losses
from studies.multiclass.methods import Method, available
from studies.multiclass.problems import GROUP_OF, Floats, Labels, split

OURS, FAST = "bayescal", "auto"
INFERENCE = {OURS: BY_CHAINS, FAST: AUTO}
CHAINS, DRAWS = 4, 100  # the defaults
JUDGED_DRAWS, JUDGED_DOCUMENTS = 200, 2000
Row = dict[str, Any]


def measure(
    folder: Path,
    name: str,
    size: int,
    repetition: int,
    prior: MapHyperparameters | None,
    peers: bool,
) -> list[Row]:
    """Return a row for each method, fitted to one sample of a problem."""
    sample = split(folder, name, size, repetition)
    if sample is None:
        return []
    base = {
        "problem": name,
        "group": GROUP_OF[name],
        "classes": sample[0].shape[1],
        "n": size,
        "repetition": repetition,
    }
    rows = []
    if prior is not None:
        for method, inference in INFERENCE.items():
            rows.append(base | {"method": method} | of_ours(*sample, prior, repetition, inference))
    if peers:
        for method, function in available()[0].items():
            rows.append(base | {"method": method} | of_peer(function, *sample))
    return rows


def of_ours(
    scores: Floats,
    labels: Labels,
    new: Floats,
    truth: Labels,
    prior: MapHyperparameters,
    seed: int,
    inference: str,
) -> Row:
    """Return losses, coverage, R-hat and seconds of the Bayesian map."""
    rng = np.random.default_rng(seed)
    start = time.process_time()
    drawn = fit_map(
        scores, labels, None, chains=CHAINS, draws=DRAWS, rng=rng, prior=prior, inference=inference
    )
    seconds = time.process_time() - start
    of_new = BlockedMap(drawn.design, drawn.maps)
    chosen = rng.choice(CHAINS * DRAWS, JUDGED_DRAWS, replace=False)
    draws = np.concatenate(
        [np.swapaxes(p, 1, 2) for _, p in of_new.blocks(new[:JUDGED_DOCUMENTS], draws=chosen)],
        axis=1,
    )
    bands = coverage(draws, truth[:JUDGED_DOCUMENTS], rng)
    return losses(of_new.mean(new), truth) | bands | {"rhat": drawn.rhat, "seconds": seconds}


def of_peer(method: Method, scores: Floats, labels: Labels, new: Floats, truth: Labels) -> Row:
    """Return losses and seconds of a method; nothing but its error where it fails."""
    start = time.process_time()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = losses(method(scores, labels, new), truth)
    # Peers raise errors of every kind, such as for a class without labels.
    except Exception as err:
        return {"error": f"{type(err).__name__}: {err}"[:80]}
    return found | {"seconds": time.process_time() - start}


def append(rows: list[Row], path: Path) -> None:
    """Add rows to a table, so that a run that is stopped loses nothing."""
    columns = [
        "problem", "group", "classes", "n", "repetition", "method", "log_loss", "brier", "accuracy",
        "classwise", "class_bands", "top_bands", "rhat", "seconds", "error",
    ]  # fmt: skip
    frame = pd.DataFrame(rows, columns=columns)
    frame.to_csv(path, mode="a", header=not path.exists(), index=False, float_format="%.6g")

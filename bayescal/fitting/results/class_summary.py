"""Summaries of a calibration map of several classes: a table of parameters, and findings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bayescal.fitting.parts.part import POSTERIOR, Groups
from bayescal.fitting.posterior import DRAWS
from bayescal.support.intervals import tails
from bayescal.support.validation import Floats

if TYPE_CHECKING:
    import pandas as pd

SHARED = ("log_gain", "warp", "asymmetry", "lapse")
OF_CLASSES = ("bias", "slope", "certainty", "confusion")


def class_table(groups: Groups, level: float) -> pd.DataFrame:
    """Return medians and equal-tailed intervals; see `MulticlassCalibrator.summary`."""
    import pandas as pd

    posterior, used = groups[POSTERIOR], groups["constant_data"]["used"].values.astype(bool)
    shares = [0.5, *tails(level)]
    rows: list[tuple[str, str, str]] = []
    values: list[list[float]] = []
    for name in (*SHARED, "scale"):
        if name not in posterior:
            continue
        each = np.quantile(posterior[name].transpose(*DRAWS, ...).values, shares, axis=(0, 1))
        if name == "scale":
            for k, block in enumerate(posterior["block"].values):
                rows.append((f"scale of {block}", "", ""))
                values.append(each[:, k].tolist())
        else:
            rows.append((name, "", ""))
            values.append(each.tolist())
    classes = [str(each) for each in posterior["klass"].values]
    for row, name in enumerate(OF_CLASSES):
        each = np.quantile(posterior[name].transpose(*DRAWS, ...).values, shares, axis=(0, 1))
        if name != "confusion":
            for k in np.flatnonzero(used[row]).tolist():
                rows.append((name, classes[k], ""))
                values.append(each[:, k].tolist())
        elif "klass_to" in posterior[name].dims:
            for j, k in np.argwhere(used[row:]).tolist():
                rows.append((name, classes[k], classes[j]))
                values.append(each[:, k, j].tolist())
    index = pd.MultiIndex.from_tuples(rows, names=["parameter", "class", "other class"])
    return pd.DataFrame(values, index, ["median", "lower", "upper"])


def class_findings(
    drawn: Floats, raw: Floats, weight: Floats, classes: NDArray[Any] | None, level: float
) -> tuple[str, ...]:
    """
    Return sentences on the scores' confidence, and on the classes confused most.

    `drawn` holds draws of the documents' probabilities, (draws, n, K), and `raw` the probabilities
    of the raw scores; `classes` is None if their meaning differs by document.
    """
    share, at = weight / weight.sum(), np.arange(weight.size)
    top = raw.argmax(axis=1)
    claimed = float(share @ raw[at, top])
    right = drawn[:, at, top] @ share
    value, lower, upper = _with_ends(right, level)
    how = "as confident as they are right"
    if not lower <= claimed <= upper:
        how = "over-confident" if claimed > upper else "under-confident"
    sentences = [
        f"The scores are {how}: they give their likeliest class the probability {claimed:.3g} on"
        f" average, and it is right with probability {value:.3g} ({lower:.3g} to {upper:.3g})."
    ]
    if classes is not None:
        mean = drawn.mean(axis=0)
        best = mean.argmax(axis=1)
        confused = np.stack([share[best == j] @ mean[best == j] for j in range(classes.size)])
        np.fill_diagonal(confused, 0.0)
        j, k = np.unravel_index(confused.argmax(), confused.shape)
        mine = best == j
        value, lower, upper = _with_ends(drawn[:, mine, k] @ share[mine] / share[mine].sum(), level)
        taken, own = classes[j], classes[k]
        sentences.append(
            f"{own!s} is mistaken for {taken!s} most often: of documents whose likeliest class is"
            f" {taken!s}, {100 * value:.2g} % are {own!s} ({100 * lower:.2g} to"
            f" {100 * upper:.2g} %)."
        )
    return tuple(sentences)


def _with_ends(draws: Floats, level: float) -> tuple[float, float, float]:
    lower, upper = np.quantile(draws, tails(level))
    return float(draws.mean()), float(lower), float(upper)

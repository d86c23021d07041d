"""The parameters of a calibration map of several classes as a table."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bayescal.fitting.parts.part import DRAWS, POSTERIOR, Groups

if TYPE_CHECKING:
    import pandas as pd

SHARED = ("log_gain", "warp", "asymmetry", "lapse")
OF_CLASSES = ("bias", "slope", "certainty", "confusion")


def class_table(groups: Groups, level: float) -> pd.DataFrame:
    """Return medians and equal-tailed intervals; see `MulticlassCalibrator.summary`."""
    import pandas as pd

    posterior, used = groups[POSTERIOR], groups["constant_data"]["used"].values.astype(bool)
    tails = [0.5, 0.5 - level / 2.0, 0.5 + level / 2.0]
    rows: list[tuple[str, str, str]] = []
    values: list[list[float]] = []
    for name in (*SHARED, "scale"):
        if name not in posterior:
            continue
        each = np.quantile(posterior[name].transpose(*DRAWS, ...).values, tails, axis=(0, 1))
        if name == "scale":
            for k, block in enumerate(posterior["block"].values):
                rows.append((f"scale of {block}", "", ""))
                values.append(each[:, k].tolist())
        else:
            rows.append((name, "", ""))
            values.append(each.tolist())
    classes = [str(each) for each in posterior["klass"].values]
    for row, name in enumerate(OF_CLASSES):
        each = np.quantile(posterior[name].transpose(*DRAWS, ...).values, tails, axis=(0, 1))
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

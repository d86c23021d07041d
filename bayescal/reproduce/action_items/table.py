"""The table of action items: every method's measures, with intervals and marks of significance."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from bayescal.metrics import losses
from bayescal.reproduce.action_items.published import MEASURES as PUBLISHED_MEASURES
from bayescal.reproduce.action_items.roc_area import roc_area_error
from bayescal.reproduce.action_items.trials import Outcomes
from bayescal.reproduce.action_items.views import CLASSIFIERS
from bayescal.reproduce.strive_table import GROUPS as GROUPS_OF_TOPICS
from bayescal.reproduce.strive_table import better_by_t_test, by_topic
from bayescal.validation import Floats

if TYPE_CHECKING:
    import pandas as pd

LEVEL = 0.95
# Groups of the dissertation; a letter marks a method significantly better than all others of one.
GROUPS = GROUPS_OF_TOPICS | {"B": CLASSIFIERS}
MEASURES = (*PUBLISHED_MEASURES, "log-loss")
ORACLE = "BestSelect"
# Of the others an interval is in the file, but not in the printed table.
WITH_INTERVALS = ("ROC", "ROC[0,.1]")

Measured = Mapping[str, Mapping[str, Floats]]


def measure(outcomes: Outcomes) -> dict[str, dict[str, Floats]]:
    """
    Return every method's measures in each trial, by name; larger always better, shape (trials,).

    Log-loss is minus the mean over sentences, in bits, of methods that have probabilities; ROC
    areas are of those that rank.
    """
    out = {}
    for name, found in outcomes.found.items():
        values = by_topic(found, outcomes.truths)
        values["F1"] = values.pop("MacroF1")
        pairs = [(d.log_odds, truth) for d, truth in zip(found, outcomes.truths, strict=True)]
        bits = [
            -losses(odds, truth).log_loss / truth.size for odds, truth in pairs if odds is not None
        ]
        if bits:
            values["log-loss"] = np.array(bits)
        out[name] = {which: values[which] for which in MEASURES if which in values}
    return out


def half_width(values: Floats) -> float:
    """
    Return t s / sqrt(K), half of the 95 % interval of the mean of K folds, with K - 1 degrees.

    Folds share sentences to learn from, of which this knows nothing: it is somewhat too short.

    Examples
    --------
    >>> round(half_width(np.array([0.8, 0.9, 1.0])), 4)
    0.2484
    """
    from scipy.stats import t

    spread = values.std(ddof=1) / np.sqrt(values.size)
    return float(t.ppf(0.5 + LEVEL / 2.0, values.size - 1) * spread)


def marks(values: Measured, name: str, which: str) -> str:
    """
    Return the letters of the groups all of whose other members a method is better than.

    By a two-tailed paired t-test over folds, p = .05, as in section 10.8 of the dissertation. No
    method is better by a measure than one that lacks it. The oracle has no marks.
    """
    if name == ORACLE:
        return ""

    def better(other: str) -> bool:
        if which not in values[name] or which not in values[other]:
            return False
        return better_by_t_test(values[name][which] - values[other][which])

    return "".join(
        letter
        for letter, members in GROUPS.items()
        if all(better(other) for other in members if other != name)
    )


def table_of(outcomes: Outcomes) -> pd.DataFrame:
    """
    Return a row for each method and measure.

    Returns
    -------
    pandas.DataFrame
        Columns method, measure, mean (over trials), half_width (of its 95 % interval: of several
        trials by their spread, of one by DeLong's error of the ROC area and else missing) and
        marks (of several trials).
    """
    import pandas as pd

    values = measure(outcomes)
    several = len(outcomes.truths) > 1
    rows = []
    for name, measured in values.items():
        for which, each in measured.items():
            half = half_width(each) if several else _half_width_of_one(outcomes, name, which)
            letters = marks(values, name, which) if several else ""
            rows.append((name, which, abs(float(each.mean())), half, letters))
    return pd.DataFrame(rows, columns=["method", "measure", "mean", "half_width", "marks"])


def as_printed(table: pd.DataFrame) -> pd.DataFrame:
    """Return the table with a row a method: 0.8841 ± 0.0102 BD; intervals of ROC areas alone."""
    import pandas as pd

    rows: dict[str, dict[str, str]] = {}
    for row in table.to_dict("records"):
        cell = f"{row['mean']:.4f}"
        if row["measure"] in WITH_INTERVALS and np.isfinite(row["half_width"]):
            cell += f" ± {row['half_width']:.4f}"
        own = rows.setdefault(row["method"], {})
        own[row["measure"]] = f"{cell} {row['marks']}".strip()
    return pd.DataFrame(
        [{"method": name} | {m: own.get(m, "-") for m in MEASURES} for name, own in rows.items()]
    )


def _half_width_of_one(outcomes: Outcomes, name: str, which: str) -> float:
    (decided,), (truth,) = outcomes.found[name], outcomes.truths
    if which != "ROC" or decided.score is None:
        return float("nan")
    from scipy.stats import norm

    return float(norm.ppf(0.5 + LEVEL / 2.0)) * roc_area_error(truth, decided.score)

"""What gained over what, here and as published: kinds of methods are comparable, figures are not.

The published figures are of e-mails, those here of sentences of other people's e-mails.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from bayescal.reproduce.action_items.published import MEASURES, PUBLISHED
from bayescal.reproduce.action_items.table import Measured, half_width
from bayescal.reproduce.action_items.views import CLASSIFIERS
from bayescal.validation import Floats

if TYPE_CHECKING:
    import pandas as pd

WORDS, NGRAMS = CLASSIFIERS[: len(CLASSIFIERS) // 2], CLASSIFIERS[len(CLASSIFIERS) // 2 :]
# By which methods are compared: the chapter's primary measure, and errors.
COMPARED = ("ROC", "error")
BEST = "the best classifier"


class Comparison(NamedTuple):
    """
    Two methods, or two groups of methods, whose means are compared.

    Attributes
    ----------
    kind : str
        What is compared, in words.
    first, second : tuple of str
        Methods. The mean of the first group less that of the second is the gain.
    """

    kind: str
    first: tuple[str, ...]
    second: tuple[str, ...]


COMPARISONS = (
    Comparison("n-grams over words, of sentences", NGRAMS, WORDS),
    Comparison(
        "n-grams over words, of whole e-mails",
        tuple(f"{name} of e-mails" for name in NGRAMS),
        tuple(f"{name} of e-mails" for name in WORDS),
    ),
    Comparison("Majority over the best classifier", ("Majority",), (BEST,)),
    Comparison("Stack-S (norm) over the best classifier", ("Stack-S (norm)",), (BEST,)),
    Comparison("Stack-S (norm) over Stack-D (norm)", ("Stack-S (norm)",), ("Stack-D (norm)",)),
    Comparison("STRIVE-S (norm) over Stack-S (norm)", ("STRIVE-S (norm)",), ("Stack-S (norm)",)),
    Comparison("STRIVE-D (norm) over Stack-D (norm)", ("STRIVE-D (norm)",), ("Stack-D (norm)",)),
    Comparison("bayes over Stack-S (norm)", ("bayes",), ("Stack-S (norm)",)),
    Comparison("bayes, indicators over bayes", ("bayes, indicators",), ("bayes",)),
    Comparison(
        "bayes, indicators over STRIVE-S (norm)", ("bayes, indicators",), ("STRIVE-S (norm)",)
    ),
)


def gains(values: Measured) -> pd.DataFrame:
    """
    Return how much larger ROC areas are, and how much smaller errors, a row for each comparison.

    The best classifier is that of the best mean by the measure, chosen by hindsight.

    Parameters
    ----------
    values : mapping of str to mapping of str to array of shape (trials,)
        See `measure`; larger is better.

    Returns
    -------
    pandas.DataFrame
        Columns kind; ROC, ROC_half_width, ROC_published and the same of error; nan where a method
        has no ROC area, was not published, or there is one trial.
    """
    import pandas as pd

    published = {
        name: {
            which: np.array([-value if which == "error" else value])
            for which, value in zip(MEASURES, row, strict=True)
            if value is not None
        }
        for name, row in PUBLISHED.items()
    }
    rows = []
    for comparison in COMPARISONS:
        row: dict[str, object] = {"kind": comparison.kind}
        for which in COMPARED:
            here, there = (_gain(each, comparison, which) for each in (values, published))
            row[which] = here.mean()
            row[f"{which}_half_width"] = half_width(here) if here.size > 1 else np.nan
            row[f"{which}_published"] = there.item()
        rows.append(row)
    return pd.DataFrame(rows)


def as_printed(table: pd.DataFrame) -> pd.DataFrame:
    """Return the table with a cell for each gain here, with its interval, and each published."""
    import pandas as pd

    rows = []
    for row in table.to_dict("records"):
        printed = {"kind": row["kind"]}
        for which in COMPARED:
            half = row[f"{which}_half_width"]
            interval = f" ± {half:.4f}" if np.isfinite(half) else ""
            printed[which] = _signed(row[which]) + interval
            printed[f"{which}, published"] = _signed(row[f"{which}_published"])
        rows.append(printed)
    return pd.DataFrame(rows)


def _gain(values: Measured, comparison: Comparison, which: str) -> Floats:
    first, second = (_mean(values, each, which) for each in comparison[1:])
    return first - second


def _mean(values: Measured, names: tuple[str, ...], which: str) -> Floats:
    """Return the mean of some methods in each trial; a single nan if one of them has none."""
    if names == (BEST,):
        names = (max(CLASSIFIERS, key=lambda name: values[name][which].mean()),)
    if any(name not in values or which not in values[name] for name in names):
        return np.array([np.nan])
    return np.asarray(np.mean([values[name][which] for name in names], axis=0))


def _signed(value: float) -> str:
    return f"{value:+.4f}" if np.isfinite(value) else "-"

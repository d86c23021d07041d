"""The table of learning across tasks: Table 8.1's measures, log-loss, and sign tests over tasks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from bayescal.combining.measures import loss_of
from bayescal.reproduce.label.inputs import Task
from bayescal.reproduce.label.methods import DECISIONS, Decided
from bayescal.reproduce.label.published import MEASURES, PUBLISHED
from bayescal.sign_test import sign_test
from bayescal.validation import Floats

if TYPE_CHECKING:
    import pandas as pd

LEVELS = {0.01: "**", 0.05: "*"}
LOG_LOSS = "log-loss"
Found = Mapping[str, Sequence[Decided]]


def by_task(found: Found, tasks: Sequence[Task]) -> pd.DataFrame:
    """
    Return the measures of every method on every task.

    Returns
    -------
    pandas.DataFrame
        Columns method, corpus, topic, positives (to train with), Macro F1 (here the task's F1),
        Error, norm Error (over the error of always predicting the likelier class), log-loss (mean,
        in bits; infinite where a method was certain and wrong).
    """
    import pandas as pd

    rows = []
    for name, decided in found.items():
        for each, task in zip(decided, tasks, strict=True):
            share = task.truth.mean()
            error = loss_of("error", each.taken["error"], task.truth)
            rows.append(
                {
                    "method": name,
                    "corpus": task.corpus,
                    "topic": task.topic,
                    "positives": int(task.positive.sum()),
                    "Macro F1": -loss_of("f1", each.taken[DECISIONS["Macro F1"]], task.truth),
                    "Error": error,
                    "norm Error": error / min(share, 1.0 - share),
                    LOG_LOSS: mean_bits(each.log_odds, task.truth),
                }
            )
    return pd.DataFrame(rows)


def mean_bits(log_odds: Floats, truth: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> float:
    """
    Return the mean of minus the base-2 logarithm of the probability of what happened.

    Examples
    --------
    >>> mean_bits(np.array([0.0, -np.inf]), np.array([True, False]))
    0.5
    >>> mean_bits(np.array([-np.inf]), np.array([True]))
    inf
    """
    return float(np.logaddexp(0.0, np.where(truth, -log_odds, log_odds)).mean() / np.log(2.0))


def label_table(measures: pd.DataFrame, *, against: str, with_paper: bool = True) -> pd.DataFrame:
    """
    Return the means over tasks, a row a method, marked where significantly better than one of them.

    Parameters
    ----------
    measures : pandas.DataFrame
        Of `by_task`.
    against : str
        The method that others are compared with: ** better at p = .01, * at .05, by a one-sided
        macro sign test over tasks on which they differ.
    with_paper : bool
        Whether to show the dissertation's figures, which are of other tasks.

    Returns
    -------
    pandas.DataFrame
        Columns method, the three measures, each followed by the published one if asked for, and
        log-loss.
    """
    import pandas as pd

    values = {str(name): part for name, part in measures.groupby("method", sort=False)}
    rows = []
    for name, part in values.items():
        row: dict[str, str] = {"method": name}
        for measure in (*MEASURES, LOG_LOSS):
            mark = mark_of(part[measure].to_numpy(), values[against][measure].to_numpy(), measure)
            row[measure] = f"{part[measure].mean():.4f}{mark}"
            if with_paper and measure in MEASURES:
                paper = PUBLISHED.get(name)
                row[f"{measure}, paper"] = (
                    "-" if paper is None else f"{paper[MEASURES.index(measure)]:.4f}"
                )
        rows.append(row)
    return pd.DataFrame(rows)


def mark_of(values: Floats, others: Floats, measure: str) -> str:
    """
    Return "**" or "*" for values that are better than others in a one-sided macro sign test.

    Parameters
    ----------
    values, others : array of shape (tasks,)
        Of two methods.
    measure : str
        Of Macro F1 more is better, of all others less.

    Examples
    --------
    >>> mark_of(np.arange(8.0), np.arange(8.0) - 1.0, "Macro F1")
    '**'
    >>> mark_of(np.arange(8.0), np.arange(8.0) - 1.0, "Error")
    ''
    """
    better, worse = (values > others, values < others)
    if measure != "Macro F1":
        better, worse = worse, better
    p = sign_test(int(better.sum()), int(worse.sum()), alternative="greater")
    return next((mark for level, mark in LEVELS.items() if p < level), "")

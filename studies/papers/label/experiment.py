"""The experiment of the dissertation's chapter 8: measures, sign tests, published Table 8.1."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from bayescal.support.validation import Floats
from studies.papers.command import (
    blame_arguments,
    markdown_table,
    read_corpus,
    show,
    sign_test,
    without_published,
)
from studies.papers.label import methods
from studies.papers.label.methods import DECISIONS, Decided, Task
from studies.papers.strive.voting import loss_of

if TYPE_CHECKING:
    import pandas as pd


MEASURES = ("Macro F1", "Error", "norm Error")
"""The table's columns; MSN Web Directory, the ten largest topics of Reuters, TREC-AP."""

PUBLISHED: dict[str, tuple[float, float, float]] = {
    "SVM": (0.7411, 0.0197, 0.4789),
    "STRIVE-D": (0.7457, 0.0191, 0.4716),
    "LABEL-D (repop)": (0.7431, 0.0188, 0.4758),
    "LABEL-D (general)": (0.7545, 0.0181, 0.4512),
}


LEVELS = {0.01: "**", 0.05: "*"}
LOG_LOSS = "log-loss"
Found = Mapping[str, Sequence[Decided]]


def by_task(found: Found, tasks: Sequence[Task]) -> pd.DataFrame:
    """Return the measures of every method on every task.

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
    """Return the mean log-loss in bits.

    Examples
    --------
    >>> mean_bits(np.array([0.0, -np.inf]), np.array([True, False]))
    0.5
    >>> mean_bits(np.array([-np.inf]), np.array([True]))
    inf
    """
    return float(np.logaddexp(0.0, np.where(truth, -log_odds, log_odds)).mean() / np.log(2.0))


def label_table(measures: pd.DataFrame, *, against: str, with_paper: bool = True) -> pd.DataFrame:
    """Return means over tasks, a row a method, marked where significantly better than one of them.

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
    """Return "**" or "*" for values that are better than others in a one-sided macro sign test.

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


def run(
    *,
    out: Path,
    jobs: int,
    seed: int,
    data: Path | None,
    topics: int,
    multilabel: Path | None,
    protocol: str,
    bayes: bool,
) -> None:
    """Write every method's measures on every task, and their means beside the published ones."""
    corpora = [methods.reuters(read_corpus(data), topics)]
    if multilabel is not None:
        with blame_arguments():
            corpora += methods.multilabel(multilabel)
    for corpus in corpora:
        usable = len(corpus.usable().topics)
        print(
            f"{corpus.name}: {usable} of {len(corpus.topics)} topics have two positive documents to"
            " train with and one to test on."
        )
    print("Fitting four classifiers and their indicators to each topic ...")
    usable_corpora = [corpus.usable() for corpus in corpora]
    tasks = methods.tasks_of(usable_corpora, random_state=seed, jobs=jobs)
    print(f"Combining them in {len(tasks)} tasks, {protocol} ...")
    with blame_arguments():
        found = methods.decide_all(tasks, protocol, slow=bayes, random_state=seed, jobs=jobs)
    measures = by_task(found, tasks)
    against = next(iter(found))
    table = label_table(measures, against=against)
    show(
        f"Means over {len(tasks)} tasks, {protocol}",
        without_published(table),
        f"Better than {against} in a one-sided sign test over tasks: ** at p = .01, * at .05.",
        "norm Error: relative to the error of always predicting the likelier class. Log-loss in"
        " bits, inf where a method was certain and wrong.",
    )
    out.mkdir(parents=True, exist_ok=True)
    measures.to_csv(out / "label.csv", index=False, float_format="%.6g")
    (out / "label.md").write_text(markdown_table(table) + "\n", encoding="utf-8")
    print(f"The table, and every method's measures on every task, are in {out}.")

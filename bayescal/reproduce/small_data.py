"""Few positives per topic: every method's log-loss on the embedded scores of ten Reuters topics."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from bayescal.datasets import load_reuters_scores
from bayescal.datasets.reuters_scores import CLASSIFIERS, TOPICS
from bayescal.methods import METHODS, Labels, Problem, SeparableWarning, installed_methods
from bayescal.metrics import losses
from bayescal.parallel import spread_over
from bayescal.reproduce.subsets import few_positives
from bayescal.validation import Floats

if TYPE_CHECKING:
    import pandas as pd

SIZES = (3, 5, 10, 20, 50, 100)
Split = tuple[Floats, Labels]


def totals_by_size(
    repeats: int,
    *,
    sizes: Sequence[int] | None = None,
    classifiers: Sequence[str] = CLASSIFIERS,
    methods: Iterable[str] | None = None,
    jobs: int = 1,
    seed: int = 0,
) -> pd.DataFrame:
    """
    Return the total log-loss in bits over ten topics' test documents.

    Parameters
    ----------
    repeats : int
        Random subsets of every size; all methods see the same ones.
    sizes : sequence of int, optional
        Positives a topic, by default 3, 5, 10, 20, 50 and 100; negatives in proportion.
    classifiers : sequence of str
        Of "naive_bayes" and "linear_svm".
    methods : iterable of str, optional
        Names in `bayescal.methods.METHODS`; by default all that are installed.
    jobs : int
        Processes.
    seed : int
        Same seed, same subsets.

    Returns
    -------
    pandas.DataFrame
        A column a method; index classifier, n, repeat. nan for raw margins of an SVM.
    """
    import pandas as pd

    names = tuple(installed_methods() if methods is None else methods)
    cases = [(c, n, r) for c in classifiers for n in sizes or SIZES for r in range(repeats)]
    rows = spread_over(jobs, total_bits, [(*case, names, seed) for case in cases])
    return pd.DataFrame(rows, pd.MultiIndex.from_tuples(cases, names=["classifier", "n", "repeat"]))


def total_bits(
    classifier: str, n_positive: int, repeat: int, methods: Sequence[str], seed: int = 0
) -> dict[str, float]:
    """Return each method's log-loss in bits, summed over topics and test documents."""
    rng = np.random.default_rng((seed, CLASSIFIERS.index(classifier), n_positive, repeat))
    problems, truths = [], []
    for topic in TOPICS:
        (score, label), (new, truth) = splits(classifier, topic)
        mask = few_positives(label, n_positive, rng)
        problems.append(Problem(score[mask], label[mask], new))
        truths.append(truth == 1)
    out = {}
    for name in methods:
        if name == "raw" and classifier == "linear_svm":
            out[name] = np.nan  # margins are no log-odds
            continue
        with warnings.catch_warnings():
            # Three positives are separated as often as not: the step stands in the table.
            warnings.simplefilter("ignore", SeparableWarning)
            found = METHODS[name].over_topics(problems)
        out[name] = sum(losses(f, t).log_loss for f, t in zip(found, truths, strict=True))
    return out


@cache
def splits(classifier: str, topic: str) -> tuple[Split, Split]:
    """Return scores and labels of the calibration and of the test split."""

    def read(split: str) -> Split:
        rows = load_reuters_scores(classifier, topic, split)
        return rows["score"].to_numpy(), rows["label"].to_numpy()

    return read("calibration"), read("test")


def learning_table(bits: pd.DataFrame) -> pd.DataFrame:
    """
    Return means over repeats, and their standard errors.

    Returns
    -------
    pandas.DataFrame
        Columns classifier, n, method, mean, error; methods without a figure left out.
    """
    import pandas as pd

    grouped = bits.groupby(["classifier", "n"], sort=False)
    parts = {"mean": grouped.mean().stack(), "error": grouped.sem().stack()}
    table = pd.DataFrame(parts).rename_axis(["classifier", "n", "method"]).reset_index()
    return table.dropna(subset=["mean"])


def wide(table: pd.DataFrame) -> pd.DataFrame:
    """Return one classifier's means and errors as text, a column a size."""
    import pandas as pd

    rows: dict[str, dict[str, str]] = {}
    for row in table.to_dict("records"):
        text = f"{row['mean']:.0f}"
        # One repeat has no standard error.
        text += "" if np.isnan(row["error"]) else f" ± {row['error']:.0f}"
        rows.setdefault(row["method"], {})[f"n+ = {row['n']}"] = text
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("method").reset_index()

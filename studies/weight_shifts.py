"""Do indicators help a combination, and should they shift weights? Held-out losses on real data.

python -m studies.weight_shifts --data FOLDER [--quick]
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

from bayescal.combining.calibrated_scores import calibrate_scores
from bayescal.combining.combiners.bayes import Bayes
from bayescal.combining.inputs import Inputs, Labelled
from bayescal.metrics import losses
from bayescal.parallel import spread_over
from bayescal.reproduce.corpus_scores import count_words
from bayescal.reproduce.nested_inputs import nested_inputs
from bayescal.reproduce.strive import BASE, seen, without_indicators
from bayescal.text import DecisionTree, make_classifier
from studies.command import Options, main
from studies.problems import tables, texts
from studies.problems.data_set import DataSet
from studies.problems.folds import Bools
from studies.problems.sources import load
from studies.unseen_samples import generator, plain_random, rarer_share
from studies.weight_shifts_report import PLAIN, SHIFTED_BIAS, SHIFTED_WEIGHTS, write_report

SIZES, QUICK_SIZES = (50, 200), (20,)
NAMES = (*tables.NAMES, *(name for name in texts.NAMES if name != "questions"))
QUICK_NAMES = ("german",)
MOST_NEW = 2_000
# By the names of the table: a Bayesian combination, and whether it sees indicators.
COMBINATIONS = {
    PLAIN: (Bayes(), False),
    SHIFTED_BIAS: (Bayes(), True),
    SHIFTED_WEIGHTS: (Bayes(weight_shifts=True), True),
}
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
    found = spread_over(options.jobs, measure, [(options.data, name, sizes) for name in names])
    write_report(pd.DataFrame([row for rows in found for row in rows]), options.out)


def measure(data: Path, name: str, sizes: Sequence[int]) -> list[Row]:
    """
    Return one row a size and combination: bits a decision on test documents.

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
        # The same calibrated scores for all: what differs is how they are weighed.
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
    """Return what classifiers and indicators say of a sample, in folds, and of test documents."""
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
    main("weight_shifts")

"""A tiny library of problems, and one problem, for tests of the studies that measure on them."""

import numpy as np
import pandas as pd
from scipy import special

from studies.problems.library import Problem

CLASSES = ("a", "b", "c")


def documents(n, seed, score_kind="log_odds", classes=1):
    """Scores and labels whose log-odds are the scores themselves; or their probabilities."""
    rng = np.random.default_rng(seed)
    log_odds = rng.normal(-1.0, 2.0, size=(n, classes))
    label = rng.random((n, classes)) < special.expit(log_odds)
    return (special.expit(log_odds) if score_kind == "probability" else log_odds), label


def problem(n=400, score_kind="log_odds", test_kind="separate", classifier="naive_bayes"):
    score, label = documents(n, 0, score_kind)
    new, truth = documents(90, 1, score_kind)
    names = ("some set", "a", classifier, score_kind)
    return Problem(*names, score[:, 0], label[:, 0], new[:, 0], truth[:, 0], test_kind)


def write_library(folder, data_sets=("one", "two"), test_kind="later"):
    """Write files as `studies.problems.making` does, of an SVM and a forest."""
    kinds = {"linear_svm": "margin", "random_forest": "probability"}
    for name in data_sets:
        (folder / name).mkdir(parents=True)
        for classifier, kind in kinds.items():
            score, label = documents(150, ord(name[0]), kind, len(CLASSES))
            new, truth = documents(40, ord(name[-1]), kind, len(CLASSES))
            np.savez(
                folder / name / f"{classifier}.npz",
                score=score, label=label, test_score=new, test_label=truth,
                classes=np.array(CLASSES), score_kind=kind, test_kind=test_kind,
            )  # fmt: skip
    return folder


def missed_bars(folder, name):
    """Return the first words of the bars that a study's table says are missed."""
    verdicts = pd.read_csv(folder / f"{name}_bars.csv")
    # Two times, four data sets, one cell with bands.
    assert len(verdicts) == 2 + 4 + 1
    claims = verdicts.loc[verdicts["verdict"] != "holds", "claim"]
    return {"band" if "band" in claim else claim.split()[0].strip(",") for claim in claims}

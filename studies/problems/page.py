"""The page about the library, docs/validation/problems.md, and its tables."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.metrics import roc_auc_score

from bayescal.support.intervals import percent
from bayescal.support.validation import Floats
from studies.problems.folds import Bools
from studies.problems.library import Problem, problems
from studies.reporting import fill, markdown, write_page, write_table


def write(folder: Path, out: Path) -> None:
    """Write problems.md and its tables: by data set, by classifier, and by both."""
    table = pd.DataFrame([_row(each) for each in problems(folder)])
    write_table(_each_pair(table), out, "problems")
    write_table(_data_sets(table), out, "problems_data_sets")
    write_table(_classifiers(table), out, "problems_classifiers")
    write_page("problems", out, page(out))


def page(folder: Path) -> str:
    """Return the page: the data sets of the library."""
    data_sets = pd.read_csv(folder / "problems_data_sets.csv")
    count = f"{data_sets['problems'].sum():,}"
    return fill("problems", folder, table=markdown(data_sets), count=count)


def area(score: Any, positive: Bools) -> float:
    """Return the area under the ROC curve, nan without documents of both classes."""
    both = 0 < positive.sum() < positive.size
    return float(roc_auc_score(positive, score)) if both else np.nan


def _row(problem: Problem) -> dict[str, Any]:
    return {
        "data set": problem.data_set,
        "classifier": problem.classifier,
        "class": problem.class_name,
        "scores": problem.score_kind.replace("_", "-"),
        "test": problem.test_kind,
        "n": problem.score.size,
        "positives": int(problem.positive.sum()),
        "test n": problem.test_score.size,
        "test positives": int(problem.test_positive.sum()),
        "AUC out of fold": area(problem.score, problem.positive),
        "AUC on test": area(problem.test_score, problem.test_positive),
        "tied": 1.0 - np.unique(problem.score).size / problem.score.size,
        "largest": float(np.abs(problem.score).max()),
    }


def _each_pair(table: pd.DataFrame) -> pd.DataFrame:
    of_pair = table.groupby(["data set", "classifier", "scores", "test"], sort=False)
    medians = of_pair[
        ["n", "test n", "positives", "AUC out of fold", "AUC on test", "tied", "largest"]
    ]
    return medians.median().assign(classes=of_pair.size()).reset_index()


def _data_sets(table: pd.DataFrame) -> pd.DataFrame:
    rows = []
    for name, part in table.groupby("data set"):
        one = part.drop_duplicates("class")
        rows.append(
            {
                "data set": name,
                "classes": len(one),
                "classifiers": part["classifier"].nunique(),
                "problems": len(part),
                "documents": f"{one['n'].iloc[0]:,}",
                "positives": _range(one["positives"]),
                "test": f"{one['test'].iloc[0]}, {one['test n'].iloc[0]:,}",
                "test positives": _range(one["test positives"]),
            }
        )
    return pd.DataFrame(rows)


def _classifiers(table: pd.DataFrame) -> pd.DataFrame:
    rows = []
    for name, part in table.groupby("classifier"):
        rows.append(
            {
                "classifier": str(name).replace("_", " "),
                "scores": part["scores"].iloc[0],
                "problems": len(part),
                "AUC out of fold": _quartiles(part["AUC out of fold"].to_numpy()),
                "AUC on test": _quartiles(part["AUC on test"].to_numpy()),
                "tied": percent(part["tied"].median(), 0),
                "largest": f"{part['largest'].median():.3g}, {part['largest'].max():.2g}",
            }
        )
    return pd.DataFrame(rows)


def _range(counts: pd.Series[int]) -> str:
    least, most = int(counts.min()), int(counts.max())
    return f"{least:,}" if least == most else f"{least:,} to {most:,}"


def _quartiles(areas: Floats) -> str:
    low, middle, high = np.nanquantile(areas, (0.25, 0.5, 0.75))
    return f"{middle:.3f} ({low:.3f} to {high:.3f})"

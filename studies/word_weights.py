"""What decides the paper's pattern for the SVM: words, their weights, C, length of documents.

python -m studies.word_weights [--quick]    needs Reuters-21578; about ten minutes
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from bayescal.datasets import fetch_reuters21578
from bayescal.datasets.reuters_scores import TOPICS
from bayescal.families import asymmetric_laplace
from bayescal.methods import METHODS, Method
from bayescal.methods.densities import maximum_likelihood
from bayescal.reproduce.corpus_scores import WORD, TopicScores, score_topics
from bayescal.reproduce.decisions import decide
from bayescal.reproduce.published import PUBLISHED
from bayescal.reproduce.reuters import classifiers
from bayescal.reproduce.table import MEASURES, totals_table
from bayescal.text.classifiers import linear_svm
from studies.command import Options, main
from studies.reporting import markdown, with_error, write_page, write_table

WORDS = {"inner": WORD, "letters": r"(?u)\b\w\w+\b"}
LENGTHS = {"as is": False, "1": True}
# Words, weights, length of documents, C.
SETTINGS = [
    ("inner", "log_tf", "as is", 0.1),
    ("inner", "tf", "as is", 0.01),
    ("inner", "log_tf", "as is", 0.01),
    ("inner", "tf", "as is", 0.1),
    ("inner", "log_tf_idf", "1", 1.0),
    ("inner", "binary", "as is", 0.1),
    ("inner", "binary", "as is", 0.01),
    ("inner", "log_tf_idf", "as is", 0.01),
    ("inner", "tf_idf", "as is", 0.01),
    ("inner", "tf", "1", 1.0),
    ("inner", "log_tf", "1", 1.0),
    ("inner", "binary", "1", 1.0),
    ("inner", "tf_idf", "1", 1.0),
    ("inner", "log_tf_idf", "1", 0.1),
    ("letters", "log_tf", "as is", 0.1),
    ("letters", "tf", "as is", 0.1),
    ("letters", "log_tf_idf", "1", 1.0),
    ("inner", "log_tf", "as is", 1.0),
    ("inner", "binary", "as is", 1.0),
    ("inner", "log_tf_idf", "1", 10.0),
    ("inner", "log_tf_idf", "as is", 0.1),
    ("inner", "tf", "as is", 1.0),
    ("letters", "tf", "as is", 1.0),
    ("inner", "tf_idf", "as is", 0.1),
]
FOLD_SEEDS = 6
CANDIDATES = "A.Laplace, Bennett's candidates"
COMPARED = ("Gauss", "A.Gauss", "Laplace", "A.Laplace", "LogReg", "LR+Noise", "raw")
SHOWN = ("Gauss", "A.Gauss", "Laplace", "A.Laplace", "LogReg")


def run(options: Options) -> None:
    """Score, calibrate and test under every setting; write page and table."""
    corpus = fetch_reuters21578()
    topics = TOPICS[: options.size(len(TOPICS), 1)]
    rows = []
    for setting in SETTINGS[: options.size(len(SETTINGS), 2)]:
        rows.append(row(corpus, topics, options.jobs, *setting))
        write_table(pd.DataFrame(rows), options.out, "word_weights")
    folds = over_folds(corpus, topics, options.jobs, options.size(FOLD_SEEDS, 2))
    write_table(folds, options.out, "word_weights_folds")
    report(options.out)


def report(out: Path) -> None:
    """Write the page from the tables."""
    table, folds = (pd.read_csv(out / f"word_weights{which}.csv") for which in ("", "_folds"))
    shown = table.sort_values(["words", "documents of length", "cv errors"])
    pieces = {"training": markdown(training(shown)), "test": markdown(tested(shown))}
    write_page(
        "word_weights", out, [], chosen=chosen(table), folds=markdown(spread(folds)), **pieces
    )


def row(
    corpus: pd.DataFrame,
    topics: tuple[str, ...],
    jobs: int,
    words: str,
    weights: str,
    length: str,
    cost: float,
) -> dict[str, Any]:
    """Return what training documents show of a setting, then what test documents do."""
    svm = linear_svm(weights=weights, normalise=LENGTHS[length], cost=cost)
    scores = score_topics(corpus, topics, {"linear_svm": svm}, jobs=jobs, word=WORDS[words])
    given = {"words": words, "weights": weights, "documents of length": length, "C": cost}
    totals = totals_table(decide(methods(), scores)).set_index("method")
    test = {
        f"{method} {measure}": float(totals.loc[method, measure])
        for method in totals.index
        for measure in ("log_loss", "squared_error", "errors")
    }
    return given | of_training(scores) | test


def methods() -> dict[str, Method]:
    """Return the paper's methods, and its A.Laplace to the letter."""
    letter = partial(
        maximum_likelihood, family="asymmetric_laplace", candidates="bennett", scale_floor=None
    )
    return {n: METHODS[n] for n in COMPARED} | {CANDIDATES: Method(CANDIDATES, "paper", letter)}


def of_training(scores: list[TopicScores]) -> dict[str, float]:
    """Return cross-validated errors at 0, and what the paper's figure 4 shows of earn."""
    wrong = sum(int(((s.scores > 0) != (s.labels == 1)).sum()) for s in scores)
    first = scores[0]
    heights = []
    for label in (0, 1):
        fit = asymmetric_laplace.fit(first.scores[first.labels == label]).parameters
        heights.append(1.0 / (1.0 / fit["beta"] + 1.0 / fit["gamma"]))
    return {
        "cv errors": wrong,
        "least margin": float(first.scores.min()),
        "largest margin": float(first.scores.max()),
        "largest density": float(np.max(heights)),
    }


def over_folds(
    corpus: pd.DataFrame, topics: tuple[str, ...], jobs: int, seeds: int
) -> pd.DataFrame:
    """Return the losses of methods with the reproduction's SVM, for several splits into folds."""
    svm = classifiers()["linear_svm"]
    parts = []
    for seed in range(seeds):
        scores = score_topics(corpus, topics, {"linear_svm": svm}, random_state=seed, jobs=jobs)
        parts.append(totals_table(decide(methods(), scores)).assign(seed=seed))
    return pd.concat(parts)[["seed", "method", *MEASURES]]


def spread(folds: pd.DataFrame) -> pd.DataFrame:
    """Return each method's mean loss less LogReg's over splits, with standard errors, as text."""
    rows = []
    wide = folds.pivot(index="seed", columns="method", values=list(MEASURES))
    for method in ("A.Gauss", "Laplace", "A.Laplace", "LR+Noise"):
        cells = {"method": method}
        for measure in MEASURES:
            excess = wide[measure][method] - wide[measure]["LogReg"]
            cells[measure.replace("_", " ")] = with_error(excess.mean(), excess.sem(), 1)
        rows.append(cells)
    return pd.DataFrame(rows)


def chosen(table: pd.DataFrame) -> str:
    """Return the settings whose margins fill the axis of the paper's figure 4, -15 to 15."""
    inner = table[table["words"] == "inner"]
    fits = inner["least margin"].between(-15, -10) & inner["largest margin"].between(10, 15)
    return " and ".join(
        f"`{row['weights']}` with C = {row['C']:g}" for _, row in inner[fits].iterrows()
    )


def training(table: pd.DataFrame) -> pd.DataFrame:
    """Return the columns of training documents as text."""
    shown = table[["words", "weights", "documents of length", "C", "cv errors"]].copy()
    shown["C"] = [f"{value:g}" for value in table["C"]]
    lows, highs = table["least margin"], table["largest margin"]
    shown["margins"] = [f"{a:.1f} to {b:.1f}" for a, b in zip(lows, highs, strict=True)]
    shown["largest density"] = [f"{value:.2f}" for value in table["largest density"]]
    return shown


def tested(table: pd.DataFrame) -> pd.DataFrame:
    """Return log-loss / squared error / errors of methods as text, the paper's first."""
    paper = PUBLISHED["linear_svm"]
    first = {"words": "paper", "weights": "", "documents of length": "", "C": ""}
    rows: list[dict[str, str]] = [
        first
        | {m: _three(*(paper[m].log_loss, paper[m].squared_error, paper[m].errors)) for m in SHOWN}
        | {"raw": str(paper["raw"].errors)}
    ]
    for each in table.to_dict("records"):
        cells = {n: str(each[n]) for n in ("words", "weights", "documents of length")}
        cells["C"] = f"{each['C']:g}"
        for method in SHOWN:
            names = ("log_loss", "squared_error", "errors")
            cells[method] = _three(*(each[f"{method} {n}"] for n in names))
        rows.append(cells | {"raw": f"{each['raw errors']:.0f}"})
    return pd.DataFrame(rows)


def _three(log_loss: float | None, squared_error: float | None, errors: float) -> str:
    return f"{log_loss:.0f} / {squared_error:.0f} / {errors:.0f}"


if __name__ == "__main__":
    main("word_weights")

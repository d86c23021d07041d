"""Words, weights, C and document length behind the paper's pattern for the SVM.

python -m studies.word_weights [--quick]    needs Reuters-21578; about ten minutes
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from bayescal.families import asymmetric_laplace
from bayescal.text.classifiers import linear_svm
from bayescal.text.reuters_scores import TOPICS
from studies.command import Options, main
from studies.papers.corpora import fetch_reuters21578
from studies.papers.methods import METHODS, Method, maximum_likelihood
from studies.papers.sigir2003.experiment import classifiers
from studies.papers.sigir2003.scores import WORD, TopicScores, decide, score_topics
from studies.papers.sigir2003.table import MEASURES, PUBLISHED, totals_table
from studies.reporting import fill, markdown, with_error, write_page, write_table

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
    write_page("word_weights", options.out, page(options.out))


def page(folder: Path) -> str:
    """Return the page: what training and test documents show of every setting."""
    table, folds = (pd.read_csv(folder / f"word_weights{which}.csv") for which in ("", "_folds"))
    shown = table.sort_values(["words", "documents of length", "cv errors"])
    return fill(
        "word_weights", folder, chosen=chosen(table), table=markdown(tested(shown)), **spread(folds)
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
    """Return the figures of a setting on training documents and on test documents."""
    svm = linear_svm(weights=weights, normalise=LENGTHS[length], cost=cost)
    scores = score_topics(corpus, topics, {"linear_svm": svm}, jobs=jobs, word=WORDS[words])
    arguments = {"words": words, "weights": weights, "documents of length": length, "C": cost}
    totals = totals_table(decide(methods(), scores)).set_index("method")
    test = {
        f"{method} {measure}": float(totals.loc[method, measure])
        for method in totals.index
        for measure in ("log_loss", "squared_error", "errors")
    }
    return arguments | of_training(scores) | test


def methods() -> dict[str, Method]:
    """Return the paper's methods, and A.Laplace with the paper's candidates for the mode."""
    letter = partial(
        maximum_likelihood, family="asymmetric_laplace", candidates="bennett", scale_floor=None
    )
    return {n: METHODS[n] for n in COMPARED} | {CANDIDATES: Method(CANDIDATES, "paper", letter)}


def of_training(scores: list[TopicScores]) -> dict[str, float]:
    """Return cross-validated errors at 0, and the figures of earn in the paper's figure 4."""
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


def spread(folds: pd.DataFrame) -> dict[str, str]:
    """Return the mean log-loss and errors of A.Laplace less LogReg's over splits, as text."""
    wide = folds.pivot(index="seed", columns="method", values=list(MEASURES))
    apart = {each: wide[each]["A.Laplace"] - wide[each]["LogReg"] for each in MEASURES}
    return {
        f"split_{name}": with_error(apart[name].mean(), apart[name].sem(), 1)
        for name in ("log_loss", "errors")
    }


def chosen(table: pd.DataFrame) -> str:
    """Return the settings whose margins fill the axis of the paper's figure 4, -15 to 15."""
    inner = table[table["words"] == "inner"]
    fits = inner["least margin"].between(-15, -10) & inner["largest margin"].between(10, 15)
    return " and ".join(
        f"`{row['weights']}` with C = {row['C']:g}" for _, row in inner[fits].iterrows()
    )


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

"""The Reuters experiment of the SIGIR 2003 paper, and its repetition with few positives a topic.

`run` scores, calibrates and tabulates the corpus. `run_small_data` calibrates random subsets of the
embedded scores, with 3 to 100 positives a topic.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bayescal.metrics import losses
from bayescal.support.validation import Floats
from bayescal.text.reuters_scores import CLASSIFIERS, TOPICS, load_reuters_scores
from studies.command import spread_over
from studies.papers.command import blame_arguments, markdown_table, read_corpus, show
from studies.papers.methods import (
    METHODS,
    Labels,
    Method,
    Problem,
    SeparableWarning,
    installed_methods,
)
from studies.papers.sigir2003.figures import draw_figures, learning_curves
from studies.papers.sigir2003.scores import (
    Decisions,
    TopicScores,
    decide,
    largest_topics,
    score_topics,
)
from studies.papers.sigir2003.table import (
    MEASURES,
    PUBLISHED,
    PUBLISHED_MARKS,
    marks,
    sign_tests,
    totals_table,
)

if TYPE_CHECKING:
    import pandas as pd


PAPER_TOPICS = 10
# What the paper's figures show of the SVM: margins from -15 to 15, so documents that are not of
# length 1; chosen by training documents alone, see docs/validation/word_weights.md.
SVM_WEIGHTS, SVM_COST = "log_tf", 0.1


@dataclass(frozen=True)
class Reproduction:
    """The tables of the experiment.

    Attributes
    ----------
    totals : pandas.DataFrame
        A row a classifier and method; see `totals_table`.
    tests : pandas.DataFrame
        A row a classifier, measure and pair of methods; see `sign_tests`.
    marks : dict of (classifier, method, measure) to str
        The best of the paper's methods in each measure, and the paper's mark of it.
    """

    totals: pd.DataFrame
    tests: pd.DataFrame
    marks: dict[tuple[str, str, str], str]


def classifiers(
    weights: str = SVM_WEIGHTS, cost: float = SVM_COST, *, normalise: bool = False, seed: int = 0
) -> dict[str, Any]:
    """Return the paper's two classifiers of documents; see `bayescal.text.classifiers`."""
    from bayescal.text.classifiers import linear_svm, make_classifier

    svm = linear_svm(weights=weights, cost=cost, normalise=normalise, random_state=seed)
    return {"naive_bayes": make_classifier("naive_bayes"), "linear_svm": svm}


def decide_each(
    methods: Mapping[str, Method], scores: Sequence[TopicScores]
) -> dict[str, Decisions]:
    """Return the log-odds of each classifier's test documents, by method."""
    names = list(dict.fromkeys(topic.classifier for topic in scores))
    return {
        name: decide(methods, [topic for topic in scores if topic.classifier == name])
        for name in names
    }


def tabulate(decisions: Mapping[str, Decisions]) -> Reproduction:
    """Return the paper's table, with the sign tests of all pairs and the marks of the best."""
    import pandas as pd

    totals = {name: totals_table(each) for name, each in decisions.items()}
    tests = {name: sign_tests(each) for name, each in decisions.items()}
    found = {}
    for name, table in totals.items():
        paper = table[table["method"].isin(PUBLISHED.get(name, {}))]
        for (method, measure), mark in marks(paper, tests[name]).items():
            found[name, method, measure] = mark
    return Reproduction(pd.concat(totals.values()), pd.concat(tests.values()), found)


def as_printed(
    found: Reproduction, classifier: str, *, with_paper: bool = True, bold: str = ""
) -> pd.DataFrame:
    """Return one classifier's table as text: figures beside the paper's, the best ones marked.

    Parameters
    ----------
    found : Reproduction
        The tables.
    classifier : str
        Which.
    with_paper : bool
        Whether to show the paper's figures, which are of the ten largest topics.
    bold : str
        What surrounds the best figures, such as "**".
    """
    import pandas as pd

    rows = []
    table = found.totals[found.totals["classifier"] == classifier]
    for row in table.to_dict("records"):
        cells = {"method": str(row["method"])}
        for measure in MEASURES:
            title, digits = measure.replace("_", " "), 0 if measure == "errors" else 2
            text = _figure(row[measure], digits)
            mark = found.marks.get((classifier, cells["method"], measure))
            cells[title] = text if mark is None else f"{bold}{text}{bold}{mark}"
            if with_paper:
                paper = _figure(row[f"published_{measure}"], digits)
                own = PUBLISHED_MARKS.get((classifier, cells["method"], measure), "")
                cells[f"{title}, paper"] = paper + own
        rows.append(cells)
    return pd.DataFrame(rows)


def _figure(value: float, digits: int) -> str:
    if math.isnan(value):
        return "-"
    # A tail without a floor can cost any number of bits.
    return f"{value:.{digits}f}" if value < 1e7 else f"{value:.1e}"


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
    """Return the total log-loss in bits over ten topics' test documents.

    Parameters
    ----------
    repeats : int
        Random subsets of every size; all methods see the same ones.
    sizes : sequence of int, optional
        Positives a topic, by default 3, 5, 10, 20, 50 and 100; negatives in proportion.
    classifiers : sequence of str
        Of "naive_bayes" and "linear_svm".
    methods : iterable of str, optional
        Names in `studies.papers.methods.METHODS`; by default all that are installed.
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
    """Return means over repeats, and their standard errors.

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


def few_positives(
    label: NDArray[np.int64], n_positive: int, rng: np.random.Generator
) -> NDArray[np.bool_]:
    """Return a mask of n_positive positives, and of negatives in proportion.

    At most half of either class, so that others are left to test on.

    Examples
    --------
    >>> label = np.repeat([1, 0], [10, 40])
    >>> mask = few_positives(label, 3, np.random.default_rng(0))
    >>> int(mask[label == 1].sum()), int(mask[label == 0].sum())
    (3, 12)
    """
    mask = np.zeros(label.size, dtype=bool)
    in_proportion = round(n_positive * (label == 0).sum() / label.sum())
    for value, size in ((1, n_positive), (0, in_proportion)):
        where = np.flatnonzero(label == value)
        mask[rng.choice(where, min(size, where.size // 2), replace=False)] = True
    return mask


TITLES = {"naive_bayes": "Naive Bayes", "linear_svm": "Linear SVM"}
LEGEND = (
    "Bold in the file: the best of the paper's methods. * better than all others in a two-sided"
    " micro sign test at p = .01; † than all but raw; ‡ than all but A.Gauss and raw."
)


def run(
    *,
    out: Path,
    jobs: int,
    seed: int,
    data: Path | None,
    topics: int,
    weights: str,
    cost: float,
    normalise: bool,
    methods: str,
) -> None:
    """Write the totals, the sign tests of all pairs, and the figures."""
    chosen = installed_methods(*(("paper",) if methods == "paper" else ()))
    corpus = read_corpus(data)
    with blame_arguments():
        names = largest_topics(corpus, topics)
        both = classifiers(weights, cost, normalise=normalise, seed=seed)
    print(f"Scoring {len(corpus)} documents: {len(names)} topics, two classifiers ...")
    scores = score_topics(corpus, names, both, random_state=seed, jobs=jobs)
    print(f"Calibrating by {len(chosen)} methods ...")
    decisions = decide_each(chosen, scores)
    found = tabulate(decisions)
    with_paper = topics == PAPER_TOPICS
    for name in both:
        title = f"{TITLES[name]}: totals over {decisions[name].truth.size} decisions"
        table = as_printed(found, name, with_paper=with_paper)
        show(f"{title}, log-loss in bits", table, LEGEND)
    out.mkdir(parents=True, exist_ok=True)
    found.totals.to_csv(out / "reuters.csv", index=False, float_format="%.8g")
    found.tests.to_csv(out / "reuters_sign_tests.csv", index=False, float_format="%.6g")
    bold = {name: as_printed(found, name, with_paper=with_paper, bold="**") for name in both}
    _write_page(bold, out / "reuters.md")
    first = {each.classifier: each for each in scores if each.topic == names[0]}
    for name, figure in draw_figures(first).items():
        figure.savefig(out / f"{name}.png", metadata={"Software": None})
    print(f"Tables, sign tests and figures are in {out}.")


def run_small_data(*, out: Path, jobs: int, seed: int, repeats: int) -> None:
    """Write every method's log-loss by the number of positives, and the learning curves."""
    print(f"Calibrating {repeats} random subsets of each size ...")
    table = learning_table(totals_by_size(repeats, jobs=jobs, seed=seed))
    shown = {str(name): wide(part) for name, part in table.groupby("classifier", sort=False)}
    for name, each in shown.items():
        title = f"{TITLES[name]}: log-loss in bits, mean of {repeats} repeats"
        show(f"{title} ± standard error", each)
    out.mkdir(parents=True, exist_ok=True)
    table.to_csv(out / "small_data.csv", index=False, float_format="%.6g")
    _write_page(shown, out / "small_data.md")
    learning_curves(table).savefig(out / "small_data.png", metadata={"Software": None})
    print(f"The tables and the learning curves are in {out}.")


def _write_page(tables: Mapping[str, pd.DataFrame], path: Path) -> None:
    parts = [f"## {TITLES[name]}\n\n{markdown_table(table)}\n" for name, table in tables.items()]
    path.write_text("\n".join(parts), encoding="utf-8")

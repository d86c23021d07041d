"""The experiment as a whole: from a corpus to the tables, for the command and for studies."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bayescal.methods import Method
from bayescal.reproduce.corpus_scores import TopicScores
from bayescal.reproduce.decisions import Decisions, decide
from bayescal.reproduce.published import PUBLISHED, PUBLISHED_MARKS
from bayescal.reproduce.table import MEASURES, marks, sign_tests, totals_table

if TYPE_CHECKING:
    import pandas as pd

PAPER_TOPICS = 10
# What the paper's figures show of the SVM: margins from -15 to 15, so documents that are not of
# length 1; chosen by training documents alone, see docs/validation/word_weights.md.
SVM_WEIGHTS, SVM_COST = "log_tf", 0.1


@dataclass(frozen=True)
class Reproduction:
    """
    The tables of the experiment.

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
    from bayescal.text.classifiers import linear_svm, naive_bayes

    svm = linear_svm(weights=weights, cost=cost, normalise=normalise, random_state=seed)
    return {"naive_bayes": naive_bayes(), "linear_svm": svm}


def decide_each(
    methods: Mapping[str, Method], scores: Sequence[TopicScores]
) -> dict[str, Decisions]:
    """Return what methods say of each classifier's test documents."""
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
    """
    Return one classifier's table as text: figures beside the paper's, the best ones marked.

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

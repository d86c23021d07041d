"""Everything that a report says, gathered topic by topic."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import special

from bayescal.fitted.documents import Documents
from bayescal.fitted.many import problems_of_each
from bayescal.fitted.problem import Calibrator, FittedProblem, Problems
from bayescal.formulas.block import Block
from bayescal.report.grid import Size
from bayescal.report.held_out import predict
from bayescal.report.labelled import read_labelled, read_labelled_topics
from bayescal.report.packing import unpacked
from bayescal.report.provenance import describe_run
from bayescal.report.topic import PRIORS, describe_topic
from bayescal.report.totals import Totals
from bayescal.validation import Floats

Source = Calibrator | Mapping[str, Calibrator]


@dataclass(frozen=True)
class Row:
    """A topic in the table of topics; `cells` in the order of `Contents.columns`."""

    name: str
    cells: tuple[float | int | None, ...]
    verdict: str


@dataclass(frozen=True)
class Contents:
    """
    Everything that a report says.

    Attributes
    ----------
    data : dict
        What the page draws and computes with.
    rows : list of Row
        The topics.
    columns : tuple of str
        Of the rows' cells.
    facts : dict of str to str
        About the data.
    problems : int
        How many topics have one.
    verdict : dict or None
        On the calibration of all held-out predictions: verdict, calibrated, pvalue.
    off : tuple of int
        How many topics' held-out predictions are off by themselves, of how many that have some.
    run : dict
        Provenance.
    hashes : dict of str to str
        Of the scores fitted and held out.
    blocks : list of Block
        The model; of several with the same settings what they have in common.
    """

    data: dict[str, Any]
    rows: list[Row]
    columns: tuple[str, ...]
    facts: dict[str, str]
    problems: int
    verdict: dict[str, Any] | None
    off: tuple[int, int]
    run: dict[str, dict[str, str]]
    hashes: dict[str, str]
    blocks: list[Block]

    @property
    def draws(self) -> int:
        """Return how many draws the page computes with."""
        return int(unpacked(self.data["topics"][0]["draws"]).shape[0])


AXES = {
    "scores": "score",
    "log_odds": "score (log-odds)",
    "probabilities": "log-odds of the score (a probability)",
}
COLUMNS = ("Positives", "Negatives", "Mean P(+)", "Mean band width", "Mean shift from MLE")
TEST_COLUMNS = (
    "Held out",
    "Held-out positives",
    "Expected",
    "p, calibrated",
    "Log-loss",
    "Log-loss, MLE",
)


def gather(source: Source, *, test: Any, fitted: Any, level: float) -> Contents:
    """
    Return what a report says; see `document.write_report`.

    Raises
    ------
    ValueError
        If scores or labels given are not as described.
    """
    problems = _problems_of(source)
    first = next(iter(problems.values()))
    held_out = _held_out(problems, first, test)
    fitted = _fitted(problems, first, fitted)
    seen = Totals()
    topics, rows = [], []
    size = Size.of(len(problems))
    for name, problem in problems.items():
        if name in fitted:
            problem = replace(problem, documents=fitted[name])
        mine = held_out.get(name)
        found = None if mine is None else predict(problem, mine)
        topic = describe_topic(problem, found, level, size)
        seen.add(problem, mine, found)
        topics.append(topic)
        rows.append(_row(problem, topic, with_test=bool(held_out)))
    tested = seen.reliability(level)
    data = {
        "level": level,
        "classes": [str(label) for label in first.labels.tolist()],
        "axis": AXES[first.scores_are],
        "priors": PRIORS.tolist(),
        "topics": topics,
        "test": tested if len(topics) > 1 else None,
    }
    return Contents(
        data=data,
        rows=rows,
        columns=(*COLUMNS, *(TEST_COLUMNS if held_out else ())),
        facts=seen.facts(data["classes"], tested),
        problems=sum(bool(topic["problems"]) for topic in topics),
        verdict=None if tested is None else tested["point"],
        off=_off(topics),
        run=describe_run(first.tree),
        hashes={k: v for k, v in seen.hashes().items() if v},
        blocks=first.describe(several=isinstance(source, Mapping) and len(problems) > 1),
    )


def _off(topics: list[dict[str, Any]]) -> tuple[int, int]:
    found = [topic["test"]["point"]["calibrated"] for topic in topics if topic["test"]]
    return found.count(False), len(found)


def _problems_of(source: Source) -> Problems:
    if not isinstance(source, Mapping):
        return source.fitted_problems()
    if not source:
        raise ValueError("calibrators must hold at least one fitted calibrator, got none.")
    return problems_of_each(source)


def _held_out(problems: Problems, first: FittedProblem, test: Any) -> dict[Any, Documents]:
    if test is None:
        return {}
    if problems.by_topic:
        return read_labelled_topics(test, first.labels, problems, scores_are=first.scores_are)
    return {first.name: read_labelled(test, first.labels, scores_are=first.scores_are)}


def _fitted(problems: Problems, first: FittedProblem, given: Any) -> dict[Any, Documents]:
    """Return the documents fitted, where the calibrator does not keep them and they are given."""
    if given is None:
        return {}
    if first.documents.known:
        raise ValueError("fitted is for a TopicCalibrator: a ScoreCalibrator keeps its scores.")
    return read_labelled_topics(given, first.labels, problems, "fitted")


def _row(problem: FittedProblem, topic: dict[str, Any], *, with_test: bool) -> Row:
    share = np.array(topic["share"])
    share = share / share.sum()

    def p(name: str) -> Floats:
        values = [np.nan if value is None else value for value in topic[name]]
        return np.asarray(special.expit(np.array(values)))

    mean = float(share @ p("point"))
    width = float(share @ (p("upper") - p("lower"))) if "upper" in topic else None
    apart = float(share @ np.abs(p("point") - p("mle"))) if "mle" in topic else None
    cells = [problem.counts[1], problem.counts[0], mean, width, apart]
    if with_test:
        test = topic["test"] or {}
        names = ("n", "positives", "expected", "pvalue")
        cells += [test["point"][each] if test else None for each in names]
        cells += [test[each]["log_loss"] if each in test else None for each in ("point", "mle")]
    return Row(problem.name, tuple(cells), "; ".join(topic["problems"]))

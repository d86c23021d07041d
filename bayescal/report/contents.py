"""Everything that a report says, gathered topic by topic."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from bayescal.fitted.documents import Documents
from bayescal.fitted.many import problems_of_each
from bayescal.fitted.problem import Calibrator, FittedProblem, Problems, problems_of
from bayescal.formulas.block import Block
from bayescal.report.answer import Answer, answer_of
from bayescal.report.grid import Size
from bayescal.report.held_out import predict
from bayescal.report.labelled import read_labelled, read_labelled_topics
from bayescal.report.packing import unpacked
from bayescal.report.provenance import describe_run
from bayescal.report.selection import Asked
from bayescal.report.topic import PRIORS, describe_topic
from bayescal.report.topic_table import Row, choice_columns, fact_columns, ranked, row_of
from bayescal.report.totals import Totals
from bayescal.report.words import page_words

Source = Calibrator | Mapping[str, Calibrator]


@dataclass(frozen=True)
class Contents:
    """
    Everything that a report says.

    Attributes
    ----------
    data : dict
        What the page draws and computes with.
    rows : list of Row
        The topics, in the order in which a user may look at them.
    choice_columns, fact_columns : tuple of str
        Headings of the rows' cells.
    facts : dict of str to str
        About the data.
    problems : int
        How many topics have one.
    answer : Answer
        Whether the probabilities are right.
    asked : Asked
        At which threshold, and for which recall, the tables tell what is taken.
    run : dict
        Provenance.
    hashes : dict of str to str
        Of the scores fitted and held out.
    blocks : list of Block
        The model; of several with the same settings what they have in common.
    """

    data: dict[str, Any]
    rows: list[Row]
    choice_columns: tuple[str, ...]
    fact_columns: tuple[str, ...]
    facts: dict[str, str]
    problems: int
    answer: Answer
    asked: Asked
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


def gather(
    source: Source,
    *,
    test: Any,
    fitted: Any,
    level: float,
    threshold: float | None = None,
    recall: float = 0.9,
) -> Contents:
    """
    Return what a report says; see `document.write_report`.

    Raises
    ------
    ValueError
        If scores or labels given are not as described.
    """
    problems = _problems_of(source)
    if not problems:
        raise ValueError(
            "a report needs a topic, and this calibrator has none: add one with add_topics."
        )
    first = next(iter(problems.values()))
    held_out = _held_out(problems, first, test)
    fitted = _fitted(problems, first, fitted)
    asked = Asked(_internal(threshold, first), recall, level)
    seen = Totals()
    topics: list[dict[str, Any]] = []
    rows: list[Row] = []
    size = Size.of(len(problems))
    for name, problem in problems.items():
        if name in fitted:
            problem = replace(problem, documents=fitted[name])
        mine = held_out.get(name)
        found = None if mine is None else predict(problem, mine)
        topic = describe_topic(problem, found, asked, size)
        seen.add(problem, mine, found)
        topics.append(topic)
        rows.append(row_of(len(rows), problem, topic, with_test=bool(held_out)))
    tested = seen.reliability(level)
    data = {
        "level": level,
        "classes": [str(label) for label in first.labels.tolist()],
        "axis": AXES[first.scores_are],
        "words": page_words(),
        "recall": recall,
        "priors": PRIORS.tolist(),
        "topics": topics,
        "test": tested if len(topics) > 1 else None,
    }
    return Contents(
        data=data,
        rows=ranked(rows),
        choice_columns=choice_columns(asked),
        fact_columns=fact_columns(with_test=bool(held_out)),
        facts=seen.facts(data["classes"], tested),
        problems=sum(bool(topic["problems"]) for topic in topics),
        answer=answer_of(None if tested is None else tested["point"], _off(topics)),
        asked=asked,
        run=describe_run(first.tree),
        hashes={k: v for k, v in seen.hashes().items() if v},
        blocks=first.describe(several=isinstance(source, Mapping) and len(problems) > 1),
    )


def _internal(threshold: float | None, first: FittedProblem) -> float | None:
    """Return a threshold that a user gave on the scale that the calibration works on."""
    if threshold is None:
        return None
    return float(first.read([threshold], "threshold")[0])


def _off(topics: list[dict[str, Any]]) -> tuple[int, int]:
    found = [topic["test"]["point"]["calibrated"] for topic in topics if topic["test"]]
    return found.count(False), len(found)


def _problems_of(source: Source) -> Problems:
    if not isinstance(source, Mapping):
        return problems_of(source)
    if not source:
        raise ValueError("calibrators must hold at least one fitted calibrator, got none.")
    return problems_of_each(source)


def _held_out(problems: Problems, first: FittedProblem, test: Any) -> dict[Any, Documents]:
    if test is None:
        return {}
    if problems.by_topic:
        return read_labelled_topics(test, first, problems)
    return {first.name: read_labelled(test, first)}


def _fitted(problems: Problems, first: FittedProblem, given: Any) -> dict[Any, Documents]:
    """Return the documents fitted, where the calibrator does not keep them and they are given."""
    if given is None:
        return {}
    if first.documents.known:
        raise ValueError("fitted is for a TopicCalibrator: a ScoreCalibrator keeps its scores.")
    return read_labelled_topics(given, first, problems, "fitted")

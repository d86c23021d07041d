"""Tables and answers of a report: the verdict on the probabilities, documents to read, topics."""

import math
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np
from scipy import special, stats

from bayescal.fitting.problems.problem import FittedProblem, Problems
from bayescal.report.rendering import Cell, numbers
from bayescal.report.topic import ReadingGoal
from bayescal.support.condensing import ScoreCounts
from bayescal.support.intervals import percent
from bayescal.support.validation import Floats

# The verdict of held-out documents.

# Level of one topic's test, its false positive rate.
BY_CHANCE = 0.05
UNKNOWN = "Nobody can tell yet: no held-out documents were given."
ASK_FOR_LABELS = (
    "Only documents whose classes are known, and which the fit has not seen, can tell whether the"
    " probabilities are right. What to do: label some two hundred documents or more, drawn at"
    " random from those that the probabilities are for, and write this report again with them."
)


@dataclass(frozen=True)
class Answer:
    """The answer to whether the probabilities are right."""

    # "good": no sign of errors; "warning": a sign; "unknown": too few documents or fitted labels;
    # "missing": no held-out documents
    state: str
    headline: str  # the answer in a sentence
    text: str  # the evidence and the advice


def answer_of(tested: dict[str, Any] | None, off: tuple[int, int]) -> Answer:
    """Return the answer for all held-out documents together."""
    if tested is None:
        return Answer("missing", UNKNOWN, ASK_FOR_LABELS)
    number, topics = off
    text = tested["verdict"]
    # Topics have no common prior to set; each has its own advice.
    text += _apart(number, topics) if topics > 1 else f" {tested['advice']}"
    answer = of_outcome(tested["outcome"], text.strip(), informative=tested["informative"])
    if answer.state == "warning":
        return answer
    if topics > 1 and stats.binom.sf(number - 1, topics, BY_CHANCE) < BY_CHANCE:
        headline = (
            f"Not for every topic: {number} of {topics} are off, though all together are not."
        )
        return Answer("warning", headline, text)
    return answer


def of_outcome(outcome: str, text: str, *, informative: bool) -> Answer:
    """Return the answer for a verdict's outcome; see `bayescal.metrics`."""
    if outcome == "off":
        return Answer("warning", "No: held-out documents show that they are off.", text)
    if outcome == "uncertain":
        headline = "Single values are off, but the bands may be right: fit more labels."
        return Answer("unknown", headline, text)
    if not informative:
        return Answer("unknown", "The held-out documents are too few to tell.", text)
    return Answer("good", "Yes, as far as the held-out documents can tell.", text)


def _apart(number: int, topics: int) -> str:
    which = " The table of topics says which." if number else ""
    return (
        f" Tested one by one, {number} of {topics} topics are off at 5 %; by chance alone it would"
        f" be {BY_CHANCE * topics:.2g} or so.{which}"
    )


# An unlabelled collection: the numbers of `bayescal decide`.

COLLECTION = (
    "Documents",
    "To read",
    "Found",
    "Missed",
    "To read for the recall",
    "Down to score",
    "Found by then",
    "Missed by then",
)
EVEN = 0.5  # probability of the default threshold


@dataclass(frozen=True)
class CollectionRow:
    """Positives found and missed by reading one topic's documents."""

    name: str
    index: int | None  # position among the calibrator's topics; None for a new topic
    # Rows of `rates_by_topic` at the threshold and of `thresholds_by_topic` for the recall
    at: dict[str, Any]
    wanted: dict[str, Any]

    @property
    def cells(self) -> tuple[Cell, ...]:
        """Return the cells of the row, in the order of `COLLECTION`."""
        at, wanted = self.at, self.wanted

        def cell(row: dict[str, Any], name: str, shown: str = "count") -> Cell:
            return Cell(row[name], row[f"{name}_lower"], row[f"{name}_upper"], shown)

        return (
            Cell(at["documents"], shown="count"),
            Cell(at["selected"], shown="count"),
            cell(at, "found"),
            cell(at, "missed"),
            Cell(wanted["selected"], shown="count"),
            cell(wanted, "threshold", "short"),
            cell(wanted, "found"),
            cell(wanted, "missed"),
        )


def read_collection(
    problems: Problems, collection: Any, threshold: float | None, recall: float, level: float
) -> list[CollectionRow]:
    """Return positives found in a collection at a threshold, and at that for a recall."""
    from bayescal import decisions

    counts = None
    if isinstance(collection, ScoreCounts):
        collection, counts = collection.scores, collection.counts
    scores, topics = _scores_and_topics(collection, problems)
    source = SimpleNamespace(fitted_problems=lambda: problems)
    common: dict[str, Any] = {"level": level, "sample_weight": counts, "random_state": 0}
    probability = EVEN if threshold is None else None
    at = decisions.rates_by_topic(
        source, scores, topics, probability=probability, threshold=threshold, **common
    )
    wanted = decisions.thresholds_by_topic(source, scores, topics, recall=recall, **common)
    positions = {str(name): k for k, name in enumerate(problems)}
    rows = at.to_dict("index")
    return [
        CollectionRow(str(name), positions.get(str(name)), _plain(rows[name]), _plain(row))
        for name, row in wanted.to_dict("index").items()
    ]


def _plain(row: dict[Any, Any]) -> dict[str, Any]:
    return {str(name): numbers(value, 8) for name, value in row.items()}


def _scores_and_topics(collection: Any, problems: Problems) -> tuple[Any, Any]:
    if isinstance(collection, tuple) and len(collection) == 2:
        return collection
    if not hasattr(collection, "columns"):
        return collection, None
    wanted = ("score", "topic") if problems.by_topic else ("score",)
    if missing := [name for name in wanted if name not in collection.columns]:
        raise ValueError(
            f"collection must be a DataFrame with columns {', '.join(wanted)}, or arrays; it lacks"
            f" {', '.join(missing)}."
        )
    topics = np.asarray(collection["topic"]) if problems.by_topic else None
    return np.asarray(collection["score"]), topics


# The table of topics: numbers for decisions first, then those of the fit and the test.

FITTED = (
    "Negatives",
    "Mean probability",
    "Mean width of the band",
    "Mean distance from maximum likelihood",
)
HELD_OUT = (
    "Held-out documents",
    "Held-out positives",
    "Expected positives",
    "p-value: probabilities right",
    "Log-loss",
    "Log-loss, maximum likelihood",
)


@dataclass(frozen=True)
class TopicRow:
    """A topic in the tables of topics."""

    index: int  # position among the calibrator's topics
    name: str
    choices: tuple[Cell, ...]  # numbers for decisions, in the order of `choice_columns`
    facts: tuple[Cell, ...]  # numbers of the fit and the test, in the order of `fact_columns`
    right: bool | None  # verdict of held-out documents; None without any
    verdict: str  # problems of its scores and draws; empty without any


def choice_columns(asked: ReadingGoal) -> tuple[str, ...]:
    """Return the headings of the numbers for decisions."""
    where = "where the probability is ½" if asked.threshold is None else "asked for"
    wanted = f"{percent(asked.recall)} recall"
    return (
        "Positives",
        f"Threshold {where}",
        "Precision there",
        "Recall there",
        "Uncertainty of that recall",
        f"Threshold for {wanted}",
        f"Precision at {wanted}",
    )


def fact_columns(*, with_test: bool) -> tuple[str, ...]:
    """Return the headings of the numbers of the fit and, if any, of held-out documents."""
    return (*FITTED, *(HELD_OUT if with_test else ()))


def row_of(
    index: int, problem: FittedProblem, topic: dict[str, Any], *, with_test: bool
) -> TopicRow:
    """Return the row of a topic from its problem and its data for the page."""
    test = topic["test"]
    facts = _fitted(problem, topic) + (_tested(test or {}) if with_test else ())
    right = None if test is None else test["point"]["calibrated"]
    verdict = "; ".join(topic["problems"])
    return TopicRow(
        index, problem.name, _choices(problem, topic["selection"]), facts, right, verdict
    )


def ranked(rows: list[TopicRow]) -> list[TopicRow]:
    """Return rows by falling uncertainty of recall, ties by rising number of positives."""

    def key(row: TopicRow) -> tuple[float, float]:
        positives, uncertainty = row.choices[0].value, row.choices[4].value
        return -(uncertainty or 0.0), positives or 0.0

    return sorted(rows, key=key)


def _choices(problem: FittedProblem, selection: dict[str, Any]) -> tuple[Cell, ...]:
    at, wanted = selection["at"], selection["wanted"]
    positives = Cell(problem.counts[1])
    several = problem.draws is not None

    def cell(values: list[float | None] | None, shown: str = "percent") -> Cell:
        if values is None:
            return Cell(None)
        value, lower, upper = (*values, None, None)[:3]
        return Cell(value, lower, upper, shown) if several else Cell(value, shown=shown)

    recall = cell(at and at["recall"])
    apart = None if recall.lower is None or recall.upper is None else recall.upper - recall.lower
    return (
        positives,
        cell(at and at["threshold"], "short"),
        cell(at and at["precision"]),
        recall,
        Cell(apart, shown="percent"),
        cell(wanted["threshold"], "short"),
        cell(wanted["precision"]),
    )


def _fitted(problem: FittedProblem, topic: dict[str, Any]) -> tuple[Cell, ...]:
    share = np.array(topic["share"])
    share = share / share.sum()

    def p(name: str) -> Floats:
        values = [math.nan if value is None else value for value in topic[name]]
        return np.asarray(special.expit(np.array(values)))

    mean = float(share @ p("point"))
    width = float(share @ (p("upper") - p("lower"))) if "upper" in topic else None
    apart = float(share @ np.abs(p("point") - p("mle"))) if "mle" in topic else None
    shares = (Cell(value, shown="percent") for value in (mean, width, apart))
    return (Cell(problem.counts[0]), *shares)


def _tested(test: dict[str, Any]) -> tuple[Cell, ...]:
    point, mle = test.get("point", {}), test.get("mle", {})
    names = ("n", "positives", "expected", "pvalue", "log_loss")
    return (*(Cell(point.get(name)) for name in names), Cell(mle.get("log_loss")))

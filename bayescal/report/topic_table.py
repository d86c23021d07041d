"""The table of topics: what a user decides by first, then what the fit and the test say."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import special

from bayescal.fitting.problems.problem import FittedProblem
from bayescal.report.topic import Asked
from bayescal.support.validation import Floats

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
class Cell:
    """A number with its interval, if it has one; None for a missing value."""

    # The number and the ends of its interval
    value: float | None
    lower: float | None = None
    upper: float | None = None


@dataclass(frozen=True)
class Row:
    """A topic in the tables of topics."""

    # Its place among the topics of the calibrator
    index: int
    # The topic
    name: str
    # What a user decides by, in the order of `choice_columns`
    choices: tuple[Cell, ...]
    # What the fit and the test say, in the order of `fact_columns`
    facts: tuple[Cell, ...]
    # Whether held-out documents find its probabilities right; None where there are none
    right: bool | None
    # What is wrong with its scores and draws; empty where nothing is
    verdict: str


def choice_columns(asked: Asked) -> tuple[str, ...]:
    """Return the headings of what a user decides by."""
    where = "where the probability is ½" if asked.threshold is None else "asked for"
    wanted = f"{100.0 * asked.recall:g} % recall"
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
    """Return the headings of what the fit, and held-out documents if there are any, say."""
    return (*FITTED, *(HELD_OUT if with_test else ()))


def row_of(index: int, problem: FittedProblem, topic: dict[str, Any], *, with_test: bool) -> Row:
    """Return the row of a topic; `topic` is what the page knows of it."""
    test = topic["test"]
    facts = _fitted(problem, topic) + (_tested(test or {}) if with_test else ())
    right = None if test is None else test["point"]["calibrated"]
    verdict = "; ".join(topic["problems"])
    return Row(index, problem.name, _choices(problem, topic["selection"]), facts, right, verdict)


def ranked(rows: list[Row]) -> list[Row]:
    """Return rows with the most uncertain recall first, and among equals the fewest positives."""

    def key(row: Row) -> tuple[float, float]:
        positives, uncertainty = row.choices[0].value, row.choices[4].value
        return -(uncertainty or 0.0), positives or 0.0

    return sorted(rows, key=key)


def _choices(problem: FittedProblem, selection: dict[str, Any]) -> tuple[Cell, ...]:
    at, wanted = selection["at"], selection["wanted"]
    positives = Cell(problem.counts[1])
    several = problem.draws is not None

    def cell(numbers: list[float | None] | None) -> Cell:
        return Cell(None) if numbers is None else Cell(*(numbers if several else numbers[:1]))

    recall = cell(at and at["recall"])
    apart = None if recall.lower is None or recall.upper is None else recall.upper - recall.lower
    return (
        positives,
        cell(at and at["threshold"]),
        cell(at and at["precision"]),
        recall,
        Cell(apart),
        cell(wanted["threshold"]),
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
    return tuple(map(Cell, (problem.counts[0], mean, width, apart)))


def _tested(test: dict[str, Any]) -> tuple[Cell, ...]:
    point, mle = test.get("point", {}), test.get("mle", {})
    names = ("n", "positives", "expected", "pvalue", "log_loss")
    return (*(Cell(point.get(name)) for name in names), Cell(mle.get("log_loss")))

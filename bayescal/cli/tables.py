"""Tables on the screen of what was fitted: parameters, calibrated probabilities, topics."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from string import ascii_lowercase
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.console import Group
from rich.table import Table
from rich.text import Text

from bayescal.cli.fitting import Calibrated, Curve, Problem, curve_at, flags, mle_log_odds
from bayescal.cli.layout import (
    MOST_TOPICS,
    add_columns,
    add_topic_column,
    counted,
    more_topics,
    new_table,
    number,
    percent,
    share,
    titled,
)
from bayescal.cli.settings import POINT_NAMES
from bayescal.support.validation import Floats

if TYPE_CHECKING:
    import pandas as pd

# Marks of a maximum-likelihood estimate that something moved off the optimum, and what they mean.
MARKS = {"": " ", "add_one": "+"}
NOTES = {
    "*": "* the guard against degenerate fits acts on this parameter",
    "+": "+ with one document of each class added: (positives + 1) / (documents + 2)",
}

# Tables of scores show these quantiles of each class: both classes' heads and tails, however rare
# the positives are.
SHOWN_QUANTILES = (0.05, 0.5, 0.95)


def parameter_table(one: Calibrated, level: float) -> Group:
    """Return the parameters of a fitted problem: maximum likelihood beside the posterior."""
    frame = one.fitted.parameters(level)
    negatives, positives = one.problem.counts
    counts = f"{counted(positives, 'positive')}, {counted(negatives, 'negative')}"
    about = f"{one.fitted.model}, {counts}"
    table = new_table()
    add_columns(table, ["class", "parameter"], justify="left")
    add_columns(table, ["MLE", *_inferred_headers(frame, level)])
    previous = ""
    records: list[dict[Any, Any]] = frame.to_dict("records")
    for (label, name), row in zip(frame.index, records, strict=True):
        mle = number(row["mle"]) + MARKS.get(row["guard"], "*")
        shown = "" if label == previous else str(label)
        table.add_row(Text(shown), name, mle, *_inferred_cells(row))
        previous = label
    marks = {MARKS.get(guard, "*") for guard in frame["guard"]}
    notes = [note for mark, note in NOTES.items() if mark in marks]
    return titled(_title(one, about), table, *notes)


def answer_table(one: Calibrated, level: float) -> Group:
    """Return a table of probabilities with bands at a few scores."""
    where, scores = shown_scores(one.problem)
    curve = curve_at(one.fitted, scores, level)
    negatives, positives = one.problem.counts
    positive = one.problem.table.classes[1]
    table = new_table()
    add_columns(table, ["score", "at", f"P({positive})"])
    add_columns(table, [f"{percent(level)} band"] if curve.band is not None else [])
    for k, score in enumerate(scores):
        cells = [number(score), where[k], share(curve.probability[k])]
        if curve.band is not None:
            cells.append(f"[{share(curve.band[k, 0])}, {share(curve.band[k, 1])}]")
        table.add_row(*cells)
    about = f"{counted(positives, 'positive')}, {counted(negatives, 'negative')}"
    notes = ["at: quantiles of the scores of negatives (-) and positives (+)", *_weights(one)]
    return titled(_title(one, about), table, *notes)


def _weights(one: Calibrated) -> list[str]:
    """Return a table of the weights of a combination's parts."""
    if one.fitted.parts is None:
        return []
    weights = one.fitted.parts["weight"].items()
    shown = ", ".join(f"{name} {weight:.2f}" for name, weight in weights)
    return [f"parts, weighed by leave-one-out predictive performance: {shown}"]


def curve_table(one: Calibrated, level: float) -> Group:
    """Return log-odds and probabilities at quantiles of the scores of each class."""
    where, scores = shown_scores(one.problem)
    columns = {"mle": Curve(mle_log_odds(one.fitted, scores))}
    if one.fitted.inference != "mle":
        columns[one.fitted.inference] = curve_at(one.fitted, scores, level)
    band = list(columns.values())[-1].band
    positive = one.problem.table.classes[1]
    about = f"P({positive}) at quantiles of the negatives (-) and positives (+)"
    table = new_table()
    add_columns(table, ["score", "at"])
    add_columns(table, [f"log-odds\n{POINT_NAMES[name]}" for name in columns])
    add_columns(table, [f"P\n{POINT_NAMES[name]}" for name in columns])
    add_columns(table, [f"P\n{percent(level)} band"] if band is not None else [])
    for k, score in enumerate(scores):
        cells = [number(curve.log_odds[k]) for curve in columns.values()]
        cells += [share(curve.probability[k]) for curve in columns.values()]
        if band is not None:
            cells.append(f"[{share(band[k, 0])}, {share(band[k, 1])}]")
        table.add_row(number(score), where[k], *cells)
    return titled(_title(one, about), table)


def topics_table(many: Sequence[Calibrated], level: float, how: str) -> Group:
    """Return topics in the order given, no more than fit on a screen or two."""
    shown = many[:MOST_TOPICS]
    flagged = [flag.partition(":")[0] for flag in flags(many)[:MOST_TOPICS]]
    marks = _marks(flagged)
    banded = any(one.curve.band is not None for one in many)
    band = f"{percent(level)} band"
    table = new_table()
    add_topic_column(table)
    add_columns(table, ["positives", "negatives", "mean P"])
    add_columns(table, ["undecided", f"mean width of\n{band}"] if banded else [])
    add_columns(table, ["note"] if marks else [], justify="left")
    for one, flag in zip(shown, flagged, strict=True):
        negatives, positives = one.problem.counts
        cells = [str(positives), str(negatives), share(one.curve.probability.mean())]
        cells += _undecided_cells(one) if banded else []
        table.add_row(Text(one.problem.name), *cells, *([marks.get(flag, "")] if marks else []))
    order, what = "those with the fewest positives first", "with as many positives or more"
    notes = [f"{mark}: {flag}" for flag, mark in marks.items()]
    if banded:
        order, what = "those with most undecided rows first", "with as many undecided rows or fewer"
        notes.insert(0, f"undecided: rows whose {band} holds 0.5, to look at, or to label")
    title = f"{counted(len(many), 'topic')} {how}; {order}"
    return titled(title, table, *more_topics(len(many), what), *notes)


def _undecided_cells(one: Calibrated) -> list[str]:
    """Count the undecided rows, and average the width of the band."""
    if one.undecided is None or one.curve.width is None:
        return ["", ""]
    return [f"{one.undecided:,d}", share(one.curve.width)]


def _marks(flagged: Sequence[str]) -> dict[str, str]:
    """Return a letter for each different flag, or two where there are many."""
    different = [flag for flag in dict.fromkeys(flagged) if flag]
    letters = ["", *ascii_lowercase]
    return {flag: letters[k // 26] + ascii_lowercase[k % 26] for k, flag in enumerate(different)}


def shown_scores(problem: Problem) -> tuple[list[str], Floats]:
    """Return scores across the range of both classes, in order, and which quantiles they are."""
    found = [
        (float(np.quantile(scores, q)), f"{sign} {percent(q)}")
        for sign, scores in zip("-+", problem.scores_by_class(), strict=True)
        for q in SHOWN_QUANTILES
    ]
    found.sort()
    return [where for _, where in found], np.array([score for score, _ in found])


def _inferred_headers(frame: pd.DataFrame, level: float) -> list[str]:
    if "median" in frame.columns:
        return ["posterior\nmedian", f"\n{percent(level)} band", "\nR-hat", "\nESS"]
    return ["MAP"] if "map" in frame.columns else []


def _inferred_cells(row: Mapping[str, float]) -> list[str]:
    if "median" not in row:
        return [number(row["map"])] if "map" in row else []
    rhat = "-" if math.isnan(row["rhat"]) else f"{row['rhat']:.3f}"
    band = f"[{number(row['lower'])}, {number(row['upper'])}]"
    return [number(row["median"]), band, rhat, f"{row['ess_bulk']:.0f}"]


def _title(one: Calibrated, what: str) -> str:
    return f"{one.problem.topic}: {what}" if one.problem.topic else what


# Tables on the screen of what thresholds take and miss.


def rates_table(
    table: pd.DataFrame,
    positive: str,
    probability: float | None,
    threshold: float | None,
    level: float,
) -> Group:
    """Return precision, recall and misses at a threshold."""
    what = f"P({positive}) is {probability:g}" if probability is not None else ""
    what = what or f"score is {number(float(threshold or 0.0))}"
    order = "; topics that miss most positives first" if len(table) > 1 else ""
    shown = _table(table, ["taken", "precision", "recall", "missed"])
    for row in _rows(table):
        cells = [_of(row), _ranged(row, "precision"), _ranged(row, "recall"), _missed(row)]
        shown.add_row(*_topic(table, row), *cells)
    return titled(
        f"Documents whose {what} or more are taken{order}",
        shown,
        "precision: the share of positives among the documents taken",
        "recall: the share of all positives that is taken; missed: the number that is not",
        *_notes(table, level, "that miss as many or fewer"),
    )


def thresholds_table(
    table: pd.DataFrame, positive: str, recall: float, assurance: float | None, level: float
) -> Group:
    """Return thresholds for a wanted recall."""
    sure = "" if assurance is None else f" with probability {assurance:g}"
    order = "; topics with most to read first" if len(table) > 1 else ""
    shown = _table(table, ["to read", "down to score", f"P({positive})\nthere", "recall"])
    for row in _rows(table):
        cells = [_of(row), _ranged(row, "threshold", number), share(row["probability"])]
        shown.add_row(*_topic(table, row), *cells, _ranged(row, "recall"))
    return titled(
        f"Thresholds for a recall of {recall:g}{sure}{order}",
        shown,
        "to read: the documents of this score or more, which hold the recall",
        *_notes(table, level, "with as many to read or fewer"),
    )


def _table(table: pd.DataFrame, heads: list[str]) -> Table:
    shown = new_table()
    if _with_topics(table):
        add_topic_column(shown)
    add_columns(shown, heads)
    return shown


def _rows(table: pd.DataFrame) -> list[dict[Any, Any]]:
    return table.head(MOST_TOPICS).reset_index().to_dict("records")


def _topic(table: pd.DataFrame, row: dict[Any, Any]) -> list[Text]:
    return [Text(str(row["topic"]))] if _with_topics(table) else []


def _with_topics(table: pd.DataFrame) -> bool:
    return list(table.index) != [""]


def _of(row: dict[Any, Any]) -> str:
    return f"{row['selected']:,d} of {row['documents']:,d}"


def _missed(row: dict[Any, Any]) -> str:
    return f"{row['missed']:.3g} [{row['missed_lower']:.0f}, {row['missed_upper']:.0f}]"


def _ranged(row: dict[Any, Any], name: str, shape: Any = "{:.2f}".format) -> str:
    if row[name] != row[name]:
        return "-"
    return f"{shape(row[name])} [{shape(row[f'{name}_lower'])}, {shape(row[f'{name}_upper'])}]"


def _notes(table: pd.DataFrame, level: float, of_others: str) -> list[str]:
    return [
        f"in brackets: {percent(level)} intervals; neither the curve nor the labels are known",
        *more_topics(len(table), of_others),
    ]

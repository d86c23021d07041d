"""Tables on the screen: parameters, calibrated probabilities, losses."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from rich import box
from rich.console import Group
from rich.table import Table
from rich.text import Text

from bayescal.cli.curve import Curve, curve_at, mle_log_odds
from bayescal.cli.fitting import Calibrated
from bayescal.cli.problems import Problem
from bayescal.cli.settings import POINT_NAMES
from bayescal.validation import Floats

if TYPE_CHECKING:
    import pandas as pd

    from bayescal.metrics import Losses

# Marks of a maximum-likelihood estimate that something moved off the optimum, and what they mean.
MARKS = {"": " ", "add_one": "+"}
NOTES = {
    "*": "* the guard against degenerate fits acts on this parameter",
    "+": "+ with one document of each class added: (positives + 1) / (documents + 2)",
}
ALL_TOPICS = "all"

MOST_TOPICS = 40  # shown

# Tables of scores show these quantiles of each class: both classes' heads and tails, however rare
# the positives are.
SHOWN_QUANTILES = (0.05, 0.5, 0.95)


def parameter_table(one: Calibrated, level: float) -> Group:
    """Return the parameters of a fitted problem: maximum likelihood beside the posterior."""
    frame = one.summary(level)
    negatives, positives = (part.size for part in one.problem.scores_by_class())
    about = f"{one.calibrator.family}, {positives} positives, {negatives} negatives"
    table = new_table()
    add_columns(table, ["class", "parameter"], justify="left")
    add_columns(table, ["MLE", *_inferred_headers(frame, level)])
    previous = ""
    records: list[dict[Any, Any]] = frame.to_dict("records")
    for (label, name), row in zip(frame.index, records, strict=True):
        mle = _number(row["mle"]) + MARKS.get(row["guard"], "*")
        shown = "" if label == previous else str(label)
        table.add_row(Text(shown), name, mle, *_inferred_cells(row))
        previous = label
    marks = {MARKS.get(guard, "*") for guard in frame["guard"]}
    notes = [note for mark, note in NOTES.items() if mark in marks]
    return titled(_title(one, about), table, *notes)


def curve_table(one: Calibrated, level: float) -> Group:
    """Return log-odds and probabilities at quantiles of the scores of each class."""
    where, scores = shown_scores(one.problem)
    columns = {"mle": Curve(mle_log_odds(one.calibrator, scores), None, None)}
    if one.calibrator.inference_ != "mle":
        columns[one.calibrator.inference_] = curve_at(one.calibrator, scores, level)
    last = list(columns.values())[-1]
    positive = one.problem.table.classes[1]
    about = f"P({positive}) at quantiles of the negatives (-) and positives (+)"
    table = new_table()
    add_columns(table, ["score", "at"])
    add_columns(table, [f"log-odds\n{POINT_NAMES[name]}" for name in columns])
    add_columns(table, [f"P\n{POINT_NAMES[name]}" for name in columns])
    add_columns(table, [f"P\n{_percent(level)} band"] if last.lower is not None else [])
    for k, score in enumerate(scores):
        cells = [_number(curve.log_odds[k]) for curve in columns.values()]
        cells += [_probability(curve.probability[k]) for curve in columns.values()]
        if last.lower is not None and last.upper is not None:
            cells.append(f"[{_probability(last.lower[k])}, {_probability(last.upper[k])}]")
        table.add_row(_number(score), where[k], *cells)
    return titled(_title(one, about), table)


@dataclass(frozen=True)
class TopicRow:
    """
    A topic fitted with others.

    Attributes
    ----------
    topic : str
        Its name.
    positives, negatives : int
        Rows fitted.
    probability, width : float
        Means over all rows of the topic: of the probability, and of the width of its band.
    flag : str
        What is wrong with it, if anything; the table leaves out what follows a colon.
    """

    topic: str
    positives: int
    negatives: int
    probability: float
    width: float
    flag: str


def topics_table(rows: Sequence[TopicRow], level: float) -> Group:
    """Return topics fitted together in the order given, no more than fit on a screen or two."""
    table = new_table()
    add_columns(table, ["topic"], justify="left")
    add_columns(
        table, ["positives", "negatives", "mean P", f"mean width of\n{_percent(level)} band"]
    )
    flagged = any(row.flag for row in rows[:MOST_TOPICS])
    add_columns(table, [""] if flagged else [], justify="left")
    for row in rows[:MOST_TOPICS]:
        cells = [str(row.positives), str(row.negatives)]
        cells += [_probability(row.probability), _probability(row.width)]
        flag = [Text(row.flag.partition(":")[0])] if flagged else []
        table.add_row(Text(row.topic), *cells, *flag)
    left_out = len(rows) - MOST_TOPICS
    notes = [f"{left_out} more topics, all of them more certain"] if left_out > 0 else []
    title = f"{len(rows)} topics around their population, the least certain first"
    return titled(title, table, *notes)


def shown_scores(problem: Problem) -> tuple[list[str], Floats]:
    """Return scores across the range of both classes, in order, and which quantiles they are."""
    found = [
        (float(np.quantile(scores, q)), f"{sign} {_percent(q)}")
        for sign, scores in zip("-+", problem.scores_by_class(), strict=True)
        for q in SHOWN_QUANTILES
    ]
    found.sort()
    return [where for _, where in found], np.array([score for score, _ in found])


def losses_table(named: Sequence[tuple[str, Mapping[str, Losses]]], *, total: bool = True) -> Group:
    """
    Return the losses on test rows.

    Parameters
    ----------
    named : sequence of (topic, {method: Losses})
        Topics, and their losses by the name of the method.
    total : bool
        Whether to add the sums over topics, if there are several.
    """
    rows = list(named)
    with_topics = any(topic for topic, _ in rows)
    if total and len(rows) > 1:
        rows.append((ALL_TOPICS, sum_losses(losses for _, losses in rows)))
    table = new_table()
    add_columns(table, ["topic"] if with_topics else [], justify="left")
    add_columns(table, ["method"], justify="left")
    add_columns(table, ["rows", "log-loss", "a row", "squared error", "errors"])
    for topic, by_method in rows:
        for k, (method, one) in enumerate(by_method.items()):
            head = [Text("" if k else topic)] if with_topics else []
            table.add_row(*head, method, *_loss_cells(one), end_section=k + 1 == len(by_method))
    return titled("Losses on test rows (base-2 log-loss; sums, and bits a row)", table)


def sum_losses(many: Iterable[Mapping[str, Losses]]) -> dict[str, Losses]:
    """Return the sums over topics, of the methods that every topic has."""
    maps = list(many)
    common = [method for method in maps[0] if all(method in other for other in maps)]
    return {method: _sum([other[method] for other in maps]) for method in common}


def by_method(one: Calibrated) -> tuple[str, dict[str, Losses]]:
    """Return a fitted problem as a row of `losses_table`."""
    return one.problem.name, {POINT_NAMES[key]: value for key, value in one.losses.items()}


def _sum(parts: Sequence[Losses]) -> Losses:
    from bayescal.metrics import Losses

    return Losses(
        n=sum(part.n for part in parts),
        log_loss=math.fsum(part.log_loss for part in parts),
        squared_error=math.fsum(part.squared_error for part in parts),
        errors=sum(part.errors for part in parts),
    )


def _loss_cells(one: Losses) -> list[str]:
    # Without a guard one document alone can cost 1e12 bits.
    bits = f"{one.log_loss:.1f}" if one.log_loss < 1e6 else f"{one.log_loss:.1e}"
    mean = f"{one.log_loss / one.n:.4g}"
    return [str(one.n), bits, mean, f"{one.squared_error:.2f}", str(one.errors)]


def _inferred_headers(frame: pd.DataFrame, level: float) -> list[str]:
    if "median" in frame.columns:
        return ["posterior\nmedian", f"\n{_percent(level)} band", "\nR-hat", "\nESS"]
    return ["MAP"] if "map" in frame.columns else []


def _inferred_cells(row: Mapping[str, float]) -> list[str]:
    if "median" not in row:
        return [_number(row["map"])] if "map" in row else []
    rhat = "-" if math.isnan(row["rhat"]) else f"{row['rhat']:.3f}"
    band = f"[{_number(row['lower'])}, {_number(row['upper'])}]"
    return [_number(row["median"]), band, rhat, f"{row['ess_bulk']:.0f}"]


def _title(one: Calibrated, what: str) -> str:
    return f"{one.problem.topic}: {what}" if one.problem.topic else what


def new_table() -> Table:
    """Return an empty table."""
    # As narrow as it gets: parameters and curves fit into 80 columns.
    return Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0))


def titled(title: str, table: Table, *notes: str) -> Group:
    """Return a table below its title, with notes below it."""
    # Rich would wrap a title to the table's width, which may be small.
    return Group(Text(title, style="bold"), table, *(Text(note, style="dim") for note in notes))


def add_columns(table: Table, names: Iterable[str], justify: str = "right") -> None:
    """Add columns with these heads."""
    for name in names:
        table.add_column(Text(name), justify=justify, no_wrap=True)  # type: ignore[arg-type]


def _number(value: float) -> str:
    return f"{value:.4g}"


def _probability(value: float) -> str:
    return f"{value:.4f}" if value >= 0.001 else f"{value:.1e}"


def _percent(share: float) -> str:
    return f"{100 * share:g} %"

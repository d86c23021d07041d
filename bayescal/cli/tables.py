"""Tables on the screen: parameters, probabilities, topics, losses, verdicts, thresholds."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from string import ascii_lowercase
from typing import TYPE_CHECKING, Any

import numpy as np
from rich import box
from rich.console import Group
from rich.table import Table
from rich.text import Text

from bayescal.cli import predictions
from bayescal.cli.predictions import ALL_TOPICS, Calibrated, RowCurve
from bayescal.cli.scores import LeftOut, ScoreTable
from bayescal.cli.terminal import counted
from bayescal.support.files import printable
from bayescal.support.intervals import percent, readable
from bayescal.support.validation import Floats

if TYPE_CHECKING:
    import pandas as pd

    from bayescal.metrics import Losses
    from bayescal.sampling import ReviewEstimate

MOST_TOPICS = 40  # in a table
POINT_NAMES = {"mle": "MLE", "map": "MAP", "nuts": "posterior", "exact": "posterior"}

# Marks of maximum-likelihood estimates that were moved off the optimum, with notes.
MARKS = {"": " ", "add_one": "+"}
NOTES = {
    "*": "* the guard against degenerate fits acts on this parameter",
    "+": "+ with one document of each class added: (positives + 1) / (documents + 2)",
}

# Quantiles of each class in tables of scores: heads and tails of both, however rare positives are.
SHOWN_QUANTILES = (0.05, 0.5, 0.95)


# Layout of tables and formats of numbers.


def new_table(*names: str, words: Sequence[str] = (), topics: bool = False) -> Table:
    """Return an empty table with columns of numbers, after those of topics and of words."""
    # Narrow: parameters and curves fit into 80 columns.
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0))
    if topics:
        # Only names of topics wrap.
        table.add_column(_text("topic"), justify="left", overflow="fold", min_width=8)
    add_columns(table, words, text=True)
    add_columns(table, names)
    return table


def add_columns(table: Table, names: Iterable[str], *, text: bool = False) -> None:
    """Add columns of numbers, or of text."""
    for name in names:
        table.add_column(_text(name), justify="left" if text else "right", no_wrap=True)


def titled(title: str, table: Table, *notes: str) -> Group:
    """Return a table with its title and notes."""
    # Rich would wrap a title to the table's width.
    return Group(_text(title, style="bold"), table, *(_text(note, style="dim") for note in notes))


def _text(content: Any, style: str = "") -> Text:
    """Return text without markup or control characters."""
    return Text(printable(str(content)), style=style)


def more_topics(topics: int, description: str) -> list[str]:
    """Return a note on topics that a table leaves out, if any."""
    left = topics - MOST_TOPICS
    return [f"and {counted(left, 'more topic')}, {description}"] if left > 0 else []


def number(value: float) -> str:
    """Return a number of any size as text."""
    return readable(value, 4)


def share(value: float) -> str:
    """Return a number between 0 and 1 as text."""
    if 0.0 < value < 5e-5:
        return "<0.0001"
    return ">0.9999" if 1.0 - 5e-5 <= value < 1.0 else f"{value:.4f}"


# Parameters, probabilities and topics.


def parameter_table(result: Calibrated, level: float) -> Group:
    """Return a topic's parameters, maximum likelihood beside the posterior."""
    frame = result.fitted.parameters(level)
    table = new_table("MLE", *_inferred_headers(frame, level), words=["class", "parameter"])
    previous = ""
    records: list[dict[Any, Any]] = frame.to_dict("records")
    for (label, name), row in zip(frame.index, records, strict=True):
        shown = "" if label == previous else str(label)
        table.add_row(_text(shown), _text(name), _mle_cell(row), *_inferred_cells(row))
        previous = label
    marks = {_mle_cell(row)[-1] for row in records}
    notes = [note for mark, note in NOTES.items() if mark in marks]
    return titled(_title(result, f"{result.fitted.model}, {_counts(result)}"), table, *notes)


def _mle_cell(row: Mapping[str, Any]) -> str:
    """Return maximum likelihood with its mark; for a pooled topic of its own documents."""
    if "unpooled" in row:
        return "-" if math.isnan(row["unpooled"]) else number(row["unpooled"])
    return number(row["mle"]) + MARKS.get(row["guard"], "*")


def _inferred_headers(frame: pd.DataFrame, level: float) -> list[str]:
    if "pooled" in frame.columns:
        return ["posterior\nmean, pooled", f"\n{percent(level)} band", "population\nmedian"]
    if "median" in frame.columns:
        return ["posterior\nmedian", f"\n{percent(level)} band", "\nR-hat", "\nESS"]
    return ["MAP"] if "map" in frame.columns else []


def _inferred_cells(row: Mapping[str, float]) -> list[str]:
    if "map" in row:
        return [number(row["map"])]
    if "lower" not in row:
        return []
    band = f"[{number(row['lower'])}, {number(row['upper'])}]"
    if "pooled" in row:
        return [number(row["pooled"]), band, number(row["population"])]
    rhat = "-" if math.isnan(row["rhat"]) else f"{row['rhat']:.3f}"
    return [number(row["median"]), band, rhat, f"{row['ess_bulk']:.0f}"]


def answer_table(result: Calibrated, level: float) -> Group:
    """Return probabilities with bands at a few scores."""
    quantiles, score = shown_scores(result.problem)
    curve = predictions.curve_at(result.fitted, score, level)
    band = [f"{percent(level)} band"] if curve.band is not None else []
    table = new_table("score", "at", f"P({result.problem.classes[1]})", *band)
    for k, value in enumerate(score):
        shown = number(result.problem.sign * value)
        table.add_row(shown, quantiles[k], share(curve.probability[k]), *_band_cells(curve, k))
    notes = ["at: quantiles of the scores of negatives (-) and positives (+)"]
    if (covariates := result.fitted.calibration.covariates) is not None:
        notes.append(f"of a typical document: {covariates.typical().words}")
    if result.fitted.design_effect is not None:
        notes.append(str(result.fitted.design_effect))
    if result.fitted.parts is not None:
        weights = result.fitted.parts["weight"].items()
        listed = ", ".join(f"{name} {weight:.2f}" for name, weight in weights)
        notes.append(f"parts, weighted by leave-one-out predictive performance: {listed}")
    return titled(_title(result, _counts(result)), table, *notes)


def curve_table(result: Calibrated, level: float) -> Group:
    """Return log-odds and probabilities at quantiles of the scores of each class."""
    quantiles, score = shown_scores(result.problem)
    curve = RowCurve(predictions.mle_log_odds(result.fitted, score))
    curves = {"mle": curve}
    if result.fitted.inference != "mle":
        curve = predictions.curve_at(result.fitted, score, level)
        curves[result.fitted.inference] = curve
    heads = [f"{what}\n{POINT_NAMES[name]}" for what in ("log-odds", "P") for name in curves]
    band = [f"P\n{percent(level)} band"] if curve.band is not None else []
    table = new_table("score", "at", *heads, *band)
    for k, value in enumerate(score):
        cells = [number(each.log_odds[k]) for each in curves.values()]
        cells += [share(each.probability[k]) for each in curves.values()]
        shown = number(result.problem.sign * value)
        table.add_row(shown, quantiles[k], *cells, *_band_cells(curve, k))
    positive = result.problem.classes[1]
    about = f"P({positive}) at quantiles of the negatives (-) and positives (+)"
    return titled(_title(result, about), table)


def _band_cells(curve: RowCurve, k: int) -> list[str]:
    if curve.band is None:
        return []
    return [f"[{share(curve.band[k, 0])}, {share(curve.band[k, 1])}]"]


def _counts(result: Calibrated) -> str:
    negatives, positives = result.problem.counts
    return f"{counted(positives, 'positive')}, {counted(negatives, 'negative')}"


def _title(result: Calibrated, text: str) -> str:
    return f"{result.problem.topic}: {text}" if result.problem.topic else text


def shown_scores(problem: ScoreTable) -> tuple[list[str], Floats]:
    """Return quantiles of both classes' scores, rising, after their names."""
    turned = problem.sign < 0
    quantiles = [
        (float(np.quantile(score, 1.0 - q if turned else q)), f"{mark} {percent(q)}")
        for mark, score in zip("-+", problem.scores_by_class(), strict=True)
        for q in SHOWN_QUANTILES
    ]
    quantiles.sort()
    return [name for _, name in quantiles], np.array([score for score, _ in quantiles])


def topics_table(results: Sequence[Calibrated], level: float, how: str) -> Group:
    """Return a row for each topic, up to MOST_TOPICS, in the given order."""
    shown = results[:MOST_TOPICS]
    flagged = [flag.partition(":")[0] for flag in predictions.flags(results)[:MOST_TOPICS]]
    different, letters = [flag for flag in dict.fromkeys(flagged) if flag], ["", *ascii_lowercase]
    marks = {flag: letters[k // 26] + ascii_lowercase[k % 26] for k, flag in enumerate(different)}
    banded = any(each.curve.band is not None for each in results)
    band = f"{percent(level)} band"
    table = new_table("positives", "negatives", "mean P", topics=True)
    add_columns(table, ["undecided", f"mean width of\n{band}"] if banded else [])
    add_columns(table, ["note"] if marks else [], text=True)
    for each, flag in zip(shown, flagged, strict=True):
        negatives, positives = each.problem.counts
        cells = [str(positives), str(negatives), share(each.curve.probability.mean())]
        if each.undecided is not None and each.curve.width is not None:
            cells += [f"{each.undecided:,d}", share(each.curve.width)]
        elif banded:
            cells += ["", ""]
        table.add_row(_text(each.problem.name), *cells, *([marks.get(flag, "")] if marks else []))
    order, others = "those with the fewest positives first", "with as many positives or more"
    notes = [f"{mark}: {flag}" for flag, mark in marks.items()]
    if banded:
        order = "those with most undecided rows first"
        others = "with as many undecided rows or fewer"
        notes.insert(0, f"undecided: rows whose {band} holds 0.5, to look at, or to label")
    title = f"{counted(len(results), 'topic')} {how}; {order}"
    return titled(title, table, *more_topics(len(results), others), *notes)


def left_out_tables(left_out: LeftOut, advice: str = "") -> list[Group]:
    """Return a table of topics left out, with reasons; none if all were fitted."""
    if not left_out:
        return []
    table = new_table(words=["topic"])
    table.add_column("reason", overflow="fold")
    for topic, reason in left_out.items():
        table.add_row(_text(topic), _text(reason))
    title = f"{counted(len(left_out), 'topic')} left out of the fit; the others are not affected"
    return [titled(title, table, *([advice] if advice else []))]


# Losses and verdicts on rows to test on.


LOSSES = "Losses on test rows (base-2 log-loss; sums, and bits per row)"
LOSS_COLUMNS = ("rows", "log-loss", "per row", "squared error", "errors")


def held_out_tables(results: Sequence[Calibrated], only: str | None = None) -> list[Group]:
    """Return tables of losses and verdicts; none without test rows."""
    tested = predictions.with_test_rows(results)
    if not tested:
        return []
    rows = [by_method(each) for each in tested]
    if only is not None:
        rows = [("", {only: predictions.total_losses(tested)})]
    verdicts = predictions.verdicts_by_topic((each.problem.name, each.tested) for each in tested)
    return [losses_table(rows), verdicts_table(verdicts)]


def by_method(result: Calibrated) -> tuple[str, dict[str, Losses]]:
    """Return a fitted topic as a row of `losses_table`."""
    return result.problem.name, {POINT_NAMES[key]: loss for key, loss in result.losses.items()}


def losses_table(named: Sequence[tuple[str, Mapping[str, Losses]]], *, total: bool = True) -> Group:
    """Return a table of losses on test rows."""
    rows = list(named)
    with_topics = any(topic for topic, _ in rows)
    if total and len(rows) > 1:
        rows.append((ALL_TOPICS, predictions.sum_losses(losses for _, losses in rows)))
    table = new_table(*LOSS_COLUMNS, words=["method"], topics=with_topics)
    for topic, methods in rows:
        for k, (method, loss) in enumerate(methods.items()):
            head = [_text("" if k else topic)] if with_topics else []
            table.add_row(*head, method, *loss_cells(loss), end_section=k + 1 == len(methods))
    mle = any("MLE" in losses for _, losses in rows)
    return titled(LOSSES, table, *(["MLE: maximum likelihood"] if mle else []))


def loss_cells(loss: Losses) -> list[str]:
    """Return the cells of LOSS_COLUMNS."""
    # A single document can cost 1e12 bits.
    bits = f"{loss.log_loss:.1f}" if loss.log_loss < 1e6 else f"{loss.log_loss:.1e}"
    mean = f"{loss.log_loss / loss.n:.4g}"
    errors = f"{loss.errors:.0f}"
    return [f"{loss.n:.0f}", bits, mean, f"{loss.squared_error:.2f}", errors]


CAUSES = {
    "none": "no sign",
    "base rate": "by base rate",
    "bend": "by a bend",
    "slope": "by slope",
    "impossible": "impossible",
}


def verdicts_table(named: Sequence[predictions.NamedVerdict]) -> Group:
    """Return a table of verdicts, with the last one, on all rows, in words."""
    with_topics = len(named) > 1
    last = named[-1][1]
    expected = ("expected", f"{percent(last.level)} range")
    table = new_table("rows", "positives", *expected, "p value", topics=with_topics)
    add_columns(table, ["off?"], text=True)
    for topic, verdict in [*named[:-1][:MOST_TOPICS], named[-1]]:
        head = [_text(topic)] if with_topics else []
        table.add_row(
            *head,
            f"{verdict.documents:,.0f}",
            f"{verdict.observed:,.0f}",
            readable(verdict.expected),
            f"[{verdict.lower:,.0f}, {verdict.upper:,.0f}]",
            f"{verdict.pvalue:.3f}",
            "within bands" if verdict.outcome == "uncertain" else CAUSES[verdict.cause],
        )
    notes = [f"{last.finding} {last.advice}"]
    if with_topics:
        topics = len(named) - 1
        off = sum(not verdict.calibrated for _, verdict in named[:-1])
        by_chance = f"{(1.0 - last.level) * topics:.2g}"
        notes = [
            f"{ALL_TOPICS}: {last.finding}",
            f"{off} of {topics} topics are off, where {by_chance} would be by chance.",
        ]
    title = "Are the probabilities right? Expected positives against the labels of test rows"
    return titled(title, table, *notes)


# Reviews: one number with several intervals.

METHODS = {
    "design_based": "from the draw alone",
    "robust": "hull of the next two",
    "without_hidden": "curve, no positives hidden",
    "with_hidden": "curve, some positives hidden",
}


def review_table(result: ReviewEstimate) -> Group:
    """Return the intervals of a review, the recommended one first, and its counts."""
    table = new_table(result.of, "from", "to", words=["interval"])
    for name, words in METHODS.items():
        limits = getattr(result, name)
        if limits is not None:
            numbers = (limits.value, limits.lower, limits.upper)
            table.add_row(words, *("-" if math.isnan(x) else percent(x, 1) for x in numbers))
    counts = f"positive {result.unit}: {result.positives:,.0f}, missed: {result.missed:,.0f}"
    conflict = result.conflict
    deep = "P(so many positives deep in the ranking if none is hidden)"
    note = "" if math.isnan(conflict) else f"; {deep}: {conflict:.2g}"
    beside = [
        f"{name}: {limits:.2%}, {share}"
        for name, limits, share in (
            ("precision", result.precision, f"the share of positive {result.unit} of those taken"),
            ("elusion", result.elusion, f"the share of positive {result.unit} of those not taken"),
        )
        if limits is not None
    ]
    return titled(
        f"{result.of.capitalize()} of {result.unit}: {percent(result.level)} intervals, the first"
        " one to be stated",
        table,
        f"{counts}, by the hull; labelled: {result.found:,}",
        f"hidden positives: {result.hidden:.0%}{note}",
        *beside,
    )


# Documents selected by thresholds, and positives missed.


def rates_table(
    table: pd.DataFrame,
    positive: str,
    probability: float | None,
    threshold: float | None,
    level: float,
    sign: int = 1,
) -> Group:
    """Return precision, recall and misses at a threshold; sign -1 if lower scores are positive."""
    what = f"score is {number(float(threshold or 0.0))} or {'more' if sign > 0 else 'less'}"
    if probability is not None:
        what = f"P({positive}) is {probability:g} or more"
    order = "; topics that miss most positives first" if len(table) > 1 else ""
    return _decision_table(
        f"Documents whose {what} are taken{order}",
        table,
        ["taken", "found", "missed", "recall", "precision"],
        lambda row: [_selected(row), *_outcomes(row), _ranged(row, "precision", _per_cent)],
        *_notes(table, level, "that miss as many or fewer"),
        "precision: the share of positives among the documents taken",
    )


def thresholds_table(
    table: pd.DataFrame, recall: float, assurance: float | None, level: float, sign: int = 1
) -> Group:
    """Return thresholds for a recall; sign -1 if lower scores are positive."""
    sure = "" if assurance is None else f" with probability {assurance:g}"
    order = "; topics with most to read first" if len(table) > 1 else ""
    return _decision_table(
        f"Thresholds for a recall of {recall:g}{sure}{order}",
        table,
        ["to read", f"{'down' if sign > 0 else 'up'} to score", "found", "missed", "recall"],
        lambda row: [_selected(row), _ranged(row, "threshold", number), *_outcomes(row)],
        f"to read: the documents of this score or {'more' if sign > 0 else 'less'}, which hold the"
        " recall",
        *_notes(table, level, "with as many to read or fewer"),
    )


def _decision_table(
    title: str,
    table: pd.DataFrame,
    heads: list[str],
    cells: Callable[[dict[Any, Any]], list[str]],
    *notes: str,
) -> Group:
    with_topics = list(table.index) != [""]
    shown = new_table(*heads, topics=with_topics)
    for row in table.head(MOST_TOPICS).reset_index().to_dict("records"):
        shown.add_row(*([_text(str(row["topic"]))] if with_topics else []), *cells(row))
    return titled(title, shown, *notes)


def _selected(row: dict[Any, Any]) -> str:
    return f"{row['selected']:,d} of {row['documents']:,d}"


def _outcomes(row: dict[Any, Any]) -> list[str]:
    """Return positives found and missed, and recall, formatted as in reports."""
    from bayescal.report import rendering

    counts = [_ranged(row, name, rendering.count) for name in ("found", "missed")]
    return [*counts, _ranged(row, "recall", _per_cent)]


def _per_cent(value: float) -> str:
    from bayescal.report import rendering

    return rendering.percent(value).replace("\N{MINUS SIGN}", "-")


def _ranged(row: dict[Any, Any], name: str, shape: Callable[[Any], str]) -> str:
    """Return a number above its interval."""
    if row[name] != row[name]:
        return "-"
    return f"{shape(row[name])}\n{shape(row[f'{name}_lower'])} to {shape(row[f'{name}_upper'])}"


def _notes(table: pd.DataFrame, level: float, others: str) -> list[str]:
    return [
        "found, missed: positives taken and not; recall: the share of all positives found",
        f"below: {percent(level)} intervals; neither the curve nor the labels are known",
        *more_topics(len(table), others),
    ]

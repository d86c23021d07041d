"""Commands for several exclusive classes: a column of scores for each class."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Group

from bayescal.cli import tables, writing
from bayescal.cli.class_scores import (
    ClassTable,
    read_class_table,
    refuse_options_of_one_score,
    split_names,
)
from bayescal.cli.columns import ColumnReader, split_column
from bayescal.cli.files import as_numbers, read_frame, write_frame
from bayescal.cli.fitting import SINGLE
from bayescal.cli.terminal import Screen, UsageError, counted, usage_errors, warning_categories
from bayescal.support.validation import Floats, first_of

if TYPE_CHECKING:
    import pandas as pd

    from bayescal.calibrators.multiclass_calibrator import MulticlassCalibrator
    from bayescal.metrics import ClassVerdict

DECISION, ABSTAIN = "decision", "abstain"

# bayescal fit --classes, bayescal compare --classes


def advice(category: type[Warning]) -> str:
    """Name the options that address a kind of warning."""
    draws, _ = warning_categories()
    option = "--draws" if issubclass(category, draws) else "--scores-are"
    return f"Option for this: {option}." if issubclass(category, warning_categories()) else ""


def read_to_fit(
    path: Path, arguments: Mapping[str, Any], chosen: set[str], screen: Screen
) -> ClassTable:
    """Read a file with the arguments of a call; `chosen` are those on the command line."""
    from bayescal.fitting.class_scores import read_class_scores
    from bayescal.support.validation import check_choice, check_fraction

    refuse_options_of_one_score(chosen)
    classes = split_names(arguments["classes"])
    with usage_errors():
        check_fraction(**{"--level": arguments["level"]})
        check_choice("--scores-are", arguments["scores_are"], ("auto", "scores", "probabilities"))
    if arguments["weight_column"] is not None and arguments["inclusion_column"] is not None:
        raise UsageError("--weight-column and --inclusion-column: leave out one of them.")
    table = read_class_table(ColumnReader(path), classes, arguments["label_column"])
    writing.check_columns_free(table.frame, path, *_added(classes))
    split = split_column(table.frame, arguments["split_column"])
    table = replace(table, test=table.reader.test_rows(split, table.labelled))
    table.check_possible()
    with screen.warnings(advice), usage_errors(f"{path}: "):
        # All rows, before a fit of some: of the others none may be refused after it.
        read = read_class_scores(table.scores, arguments["scores_are"], naming=table.reader.row)
    table = replace(table, scores_are=read.scores_are)
    if not table.fit_rows.size:
        raise UsageError(f"{path} must hold labelled rows to fit, got none.")
    return table


def fit_map(
    table: ClassTable, arguments: Mapping[str, Any], chosen: set[str], screen: Screen
) -> MulticlassCalibrator:
    """Fit a map to the rows to fit, and show what it finds."""
    from bayescal.calibrators.multiclass_calibrator import MulticlassCalibrator

    rows, level = table.fit_rows, arguments["level"]
    tested = table.weights(arguments, table.test_rows).get("sample_weight", np.zeros(0))
    if (tested != np.round(tested)).any():
        raise UsageError(
            f"{table.reader.name(arguments['weight_column'])} must hold whole numbers in rows to"
            " test on, how many documents each counts for: round them."
        )
    sampling = {name: arguments[name] for name in ("draws", "chains") if name in chosen}
    calibrator = MulticlassCalibrator(table.scores_are, random_state=arguments["seed"], **sampling)
    with screen.warnings(advice), usage_errors():
        weights = table.weights(arguments, rows)
        calibrator.fit(table.scores[rows], table.labels[rows], classes=table.classes, **weights)
    if arguments.get("parameters"):
        screen.show(_parameters(calibrator, level))
    screen.show(_classes_table(calibrator, table.labels[rows], level))
    return calibrator


def test_and_write(
    calibrator: MulticlassCalibrator,
    table: ClassTable,
    arguments: Mapping[str, Any],
    screen: Screen,
    out: Path | None,
) -> None:
    """Judge the probabilities of the rows to test on, and write what the map says of all rows."""
    from bayescal.metrics import class_verdict

    held_out, verdict = table.test_rows, None
    if held_out.size:
        with usage_errors():
            verdict = class_verdict(
                table.labels[held_out],
                calibrator.predict_proba(table.scores[held_out]),
                table.classes,
                draws=calibrator.sample_proba(table.scores[held_out]),
                **table.weights(arguments, held_out),
            )
        screen.show(verdict_table(verdict))
    if out is None:
        screen.say("Nothing is written; --out FOLDER keeps the calibrator and probabilities.")
        return
    with writing.staged_folder(out) as stage:
        calibrator.save(stage / SINGLE)
        frame = with_probabilities(calibrator, table, arguments["level"])
        write_frame(frame, stage / f"probabilities.{arguments['table_format']}")
        writing.write_record(_record(calibrator, arguments, table, verdict), stage)
    screen.say(f"Written to {out}: posterior.nc, probabilities, summary.json. Next:")
    folder = shlex.quote(str(out))
    screen.say(f"  bayescal predict {folder} new.csv --out probabilities.csv")
    screen.say(f"  bayescal report {folder} --test held_out.csv")


def compare(
    table: ClassTable,
    calibrator: MulticlassCalibrator,
    arguments: Mapping[str, Any],
    screen: Screen,
) -> None:
    """Show the losses of the map and of other methods on the rows to test on."""
    from bayescal.cli import class_comparison
    from bayescal.fitting.class_scores import read_class_scores

    rows, new = table.fit_rows, table.test_rows
    if not new.size:
        screen.warn(
            "no row is left to test on, so there are no losses: classes of one row are kept."
        )
        return
    known = read_class_scores(table.scores[rows], table.scores_are)
    asked = read_class_scores(table.scores[new], table.scores_are, floor=known.floor)
    labels, seed = table.labels, arguments["seed"]
    with screen.warnings(), usage_errors():
        weights = table.weights(arguments, rows)
        found = class_comparison.others(
            known.log_p, labels[rows], asked.log_p, table.classes, weights, seed
        )
        shown = class_comparison.comparison_table(
            {class_comparison.MAP: calibrator.predict_proba(table.scores[new]), **found},
            labels[new],
            table.classes,
            table.weights(arguments, new),
            arguments["level"],
            seed,
        )
    screen.show(shown)


def _record(
    calibrator: MulticlassCalibrator,
    arguments: Mapping[str, Any],
    table: ClassTable,
    verdict: ClassVerdict | None,
) -> dict[str, Any]:
    from bayescal.fitting.results.tree import versions

    names, counts = np.unique(table.labels[table.fit_rows], return_counts=True)
    said = None
    if verdict is not None:
        plain = {k: v.tolist() if hasattr(v, "tolist") else v for k, v in asdict(verdict).items()}
        said = {**plain, "outcome": verdict.outcome, "text": verdict.text}
    return {
        "versions": versions(),
        "seed": arguments["seed"],
        "arguments": dict(arguments),
        "classes": calibrator.classes_.tolist(),
        "rows": dict(zip(names.tolist(), counts.tolist(), strict=True)),
        "topics": [{"topic": None, "file": SINGLE}],
        "diagnostics": asdict(calibrator.diagnostics_),
        "verdict": said,
    }


def _added(classes: Sequence[str]) -> list[str]:
    return [
        "predicted",
        *(f"{what}({name})" for what in ("P", "lower", "upper") for name in classes),
    ]


def with_probabilities(
    calibrator: MulticlassCalibrator, table: ClassTable, level: float, shares: Any = None
) -> pd.DataFrame:
    """Return the rows with the likeliest class and its band, and with the bands of all classes."""
    classes = calibrator.classes_.tolist()
    p = calibrator.predict_proba(table.scores, shares)
    ends = calibrator.predict_interval(table.scores, level, prior=shares)
    top = p.argmax(axis=1)
    at = np.arange(top.size)
    added: dict[str, Any] = {
        "predicted": calibrator.classes_[top],
        "probability": p[at, top],
        "lower": ends[at, top, 0],
        "upper": ends[at, top, 1],
    }
    added |= {f"P({name})": p[:, k] for k, name in enumerate(classes)}
    for end, what in enumerate(("lower", "upper")):
        added |= {f"{what}({name})": ends[:, k, end] for k, name in enumerate(classes)}
    return table.frame.assign(**added)


# bayescal predict, decide


def predict(
    calibrator: Any,
    reader: ColumnReader,
    screen: Screen,
    out: Path | None,
    *,
    level: float,
    shares: str | None,
    label_column: str | None,
) -> pd.DataFrame | None:
    """Write probabilities of a file's rows, or return them; with labels, say if they are right."""
    from bayescal.metrics import class_verdict

    classes = calibrator.classes_.tolist()
    table = read_class_table(reader, classes, label_column)
    writing.check_columns_free(table.frame, reader.path, *_added(classes))
    with screen.warnings(), usage_errors():
        new = None if shares is None else _shares(shares)
        frame = with_probabilities(calibrator, table, level, new)
    if out is not None:
        with writing.staged_file(out) as target:
            write_frame(frame, target)
        screen.say(f"Written to {out}: {counted(len(frame), 'row')}")
    if label_column is not None:
        rows = np.flatnonzero(table.labelled)
        verdict = class_verdict(
            table.labels[rows],
            calibrator.predict_proba(table.scores[rows], new),
            classes,
            draws=calibrator.sample_proba(table.scores[rows], prior=new),
        )
        screen.show(verdict_table(verdict), stderr=out is None)
    return frame if out is None else None


def _shares(text: str) -> list[float]:
    values, _ = as_numbers(text.split(","))
    if not np.isfinite(values).all():
        raise UsageError(f"--shares must be numbers in the order of the classes, got {text!r}.")
    return [float(value) for value in values]


def decide(
    calibrator: MulticlassCalibrator,
    path: Path,
    screen: Screen,
    out: Path | None,
    *,
    level: float,
    costs: Path | None,
    abstain_cost: float | None,
) -> None:
    """Choose the decision of the least expected cost for each row of a file."""
    import pandas as pd

    classes = calibrator.classes_.tolist()
    table = read_class_table(ColumnReader(path), classes, None)
    names, prices = _costs(costs, classes, abstain_cost)
    with screen.warnings(), usage_errors():
        result = calibrator.decide(table.scores, prices, level=level)
    names_of = np.array(names, dtype=object)
    frame = table.frame.assign(
        decision=names_of[result.decision],
        expected_cost=result.expected_cost,
        cost_lower=result.cost_interval[:, 0],
        cost_upper=result.cost_interval[:, 1],
        probability_optimal=result.probability_optimal,
    )
    shown = tables.new_table("decision", "rows", "mean expected cost", "P(best), mean")
    for name in names:
        mine = result.decision == names.index(name)
        if mine.any():
            means = (result.expected_cost[mine].mean(), result.probability_optimal[mine].mean())
            shown.add_row(name, f"{int(mine.sum()):,}", *(f"{mean:.3g}" for mean in means))
    shown.add_row("all", f"{len(frame):,}", f"{result.expected_cost.mean():.3g}", "")
    screen.show(tables.titled("Decisions of the least expected cost", shown))
    if out is not None:
        with writing.staged_file(out) as target:
            write_frame(pd.DataFrame(frame), target)
        screen.say(f"Written to {out}: {counted(len(frame), 'row')}")


def _costs(
    path: Path | None, classes: list[str], abstain_cost: float | None
) -> tuple[list[str], Floats]:
    """Return names of decisions and their costs; by default each wrong class costs 1."""
    names, prices = list(classes), 1.0 - np.eye(len(classes))
    if path is not None:
        frame = read_frame(path, "costs")
        missing = [name for name in (DECISION, *classes) if name not in frame.columns]
        if missing:
            raise UsageError(
                f"{path} must have a column {DECISION!r} and a column of costs for each class, it"
                f" lacks {first_of(missing)}."
            )
        names = [str(name) for name in frame[DECISION].tolist()]
        if names[: len(classes)] != classes:
            raise UsageError(
                f"{path} must name the classes first, {first_of(classes)}, in the column"
                f" {DECISION!r}; got {first_of(names)}."
            )
        prices = np.stack([as_numbers(frame[name].tolist())[0] for name in classes], axis=1)
        if not np.isfinite(prices).all():
            raise UsageError(f"{path} must hold a number for every cost.")
    if abstain_cost is not None:
        names, prices = [*names, ABSTAIN], np.vstack([prices, np.full(len(classes), abstain_cost)])
    return names, prices


def report(
    calibrator: Any,
    test: Path | None,
    out: Path,
    *,
    level: float,
    title: str | None,
    label_column: str,
    split_column: str | None,
) -> None:
    """Write the page of several classes."""
    held_out = None
    if test is not None:
        table = read_class_table(ColumnReader(test), calibrator.classes_.tolist(), label_column)
        rows = np.flatnonzero(table.reader.held_out_rows(split_column, table.labelled))
        held_out = (table.scores[rows], table.labels[rows])
    calibrator.report(out, held_out, level=level, title=title)


# Tables.


def _classes_table(calibrator: MulticlassCalibrator, labels: NDArray[Any], level: float) -> Group:
    shown = tables.new_table("class", "rows fitted", "share, posterior mean")
    for name, share in zip(calibrator.classes_.tolist(), calibrator.share_, strict=True):
        shown.add_row(str(name), f"{int((labels == str(name)).sum()):,}", f"{share:.3g}")
    notes = calibrator.findings(level)
    return tables.titled("Calibrated together by one map", shown, *notes)


def _parameters(calibrator: MulticlassCalibrator, level: float) -> Group:
    table = calibrator.summary(level)
    shown = tables.new_table("parameter", "class", "other class", *map(str, table.columns))
    for names, row in zip(table.index.tolist(), table.to_numpy(), strict=True):
        shown.add_row(*map(str, names), *(f"{value:.3g}" for value in row))
    return tables.titled(f"Parameters, with {100 * level:g} % intervals", shown)


def verdict_table(verdict: ClassVerdict) -> Group:
    """Return the verdict of held-out labels on the probabilities."""
    shown = tables.new_table("class", "rows", "expected", "if right", "smooth error")
    for k, name in enumerate(verdict.classes.tolist()):
        shown.add_row(
            str(name),
            f"{verdict.observed[k]:,.0f}",
            f"{verdict.expected[k]:,.4g}",
            f"{verdict.lower[k]:,.0f} to {verdict.upper[k]:,.0f}",
            f"{verdict.class_errors[k]:.2g}",
        )
    notes = [part for part in (verdict.test, verdict.finding, verdict.advice) if part]
    return tables.titled("Are the probabilities right?", shown, *notes)

"""`bayescal audit`: judge another model's probabilities, with or without labels."""

from __future__ import annotations

import math
import shlex
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer
from numpy.typing import NDArray
from rich.table import Table

from bayescal.cli import options, tables, writing
from bayescal.cli.blocks import read_rows
from bayescal.cli.columns import ColumnReader, spelled
from bayescal.cli.commands.report import PAGES
from bayescal.cli.files import ROWS, check_file, files_of
from bayescal.cli.terminal import Screen, UsageError, usage_errors
from bayescal.support.intervals import percent
from bayescal.support.validation import Floats, check_positive

if TYPE_CHECKING:
    import pandas as pd

PROBABILITY = "Given probabilities of the positive class."
ProbabilityColumn = Annotated[
    str, options.option("--probability-column", options.COLUMNS, PROBABILITY)
]
OUTCOME = "Outcomes of two classes; rows without one are left out."
OutcomeColumn = Annotated[str, options.option("--label-column", options.COLUMNS, OUTCOME)]
SITE = "Sites, such as hospitals or months."
SiteColumn = Annotated[str | None, options.option("--site-column", options.COLUMNS, SITE)]
FILES = (
    "One file of probabilities and outcomes, or a folder or a quoted pattern of them; with"
    " --no-labels the reference, then the new one."
)
Files = Annotated[list[Path], options.argument("FILES", f"{FILES} {options.FILE_KINDS}.")]
QUESTION = "Question"
THRESHOLD = "Rows with at least this probability are treated: what would recalibrating save?"
Threshold = Annotated[
    float | None, options.option("--threshold", QUESTION, THRESHOLD, fraction=True)
]
MISS = "In place of --threshold: how many false alarms a missed positive costs."
MissCost = Annotated[float | None, options.option("--miss-cost", QUESTION, MISS)]
NO_LABELS = (
    "Compare the unlabelled probabilities of the second file with the labelled ones of the first:"
    " may they still be trusted?"
)
NoLabels = Annotated[bool, options.option("--no-labels", QUESTION, NO_LABELS)]
NOUN = (
    "What sentences call a row: a word whose plural ends in s. By default patient, or row with"
    " --cluster-column."
)
Noun = Annotated[str | None, options.option("--noun", options.OUTPUT, NOUN, "WORD")]
OUT = "With labels: the .html file of a report to write."
Out = Annotated[Path | None, options.option("--out", options.OUTPUT, OUT, "FILE")]

# Parameters that `bayescal recalibrate` has too.
OF_RECALIBRATE = (
    "probability_column",
    "label_column",
    "site_column",
    "inclusion_column",
    "cluster_column",
    "positive",
)


@dataclass(frozen=True)
class OutcomeTable:
    """The labelled rows of a file, and the reader of all rows."""

    reader: ColumnReader
    labelled: NDArray[np.bool_]  # (rows,): mask of rows with an outcome
    p: Floats  # (labelled rows,), like the arrays below
    positive: NDArray[np.bool_]
    sites: NDArray[np.str_] | None
    all_sites: NDArray[np.str_] | None  # (rows,)
    inclusion: Floats | None
    counts: Floats | None  # how many rows each stands for
    classes: tuple[Any, Any]  # negative and positive

    def clusters(self, column: str | None, used: Iterable[str | None]) -> NDArray[np.str_] | None:
        """Return the clusters of labelled rows; without a column, warn of a likely one."""
        found = self.reader.clusters(column, self.labelled, used=used)
        return None if found is None else found[self.labelled]

    def name_of(self, position: int) -> str:
        """Return the name of a labelled row for messages."""
        return self.reader.row(int(np.flatnonzero(self.labelled)[position]))


def read_outcomes(
    reader: ColumnReader,
    probability_column: str,
    label_column: str,
    site_column: str | None,
    inclusion_column: str | None,
    positive: str | None,
) -> OutcomeTable:
    """Read the probabilities, outcomes, sites and inclusion probabilities of a file."""
    if probability_column == label_column:
        raise UsageError(
            "--probability-column and --label-column must name different columns, got"
            f" {label_column!r} for both."
        )
    p = reader.scores(probability_column, "--probability-column")
    present = reader.present(label_column, "--label-column")
    classes: tuple[Any, Any]
    if reader.frame[label_column][present].nunique() == 1:
        # The meaning of a single class comes from its name or --positive.
        values, labelled = reader.class_labels(label_column)
        only, name = values[0], reader.name(label_column)
        is_positive = labelled & _only_positive(name, only, positive)
        classes = (f"not {only}", only) if is_positive.any() else (only, positive or f"not {only}")
        reader.state_positive(label_column, classes, is_positive, labelled)
    else:
        classes, is_positive, labelled = reader.labels(label_column, positive)
    sites = None
    if site_column is not None:
        sites = reader.names(site_column, "site")
    inclusion = None
    if inclusion_column is not None:
        inclusion = reader.weights(inclusion_column, labelled, sampled=True)[labelled]
    positives = is_positive[labelled]
    own = None if sites is None else sites[labelled]
    counts = None if reader.counts is None else reader.counts[labelled]
    known = p[labelled], positives, own, sites, inclusion, counts
    return OutcomeTable(reader, labelled, *known, classes)


def _only_positive(name: str, label: Any, positive: str | None) -> bool:
    """Return True if the only label of a column is the positive one."""
    if positive is not None:
        return str(label) == positive
    meanings = spelled(np.array([label]), np.array((0, 1)))
    if meanings is None:
        raise UsageError(
            f"{name} must hold two labels, or one that means 0 or 1, got {str(label)!r} only: name"
            " the positive label with --positive."
        )
    return meanings[label]


app = typer.Typer()


@app.command()
def audit(
    context: typer.Context,
    files: Files,
    probability_column: ProbabilityColumn = "p",
    label_column: OutcomeColumn = "y",
    site_column: SiteColumn = None,
    inclusion_column: options.InclusionColumn = None,
    cluster_column: options.ClusterColumn = None,
    positive: options.Positive = None,
    threshold: Threshold = None,
    miss_cost: MissCost = None,
    no_labels: NoLabels = False,
    noun: Noun = None,
    out: Out = None,
    level: options.Level = 0.9,
    seed: options.Seed = 0,
    quiet: options.Quiet = False,
) -> None:
    """Audit another model's probabilities: test calibration and advise what to do.

    [bold]bayescal audit outcomes.csv --probability-column p --label-column y[/bold]

    says first what to do, then prints the numbers behind it with their
    intervals. --threshold, or --miss-cost, adds net benefit and what
    recalibrating would save; --site-column compares hospitals, months or the
    like; --out writes a report to look at and to send.

    [bold]bayescal audit 'outcomes*.csv'[/bold]

    counts the rows of the files of a folder or a pattern by blocks, so that
    memory does not limit them. Sites, clusters, inclusion probabilities and
    --no-labels need all rows of one file in memory.

    [bold]bayescal audit --no-labels outcomes.csv later.csv[/bold]

    takes labelled probabilities in the first file and unlabelled ones in the
    second. It estimates accuracy and other measures under two readings side
    by side: the case mix changed and P(y | p) is as it was (covariate shift),
    or only the shares of the classes changed (label shift). It says which of
    them the new probabilities speak for, if they can tell. None can show a
    change of P(y | p).
    """
    with usage_errors():
        if miss_cost is not None:
            check_positive(**{"--miss-cost": miss_cost})
    if threshold is not None and miss_cost is not None:
        raise UsageError("--threshold or --miss-cost, which implies one: give one, not both.")
    if noun is None:
        noun = "patient" if cluster_column is None else "row"
    if not noun.strip():
        raise UsageError(f"--noun must be a word such as patient, got {noun!r}.")
    wanted = 1 + no_labels
    if len(files) != wanted:
        raise UsageError(
            f"FILES must be {'the reference and the new file' if no_labels else 'one file'}, got"
            f" {len(files)}."
        )
    screen = Screen(quiet=quiet)
    if no_labels:
        refused = out, site_column, inclusion_column, miss_cost
        if any(each is not None for each in refused):
            raise UsageError(
                "--no-labels takes none of --out, --site-column, --inclusion-column, --miss-cost."
            )
        names = probability_column, label_column, positive, cluster_column
        _foresee(screen, files, names, threshold, level, seed)
        return
    if out is not None:
        check_file(out, PAGES, read=files[0])
    columns = probability_column, label_column, site_column, inclusion_column
    of_rows = {
        "--site-column": site_column,
        "--inclusion-column": inclusion_column,
        "--cluster-column": cluster_column,
    }
    first, reader = read_rows(
        files[0],
        ROWS,
        screen,
        probability_column,
        label_column=label_column,
        option="--probability-column",
        whole=[name for name, column in of_rows.items() if column is not None],
        check=partial(_check_probabilities, column=probability_column),
    )
    data = read_outcomes(reader, *columns, positive)
    clusters = replace(data, reader=first).clusters(cluster_column, columns)
    # Imported late: reading the file is faster.
    from bayescal.metrics.evidence import with_clusters
    from bayescal.metrics.inputs import read_outcomes as read_arrays
    from bayescal.monitoring.auditing import audit_outcomes

    costs = None if miss_cost is None else [[0.0, miss_cost], [1.0, 0.0]]
    with screen.warnings(lambda _: ""), usage_errors(f"{files[0]}: "):
        arrays = data.positive, data.p, data.counts, data.inclusion
        read = read_arrays(*arrays, as_evidence=True, names=("y", "p"))
        given = with_clusters(read, clusters)
        result = audit_outcomes(
            given._replace(naming=data.name_of),
            data.sites,
            threshold=threshold,
            costs=costs,
            level=level,
            random_state=seed,
        )
        result = replace(result, positive=str(data.classes[1]), noun=noun)
        if out is not None:
            rows, paths = reader.rows_read(data.labelled), files_of(files[0])
            result.report(
                out,
                run=writing.page_run(context, "audit", paths, rows, result.positive, f"{noun}s"),
            )
    for line in result.text.splitlines():
        screen.say(line)
    screen.say(" ")
    screen.show(_table(result.to_frame(), level))
    if out is not None:
        screen.say(f"Written to {out}: opens in any browser")
    elif result.explanation != "as is":
        screen.say(_next_step(context, files[0]))


def _next_step(context: typer.Context, file: Path) -> str:
    """Return the command that recalibrates a file, or a sample of the rows of several."""
    words = [
        word
        for name in OF_RECALIBRATE
        if options.is_given(context, name)
        for word in (options.flag(name), context.params[name])
    ]
    sample = "" if file.is_file() else ", with a random sample of the rows in SAMPLE.csv"
    asked = shlex.join(["SAMPLE.csv" if sample else str(file), *words])
    return f"Next{sample}: bayescal recalibrate {asked} --out FOLDER"


def _check_probabilities(reader: ColumnReader, labelled: NDArray[np.bool_], column: str) -> None:
    """Raise UsageError, with the row, for a labelled value that is no probability."""
    from bayescal.metrics.inputs import as_probabilities

    p = reader.frame[column].to_numpy()
    if (outside := labelled & ((p < 0.0) | (p > 1.0))).any():
        with usage_errors(f"{reader.path}, {reader.row(int(outside.argmax()))}: "):
            as_probabilities(p[labelled], column)


def _foresee(
    screen: Screen,
    files: list[Path],
    columns: tuple[str, str, str | None, str | None],
    threshold: float | None,
    level: float,
    seed: int,
) -> None:
    probability_column, label_column, positive, cluster_column = columns
    known = ColumnReader(files[0], screen=screen)
    data = read_outcomes(known, probability_column, label_column, None, None, positive)
    reader = ColumnReader(files[1], screen=screen)
    new = reader.scores(probability_column, "--probability-column")
    used = probability_column, label_column
    old_clusters = data.clusters(cluster_column, used)
    own = reader.clusters(cluster_column, np.ones(new.size, dtype=bool), used=used)
    from bayescal.metrics.changes import clipped_log_odds
    from bayescal.metrics.inputs import as_probabilities
    from bayescal.monitoring import foresee

    with screen.warnings(lambda _: ""), usage_errors():
        as_probabilities(data.p, data.reader.name(probability_column))
        as_probabilities(new, reader.name(probability_column))
        result = foresee(
            new,
            clipped_log_odds(new),
            reference=(clipped_log_odds(data.p), data.positive),
            threshold=0.5 if threshold is None else threshold,
            level=level,
            clusters=None if own is None or old_clusters is None else (own, old_clusters),
            random_state=seed,
        )
    for line in result.text.splitlines():
        screen.say(line)


def _table(frame: pd.DataFrame, level: float) -> Any:
    """Return the numbers of an audit as a table."""
    interval = f"{percent(level)} interval"
    table: Table = tables.new_table("value", interval, words=["number"])
    records: list[dict[Any, float]] = frame.to_dict("records")
    for name, row in zip(frame.index, records, strict=True):
        if math.isfinite(row["value"]):
            lower, upper = row["lower"], row["upper"]
            value, *ends = (tables.number(each) for each in (row["value"], lower, upper))
            interval = " to ".join(ends) if math.isfinite(lower) else ""
            table.add_row(str(name), value, interval)
    return tables.titled("Numbers of the audit", table)

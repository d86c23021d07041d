"""`bayescal predict`: probabilities of new scores by a calibrator that was saved."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
import typer

from bayescal.cli import answer_folder, comparisons, options, predictions, tables, writing
from bayescal.cli import classes as class_files
from bayescal.cli import grades as grade_files
from bayescal.cli.columns import ColumnReader
from bayescal.cli.files import ROWS, check_file, count_rows, files_of, read_blocks
from bayescal.cli.terminal import Screen, UsageError, usage_errors
from bayescal.support import validation

if TYPE_CHECKING:
    from bayescal.cli.columns import Mask
    from bayescal.report.held_out import HeldOut
    from bayescal.support.validation import Floats

TEST = "The scores have labels (--label-column): test the probabilities."
Test = Annotated[bool, options.option("--test", options.OUTPUT, TEST)]

OUT = (
    "A .csv or .parquet file, or a folder, new or empty, for a Parquet file of every 262,144 rows."
    " By default CSV on the screen, quiet or not."
)
Out = Annotated[Path | None, options.option("--out", options.OUTPUT, OUT, "FILE|FOLDER")]
JOBS = "Number of processes, if --out is a folder."
Jobs = Annotated[int, options.option("--jobs", options.OUTPUT, JOBS, least=1)]
RESUME = "Go on with the folder --out of a run that ended early: parts with the same rows are kept."
Resume = Annotated[bool, options.option("--resume", options.OUTPUT, RESUME)]
ON_ERROR = (
    "stop: end at the first row whose score is no number; skip: write such rows to files rejected-*"
    " in the folder --out."
)
OnError = Annotated[Literal["stop", "skip"], options.option("--on-error", options.OUTPUT, ON_ERROR)]
IN_FOLDER = ("jobs", "resume", "on_error")
# Options without influence on the rows of a part.
ELSEWHERE = ("calibrator", "scores", "jobs", "resume", "quiet", "out")

app = typer.Typer()


@dataclass(frozen=True)
class Question:
    """The columns to compute for each row; attributes are options of the command."""

    level: float
    band: str
    prior: float | None
    likelihood_ratio: bool
    support: str
    bounds: str | None

    def __call__(
        self, fitted: Any, values: Floats, covariates: validation.Columns | None
    ) -> dict[str, Any]:
        """Return the columns of answers of a problem at scores."""
        curve = predictions.curve_at(
            fitted, values, self.level, band=self.band, prior=self.prior, covariates=covariates
        )
        added: dict[str, Any] = dict(curve.columns)
        if self.likelihood_ratio:
            limits = self.level, self.support, self.bounds
            added |= comparisons.ratios_at(fitted, values, *limits)
        return added


@app.command()
def predict(
    context: typer.Context,
    calibrator: options.CalibratorPath,
    scores: options.ScoresFile,
    score_column: options.ScoreColumn = "score",
    topic_column: options.TopicColumn = None,
    lower_is_positive: options.LowerIsPositive = False,
    test: Test = False,
    label_column: options.LabelColumn = "label",
    positive: options.PositiveHere = None,
    out: Out = None,
    level: options.Level = 0.9,
    band: options.Band = "pointwise",
    prior: options.Prior = None,
    likelihood_ratio: options.LikelihoodRatio = False,
    support: options.Support = "enfsi",
    bounds: options.Bounds = None,
    shares: options.Shares = None,
    jobs: Jobs = 1,
    resume: Resume = False,
    on_error: OnError = "stop",
    quiet: options.Quiet = False,
) -> None:
    """Give new scores probabilities, with a band if the calibrator has a posterior.

    [bold]bayescal predict calibrated/posterior.nc new.csv --out probabilities.csv[/bold]

    copies the rows of new.csv and adds the columns probability, lower, upper
    and log_odds.

    [bold]bayescal predict topics new.csv --topic-column topic > probabilities.csv[/bold]

    uses each topic's calibrator, or the pooled one, from the folder that
    bayescal fit wrote. A pooled calibrator answers for a new topic by its
    population. Rows of a topic that the fit left out get empty cells.

    [bold]bayescal predict calibrated 'new*.csv' --out p.parquet[/bold]

    reads the files of a folder or a pattern one after the other, by blocks of
    rows, so that memory does not limit them.

    [bold]bayescal predict calibrated 'new*.csv' --out answers --jobs 2[/bold]

    writes a folder of Parquet files by two processes. If it ends early, what
    is written stays: --resume goes on. --on-error skip sets rows without a
    score aside.

    [bold]bayescal predict calibrated held_out.csv --test --out probabilities.csv[/bold]

    also tests the probabilities by the labels of held_out.csv, and advises
    what to do if they are wrong. A model that was fitted with
    --covariate-columns reads the same columns of new.csv.

    [bold]bayescal predict calibrated new.csv --likelihood-ratio --out ratios.csv[/bold]

    adds the base-10 logarithm of the likelihood ratio (log10_lr), its band
    (log10_lr_lower, log10_lr_upper), the least and the largest that the fit
    can give, or the --bounds (log10_lr_least, log10_lr_largest), extrapolation
    (beyond), a verbal equivalent (support) and the sentence to state.
    """
    _check_options(context)
    if not answer_folder.is_folder(out):
        check_file(out, read=scores)
    screen, paths = Screen(quiet=quiet), files_of(scores)
    with usage_errors():
        source: Any = predictions.load(calibrator)
    if _of_several(context, source, screen):
        return
    ratio_names = comparisons.RATIO_COLUMNS if likelihood_ratio else ()
    answered = Question(level, band, prior, likelihood_ratio, support, bounds)
    # Names of topics, and tests, need all rows at once.
    whole = test or topic_column is not None
    if whole and len(paths) > 1:
        raise UsageError(
            f"{scores} names {len(paths)} files: --test and --topic-column need all rows in one."
        )
    if answer_folder.is_folder(out):
        _write_folder(context, paths, source, answered, screen)
        return
    with (
        screen.warnings(),
        screen.progress("rows", count_rows(paths)) as update,
        writing.table_writer(out, screen) as write,
    ):
        for k, (path, frame, formats) in enumerate(read_blocks(paths, None if whole else ROWS)):
            reader = ColumnReader(path, frame, screen, formats)
            writing.check_columns_free(frame, path, *ratio_names)
            values = reader.scores(score_column)
            saved = predictions.read_calibrator(
                calibrator, reader, topic_column, source, lower_is_positive=lower_is_positive
            )
            if test:
                classes = next(iter(saved.problems.values())).labels
                is_positive, labelled, renamed = reader.known_labels(
                    label_column, classes, positive
                )
            if k == 0:
                predictions.state_positive(screen, source)
                why = f"{calibrator} is one calibrator for all rows."
                predictions.warn_of_topics(screen, frame, scores, topic_column, why)
            values = saved.sign * values
            columns = predictions.read_covariates(calibrator, reader, saved)
            with usage_errors(f"{reader.name(score_column)}: "):
                merged = _merged(saved, values, columns, answered, update)
            write(frame.assign(**merged))
    if likelihood_ratio:
        comparisons.warn_of_unnamed(screen, predictions.read_record(calibrator))
    if saved.left_out_note:
        screen.warn(f"{saved.left_out_note} They get no probability.")
    if test:
        screen.say(renamed, stderr=True)
        # On stderr if the table is on stdout, which may be piped.
        tested = _tested(saved, labelled, values, is_positive, prior, columns)
        if tested:
            named = predictions.verdicts_by_topic(tested)
            screen.show(tables.verdicts_table(named), stderr=out is None)
        else:
            screen.warn("no labelled row is of a topic that was fitted: there is nothing to test.")


def _of_several(context: typer.Context, source: Any, screen: Screen) -> bool:
    """Predict by a calibrator of several classes or of grades; return False for any other."""
    given, options_given = context.params, options.given(context)
    classes, grades = predictions.of_classes(source), grade_files.of_grades(source)
    if not (classes or grades) and given["shares"] is not None:
        raise UsageError("--shares is for several classes: give --prior.")
    if (classes or grades) and answer_folder.is_folder(given["out"]):
        raise UsageError("--out must be a .csv or .parquet file with several classes or grades.")
    if grades:
        grade_files.predict(source, given, options_given, screen)
    if classes:
        if given["prior"] is not None:
            raise UsageError("--prior is for two classes: give the shares of all with --shares.")
        class_files.refuse_options_of_one_score(options_given, "band")
        reader = ColumnReader(given["scores"], screen=screen)
        labels = given["label_column"] if given["test"] else None
        class_files.predict(
            source, reader, screen, given["out"], given["level"], given["shares"], labels
        )
    return classes or grades


def _merged(
    saved: predictions.SavedCalibrator,
    values: Floats,
    columns: validation.Columns | None,
    answered: Question,
    update: Any,
) -> dict[str, Any]:
    """Return the columns of answers for the rows of all topics."""
    topics, added = saved.rows(), []
    for topic, rows in topics:
        fitted = saved.problems.answering(topic)
        added.append(answered(fitted, values[rows], validation.take_columns(columns, rows)))
        update(advance=rows.size)
    return predictions.merge_columns(added, [rows for _, rows in topics], values.size)


def _tested(
    saved: predictions.SavedCalibrator,
    labelled: Mask,
    values: Floats,
    is_positive: Mask,
    prior: float | None,
    columns: validation.Columns | None,
) -> list[tuple[str, HeldOut]]:
    """Return the predictions for the labelled rows of each topic with any."""
    tested = []
    for topic, rows in saved.rows():
        known = rows[labelled[rows]]
        if known.size:
            fitted = saved.problems.answering(topic)
            own = validation.take_columns(columns, known)
            one = predictions.held_out(
                fitted, values[known], is_positive[known], prior, covariates=own
            )
            tested.append((topic, one))
    return tested


def _write_folder(
    context: typer.Context, paths: list[Path], source: Any, answered: Question, screen: Screen
) -> None:
    """Write the answers for files by blocks into a folder."""
    given = context.params
    calibrator, column, out = given["calibrator"], given["score_column"], given["out"]
    names = comparisons.RATIO_COLUMNS if answered.likelihood_ratio else ()

    def blocks() -> Iterator[answer_folder.RowBlock]:
        for path, frame, formats in read_blocks(paths, answer_folder.ROWS):
            reader = ColumnReader(path, frame, screen, formats)
            writing.check_columns_free(frame, path, *names)
            rejected = reader.set_aside(column) if given["on_error"] == "skip" else frame[:0]
            if reader.frame.empty:
                yield answer_folder.RowBlock(reader.frame, np.empty(0), None, rejected)
                continue
            values = reader.scores(column)
            saved = predictions.read_calibrator(
                calibrator, reader, None, source, lower_is_positive=given["lower_is_positive"]
            )
            covariates = predictions.read_covariates(calibrator, reader, saved)
            yield answer_folder.RowBlock(reader.frame, saved.sign * values, covariates, rejected)

    predictions.state_positive(screen, source)
    arguments = options.arguments_of(context, "predict")
    record = {name: each for name, each in arguments.items() if name not in ELSEWHERE}
    answer_folder.begin(out, calibrator, record, resume=given["resume"])
    with screen.warnings(), screen.progress("rows", count_rows(paths)) as update:
        how: dict[str, Any] = {"jobs": given["jobs"], "screen": screen, "update": update}
        answer_folder.write_parts(blocks(), calibrator, answered, out, **how)


def _check_options(context: typer.Context) -> None:
    given = context.params
    from bayescal.fitting.results.calibration import KINDS
    from bayescal.likelihood_ratio.ratios import BOUNDS

    with usage_errors():
        validation.check_choice("--band", given["band"], KINDS)
        validation.check_choice("--support", given["support"], comparisons.SCALES)
        if given["bounds"] is not None:
            validation.check_choice("--bounds", given["bounds"], BOUNDS)
    in_folder = answer_folder.is_folder(given["out"])
    if in_folder and (given["test"] or given["topic_column"]):
        raise UsageError("--test and --topic-column write one file: name it with --out.")
    if not in_folder and any(options.is_given(context, name) for name in IN_FOLDER):
        raise UsageError("--jobs, --resume and --on-error need a folder: name one with --out.")

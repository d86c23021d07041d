"""`bayescal predict`: probabilities of new scores by a calibrator that was saved."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bayescal.cli import classes as class_files
from bayescal.cli import comparisons, options, predictions, tables, writing
from bayescal.cli import grades as grade_files
from bayescal.cli.columns import ColumnReader
from bayescal.cli.files import ROWS, check_file, count_rows, files_of, read_blocks
from bayescal.cli.terminal import Screen, UsageError, usage_errors
from bayescal.support import validation

if TYPE_CHECKING:
    from bayescal.cli.columns import Mask
    from bayescal.report.held_out import HeldOut
    from bayescal.support.validation import Floats

Test = Annotated[
    bool,
    options.option(
        "--test", options.OUTPUT, "The scores have labels (--label-column): test the probabilities."
    ),
]

app = typer.Typer()


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
    out: options.PredictedFile = None,
    level: options.Level = 0.9,
    band: options.Band = "pointwise",
    prior: options.Prior = None,
    likelihood_ratio: options.LikelihoodRatio = False,
    support: options.Support = "enfsi",
    bounds: options.Bounds = None,
    shares: options.Shares = None,
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
    _check_options(band, support, bounds)
    check_file(out, read=scores)
    screen, paths = Screen(quiet=quiet), files_of(scores)
    with usage_errors():
        source: Any = predictions.load(calibrator)
    if predictions.of_classes(source):
        if prior is not None:
            raise UsageError("--prior is for two classes: give the shares of all with --shares.")
        class_files.refuse_options_of_one_score(options.given(context), "band")
        reader, labels = ColumnReader(scores, screen=screen), label_column if test else None
        class_files.predict(source, reader, screen, out, level, shares, labels)
        return
    if grade_files.of_grades(source):
        grade_files.predict(source, context.params, options.given(context), screen)
        return
    if shares is not None:
        raise UsageError("--shares is for several classes: give --prior.")

    ratio_names = comparisons.RATIO_COLUMNS if likelihood_ratio else ()

    def answered(fitted: Any, values: Floats, own: validation.Columns | None) -> dict[str, Any]:
        curve = predictions.curve_at(fitted, values, level, band=band, prior=prior, covariates=own)
        added: dict[str, Any] = dict(curve.columns)
        if likelihood_ratio:
            added |= comparisons.ratios_at(fitted, values, level, support, bounds)
        return added

    # Names of topics, and tests, need all rows at once.
    whole = test or topic_column is not None
    if whole and len(paths) > 1:
        raise UsageError(
            f"{scores} names {len(paths)} files: --test and --topic-column need all rows in one."
        )
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
        _show_verdicts(screen, tested, stderr=out is None)


def _merged(
    saved: predictions.SavedCalibrator,
    values: Floats,
    columns: validation.Columns | None,
    answered: Callable[..., dict[str, Any]],
    update: Callable[..., None],
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


def _show_verdicts(screen: Screen, tested: list[tuple[str, HeldOut]], *, stderr: bool) -> None:
    """Print a table of verdicts on topics, the worst first."""
    if not tested:
        screen.warn("no labelled row is of a topic that was fitted: there is nothing to test.")
        return
    screen.show(tables.verdicts_table(predictions.verdicts_by_topic(tested)), stderr=stderr)


def _check_options(band: str, support: str, bounds: str | None) -> None:
    from bayescal.fitting.results.calibration import KINDS
    from bayescal.likelihood_ratio.ratios import BOUNDS

    with usage_errors():
        validation.check_choice("--band", band, KINDS)
        validation.check_choice("--support", support, comparisons.SCALES)
        if bounds is not None:
            validation.check_choice("--bounds", bounds, BOUNDS)

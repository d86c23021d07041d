"""`bayescal predict`: probabilities of new scores by a calibrator that was saved."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bayescal.cli import classes as class_files
from bayescal.cli import options, predictions, tables, writing
from bayescal.cli.class_scores import refuse_options_of_one_score
from bayescal.cli.columns import ColumnReader, Mask
from bayescal.cli.files import write_frame
from bayescal.cli.terminal import Screen, UsageError, counted, usage_errors
from bayescal.support import validation

if TYPE_CHECKING:
    from pathlib import Path

    import pandas as pd

    from bayescal.report.held_out import HeldOut
    from bayescal.support.validation import Floats

Test = Annotated[
    bool,
    options.option(
        "--test",
        options.OUTPUT,
        "The scores have labels (--label-column): test whether the probabilities are right.",
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
    shares: options.Shares = None,
    quiet: options.Quiet = False,
) -> None:
    """Give new scores probabilities, with a band if the calibrator has a posterior.

    [bold]bayescal predict calibrated/posterior.nc new.csv --out probabilities.csv[/bold]

    copies the rows of new.csv and adds the columns probability, lower, upper
    and log_odds.

    [bold]bayescal predict calibrated new.csv --topic-column topic > probabilities.csv[/bold]

    takes each topic's calibrator, or that of all topics, from the folder that
    bayescal fit wrote; pooled, a topic that was not fitted has the answer of
    the population. Rows of a topic that the fit left out get empty cells.

    [bold]bayescal predict calibrated held_out.csv --test --out probabilities.csv[/bold]

    says as well whether the probabilities are right, as far as the labels of
    held_out.csv can tell, and what to do if they are not. A model that was
    fitted with --covariate-columns reads the same columns of new.csv.

    [bold]bayescal predict calibrated new.csv --likelihood-ratio --out ratios.csv[/bold]

    adds log10_lr, log10_lr_lower, log10_lr_upper and support: the base-10
    logarithm of the likelihood ratio, its band, and its verbal equivalent.
    """
    _check_options(level, band, prior, support)
    writing.check_file(out, read=scores)
    screen, reader = Screen(quiet=quiet), ColumnReader(scores)
    with usage_errors():
        source = predictions.load(calibrator)
    _check_kind(predictions.of_classes(source), prior, shares)
    if predictions.of_classes(source):
        refuse_options_of_one_score(options.given(context), "band")
        own: Any = {"level": level, "shares": shares}
        own["label_column"] = label_column if test else None
        _print_table(class_files.predict(source, reader, screen, out, **own))
        return
    added = predictions.RATIO_COLUMNS if likelihood_ratio else ()
    writing.check_columns_free(reader.frame, scores, *added)
    values = reader.scores(score_column)
    saved = predictions.read_calibrator(
        calibrator, reader, topic_column, source, lower_is_positive=lower_is_positive
    )
    values, columns = saved.sign * values, predictions.read_covariates(calibrator, reader, saved)
    labels = next(iter(saved.problems.values())).labels
    is_positive, labelled, renamed = None, saved.left_out, ""
    if test:
        is_positive, labelled, renamed = reader.known_labels(label_column, labels, positive)
    topics, curves, ratios = saved.rows(), [], []
    with screen.warnings(), screen.progress("predict", len(topics)) as update:
        for topic, rows in topics:
            update(description=f"predict {topic}")
            with usage_errors():
                fitted = saved.problems.answering(topic)
            own = validation.take_columns(columns, rows)
            with usage_errors(f"{reader.name(score_column)}: "):
                curve = predictions.curve_at(
                    fitted, values[rows], level, band=band, prior=prior, covariates=own
                )
            curves.append(curve)
            if likelihood_ratio:
                with usage_errors("--likelihood-ratio: "):
                    ratios.append(predictions.ratios_at(fitted, values[rows], level, support))
            update(advance=1)
    curve = predictions.merge_curves([rows for _, rows in topics], curves, values.size)
    frame = writing.with_curve(reader.frame, curve)
    if likelihood_ratio:
        positions = [rows for _, rows in topics]
        frame = frame.assign(**predictions.ratio_columns(ratios, positions, values.size))
    _write(frame, out, screen)
    why = f"{calibrator} is one calibrator for all rows."
    predictions.warn_of_topics(screen, reader.frame, scores, topic_column, why)
    if saved.left_out_note:
        screen.warn(f"{saved.left_out_note} They get no probability.")
    if renamed:
        screen.say(renamed, stderr=True)
    if is_positive is not None:
        tested = _tested(saved, labelled, values, is_positive, prior, columns)
        # The table on the screen may be piped on: the verdict stands apart from it.
        _show_verdicts(tested, screen, stderr=out is None)


def _tested(
    saved: predictions.SavedCalibrator,
    labelled: Mask,
    values: Floats,
    is_positive: Mask,
    prior: float | None,
    columns: validation.Columns | None,
) -> list[tuple[str, HeldOut]]:
    """Return the predictions of each topic for rows whose labels are known."""
    tested = []
    for topic, rows in saved.rows():
        known = rows[labelled[rows]]
        if known.size:
            fitted = saved.problems.answering(topic)
            own = validation.take_columns(columns, known)
            one = predictions.held_out(
                fitted, values[known], is_positive[known], prior, covariates=own
            )
            tested.append((topic or "", one))
    return tested


def _show_verdicts(tested: list[tuple[str, HeldOut]], screen: Screen, *, stderr: bool) -> None:
    if not tested:
        screen.warn("no labelled row is of a topic that was fitted: there is nothing to test.")
        return
    screen.show(tables.verdicts_table(predictions.verdicts_by_topic(tested)), stderr=stderr)


def _write(frame: pd.DataFrame, out: Path | None, screen: Screen) -> None:
    if out is None:
        _print_table(frame)
        return
    with writing.staged_file(out) as path:
        write_frame(frame, path)
    screen.say(f"Written to {out}: {counted(len(frame), 'row')}")


def _check_kind(of_classes: bool, prior: float | None, shares: str | None) -> None:
    if of_classes and prior is not None:
        raise UsageError("--prior is for two classes: give the shares of all with --shares.")
    if shares is not None and not of_classes:
        raise UsageError("--shares is for several classes: give --prior.")


def _print_table(frame: pd.DataFrame | None) -> None:
    """Print CSV, if any, which may be piped on."""
    if frame is not None:
        write_frame(frame, sys.stdout)


def _check_options(level: float, band: str, prior: float | None, support: str) -> None:
    from bayescal.fitting.results.calibration import KINDS

    with usage_errors():
        validation.check_fraction(**{"--level": level})
        validation.check_choice("--band", band, KINDS)
        validation.check_choice("--support", support, predictions.SCALES)
        if prior is not None:
            validation.check_fraction(**{"--prior": prior})

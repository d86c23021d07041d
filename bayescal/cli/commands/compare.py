"""`bayescal compare`: maximum likelihood and the posterior side by side."""

from dataclasses import replace
from functools import partial
from typing import Annotated

import typer

from bayescal.cli import classes as class_files
from bayescal.cli import fitting, options, predictions, tables, writing
from bayescal.cli.files import check_folder
from bayescal.cli.scores import (
    HELD_OUT,
    ScoreTable,
    hold_out,
    hold_out_clusters,
    read_scores,
    rows_by_class,
    split_by_topic,
)
from bayescal.cli.terminal import Screen, UsageError, usage_errors
from bayescal.support.intervals import percent

DEFAULT_HOLDOUT = 0.3
NO_TEST_ROWS = "no row is left to test on, so there are no losses: classes of one row are kept."

HOLDOUT = (
    "Share of rows of each class to test on at random, in a file without test rows. By default"
)
Holdout = Annotated[
    float | None,
    options.option("--holdout", options.COLUMNS, f"{HOLDOUT} {DEFAULT_HOLDOUT:g}.", fraction=True),
]

app = typer.Typer()


@app.command()
def compare(
    context: typer.Context,
    scores: options.ScoresFile,
    score_column: options.ScoreColumn = "score",
    label_column: options.LabelColumn = "label",
    classes: options.Classes = None,
    topic_column: options.TopicColumn = None,
    weight_column: options.WeightColumn = None,
    inclusion_column: options.InclusionColumn = None,
    cluster_column: options.ClusterColumn = None,
    split_column: options.SplitColumn = None,
    covariate_columns: options.CovariateColumns = None,
    holdout: Holdout = None,
    positive: options.Positive = None,
    lower_is_positive: options.LowerIsPositive = False,
    scores_are: options.ScoresAre = "auto",
    family: options.Family = None,
    parts: options.Parts = "auto",
    inference: options.Inference = None,
    model: options.Model = None,
    jobs: options.Jobs = 1,
    draws: options.Draws = 1000,
    chains: options.Chains = 4,
    tune: options.Tune = 1000,
    target_accept: options.TargetAccept = 0.9,
    level: options.Level = 0.9,
    seed: options.Seed = 0,
    out: options.OutFolder = None,
    table_format: options.Format = "csv",
    quiet: options.Quiet = False,
) -> None:
    """Compare maximum likelihood with the posterior: parameters, curves, losses on test rows.

    [bold]bayescal compare scores.csv[/bold]

    fits seven tenths of the rows and tests on the others, or takes the test
    rows that a column split names. With --out it writes what bayescal fit
    writes.

    [bold]bayescal compare logits.csv --classes ant,bee,wasp[/bold]

    compares one map of several classes with calibrating each against the
    rest, with temperature scaling, and with the scores as they are.
    """
    screen, arguments = Screen(quiet=quiet), options.arguments_of(context, "compare")
    if classes is not None:
        check_folder(out)
        given = options.given(context)
        table = _with_test_rows(
            class_files.read_to_fit(arguments, given, screen), holdout, seed, screen
        )
        calibrator = class_files.fit(table, arguments, given, screen)
        if table.test_rows.size:
            with screen.warnings(), usage_errors():
                screen.show(class_files.compare(table, calibrator, arguments))
        else:
            screen.warn(NO_TEST_ROWS)
        class_files.test_and_write(calibrator, table, arguments, screen, out)
        return
    if inference == "mle":
        raise UsageError(
            "--inference must be exact, nuts or map, to be compared with maximum likelihood;"
            " got mle."
        )
    arguments["inference"] = fitting.inference_of(arguments)
    parameters = fitting.read_parameters(arguments)
    check_folder(out)
    table = read_scores(scores, arguments, screen)
    writing.check_columns_free(table.frame, scores)
    screen.say(table.note)
    table = _with_test_rows(table, holdout, seed, screen)
    results, left_out = fitting.calibrate(
        split_by_topic(table), parameters, screen, level=level, jobs=jobs
    )
    for result in results:
        screen.show(tables.parameter_table(result, level), tables.curve_table(result, level))
    tested = predictions.with_test_rows(results)
    if tested:
        screen.show(tables.losses_table([tables.by_method(result) for result in tested]))
    else:
        screen.warn(NO_TEST_ROWS)
    screen.show(*tables.left_out_tables(left_out))
    write = partial(writing.write_results, results, table.frame, arguments, left_out)
    writing.save(out, write, arguments, screen)
    predictions.warn_of_topics(screen, table.frame, scores, topic_column, predictions.FIT_TOPICS)


def _with_test_rows(
    table: ScoreTable, holdout: float | None, seed: int, screen: Screen
) -> ScoreTable:
    """Return the table, with random rows of each class to test on if the file has none."""
    if table.test.any():
        if holdout is not None:
            raise UsageError(
                f"--holdout is for files without test rows, got {holdout:g} and"
                f" {int(table.test.sum())} rows of split 'test': leave one of them out."
            )
        return table
    share = DEFAULT_HOLDOUT if holdout is None else holdout
    if table.clusters is None:
        of, test = "each class", hold_out(table.test.size, rows_by_class(table), share, seed)
    else:
        of, test = "clusters", hold_out_clusters(table.clusters, table.labelled, share, seed)
    screen.show(
        f"No test rows: {int(test.sum())} of {test.size} rows held out at random,"
        f" {percent(share)} of {of} (--holdout {share:g} --seed {seed})."
    )
    return replace(table, test=test, frame=table.frame.assign(**{HELD_OUT: test}))

"""`bayescal lr`: validate likelihood ratios of comparisons whose truth is known."""

from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from bayescal.cli import comparisons, options, predictions, writing
from bayescal.cli.columns import ColumnReader
from bayescal.cli.commands.report import PAGES
from bayescal.cli.files import check_file, write_frame
from bayescal.cli.terminal import Screen, usage_errors
from bayescal.support.files import whole_file
from bayescal.support.validation import check_choice

FOLDS = "Number of folds of sources, or of comparisons: each LR comes from a fit without its fold."
Folds = Annotated[int, options.option("--folds", options.FIT, FOLDS, least=2)]
PAGE = "The .html file to write."
Page = Annotated[Path | None, options.option("--out", options.OUTPUT, PAGE, "FILE")]
RATIOS = "A .csv or .parquet file for the rows with their LRs."
RatiosFile = Annotated[Path | None, options.option("--ratios", options.OUTPUT, RATIOS, "FILE")]
TITLE = "Title of the page."
Title = Annotated[str | None, options.option("--title", options.OUTPUT, TITLE)]

app = typer.Typer()


@app.command()
def lr(
    context: typer.Context,
    scores: options.ScoresFile,
    score_column: options.ScoreColumn = "score",
    label_column: options.LabelColumn = "label",
    source_columns: options.SourceColumns = None,
    positive: options.Positive = None,
    lower_is_positive: options.LowerIsPositive = False,
    scores_are: options.ScoresAre = "auto",
    folds: Folds = 10,
    draws: options.Draws = 250,
    level: options.Level = 0.9,
    support: options.Support = "enfsi",
    seed: options.Seed = 0,
    out: Page = None,
    ratios: RatiosFile = None,
    title: Title = None,
    quiet: options.Quiet = False,
) -> None:
    """Validate likelihood ratios: Cllr, misleading evidence, bounds, with intervals.

    [bold]bayescal lr pairs.csv --source-columns a,b --out validation.html[/bold]

    cross-validates by sources: each comparison gets its LR from a fit to
    nine tenths of the sources, without its own. The page has the measures,
    the Tippett, PAV and cross-entropy plots, and the limits. All rows are held
    in memory; bayescal predict --likelihood-ratio answers new comparisons in
    files of any size.
    """
    from bayescal.calibrators.score_calibrator import ScoreCalibrator
    from bayescal.fitting.results.tree import versions
    from bayescal.likelihood_ratio import cross_validated, validate
    from bayescal.report import write_validation

    with usage_errors():
        check_choice("--support", support, comparisons.SCALES)
    check_file(out, PAGES)
    check_file(ratios, read=scores, option="--ratios")
    screen = Screen(quiet=quiet)
    reader = ColumnReader(scores, screen=screen)
    if ratios is not None:
        writing.check_columns_free(reader.frame, scores, *comparisons.RATIO_COLUMNS)
    values = (-1.0 if lower_is_positive else 1.0) * reader.scores(score_column)
    classes, is_positive, labelled = reader.labels(label_column, positive)
    rows = np.flatnonzero(labelled)
    truth, sources = is_positive[rows], None
    if source_columns is not None:
        sources = comparisons.read_pairs(reader, source_columns, rows, is_positive)
    calibrator = ScoreCalibrator(
        scores_are=scores_are, positive=classes[1], draws=draws, random_state=seed
    )
    labels = np.array(classes)[truth.astype(np.intp)]
    with screen.warnings(), usage_errors(), screen.progress("fit", rows.size) as update:
        found = cross_validated(
            calibrator,
            values[rows],
            labels,
            sources=sources,
            folds=folds,
            level=level,
            support=None if support == "none" else support,
            rng=seed,
            progress=lambda done: update(advance=done),
        )
        checked = validate(truth, found.log10, sources=sources, level=level, rng=seed)
    screen.show(checked.text)
    if out is not None:
        counted = reader.rows_read(labelled), classes[1], "comparisons"
        run = {"Versions": versions()} | writing.page_run(context, "lr", [scores], *counted)
        with usage_errors():
            write_validation(
                out, truth, found, sources=sources, level=level, rng=seed, title=title, run=run
            )
        screen.say(f"Written to {out}: opens in any browser")
    if ratios is not None:
        own = comparisons.ratio_columns(found)
        columns = predictions.merge_columns([own], [rows], len(reader.frame))
        with usage_errors("--ratios: ", (OSError,)), whole_file(ratios) as path:
            write_frame(reader.frame.assign(**columns), path)
        screen.say(f"Written to {ratios}")

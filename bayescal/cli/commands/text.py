"""`bayescal text`: from documents to calibrated probabilities."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

from bayescal.cli import options
from bayescal.cli.console import Screen
from bayescal.cli.curve import curve_at
from bayescal.cli.documents import Documents, read_documents
from bayescal.cli.errors import UsageError, blamed_on_use
from bayescal.cli.fitting import Calibrated, held_out_losses
from bayescal.cli.problems import Problem
from bayescal.cli.reading import ScoreTable
from bayescal.cli.request import recorded
from bayescal.cli.settings import Settings, check_at_least
from bayescal.cli.tables import by_method, losses_table, parameter_table
from bayescal.cli.verdicts import verdicts_of, verdicts_table
from bayescal.cli.writing import (
    CURVE_COLUMNS,
    TableFormat,
    check_folder,
    staged_folder,
    write_results,
)

if TYPE_CHECKING:
    from bayescal.text import TextCalibrator
    from bayescal.validation import Floats

CLASSIFIER = "Classifier"
SCORE, SCORED_BY = "score", "scored_by"

text = typer.Typer(
    help="Classify documents and calibrate.", no_args_is_help=True, add_completion=False
)

Docs = Annotated[
    Path,
    typer.Argument(
        metavar="DOCUMENTS",
        help="A .csv or .parquet file with texts and labels; or a folder of .txt files, those with"
        " a label in a folder of its name.",
    ),
]
TextColumn = Annotated[
    str, typer.Option("--text-column", help="The documents.", rich_help_panel=options.COLUMNS)
]
LabelColumn = Annotated[
    str,
    typer.Option(
        "--label-column",
        help="Labels, two classes; empty for documents to predict.",
        rich_help_panel=options.COLUMNS,
    ),
]
Classifier = Annotated[
    str,
    typer.Option(
        "--classifier",
        help="linear_svm, naive_bayes or bernoulli_naive_bayes.",
        rich_help_panel=CLASSIFIER,
    ),
]
Words = Annotated[
    int,
    typer.Option(
        "--words",
        help="Words to use, by mutual information with the label.",
        rich_help_panel=CLASSIFIER,
    ),
]
Folds = Annotated[
    int, typer.Option("--folds", help="Of the cross-validation.", rich_help_panel=CLASSIFIER)
]


@text.callback()
def _text() -> None:
    """Classify documents and calibrate."""


@text.command("fit")
def fit_text(
    documents: Docs,
    text_column: TextColumn = "text",
    label_column: LabelColumn = "label",
    split_column: options.SplitColumn = None,
    positive: options.Positive = None,
    classifier: Classifier = "linear_svm",
    words: Words = 300,
    folds: Folds = 5,
    out: options.OutFolder = None,
    table_format: options.Format = TableFormat.CSV,
    level: options.Level = 0.9,
    seed: options.Seed = 0,
    quiet: options.Quiet = False,
) -> None:
    """Learn from labelled documents, and give every document a calibrated probability.

    [bold]bayescal text fit docs.csv --out calibrated[/bold]

    chooses words, trains the classifier, calibrates it by cross-validated
    scores, and writes probabilities.csv: each row with its score,
    probability, band and log-odds. Documents without a label are predicted;
    rows of split test are predicted and tell the losses.
    """
    given = locals()
    settings = Settings(level=level, seed=seed)
    settings.check()
    check_at_least(1, **{"--words": words})
    check_at_least(2, **{"--folds": folds})
    check_folder(out)
    screen = Screen(quiet=quiet)
    docs = read_documents(documents, text_column, label_column, split_column, positive)
    _check_columns_free(docs, documents)
    model = _model(classifier, words, folds, settings)
    calibrated = _calibrate(docs, model, level, screen)
    screen.show(parameter_table(calibrated, level))
    if calibrated.losses:
        screen.show(losses_table([by_method(calibrated)]))
        screen.show(verdicts_table(verdicts_of([calibrated])))
    _save(out, calibrated, recorded("text fit", given), table_format, screen)


def _check_columns_free(docs: Documents, path: Path) -> None:
    for name in (SCORE, SCORED_BY, *CURVE_COLUMNS):
        if name in docs.frame.columns:
            raise UsageError(f"{path} has a column {name!r}, which is to be written: rename it.")


def _model(classifier: str, words: int, folds: int, settings: Settings) -> TextCalibrator:
    from bayescal.text import TextCalibrator
    from bayescal.text.classifiers import CLASSIFIERS
    from bayescal.validation import check_choice

    with blamed_on_use():
        check_choice("--classifier", classifier, CLASSIFIERS)
    return TextCalibrator(
        classifier,
        words=words,
        folds=folds,
        calibrator=settings.calibrator(),
        random_state=settings.seed,
    )


def _calibrate(docs: Documents, model: TextCalibrator, level: float, screen: Screen) -> Calibrated:
    """Fit to the rows to fit; give every row a score that its own label did not make."""
    fitted = docs.fitted
    with screen.warnings(), blamed_on_use():
        model.fit(docs.chosen(fitted), docs.targets[fitted])
    scores = np.empty(len(docs.texts))
    scores[fitted] = model.scores_
    if not fitted.all():
        scores[~fitted] = _new_scores(docs.chosen(~fitted), model, screen)
    problem = _problem(docs, scores)
    return Calibrated(
        problem=problem,
        calibrator=model.calibrator_,
        curve=curve_at(model.calibrator_, scores, level),
        losses=held_out_losses(model.calibrator_, problem),
    )


def _new_scores(texts: list[str], model: TextCalibrator, screen: Screen) -> Floats:
    from bayescal.text import UnknownWordsWarning

    with warnings.catch_warnings(record=True) as caught, blamed_on_use():
        warnings.simplefilter("always", UnknownWordsWarning)
        scores = model.score_documents(texts)
    for each in caught:
        screen.warn(str(each.message))
    return scores


def _problem(docs: Documents, scores: Floats) -> Problem:
    by = np.where(docs.fitted, "classifier of the other folds", "classifier of all folds")
    table = ScoreTable(
        frame=docs.frame.assign(**{SCORE: scores, SCORED_BY: by}),
        score=scores,
        positive=docs.positive,
        classes=docs.classes,
        test=docs.test,
    )
    rows = (docs.fitted, docs.labelled & docs.test, ~docs.labelled)
    return Problem(table, None, *(np.flatnonzero(which) for which in rows))


def _save(
    out: Path | None,
    calibrated: Calibrated,
    arguments: dict[str, Any],
    table_format: TableFormat,
    screen: Screen,
) -> None:
    if out is None:
        screen.say("Nothing is written; --out FOLDER keeps calibrator and probabilities.")
        return
    with staged_folder(out) as stage:
        write_results(stage, [calibrated], arguments, table_format)
        names = [path.name for path in sorted(stage.iterdir())]
    screen.say(f"Written to {out}: {', '.join(names)}")

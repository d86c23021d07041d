"""`bayescal text`: from documents to calibrated probabilities."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import numpy as np
import typer

from bayescal.cli import options
from bayescal.cli.command import Call, Screen, UsageError, blamed_on_use, command
from bayescal.cli.fitting import SINGLE, Calibrated, Problem, calibrated
from bayescal.cli.options import TableFormat
from bayescal.cli.reading import Documents, ScoreTable, read_documents
from bayescal.cli.saved import say_what_is_not_used
from bayescal.cli.settings import Settings, check_at_least
from bayescal.cli.tables import answer_table
from bayescal.cli.writing import CURVE_COLUMNS, check_folder, held_out_tables, save

if TYPE_CHECKING:
    from bayescal.support.validation import Floats
    from bayescal.text import TextCalibrator

CLASSIFIER = "Classifier"
SCORE, SCORED_BY = "score", "scored_by"

app = typer.Typer(name="text", help="Classify documents and calibrate.", no_args_is_help=True)

Docs = Annotated[
    Path,
    typer.Argument(
        metavar="DOCUMENTS",
        help="A .csv or .parquet file with texts and labels; or a folder of .txt files, those with"
        " a label in a folder of its name.",
    ),
]
TextColumn = Annotated[
    str, options.option("--text-column", options.COLUMNS, "The texts of the documents.")
]
LabelColumn = Annotated[
    str,
    options.option(
        "--label-column", options.COLUMNS, "Labels, two classes; empty for documents to predict."
    ),
]
Classifier = Annotated[
    str,
    options.option(
        "--classifier",
        CLASSIFIER,
        "One of linear_svm, naive_bayes, bernoulli_naive_bayes, nearest_neighbours and"
        " decision_tree.",
    ),
]
Words = Annotated[
    int,
    options.option(
        "--words",
        CLASSIFIER,
        "Number of words to use, chosen by mutual information with the label.",
    ),
]
Folds = Annotated[
    int, options.option("--folds", CLASSIFIER, "Number of folds of the cross-validation.")
]


@dataclass(frozen=True, kw_only=True)
class FitText(Call):
    """The options of `bayescal text fit`."""

    documents: Docs
    text_column: TextColumn = "text"
    label_column: LabelColumn = "label"
    split_column: options.SplitColumn = None
    positive: options.Positive = None
    classifier: Classifier = "linear_svm"
    words: Words = 300
    folds: Folds = 5
    out: options.OutFolder = None
    table_format: options.Format = TableFormat.CSV
    level: options.Level = 0.9
    seed: options.Seed = 0


@command(app, FitText, "fit")
def fit_text(asked: FitText) -> None:
    """Learn from labelled documents, and give every document a calibrated probability.

    [bold]bayescal text fit docs.csv --out calibrated[/bold]

    chooses words, trains the classifier, calibrates it by cross-validated
    scores, and writes probabilities.csv: each row with its score,
    probability, band and log-odds. Documents without a label are predicted;
    rows of split test are predicted and tell the losses.
    """
    settings = Settings(level=asked.level, seed=asked.seed)
    settings.check()
    check_at_least(1, **{"--words": asked.words})
    check_at_least(2, **{"--folds": asked.folds})
    check_folder(asked.out)
    _check_classifier(asked.classifier)
    docs = read_documents(
        asked.documents, asked.text_column, asked.label_column, asked.split_column, asked.positive
    )
    _check_columns_free(docs, asked.documents)
    screen, model = asked.screen, _model(asked, settings, docs.classes[1])
    one = _calibrate(docs, model, asked.level, screen)
    screen.show(answer_table(one, asked.level), *held_out_tables([one]))
    save(asked.out, [one], asked.told("text fit"), asked.table_format, screen)
    what = "all documents are one question; fit a file of each topic by itself."
    say_what_is_not_used(screen, docs.frame, asked.documents, None, what)


def _check_columns_free(docs: Documents, path: Path) -> None:
    for name in (SCORE, SCORED_BY, *CURVE_COLUMNS):
        if name in docs.frame.columns:
            raise UsageError(f"{path} has a column {name!r}, which is to be written: rename it.")


def _check_classifier(name: str) -> None:
    from bayescal.support.validation import check_choice
    from bayescal.text.classifiers import CLASSIFIERS

    with blamed_on_use():
        check_choice("--classifier", name, CLASSIFIERS)


def _model(asked: FitText, settings: Settings, positive: str) -> TextCalibrator:
    from bayescal.calibrators.score_calibrator import ScoreCalibrator
    from bayescal.text import TextCalibrator

    return TextCalibrator(
        asked.classifier,
        words=asked.words,
        folds=asked.folds,
        calibrator=ScoreCalibrator(**settings.arguments()),
        random_state=asked.seed,
        positive=positive,
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
    (calibrator,) = model.calibrated_classifiers_[0].calibrators
    (fitted_problem,) = calibrator.fitted_problems().values()
    return calibrated(_problem(docs, scores), calibrator, fitted_problem, SINGLE, level)


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

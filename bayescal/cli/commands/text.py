"""`bayescal text`: from documents to calibrated probabilities."""

import warnings
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from bayescal.cli import fitting, options, predictions, tables, writing
from bayescal.cli.files import check_file, check_folder
from bayescal.cli.scores import NONE, missing_class, read_documents, read_texts
from bayescal.cli.terminal import Screen, UsageError, usage_errors

CLASSIFIER = "Classifier"
SCORE, SCORED_BY = "score", "scored_by"
CLASSIFIER_FILE = "classifier.skops"

FIT = "text fit"  # the command, in the record of a run

app = typer.Typer(name="text", help="Classify documents and calibrate.", no_args_is_help=True)

DOCUMENTS = (
    "A table with texts and labels, or a folder of .txt files, those with a label in a folder of"
    " its name."
)
Docs = Annotated[Path, options.argument("DOCUMENTS", DOCUMENTS)]
NEW_DOCUMENTS = "A table with texts, or a folder of .txt files."
NewDocs = Annotated[Path, options.argument("DOCUMENTS", NEW_DOCUMENTS)]
Folder = Annotated[Path, options.argument("FOLDER", "The folder that bayescal text fit wrote.")]
TEXTS, LABELS = (
    "The texts of the documents.",
    "Labels, two classes; empty for documents to predict.",
)
TextColumn = Annotated[str, options.option("--text-column", options.COLUMNS, TEXTS)]
LabelColumn = Annotated[str, options.option("--label-column", options.COLUMNS, LABELS)]
CLASSIFIER_NAMES = (
    "linear_svm, naive_bayes, bernoulli_naive_bayes, nearest_neighbours or decision_tree."
)
Classifier = Annotated[str, options.option("--classifier", CLASSIFIER, CLASSIFIER_NAMES)]
WORDS = "Number of words to use, chosen by mutual information with the label."
Words = Annotated[int, options.option("--words", CLASSIFIER, WORDS, least=1)]
MIN_DOCUMENTS = "Leave out words in fewer documents; by default 1 to 3, by number of documents."
MinDocuments = Annotated[
    int | None, options.option("--min-documents", CLASSIFIER, MIN_DOCUMENTS, least=1)
]
FOLDS = "Number of folds of the cross-validation."
Folds = Annotated[int, options.option("--folds", CLASSIFIER, FOLDS, least=2)]


@app.command("fit")
def fit_text(
    context: typer.Context,
    documents: Docs,
    text_column: TextColumn = "text",
    label_column: LabelColumn = "label",
    split_column: options.SplitColumn = None,
    cluster_column: options.ClusterColumn = None,
    positive: options.Positive = None,
    classifier: Classifier = "linear_svm",
    words: Words = 300,
    min_documents: MinDocuments = None,
    folds: Folds = 5,
    out: options.OutFolder = None,
    table_format: options.Format = "csv",
    level: options.Level = 0.9,
    seed: options.Seed = 0,
    quiet: options.Quiet = False,
) -> None:
    """Train a classifier on labelled documents, and calibrate its probabilities.

    [bold]bayescal text fit docs.csv --out calibrated[/bold]

    chooses words, trains the classifier, calibrates it by cross-validated
    scores, and writes probabilities.csv: each row with its score,
    probability, band and log-odds. Documents without a label are predicted;
    rows of split test are predicted, and their losses are printed.
    """
    check_folder(out)
    from bayescal.support.validation import check_choice
    from bayescal.text.classifiers import CLASSIFIERS

    with usage_errors():
        check_choice("--classifier", classifier, CLASSIFIERS)
    screen = Screen(quiet=quiet)
    columns = text_column, label_column, split_column, cluster_column
    table, texts = read_documents(documents, *columns, positive, screen)
    writing.check_columns_free(table.frame, documents, SCORE, SCORED_BY)
    if lacking := missing_class(table):
        raise UsageError(lacking)
    from bayescal.calibrators.score_calibrator import ScoreCalibrator
    from bayescal.text import TextCalibrator, UnknownWordsWarning
    from bayescal.text.stored import write_classifier

    model = TextCalibrator(
        classifier,
        words=words,
        min_documents=min_documents,
        folds=folds,
        calibrator=ScoreCalibrator(inference="exact", random_state=seed),
        random_state=seed,
        positive=table.classes[1],
    )
    # By text, so that the order of rows changes no fold.
    fit_rows = np.array(sorted(table.fit_rows, key=lambda k: (texts[k], table.label[k])))
    scores = np.empty(len(texts))
    with screen.warnings(lambda _: ""), usage_errors():
        labels, weights = table.labels(fit_rows), table.weights(fit_rows)
        model.fit([texts[k] for k in fit_rows], labels, **weights)
        # No row's score depends on its own label.
        scores[fit_rows] = model.scores_
        other_rows = np.setdiff1d(np.arange(len(texts)), fit_rows)
        if other_rows.size:
            warnings.simplefilter("always", UnknownWordsWarning)
            scores[other_rows] = model.score_documents([texts[k] for k in other_rows])
    by = np.full(len(texts), "classifier of all folds", dtype=object)
    by[fit_rows] = "classifier of the other folds"
    frame = table.frame.assign(**{SCORE: scores, SCORED_BY: by})
    problem = replace(table, score=scores).take(np.arange(len(texts)))
    (calibrator,) = model.calibrated_classifiers_[0].calibrators
    (fitted,) = calibrator.fitted_problems().values()
    result = predictions.calibrated(problem, calibrator, fitted, fitting.SINGLE, level)
    screen.show(tables.answer_table(result, level), *tables.held_out_tables([result]))
    arguments = options.arguments_of(context, FIT)

    def write(folder: Path) -> None:
        writing.write_results([result], frame, arguments, NONE, folder)
        write_classifier(model, folder / CLASSIFIER_FILE)

    writing.save(out, write, arguments, screen)
    why = "all documents are one question; fit a file of each topic by itself."
    predictions.warn_of_topics(screen, frame, documents, None, why)


@app.command("predict")
def predict_text(
    folder: Folder,
    documents: NewDocs,
    text_column: TextColumn = "text",
    out: options.PredictedFile = None,
    level: options.Level = 0.9,
    quiet: options.Quiet = False,
) -> None:
    """Give later documents probabilities, with a band.

    [bold]bayescal text predict calibrated new.csv --out probabilities.csv[/bold]

    scores the texts of new.csv by the classifier in the folder that bayescal
    text fit wrote, copies the rows without their texts, and adds the columns
    score, probability, lower, upper and log_odds.
    """
    check_file(out, read=documents)
    if predictions.read_record(folder).get("arguments", {}).get("command") != FIT:
        raise UsageError(f"{folder} must be a folder that bayescal {FIT} --out has written.")
    screen = Screen(quiet=quiet)
    reader, texts = read_texts(documents, text_column, "label", screen)
    frame = reader.frame.drop(columns=text_column)
    writing.check_columns_free(frame, documents, SCORE)
    from bayescal.text import UnknownWordsWarning
    from bayescal.text.stored import read_classifier, score_texts

    with screen.warnings(lambda _: ""), usage_errors():
        warnings.simplefilter("always", UnknownWordsWarning)
        source: Any = predictions.load(folder)
        predictions.state_positive(screen, source)
        (fitted,) = source.fitted_problems().values()
        classifier = read_classifier(folder / CLASSIFIER_FILE)
        score = score_texts(classifier, texts, fitted.labels[1])
        curve = predictions.curve_at(fitted, score, level)
    writing.write_table(frame.assign(**{SCORE: score}, **curve.columns), out, screen)

"""Arguments and options that several commands share."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

COLUMNS, FIT, SAMPLER, OUTPUT = "Columns", "Calibrator", "Sampler", "Output"


def option(names: str, panel: str | None, text: str, metavar: str | None = None) -> Any:
    """Return an option with its help, in one of the panels."""
    return typer.Option(*names.split(), help=text, metavar=metavar, rich_help_panel=panel)


class InferenceName(StrEnum):
    """The values of --inference."""

    EXACT = "exact"
    NUTS = "nuts"
    MAP = "map"
    MLE = "mle"


class TableFormat(StrEnum):
    """The values of --format."""

    CSV = "csv"
    PARQUET = "parquet"


ScoresFile = Annotated[
    Path,
    typer.Argument(
        metavar="SCORES", help="A .csv, .tsv (or .gz of these) or .parquet file of scores."
    ),
]
Calibrator = Annotated[
    Path,
    typer.Argument(
        metavar="CALIBRATOR", help="A .nc file, or a folder, that bayescal fit has written."
    ),
]
ScoreColumn = Annotated[str, option("--score-column", COLUMNS, "Raw scores, larger for positives.")]
LabelColumn = Annotated[str, option("--label-column", COLUMNS, "Labels of two classes.")]
TopicColumn = Annotated[
    str | None, option("--topic-column", COLUMNS, "Topics: each gets a calibrator of its own.")
]
Pool = Annotated[
    bool,
    option(
        "--pool",
        FIT,
        "Fit all topics together, each around their population: for topics with few positives.",
    ),
]
WeightColumn = Annotated[
    str | None,
    option("--weight-column", COLUMNS, "Weights of rows in the fit; 2 equals repeating the row."),
]
SplitColumn = Annotated[
    str | None,
    option(
        "--split-column",
        COLUMNS,
        "Rows to fit (calibration or train) and to test on (test). A column named split is"
        " taken unasked; without one all rows are fitted.",
    ),
]
Positive = Annotated[
    str | None,
    option(
        "--positive",
        COLUMNS,
        "The positive label. By default the second in sorted order.",
        metavar="LABEL",
    ),
]
PositiveHere = Annotated[
    str | None,
    option(
        "--positive",
        COLUMNS,
        "The label here that stands for the positive class, if labels are not spelled as those"
        " that were fitted.",
        metavar="LABEL",
    ),
]
ScoresAre = Annotated[
    str,
    option(
        "--scores-are",
        COLUMNS,
        "scores, log_odds or probabilities, of which the log-odds are calibrated. By default"
        " (auto) scores, with a warning if all lie in [0, 1].",
    ),
]
Family = Annotated[
    str | None,
    option(
        "--family",
        FIT,
        "Family of the class densities: gaussian, laplace, asymmetric_gaussian, asymmetric_laplace,"
        " average of these four, or hybrid. By default Gaussian and asymmetric Laplace densities,"
        " or the model's with nuts, map and mle.",
    ),
]
Parts = Annotated[
    str,
    option(
        "--parts",
        FIT,
        "What the curve is made of: densities, monotone, logistic, recalibrated, learned, or"
        " several of them, weighed by labels left out; combined is all. By default combined, or"
        " densities where --family or --model is given.",
        metavar="NAME[,NAME...]",
    ),
]
PriorKnowledge = Annotated[
    str | None,
    option(
        "--prior-knowledge",
        FIT,
        "What is known before the first label: learned (what scores mean on other data, if they"
        " are as the classifier made them), vague, or the file of a history of topics or of"
        " populations of one's own. By default learned.",
        metavar="NAME|FILE",
    ),
]
Inference = Annotated[
    InferenceName | None,
    option(
        "--inference",
        FIT,
        "Posterior draws without MCMC (exact) or by NUTS (nuts), its mode (map), or maximum"
        " likelihood (mle). By default exact, or nuts where a model is given.",
    ),
]
Model = Annotated[
    str | None,
    option(
        "--model",
        FIT,
        "Model program with the priors; a file is run. See bayescal models.",
        metavar="NAME|FILE.py",
    ),
]
Draws = Annotated[int, option("--draws", SAMPLER, "Posterior draws of each chain.")]
Chains = Annotated[
    int, option("--chains", SAMPLER, "Number of chains, of Markov chains with nuts.")
]
Tune = Annotated[int, option("--tune", SAMPLER, "With nuts: steps of tuning before the draws.")]
TargetAccept = Annotated[
    float,
    option(
        "--target-accept",
        SAMPLER,
        "With nuts: nearer to 1 makes smaller steps, against divergences.",
    ),
]
Level = Annotated[
    float, option("--level", OUTPUT, "Probability with which bands and intervals hold the truth.")
]
Band = Annotated[
    str,
    option(
        "--band",
        OUTPUT,
        "pointwise: equal tails at each score; hdi: the shortest interval at each score;"
        " simultaneous: holds the whole curve.",
    ),
]
Prior = Annotated[
    float | None,
    option(
        "--prior", OUTPUT, "P(+) of the documents predicted, if it is not that of the ones fitted."
    ),
]
Jobs = Annotated[int, option("--jobs", FIT, "Number of processes, each of which fits topics.")]
Resume = Annotated[
    bool,
    option(
        "--resume",
        OUTPUT,
        "Go on with a run that was killed: topics that it kept in --out are not fitted"
        " again. Scores and options must be the same.",
    ),
]
Parameters = Annotated[
    bool, option("--parameters", OUTPUT, "Print the parameters too, a table for each topic.")
]
Seed = Annotated[int, option("--seed", OUTPUT, "The same seed gives the same result.")]
OutFolder = Annotated[
    Path | None,
    option(
        "--out",
        OUTPUT,
        "Where to write calibrators, probabilities and a summary. By default nothing is written.",
        metavar="FOLDER",
    ),
]
PredictedFile = Annotated[
    Path | None,
    option(
        "--out",
        OUTPUT,
        "A .csv or .parquet file to write. By default CSV on the screen, quiet or not.",
        metavar="FILE",
    ),
]
TableFile = Annotated[
    Path | None,
    option("--out", OUTPUT, "A .csv or .parquet file for the whole table.", metavar="FILE"),
]
Format = Annotated[
    TableFormat, option("--format", OUTPUT, "Format of the probabilities that are written.")
]
Quiet = Annotated[bool, option("--quiet -q", OUTPUT, "Print errors only.")]

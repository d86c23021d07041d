"""Arguments and options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from bayescal.cli.settings import InferenceName
from bayescal.cli.writing import TableFormat

COLUMNS, FIT, SAMPLER, OUTPUT = "Columns", "Calibrator", "Sampler", "Output"

ScoresFile = Annotated[
    Path, typer.Argument(metavar="SCORES", help="A .csv or .parquet file of scores.")
]
ScoreColumn = Annotated[
    str,
    typer.Option(
        "--score-column", help="Raw scores, larger for positives.", rich_help_panel=COLUMNS
    ),
]
LabelColumn = Annotated[
    str, typer.Option("--label-column", help="Labels, two classes.", rich_help_panel=COLUMNS)
]
TopicColumn = Annotated[
    str | None,
    typer.Option("--topic-column", help="Topics, a calibrator each.", rich_help_panel=COLUMNS),
]
Pool = Annotated[
    bool,
    typer.Option(
        "--pool",
        help="Fit all topics together, each around their population: for topics with few"
        " positives.",
        rich_help_panel=FIT,
    ),
]
WeightColumn = Annotated[
    str | None,
    typer.Option(
        "--weight-column",
        help="Weights in the fit; 2 equals repeating the row.",
        rich_help_panel=COLUMNS,
    ),
]
SplitColumn = Annotated[
    str | None,
    typer.Option(
        "--split-column",
        help="Rows to fit (calibration or train) and to test on (test). A column named split is"
        " taken unasked; without one all rows are fitted.",
        rich_help_panel=COLUMNS,
    ),
]
Positive = Annotated[
    str | None,
    typer.Option(
        "--positive",
        metavar="LABEL",
        help="The positive label. By default the second in sorted order.",
        rich_help_panel=COLUMNS,
    ),
]
ScoresAre = Annotated[
    str,
    typer.Option(
        "--scores-are",
        help="scores, log_odds or probabilities, of which the log-odds are calibrated. By default"
        " (auto) scores, with a warning if all lie in [0, 1].",
        rich_help_panel=COLUMNS,
    ),
]
Family = Annotated[
    str | None,
    typer.Option(
        "--family",
        help="Of the class densities: gaussian, laplace, asymmetric_gaussian, asymmetric_laplace,"
        " average of these four, or hybrid. By default Gaussian and asymmetric Laplace densities,"
        " or the model's with nuts, map and mle.",
        rich_help_panel=FIT,
    ),
]
Parts = Annotated[
    str,
    typer.Option(
        "--parts",
        metavar="NAME[,NAME...]",
        help="What the curve is made of: densities, monotone, logistic, recalibrated, or several of"
        " them, weighed by labels left out; combined is all. By default combined, or densities"
        " where --family or --model is given.",
        rich_help_panel=FIT,
    ),
]
Inference = Annotated[
    InferenceName | None,
    typer.Option(
        "--inference",
        help="Posterior draws without MCMC (exact) or by NUTS (nuts), its mode (map), or maximum"
        " likelihood (mle). By default exact, or nuts where a model is given.",
        rich_help_panel=FIT,
    ),
]
Model = Annotated[
    str | None,
    typer.Option(
        "--model",
        metavar="NAME|FILE.py",
        help="Model program with the priors; a file is run. See bayescal models.",
        rich_help_panel=FIT,
    ),
]
Draws = Annotated[int, typer.Option("--draws", help="Draws a chain.", rich_help_panel=SAMPLER)]
Chains = Annotated[int, typer.Option("--chains", help="Markov chains.", rich_help_panel=SAMPLER)]
Tune = Annotated[
    int,
    typer.Option("--tune", help="Tuning steps before the draws.", rich_help_panel=SAMPLER),
]
TargetAccept = Annotated[
    float,
    typer.Option(
        "--target-accept",
        help="Towards 1 for smaller steps, against divergences.",
        rich_help_panel=SAMPLER,
    ),
]
Level = Annotated[
    float, typer.Option("--level", help="Probability of the bands.", rich_help_panel=OUTPUT)
]
Band = Annotated[
    str,
    typer.Option(
        "--band",
        help="pointwise: equal tails at each score; hdi: the shortest interval at each score;"
        " simultaneous: holds the whole curve.",
        rich_help_panel=OUTPUT,
    ),
]
Prior = Annotated[
    float | None,
    typer.Option(
        "--prior",
        help="P(+) of the documents predicted, if it is not that of the ones fitted.",
        rich_help_panel=OUTPUT,
    ),
]
Jobs = Annotated[
    int,
    typer.Option("--jobs", help="Processes that fit topics, one a topic.", rich_help_panel=FIT),
]
Resume = Annotated[
    bool,
    typer.Option(
        "--resume",
        help="Go on with a run that was killed: topics that it wrote to --out are not fitted"
        " again. Scores and options must be the same.",
        rich_help_panel=OUTPUT,
    ),
]
Seed = Annotated[
    int,
    typer.Option("--seed", help="Same seed, same result.", rich_help_panel=OUTPUT),
]
OutFolder = Annotated[
    Path | None,
    typer.Option(
        "--out",
        metavar="FOLDER",
        help="Where to write calibrators, probabilities and a summary. By default nothing is"
        " written.",
        rich_help_panel=OUTPUT,
    ),
]
Format = Annotated[
    TableFormat,
    typer.Option("--format", help="Of the probabilities written.", rich_help_panel=OUTPUT),
]
Quiet = Annotated[
    bool, typer.Option("--quiet", "-q", help="Print errors only.", rich_help_panel=OUTPUT)
]

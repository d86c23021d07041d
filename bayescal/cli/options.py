"""Arguments and options that several commands share, as annotations of their parameters."""

from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from bayescal.cli.terminal import number_check

COLUMNS, FIT, SAMPLER, OUTPUT = "Columns", "Calibrator", "Sampler", "Output"
FILE_KINDS = "A .csv or .tsv (or .gz of these; --decimal), .xlsx or .parquet file"
# Arguments that the record of a run omits: output and printing.
UNRECORDED = ("out", "parameters", "quiet")


def option(
    names: str,
    panel: str | None,
    text: str,
    metavar: str | None = None,
    *,
    least: int | None = None,
    fraction: bool = False,
) -> Any:
    """Return an option with its help, in one of the panels, whose numbers are checked."""
    return typer.Option(
        *names.split(),
        help=text,
        metavar=metavar,
        rich_help_panel=panel,
        callback=number_check(names.split()[0], least, fraction=fraction),
    )


def arguments_of(context: typer.Context, command: str) -> dict[str, Any]:
    """Return the arguments of a call, by parameter, for the record."""
    recorded = {name: context.params[name] for name in context.params if name not in UNRECORDED}
    if decimal := context.find_root().params["decimal"]:
        recorded["decimal"] = decimal
    return {"command": command, **recorded}


def flag(name: str) -> str:
    """Return a parameter's name as the command line has it."""
    return f"--{name.replace('_', '-')}"


def is_given(context: typer.Context, name: str) -> bool:
    """Return True if an option is on the command line."""
    source = context.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"


def given(context: typer.Context) -> set[str]:
    """Return the names of the parameters whose options are on the command line."""
    return {name for name in context.params if is_given(context, name)}


def argument(metavar: str, text: str) -> Any:
    """Return a positional argument with its help."""
    return typer.Argument(metavar=metavar, help=text)


ScoresFile = Annotated[Path, argument("SCORES", f"{FILE_KINDS} of scores.")]
CalibratorPath = Annotated[
    Path, argument("CALIBRATOR", "A .nc file, or a folder, that bayescal fit has written.")
]

# Columns

ScoreColumn = Annotated[str, option("--score-column", COLUMNS, "Raw scores, larger for positives.")]
LOWER = (
    "Lower scores mean positives, as with distances: the calibrator takes minus the score. The"
    " folder that fit writes records this."
)
LowerIsPositive = Annotated[bool, option("--lower-is-positive", COLUMNS, LOWER)]
LabelColumn = Annotated[
    str, option("--label-column", COLUMNS, "Labels of two classes; empty where unknown.")
]
TopicColumn = Annotated[
    str | None, option("--topic-column", COLUMNS, "Topics: each gets a calibrator of its own.")
]
WeightColumn = Annotated[
    str | None,
    option("--weight-column", COLUMNS, "Weights of rows in the fit; 2 equals repeating the row."),
]
SAMPLED = "The probability with which a row was drawn for labelling, as a plan's file has it."
InclusionColumn = Annotated[str | None, option("--inclusion-column", COLUMNS, SAMPLED)]
CLUSTERS = (
    "Which rows belong together, as pages of a patient: they count by the dependence of their"
    " labels."
)
ClusterColumn = Annotated[str | None, option("--cluster-column", COLUMNS, CLUSTERS)]
SOURCES = (
    "The two columns of the sources of the compared items, such as a,b: comparisons that share a"
    " source depend on each other."
)
SourceColumns = Annotated[str | None, option("--source-columns", COLUMNS, SOURCES, "A,B")]
SPLITS = (
    "Rows to fit (calibration or train) and to test on (test). By default a column named split."
)
SplitColumn = Annotated[str | None, option("--split-column", COLUMNS, SPLITS)]
COVARIATES = (
    "Further columns for a program of --model that takes covariates: numbers, or text. bayescal"
    " predict reads the same columns."
)
CovariateColumns = Annotated[
    str | None, option("--covariate-columns", COLUMNS, COVARIATES, "NAME[,NAME...]")
]
POSITIVE = (
    "The positive label. By default the words of the labels say it, as yes, ja, died or 1 do beside"
    " no, nein, survived or 0; otherwise the last in sorted order, with a warning."
)
Positive = Annotated[str | None, option("--positive", COLUMNS, POSITIVE, "LABEL")]
POSITIVE_HERE = "The positive label of this file, if it is spelled differently from the fitted one."
PositiveHere = Annotated[str | None, option("--positive", COLUMNS, POSITIVE_HERE, "LABEL")]
CLASSES = (
    "Several exclusive classes, each with a column of scores of its name: one map calibrates all"
    " of them together."
)
Classes = Annotated[str | None, option("--classes", COLUMNS, CLASSES, "NAME,NAME,...")]
GRADES = "Ordered labels of one score, the lowest first, such as poor,fair,good or 0,1,2,3."
Grades = Annotated[str | None, option("--grades", COLUMNS, GRADES, "NAME,NAME,...")]
SHARES = "Shares of several classes in the order of --classes, if only they changed (label shift)."
SCORES_ARE = (
    "scores, log_odds or probabilities (their log-odds are calibrated). By default (auto)"
    " scores, with a warning if all lie in [0, 1]."
)
ScoresAre = Annotated[str, option("--scores-are", COLUMNS, SCORES_ARE)]

# Calibrator

POOL = "Fit all topics together, each around their population: for topics with few positives."
Pool = Annotated[bool, option("--pool", FIT, POOL)]
FAMILY = (
    "Family of the class densities: gaussian, laplace, asymmetric_gaussian, asymmetric_laplace"
    " or average, of these four. By default Gaussian and asymmetric Laplace densities,"
    " or the model's with nuts, map and mle."
)
Family = Annotated[str | None, option("--family", FIT, FAMILY)]
PARTS = (
    "Models of the curve: densities, monotone, logistic, recalibrated, learned, or several,"
    " weighted by leave-one-out predictions; combined is all. By default combined, or"
    " densities where --family or --model is given."
)
Parts = Annotated[str, option("--parts", FIT, PARTS, "NAME[,NAME...]")]
KNOWLEDGE = (
    "The prior before the first label: learned (from other data sets, for scores as a"
    " classifier returns them; the default), vague, or a file with a history of topics or with"
    " your own populations."
)
PriorKnowledge = Annotated[str | None, option("--prior-knowledge", FIT, KNOWLEDGE, "NAME|FILE")]
INFERENCE = (
    "Posterior draws without MCMC (exact) or by NUTS (nuts), its mode (map), or maximum"
    " likelihood (mle). By default exact, or nuts where a model is given."
)
Inference = Annotated[
    Literal["exact", "nuts", "map", "mle"] | None, option("--inference", FIT, INFERENCE)
]
MODEL = "Model program with the priors; a file is run. See bayescal models."
Model = Annotated[str | None, option("--model", FIT, MODEL, "NAME|FILE.py")]
JOBS = "Number of processes, each of which fits topics."
Jobs = Annotated[int, option("--jobs", FIT, JOBS, least=1)]
Draws = Annotated[int, option("--draws", SAMPLER, "Posterior draws of each chain.", least=1)]
CHAINS = "Number of chains, Markov chains with nuts."
Chains = Annotated[int, option("--chains", SAMPLER, CHAINS, least=1)]
TUNE = "With nuts: steps of tuning before the draws."
Tune = Annotated[int, option("--tune", SAMPLER, TUNE, least=0)]
TARGET = "With nuts: values nearer to 1 take smaller steps, which avoids divergences."
TargetAccept = Annotated[float, option("--target-accept", SAMPLER, TARGET, fraction=True)]

# Output

LEVEL = "Posterior probability of bands and intervals."
Level = Annotated[float, option("--level", OUTPUT, LEVEL, fraction=True)]
BAND = (
    "pointwise: equal tails at each score; hdi: the shortest interval at each score;"
    " simultaneous: holds the whole curve."
)
Band = Annotated[str, option("--band", OUTPUT, BAND)]
PRIOR = "P(+) of the new documents, if only the shares of the classes changed (label shift)."
Prior = Annotated[float | None, option("--prior", OUTPUT, PRIOR, fraction=True)]
LIKELIHOOD_RATIO = "Likelihood ratios too: log10 LR, its band and limits, and a sentence to state."
LikelihoodRatio = Annotated[bool, option("--likelihood-ratio", OUTPUT, LIKELIHOOD_RATIO)]
SUPPORT = "Verbal scale of likelihood ratios: enfsi (the ENFSI guideline of 2015) or none."
Support = Annotated[str, option("--support", OUTPUT, SUPPORT)]
BOUNDS = "Bounds to clip likelihood ratios to: elub, invariance or sources. By default none."
Bounds = Annotated[str | None, option("--bounds", OUTPUT, BOUNDS)]
Shares = Annotated[str | None, option("--shares", OUTPUT, SHARES, "SHARE,SHARE,...")]
RESUME = "Continue a killed run with the same scores and options from the topics kept in --out."
Resume = Annotated[bool, option("--resume", OUTPUT, RESUME)]
PARAMETERS = "Print the parameters too, a table for each topic."
Parameters = Annotated[bool, option("--parameters", OUTPUT, PARAMETERS)]
Seed = Annotated[int, option("--seed", OUTPUT, "The same seed gives the same result.", least=0)]
FOLDER = "Where to write calibrators, probabilities and a summary. By default nothing is written."
OutFolder = Annotated[Path | None, option("--out", OUTPUT, FOLDER, "FOLDER")]
PREDICTED = "A .csv or .parquet file to write. By default CSV on the screen, quiet or not."
PredictedFile = Annotated[Path | None, option("--out", OUTPUT, PREDICTED, "FILE")]
TABLE = "A .csv or .parquet file for the whole table."
TableFile = Annotated[Path | None, option("--out", OUTPUT, TABLE, "FILE")]
FORMAT = "Format of the probabilities to write."
Format = Annotated[Literal["csv", "parquet"], option("--format", OUTPUT, FORMAT)]
Quiet = Annotated[bool, option("--quiet -q", OUTPUT, "Print errors only.")]

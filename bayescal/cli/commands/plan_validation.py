"""`bayescal plan-validation`: how many outcomes a validation needs."""

import math
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from bayescal.cli import options, tables
from bayescal.cli.columns import ColumnReader
from bayescal.cli.commands.audit import ProbabilityColumn
from bayescal.cli.terminal import Screen, UsageError, usage_errors
from bayescal.support.intervals import percent
from bayescal.support.validation import Floats

POINTS = 10_000  # quantiles of a normal distribution of log-odds
NAMES = {"slope": "slope", "ratio": "observed / expected", "auc": "AUC (C-statistic)"}
NAMES |= {"error": "mean error (ICI)", "saving": "saving by recalibrating"}
MODEL, WIDTHS = "Model to validate, one of the first two", "Widths of intervals"

FILE = f"{options.FILE_KINDS} of the model's probabilities of such patients."
File = Annotated[Path | None, options.argument("[FILE]", FILE)]
LOG_ODDS = "In place of FILE: mean and standard deviation of normally distributed log-odds."
LogOdds = Annotated[
    tuple[float, float] | None, options.option("--log-odds", MODEL, LOG_ODDS, "MEAN SD")
]
SHARE = "The share of positives; by default the mean probability."
Prevalence = Annotated[
    float | None, options.option("--prevalence", MODEL, SHARE, "SHARE", fraction=True)
]
AREA = "The C-statistic; by default that of right probabilities."
Auc = Annotated[float | None, options.option("--auc", MODEL, AREA, "AUC", fraction=True)]
SlopeWidth = Annotated[float, options.option("--slope-width", WIDTHS, "Calibration slope.")]
RatioWidth = Annotated[float, options.option("--ratio-width", WIDTHS, "Observed / expected.")]
AucWidth = Annotated[float, options.option("--auc-width", WIDTHS, "AUC, or C-statistic.")]
ERROR = "Mean error of the probabilities (ICI), by simulated audits."
ErrorWidth = Annotated[float | None, options.option("--error-width", WIDTHS, ERROR)]
SAVING = "Saving by recalibrating, in true positives per patient at --threshold, by simulation."
SavingWidth = Annotated[float | None, options.option("--saving-width", WIDTHS, SAVING)]
THRESHOLD = "With --saving-width: patients of at least this probability are treated."
Threshold = Annotated[float | None, options.option("--threshold", WIDTHS, THRESHOLD, fraction=True)]

app = typer.Typer()


@app.command()
def plan_validation(
    file: File = None,
    log_odds: LogOdds = None,
    prevalence: Prevalence = None,
    auc: Auc = None,
    slope_width: SlopeWidth = 0.2,
    ratio_width: RatioWidth = 0.2,
    auc_width: AucWidth = 0.1,
    error_width: ErrorWidth = None,
    saving_width: SavingWidth = None,
    threshold: Threshold = None,
    probability_column: ProbabilityColumn = "p",
    level: options.Level = 0.95,
    seed: options.Seed = 0,
    quiet: options.Quiet = False,
) -> None:
    """State how many outcomes the validation of a model needs.

    [bold]bayescal plan-validation later.csv --slope-width 0.3[/bold]

    takes the model's probabilities of the patients to validate it on, in the
    column p, and states for each width of an interval how many outcomes give
    it. The criteria are those of Riley and others (2021). Without such
    patients, describe their log-odds, share of positives and C-statistic:

    [bold]bayescal plan-validation --log-odds -5 2.5 --prevalence 0.018 --auc 0.8[/bold]
    """
    from bayescal.monitoring import labels_needed

    if (file is None) == (log_odds is None):
        raise UsageError("give FILE or --log-odds MEAN SD, and not both.")
    screen = Screen(quiet=quiet)
    if file is not None:
        p = ColumnReader(file, screen=screen).scores(probability_column, "--probability-column")
    elif log_odds is not None:
        p = _normal(*log_odds)
    widths = {
        "slope": slope_width,
        "ratio": ratio_width,
        "auc": auc_width,
        "error": error_width,
        "saving": saving_width,
    }
    with usage_errors():
        needed = labels_needed(
            p,
            **{f"{name}_width": width for name, width in widths.items()},
            threshold=threshold,
            prevalence=prevalence,
            auc=auc,
            level=level,
            random_state=seed,
        )
    share = p.mean() if prevalence is None else prevalence
    table = tables.new_table("width", "outcomes", "positive", words=["interval"])
    for name, n in needed.items():
        table.add_row(NAMES[name], f"{widths[name]:g}", f"{n:,}", f"{n * share:,.0f}")
    screen.show(tables.titled(f"Outcomes for intervals of {percent(level)}", table))
    most = max(needed.values())
    screen.say(f"Collect {most:,} outcomes, {most * share:,.0f} of them positive, for all widths.")


def _normal(mean: float, sd: float) -> Floats:
    """Return probabilities whose log-odds are quantiles of a normal distribution."""
    from scipy import special

    if not (math.isfinite(mean) and 0.0 < sd < math.inf):
        raise UsageError(f"--log-odds must have a positive SD, got {mean:g} {sd:g}.")
    quantiles = special.ndtri((np.arange(POINTS) + 0.5) / POINTS)
    return np.asarray(special.expit(mean + sd * quantiles))

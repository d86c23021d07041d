"""`bayescal recalibrate`: correct probabilities of another model by outcomes."""

from functools import partial
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from bayescal.cli import options, writing
from bayescal.cli.columns import ColumnReader
from bayescal.cli.commands import audit
from bayescal.cli.files import check_folder
from bayescal.cli.predictions import RowCurve
from bayescal.cli.terminal import Screen, counted, usage_errors

FOLDER = "Where to write the recalibrator, probabilities and a summary."
OutFolder = Annotated[Path, options.option("--out", options.OUTPUT, FOLDER, "FOLDER")]
REFIT = "Weigh a calibration from scratch against changes of the old one: auto, always or never."
Refit = Annotated[str, options.option("--refit", options.FIT, REFIT)]

app = typer.Typer()


@app.command()
def recalibrate(
    context: typer.Context,
    file: options.ScoresFile,
    out: OutFolder,
    probability_column: audit.ProbabilityColumn = "p",
    label_column: audit.OutcomeColumn = "y",
    site_column: audit.SiteColumn = None,
    inclusion_column: options.InclusionColumn = None,
    cluster_column: options.ClusterColumn = None,
    positive: options.Positive = None,
    refit: Refit = "auto",
    level: options.Level = 0.9,
    seed: options.Seed = 0,
    quiet: options.Quiet = False,
) -> None:
    """Recalibrate another model's probabilities by outcomes.

    [bold]bayescal recalibrate outcomes.csv --out recalibrated[/bold]

    fits a Recalibrator to the columns p and y, which changes the probabilities
    as far as the outcomes justify it, and writes it into the folder recalibrated,
    with probabilities.csv (every row with its new probability and band). To
    recalibrate new rows:

    [bold]bayescal predict recalibrated later.csv --score-column p --out later_p.csv[/bold]

    With --site-column each site has its own shift and slope; a new site has
    those of the population of sites.
    """
    check_folder(out)
    screen, arguments = Screen(quiet=quiet), options.arguments_of(context, "recalibrate")
    columns = probability_column, label_column, site_column, inclusion_column
    data = audit.read_outcomes(ColumnReader(file, screen=screen), *columns, positive)
    clusters = data.clusters(cluster_column, columns)
    frame = data.reader.frame
    writing.check_columns_free(frame, file)
    from bayescal.calibrators.loading import TOPICS_FILE
    from bayescal.calibrators.recalibrator import Recalibrator

    pooling = "complete" if data.sites is None else "partial"
    with screen.warnings(lambda _: "Option for this: --positive."), usage_errors(f"{file}: "):
        labels, positive = data.positive.astype(int), None
        if np.ptp(labels):  # one class alone has to be 0 or 1
            labels, positive = np.array(data.classes)[labels], data.classes[1]
        again = Recalibrator(pooling, positive=positive, refit=refit, random_state=seed)
        again.fit(data.p, labels, data.sites, inclusion=data.inclusion, clusters=clusters)
        p = frame[probability_column].to_numpy(dtype=float)
        log_odds = again.decision_function(p, data.all_sites)
        curve = RowCurve(log_odds, again.predict_interval(p, level, sites=data.all_sites))
    name = "posterior.nc" if data.sites is None else TOPICS_FILE
    topics: list[Any] = [None] if again.sites_ is None else again.sites_
    record = writing.run_record(arguments) | {
        "classes": {"negative": data.classes[0], "positive": data.classes[1]},
        "topics": [{"topic": topic, "file": name} for topic in topics],
        "left_out": {},
        "model_probability": None if data.sites is not None else again.model_probability_,
    }
    write = partial(writing.write_files, {name: again}, frame.assign(**curve.columns), record)
    moved = float(np.abs(curve.probability - p).mean())
    screen.say(
        f"Fitted to {counted(int(data.labelled.sum()), 'outcome')}. Probabilities moved by"
        f" {moved:.3f} on average."
    )
    if again.design_effect_ is not None:
        screen.say(f"{again.design_effect_}.")
    if data.sites is None:
        shares = ", ".join(f"{kind} {each:.2f}" for kind, each in again.model_probability_.items())
        screen.say(f"Probability of each explanation: {shares}.")
    writing.save(out, write, arguments, screen)

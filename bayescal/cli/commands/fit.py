"""`bayescal fit`: calibrate the scores of a file.

The parameters of the function are the options; it hands them on to `read_request` as they are.
"""

from __future__ import annotations

from pathlib import Path

from bayescal.cli import options
from bayescal.cli.pooled import fit_pooled
from bayescal.cli.request import Request, read_request
from bayescal.cli.resuming import unfinished_run
from bayescal.cli.tables import by_method, losses_table, parameter_table
from bayescal.cli.verdicts import verdicts_of, verdicts_table
from bayescal.cli.writing import TableFormat


def fit(
    scores: options.ScoresFile,
    score_column: options.ScoreColumn = "score",
    label_column: options.LabelColumn = "label",
    topic_column: options.TopicColumn = None,
    weight_column: options.WeightColumn = None,
    split_column: options.SplitColumn = None,
    positive: options.Positive = None,
    scores_are: options.ScoresAre = "auto",
    pool: options.Pool = False,
    family: options.Family = None,
    parts: options.Parts = "auto",
    inference: options.Inference = None,
    model: options.Model = None,
    jobs: options.Jobs = 1,
    draws: options.Draws = 1000,
    chains: options.Chains = 4,
    tune: options.Tune = 1000,
    target_accept: options.TargetAccept = 0.9,
    out: options.OutFolder = None,
    resume: options.Resume = False,
    table_format: options.Format = TableFormat.CSV,
    level: options.Level = 0.9,
    seed: options.Seed = 0,
    quiet: options.Quiet = False,
) -> None:
    """Fit a calibrator to labelled scores, one a topic if there are topics.

    [bold]bayescal fit scores.csv --out calibrated[/bold]

    prints the parameters, maximum likelihood beside the posterior, and
    writes into the folder calibrated: posterior.nc (the calibrator, for
    bayescal predict and bayescal.load), probabilities.csv (every row with its
    probability, band and log-odds) and summary.json.

    [bold]bayescal fit scores.parquet --topic-column topic --inference mle[/bold]

    fits every topic by maximum likelihood, in milliseconds; with --pool
    topics with few positives borrow from the others. Topics are written to
    --out as they are fitted: a run that was killed goes on with --resume.
    Scores should come from documents that the classifier was not trained on,
    such as cross-validated scores.
    """
    request = read_request("fit", locals())
    with unfinished_run(out, request.table, request.arguments, resume=resume) as folder:
        if pool:
            fit_pooled(request, folder)
        else:
            _fit_apart(request, folder)


def _fit_apart(request: Request, folder: Path | None) -> None:
    calibrated = request.calibrate(request.table, folder)
    request.screen.show(*(parameter_table(one, request.settings.level) for one in calibrated))
    with_losses = [by_method(one) for one in calibrated if one.losses]
    if with_losses:
        request.screen.show(losses_table(with_losses))
        request.screen.show(verdicts_table(verdicts_of(calibrated)))
    request.save(calibrated)

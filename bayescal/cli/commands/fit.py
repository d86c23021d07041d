"""`bayescal fit`: calibrate the scores of a file."""

from functools import partial
from typing import Annotated

import typer
from rich.console import Group

from bayescal.cli import classes as class_files
from bayescal.cli import fitting, options, predictions, reviews, tables, writing
from bayescal.cli import grades as grade_files
from bayescal.cli.files import check_folder
from bayescal.cli.scores import NONE, read_scores, split_by_topic, with_holdout
from bayescal.cli.terminal import Screen, UsageError

# Method name for losses of pooled topics.
POOLED = "pooled"
POOL_ADVICE = "--pool fits all topics together, and answers for these too."

HOLDOUT = "Share of the rows of each class to test on, at random, in a file without test rows."
Holdout = Annotated[
    float | None, options.option("--holdout", options.COLUMNS, HOLDOUT, fraction=True)
]

app = typer.Typer()


@app.command()
def fit(
    context: typer.Context,
    scores: options.ScoresFile,
    labels: reviews.LabelFiles = None,
    plans: reviews.PlanFiles = None,
    id_column: reviews.IdColumn = None,
    score_column: options.ScoreColumn = "score",
    label_column: options.LabelColumn = "label",
    classes: options.Classes = None,
    grades: options.Grades = None,
    topic_column: options.TopicColumn = None,
    weight_column: options.WeightColumn = None,
    inclusion_column: options.InclusionColumn = None,
    cluster_column: options.ClusterColumn = None,
    source_columns: options.SourceColumns = None,
    split_column: options.SplitColumn = None,
    holdout: Holdout = None,
    covariate_columns: options.CovariateColumns = None,
    positive: options.Positive = None,
    lower_is_positive: options.LowerIsPositive = False,
    scores_are: options.ScoresAre = "auto",
    family: options.Family = None,
    parts: options.Parts = "auto",
    prior_knowledge: options.PriorKnowledge = None,
    inference: options.Inference = None,
    model: options.Model = None,
    pool: options.Pool = False,
    jobs: options.Jobs = 1,
    draws: options.Draws = 1000,
    chains: options.Chains = 4,
    tune: options.Tune = 1000,
    target_accept: options.TargetAccept = 0.9,
    level: options.Level = 0.9,
    seed: options.Seed = 0,
    out: options.OutFolder = None,
    table_format: options.Format = "csv",
    resume: options.Resume = False,
    parameters: options.Parameters = False,
    quiet: options.Quiet = False,
) -> None:
    """Fit a calibrator to labelled scores, one for each topic if there are topics.

    [bold]bayescal fit scores.csv --out calibrated[/bold]

    prints probabilities with their bands at a few scores, and writes into the
    folder calibrated: posterior.nc (the calibrator, for bayescal predict and
    bayescal.load), probabilities.csv (every row with its probability, band
    and log-odds) and summary.json. --parameters prints the parameters too,
    maximum likelihood beside the posterior.

    [bold]bayescal fit scores.csv --holdout 0.3[/bold]

    tests on three tenths of the rows, or on those of split test: losses of
    the posterior and of maximum likelihood, and whether it is right. With
    --classes it adds the losses of temperature scaling, of calibrating each
    class against the rest, and of the scores as they are.

    [bold]bayescal fit new.csv --labels read.csv --out review[/bold]

    takes the labels of a review from files of their own, and inclusion
    probabilities from the plans of bayescal sample beside them.

    [bold]bayescal fit topics.csv --topic-column topic --inference mle --out topics[/bold]

    fits every topic by maximum likelihood, in milliseconds; with --pool
    topics with few positives borrow from the others. Fitted topics are kept
    in --out: --resume continues a run that was killed. A topic that cannot be
    fitted, for example without positives, is listed with the reason; the exit
    code is 0 unless no topic can be fitted. Scores should come from documents
    that the classifier was not trained on, such as cross-validated scores.

    [bold]bayescal fit scores.csv --model mine.py --covariate-columns length,site[/bold]

    fits a program of your own that takes further columns, see bayescal models.

    [bold]bayescal fit pairs.csv --source-columns a,b --out glass[/bold]

    fits comparisons of items of known sources: m sources count as m
    comparisons of each class, however many pairs they form.

    [bold]bayescal fit logits.csv --classes ant,bee,wasp --out insects[/bold]

    calibrates several exclusive classes by one map; the columns ant, bee and
    wasp hold their scores, and the column label one of these names.

    [bold]bayescal fit grades.csv --grades poor,fair,good --out graded[/bold]

    calibrates ordered labels of one score, such as relevance or stars, the
    lowest grade first: the probability of each grade and of reaching it.
    """
    screen, arguments = Screen(quiet=quiet), options.arguments_of(context, "fit")
    if not labels and (plans or id_column):
        raise UsageError("--plan and --id-column need --labels, whose files they belong to.")
    if classes is not None or grades is not None:
        check_folder(out)
        given, several = options.given(context), class_files if grades is None else grade_files
        table = several.read_to_fit(arguments, given, screen)
        table = with_holdout(table, holdout, seed, screen)
        calibrator = several.fit(table, arguments, given, screen)
        several.judge_and_write(calibrator, table, arguments, screen, out)
        return
    arguments["inference"] = fitting.inference_of(arguments)
    if pool and prior_knowledge is not None:
        raise UsageError(
            "--pool learns a prior from the topics themselves, got --prior-knowledge"
            f" {prior_knowledge}: leave out one of them."
        )
    others = topic_column, weight_column, inclusion_column, cluster_column
    if source_columns is not None and any(each is not None for each in others):
        raise UsageError(
            "--source-columns weighs the rows by itself: leave out --topic-column,"
            " --weight-column, --inclusion-column and --cluster-column."
        )
    if source_columns is not None and holdout is not None:
        raise UsageError("--holdout needs rows that share no sources: name them in a split column.")
    settings = fitting.read_parameters(arguments)
    check_folder(out)
    table = read_scores(scores, arguments, screen)
    writing.check_columns_free(table.frame, scores)
    screen.say(table.note)
    table = with_holdout(table, holdout, seed, screen)
    with writing.unfinished_run(out, table, arguments, resume=resume) as folder:
        if pool:
            results, left_out = fitting.pool(table, arguments, screen, folder), NONE
            screen.show(tables.topics_table(results, level, "around their population"))
            losses = tables.held_out_tables(results, POOLED)
        else:
            problems = split_by_topic(table)
            results, left_out = fitting.calibrate(
                problems, settings, screen, level=level, jobs=jobs, folder=folder
            )
            screen.show(_answer(results, level))
            losses = tables.held_out_tables(results)
        if parameters:
            screen.show(*(tables.parameter_table(result, level) for result in results))
        screen.show(*losses, *tables.left_out_tables(left_out, POOL_ADVICE))
        write = partial(writing.write_results, results, table.frame, arguments, left_out)
        writing.save(out, write, arguments, screen)
        predictions.warn_of_topics(
            screen, table.frame, scores, topic_column, predictions.FIT_TOPICS
        )


def _answer(results: list[predictions.Calibrated], level: float) -> Group:
    """Return the curve of the only topic, or a row for each of several."""
    if len(results) == 1:
        return tables.answer_table(results[0], level)
    return tables.topics_table(predictions.most_undecided_first(results), level, "by themselves")

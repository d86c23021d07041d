"""`bayescal demo`: a small topic of Reuters-21578, two classifiers, ten positives."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import numpy as np
import typer

from bayescal.cli import fitting, options, predictions, tables, writing
from bayescal.cli.files import check_folder, write_frame
from bayescal.cli.predictions import Calibrated
from bayescal.cli.scores import NONE, ScoreTable, split_by_topic
from bayescal.cli.terminal import Screen, usage_errors
from bayescal.support.validation import Floats

if TYPE_CHECKING:
    import pandas as pd

    from bayescal.metrics import Losses

# The demo's topics with five positives each: Platt's method, each by itself, and pooled.

FEW_POSITIVES = 5
PLATT, APART, POOLED = "Platt", "posterior, unpooled", "posterior, pooled"


def topics_losses(classifier: str, seed: int, screen: Screen) -> dict[str, Losses]:
    """Return the losses on the test documents of ten topics, by method."""
    from bayescal import ScoreCalibrator, TopicCalibrator
    from bayescal.calibrators.classifier.wrappers import ScikitLearnCalibrator
    from bayescal.metrics import losses
    from bayescal.support.score_checks import without_scores_warnings
    from bayescal.text.reuters_scores import TOPICS, load_reuters_scores

    rng = np.random.default_rng(seed)
    fitted, test = [], []
    for topic in TOPICS:
        fitted.append(sample(load_reuters_scores(classifier, topic, "calibration"), rng))
        test.append(load_reuters_scores(classifier, topic, "test"))
    log_odds: dict[str, list[Floats]] = {PLATT: [], APART: []}
    with screen.progress(classifier, len(TOPICS) + 1) as update, without_scores_warnings():
        for few, new in zip(fitted, test, strict=True):
            update(description=f"{classifier} {few['topic'].iloc[0]}")
            score, labels, others = few["score"], few["label"], new["score"].to_numpy()
            sigmoid = ScikitLearnCalibrator("sigmoid").fit(score.to_numpy()[:, None], labels)
            log_odds[PLATT].append(-(sigmoid.a_ * others + sigmoid.b_))
            apart = ScoreCalibrator(random_state=seed).fit(score, labels)
            log_odds[APART].append(apart.decision_function(others))
            update(advance=1)
        update(description=f"{classifier} all topics")
        columns = [[each[c].to_numpy() for each in fitted] for c in ("score", "label", "topic")]
        pooled = TopicCalibrator(random_state=seed).fit(*map(np.concatenate, columns))
        log_odds[POOLED] = [
            pooled.decision_function(new["score"].to_numpy(), new["topic"].to_numpy().astype(str))
            for new in test
        ]
        update(advance=1)
    positive = np.concatenate([new["label"].to_numpy() == 1 for new in test])
    return {method: losses(np.concatenate(each), positive) for method, each in log_odds.items()}


def sample(
    calibration: pd.DataFrame, rng: np.random.Generator, positives: int = FEW_POSITIVES
) -> pd.DataFrame:
    """Return a sample with this number of positive documents, and negatives in proportion."""
    share = positives / int(calibration["label"].sum())
    rows = [
        rng.choice(where, round(share * where.size), replace=False)
        for where in (np.flatnonzero(calibration["label"] == label) for label in (0, 1))
    ]
    return calibration.iloc[np.concatenate(rows)]


TOPIC, POSITIVES, LEVEL = "corn", 10, 0.9
SCORE_NAMES = {
    "naive_bayes": "naive Bayes score (natural log-odds)",
    "linear_svm": "linear SVM score (margin)",
}
FIGURE, REPORT, SCORES = "demo.png", "report.html", "scores.csv"

Out = Annotated[Path, options.option("--out", options.OUTPUT, "Where to write.", metavar="FOLDER")]


app = typer.Typer()


@app.command()
def demo(
    context: typer.Context,
    out: Out = Path("demo_output"),
    seed: options.Seed = 0,
    quiet: options.Quiet = False,
) -> None:
    """Calibrate a small topic of real scores, and see what a posterior adds.

    [bold]bayescal demo --out demo_output[/bold]

    takes the topic corn of Reuters-21578 with 10 positive documents, scored
    by naive Bayes and by a linear SVM; prints maximum likelihood against the
    posterior, and the losses of both on 3,299 test documents; draws the
    curves. Then ten topics with 5 positives each: Platt's method, each topic
    by itself, and pooled. Writes a report of both classifiers, too. It takes
    about half a minute on two cores.
    """
    from bayescal.fitting.settings import ScoreParameters
    from bayescal.plots.display import require

    screen = Screen(quiet=quiet)
    check_folder(out)
    # A missing matplotlib is reported before any work.
    with usage_errors(errors=(ImportError,)):
        require("matplotlib.figure")
    table = demo_table(seed)
    fitted = int(table.positive[~table.test].sum()) // len(SCORE_NAMES)
    screen.show(
        f"Topic {TOPIC} of Reuters-21578: {fitted} positives and their share of negatives,"
        f" drawn from the calibration split (seed {seed}); two classifiers."
    )
    parameters = ScoreParameters(inference="exact", random_state=seed)
    results, _ = fitting.calibrate(
        split_by_topic(table), parameters, screen, level=LEVEL, advice=lambda _: ""
    )
    for result in results:
        screen.show(tables.parameter_table(result, LEVEL), tables.curve_table(result, LEVEL))
    by_classifier = [(result.problem.name, _methods(result)) for result in results]
    screen.show(tables.losses_table(by_classifier, total=False))
    screen.show(
        f"Ten topics with {FEW_POSITIVES} positives each, their losses together. ScoreCalibrator"
        " calibrates each topic alone, TopicCalibrator pools them."
    )
    ten = [(name, topics_losses(name, seed, screen)) for name in SCORE_NAMES]
    screen.show(tables.losses_table(ten, total=False))
    with writing.staged_folder(out) as stage:
        arguments = options.arguments_of(context, "demo") | {"level": LEVEL}
        writing.write_results(results, table.frame, arguments, NONE, stage)
        write_frame(table.frame, stage / SCORES)
        draw(results, stage / FIGURE)
        report(results, table, stage / REPORT)
    screen.say(f"The curves are drawn in {out / FIGURE}; a report to look at is {out / REPORT}.")
    screen.say(f"Calibrators, probabilities, summary and the scores are in {out}. Try:")
    screen.say(f"  bayescal fit {out / SCORES} --topic-column classifier --parameters")


def demo_table(seed: int, positives: int = POSITIVES) -> ScoreTable:
    """Return the demo's scores of both classifiers: a sample to fit, and all test documents."""
    from bayescal.text.reuters_scores import load_reuters_scores

    frame = load_reuters_scores(topic=TOPIC)
    calibration = load_reuters_scores("naive_bayes", TOPIC, "calibration")
    kept = sample(calibration, np.random.default_rng(seed), positives)["document"]
    frame = frame[(frame["split"] == "test") | frame["document"].isin(kept)]
    frame = frame.reset_index(drop=True)
    return ScoreTable(
        frame=frame,
        score=frame["score"].to_numpy(),
        label=frame["label"].to_numpy(dtype=np.intp),
        classes=(0, 1),
        test=(frame["split"] == "test").to_numpy(),
        labelled=np.ones(len(frame), dtype=bool),
        topics=frame["classifier"].to_numpy(dtype=np.str_),
    )


def draw(results: Sequence[Calibrated], path: Path) -> None:
    """Draw the curves of the classifiers side by side into a PNG file."""
    from bayescal.plots import ProbabilityDisplay
    from bayescal.plots.display import require

    figure = require("matplotlib.figure").Figure(figsize=(8.0, 3.8), dpi=200, layout="constrained")
    for result, ax in zip(results, figure.subplots(1, 2, sharey=True), strict=True):
        ProbabilityDisplay.from_estimator(
            result.calibrator, grid=_grid(result.problem), level=LEVEL, ax=ax, legend=False
        )
        ax.set_xlabel(SCORE_NAMES[result.problem.name])
        ax.set_ylabel("")
    figure.axes[0].set_ylabel(f"P({TOPIC} | score)")
    handles, labels = figure.axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3, frameon=False)
    figure.savefig(path)


def report(results: Sequence[Calibrated], table: ScoreTable, path: Path) -> None:
    """Write the report of both classifiers, with the test documents beside them."""
    from bayescal.report import write_report

    held_out = table.frame.loc[table.test, ["score", "label", "classifier"]]
    write_report(
        {result.problem.name: result.calibrator for result in results},
        path,
        test=held_out.rename(columns={"classifier": "topic"}),
        level=LEVEL,
        title=f"Topic {TOPIC} of Reuters-21578, {POSITIVES} positives",
    )


def _grid(problem: ScoreTable) -> Floats:
    """Return a grid without the far negatives, where the curves are flat."""
    negatives, positives = problem.scores_by_class()
    low, high = np.quantile(negatives, 0.05), positives.max()
    return np.linspace(low, high + 0.03 * (high - low), 512)


def _methods(result: Calibrated) -> dict[str, Losses]:
    from bayescal.fitting.parts.configured import Densities
    from bayescal.fitting.settings import ScoreParameters
    from bayescal.metrics import losses

    problem, rows = result.problem, result.problem.test_rows
    score, positive = problem.score[rows], problem.positive[rows]
    by_method = {}
    if problem.topic == "naive_bayes":
        by_method["naive Bayes as it is"] = losses(score, positive)
    without_floor = ScoreParameters(parts=Densities(scale_floor=None), inference="mle")
    (free,) = fitting.fit_rows(without_floor, problem).fitted_problems().values()
    log_odds = predictions.mle_log_odds(free, score)
    by_method["MLE without floor"] = losses(log_odds, positive)
    return by_method | tables.by_method(result)[1]

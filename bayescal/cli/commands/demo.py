"""`bayescal demo`: a small topic of Reuters-21578, two classifiers, ten positives."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

from bayescal.cli import options
from bayescal.cli.command import Call, command
from bayescal.cli.console import Screen
from bayescal.cli.curve import mle_log_odds
from bayescal.cli.demo_topics import POSITIVES as FEW
from bayescal.cli.demo_topics import sample, topics_losses
from bayescal.cli.errors import blamed_on_use
from bayescal.cli.fitting import Calibrated
from bayescal.cli.frames import write_frame
from bayescal.cli.held_out import by_method
from bayescal.cli.losses import losses_table
from bayescal.cli.problems import Problem, split_by_topic
from bayescal.cli.reading import ScoreTable
from bayescal.cli.settings import Settings, check_at_least
from bayescal.cli.tables import curve_table, parameter_table
from bayescal.cli.unpooled import calibrate, fit_rows
from bayescal.cli.writing import check_folder, staged_folder, write_results
from bayescal.validation import Floats

if TYPE_CHECKING:
    from bayescal.metrics import Losses

TOPIC, POSITIVES, LEVEL = "corn", 10, 0.9
SCORE_NAMES = {
    "naive_bayes": "naive Bayes score (natural log-odds)",
    "linear_svm": "linear SVM score (margin)",
}
FIGURE, REPORT, SCORES = "demo.png", "report.html", "scores.csv"

Out = Annotated[Path, options.option("--out", options.OUTPUT, "Where to write.", metavar="FOLDER")]


app = typer.Typer()


@dataclass(frozen=True, kw_only=True)
class Demo(Call):
    """The options of `bayescal demo`."""

    out: Out = Path("demo_output")
    seed: options.Seed = 0

    def told(self, command: str) -> dict[str, Any]:
        """Return what the summary tells about the call, with the level of the bands."""
        return super().told(command) | {"level": LEVEL}


@command(app, Demo)
def demo(asked: Demo) -> None:
    """Calibrate a small topic of real scores, and see what a posterior adds.

    [bold]bayescal demo --out demo_output[/bold]

    takes the topic corn of Reuters-21578 with 10 positive documents, scored
    by naive Bayes and by a linear SVM; prints maximum likelihood against the
    posterior, and the losses of both on 3,299 test documents; draws the
    curves. Then ten topics with 5 positives each: Platt's method, each topic
    by itself, and pooled. Writes a report of both classifiers, too. It takes
    about half a minute on two cores.
    """
    from bayescal.plots.optional import require

    screen, seed, out = asked.screen, asked.seed, asked.out
    check_at_least(0, **{"--seed": seed})
    check_folder(out)
    # Before any work, as all that may be wrong.
    with blamed_on_use(kinds=(ImportError,)):
        require("matplotlib.figure")
    table = demo_table(seed)
    fitted = int(table.positive[~table.test].sum()) // len(SCORE_NAMES)
    screen.show(
        f"Topic {TOPIC} of Reuters-21578: {fitted} positives and their share of negatives,"
        f" drawn from the calibration split (seed {seed}); two classifiers."
    )
    settings = Settings(level=LEVEL, seed=seed)
    many, _ = calibrate(split_by_topic(table), settings, screen, advice=lambda _: "")
    for one in many:
        screen.show(parameter_table(one, LEVEL), curve_table(one, LEVEL))
    by_classifier = [(one.problem.name, _methods(one)) for one in many]
    screen.show(losses_table(by_classifier, total=False))
    screen.show(
        f"Ten topics with {FEW} positives each, their losses together; a topic by itself is"
        " calibrated by ScoreCalibrator, pooled ones by TopicCalibrator."
    )
    ten = [(name, topics_losses(name, seed, screen)) for name in SCORE_NAMES]
    screen.show(losses_table(ten, total=False))
    with staged_folder(out) as stage:
        write_results(stage, many, asked.told("demo"))
        write_frame(table.frame, stage / SCORES)
        draw(many, stage / FIGURE)
        report(many, table, stage / REPORT)
    _say_where(out, screen)


def demo_table(seed: int, positives: int = POSITIVES) -> ScoreTable:
    """
    Return the demo's scores of both classifiers: a sample to fit, and all test documents.

    Parameters
    ----------
    seed : int
        Chooses the documents to fit, the same for both classifiers.
    positives : int
        Positive documents to fit; negatives in proportion.
    """
    from bayescal.datasets import load_reuters_scores

    frame = load_reuters_scores(topic=TOPIC)
    calibration = load_reuters_scores("naive_bayes", TOPIC, "calibration")
    kept = sample(calibration, np.random.default_rng(seed), positives)["document"]
    frame = frame[(frame["split"] == "test") | frame["document"].isin(kept)]
    frame = frame.reset_index(drop=True)
    return ScoreTable(
        frame=frame,
        score=frame["score"].to_numpy(),
        positive=frame["label"].to_numpy() == 1,
        classes=(0, 1),
        test=(frame["split"] == "test").to_numpy(),
        topic=frame["classifier"].to_numpy(dtype=np.str_),
    )


def draw(calibrated: Sequence[Calibrated], path: Path) -> None:
    """Draw the curves of the classifiers side by side into a PNG file."""
    from bayescal.plots import ProbabilityDisplay
    from bayescal.plots.optional import require

    figure = require("matplotlib.figure").Figure(figsize=(8.0, 3.8), dpi=200, layout="constrained")
    for one, ax in zip(calibrated, figure.subplots(1, 2, sharey=True), strict=True):
        ProbabilityDisplay.from_estimator(
            one.calibrator, grid=_shown(one.problem), level=LEVEL, ax=ax, legend=False
        )
        ax.set_xlabel(SCORE_NAMES[one.problem.name])
        ax.set_ylabel("")
    figure.axes[0].set_ylabel(f"P({TOPIC} | score)")
    handles, labels = figure.axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3, frameon=False)
    figure.savefig(path)


def report(many: Sequence[Calibrated], table: ScoreTable, path: Path) -> None:
    """Write the report of both classifiers, with the test documents beside them."""
    from bayescal.report import write_report

    held_out = table.frame.loc[table.test, ["score", "label", "classifier"]]
    write_report(
        {one.problem.name: one.calibrator for one in many},
        path,
        test=held_out.rename(columns={"classifier": "topic"}),
        level=LEVEL,
        title=f"Topic {TOPIC} of Reuters-21578, {POSITIVES} positives",
    )


def _shown(problem: Problem) -> Floats:
    """Return a grid that leaves out the far negatives, where nothing happens."""
    negatives, positives = problem.scores_by_class()
    low, high = np.quantile(negatives, 0.05), positives.max()
    return np.linspace(low, high + 0.03 * (high - low), 512)


def _methods(one: Calibrated) -> dict[str, Losses]:
    from bayescal.metrics import losses

    problem, rows = one.problem, one.problem.test_rows
    score, positive = problem.table.score[rows], problem.table.positive[rows]
    found = {}
    if problem.topic == "naive_bayes":
        found["naive Bayes as it is"] = losses(score, positive)
    mle = Settings(inference=options.InferenceName.MLE)
    (free,) = fit_rows(mle.calibrator(scale_floor=None), problem).fitted_problems().values()
    found["MLE without floor"] = losses(mle_log_odds(free, score), positive)
    return found | by_method(one)[1]


def _say_where(out: Path, screen: Screen) -> None:
    screen.say(f"The curves are drawn in {out / FIGURE}; a report to look at is {out / REPORT}.")
    screen.say(f"Calibrators, probabilities, summary and the scores are in {out}. Try:")
    screen.say(f"  bayescal compare {out / SCORES} --topic-column classifier")

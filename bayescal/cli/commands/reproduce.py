"""`bayescal reproduce`: experiments on Reuters-21578, on few positives, of ranking and e-mail."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bayescal.cli import options
from bayescal.cli.command import Call, command
from bayescal.cli.errors import UsageError, blamed_on_use
from bayescal.cli.reproduce_action_items import ActionItems, action_items
from bayescal.cli.reproduce_svm_map import SvmMap, svm_map
from bayescal.cli.reproduce_tables import (
    markdown_page,
    reuters_table,
    small_data_table,
    strive_screen,
)
from bayescal.cli.settings import check_at_least
from bayescal.cli.writing import check_folder, staged_folder

if TYPE_CHECKING:
    import pandas as pd

    from bayescal.methods import Method
    from bayescal.reproduce.corpus_scores import TopicScores

CORPUS, EXPERIMENT = "Corpus", "Experiment"

app = typer.Typer(
    name="reproduce", help="Make the paper's tables and figures again.", no_args_is_help=True
)

Out = Annotated[Path, options.option("--out", options.OUTPUT, "Where to write.", metavar="FOLDER")]
Data = Annotated[
    Path | None,
    options.option(
        "--data",
        CORPUS,
        "A copy of Reuters-21578: a folder of .sgm files or a tar archive. By default the"
        " environment variable BAYESCAL_REUTERS21578 names it, or it is fetched.",
        metavar="PATH",
    ),
]
Topics = Annotated[
    int, options.option("--topics", CORPUS, "How many of the largest topics to take, up to 90.")
]
Weights = Annotated[
    str,
    options.option(
        "--weights",
        EXPERIMENT,
        "Weights of words for the SVM: binary, tf, log_tf, tf_idf or log_tf_idf.",
    ),
]
Cost = Annotated[float, options.option("--cost", EXPERIMENT, "C of the SVM, the cost of errors.")]
Normalise = Annotated[
    bool,
    options.option(
        "--normalise/--as-long-as-they-are",
        EXPERIMENT,
        "Whether the SVM sees documents scaled to length 1.",
    ),
]
Methods = Annotated[
    str,
    options.option(
        "--methods",
        EXPERIMENT,
        "paper: those of the paper; all: also peers that are installed, and ours.",
    ),
]
Jobs = Annotated[
    int, options.option("--jobs", EXPERIMENT, "Number of processes that score topics.")
]
Repeats = Annotated[
    int, options.option("--repeats", EXPERIMENT, "Number of random subsets of each size.")
]


@dataclass(frozen=True, kw_only=True)
class Experiment(Call):
    """The options of all experiments."""

    out: Out = Path("reproduction")
    jobs: Jobs = 2
    seed: options.Seed = 0

    def check(self, **counts: int) -> None:
        """Check the options before any work; counts by the names of theirs."""
        check_at_least(0, **{"--seed": self.seed})
        check_at_least(1, **{"--jobs": self.jobs}, **counts)
        check_folder(self.out)
        if find_spec("matplotlib") is None:
            raise UsageError("the figures need matplotlib: pip install 'bayescal[plots]'.")


@dataclass(frozen=True, kw_only=True)
class Reuters(Experiment):
    """The options of `bayescal reproduce reuters`."""

    data: Data = None
    topics: Topics = 10
    weights: Weights = "log_tf"
    cost: Cost = 0.1
    normalise: Normalise = False
    methods: Methods = "all"


@command(app, Reuters)
def reuters(asked: Reuters) -> None:
    """Run the Reuters half of the paper's table, for naive Bayes and a linear SVM.

    [bold]bayescal reproduce reuters --data reuters21578.tar.gz[/bold]

    scores 12,902 documents on ten topics, calibrates them with every method,
    and puts totals and sign tests beside the published ones; draws figures 2
    to 5. It takes some minutes on two cores.
    """
    asked.check(**{"--topics": asked.topics})
    screen, seed = asked.screen, asked.seed
    chosen = _methods(asked.methods)
    corpus = _corpus(asked.data)
    from bayescal.reproduce import reuters as experiment
    from bayescal.reproduce.corpus_scores import largest_topics, score_topics

    with blamed_on_use():
        names = largest_topics(corpus, asked.topics)
        both = experiment.classifiers(
            asked.weights, asked.cost, normalise=asked.normalise, seed=seed
        )
    screen.say(f"Scoring {len(corpus)} documents: {len(names)} topics, two classifiers ...")
    scores = score_topics(corpus, names, both, random_state=seed, jobs=asked.jobs)
    screen.say(f"Calibrating by {len(chosen)} methods ...")
    decisions = experiment.decide_each(chosen, scores)
    found = experiment.tabulate(decisions)
    as_printed = partial(
        experiment.as_printed, found, with_paper=asked.topics == experiment.PAPER_TOPICS
    )
    for name in both:
        screen.show(reuters_table(name, as_printed(name), decisions[name].truth.size))
    bold = {name: as_printed(name, bold="**") for name in both}
    with staged_folder(asked.out) as stage:
        found.totals.to_csv(stage / "reuters.csv", index=False, float_format="%.8g")
        found.tests.to_csv(stage / "reuters_sign_tests.csv", index=False, float_format="%.6g")
        (stage / "reuters.md").write_text(markdown_page(bold), encoding="utf-8")
        _draw(names[0], scores, stage)
    screen.say(f"Tables, sign tests of all pairs and figures are in {asked.out}.")


@dataclass(frozen=True, kw_only=True)
class SmallData(Experiment):
    """The options of `bayescal reproduce small-data`."""

    repeats: Repeats = 10


@command(app, SmallData, "small-data")
def small_data(asked: SmallData) -> None:
    """Calibrate from 3 to 100 positives per topic: every method's log-loss, with standard errors.

    [bold]bayescal reproduce small-data --repeats 2[/bold]

    takes random subsets of the embedded scores of ten Reuters topics, and
    tests on 3,299 documents; draws the learning curves. Two repeats take five
    minutes on two cores.
    """
    screen, repeats = asked.screen, asked.repeats
    asked.check(**{"--repeats": repeats})
    from bayescal.reproduce.lines import learning_curves
    from bayescal.reproduce.small_data import learning_table, totals_by_size, wide

    screen.say(f"Calibrating {repeats} random subsets of each size ...")
    table = learning_table(totals_by_size(repeats, jobs=asked.jobs, seed=asked.seed))
    shown = {str(name): wide(part) for name, part in table.groupby("classifier", sort=False)}
    for name, each in shown.items():
        screen.show(small_data_table(name, each, repeats))
    with staged_folder(asked.out) as stage:
        table.to_csv(stage / "small_data.csv", index=False, float_format="%.6g")
        (stage / "small_data.md").write_text(markdown_page(shown), encoding="utf-8")
        learning_curves(table).savefig(stage / "small_data.png", metadata={"Software": None})
    screen.say(f"The tables and the learning curves are in {asked.out}.")


@dataclass(frozen=True, kw_only=True)
class Strive(Experiment):
    """The options of `bayescal reproduce strive`."""

    data: Data = None
    topics: Topics = 10


@command(app, Strive)
def strive(asked: Strive) -> None:
    """Combine five classifiers by every method of the dissertation's chapter 7, and by ours.

    [bold]bayescal reproduce strive --data reuters21578.tar.gz[/bold]

    puts seven measures and significance tests on ten topics beside the
    published ones. It takes a quarter of an hour on two cores.
    """
    asked.check(**{"--topics": asked.topics})
    screen = asked.screen
    corpus = _corpus(asked.data)
    from bayescal.reproduce import strive as experiment
    from bayescal.reproduce.corpus_scores import largest_topics
    from bayescal.reproduce.markdown import markdown_table
    from bayescal.reproduce.strive_table import strive_table

    with blamed_on_use():
        names = largest_topics(corpus, asked.topics)
    screen.say(f"Fitting five classifiers and their indicators: {len(names)} topics ...")
    inputs = experiment.topic_inputs(corpus, names, random_state=asked.seed, jobs=asked.jobs)
    screen.say(f"Combining them in {len(experiment.COMBINATIONS)} ways ...")
    found = experiment.decide_all(inputs, random_state=asked.seed, jobs=asked.jobs)
    table = strive_table(found, [each.truth for each in inputs], with_paper=asked.topics == 10)
    screen.show(strive_screen(table, len(names)))
    with staged_folder(asked.out) as stage:
        table.to_csv(stage / "strive.csv", index=False)
        (stage / "strive.md").write_text(markdown_table(table) + "\n", encoding="utf-8")
    screen.say(f"The table with all digits and published figures is in {asked.out}.")


command(app, SvmMap, "svm-map")(svm_map)
command(app, ActionItems, "action-items")(action_items)


def _corpus(data: Path | None) -> pd.DataFrame:
    from bayescal.datasets import fetch_reuters21578

    with blamed_on_use(kinds=(ValueError, OSError, ImportError)):
        return fetch_reuters21578(path=data)


def _methods(which: str) -> dict[str, Method]:
    from bayescal.methods import installed_methods
    from bayescal.validation import check_choice

    with blamed_on_use():
        check_choice("--methods", which, ("paper", "all"))
    return installed_methods(*(("paper",) if which == "paper" else ()))


def _draw(topic: str, scores: list[TopicScores], stage: Path) -> None:
    from bayescal.reproduce.figures import draw_figures

    first = {each.classifier: each for each in scores if each.topic == topic}
    for name, figure in draw_figures(first).items():
        figure.savefig(stage / f"{name}.png", metadata={"Software": None})

"""`bayescal reproduce`: experiments on Reuters-21578, on few positives, of ranking and e-mail."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bayescal.cli import options
from bayescal.cli.command import command
from bayescal.cli.errors import blamed_on_use
from bayescal.cli.reproduce_action_items import ActionItems, action_items
from bayescal.cli.reproduce_combinations import Combinations, online, strive
from bayescal.cli.reproduce_corpus import EXPERIMENT, Data, Experiment, Topics, read_corpus
from bayescal.cli.reproduce_label import Label, label
from bayescal.cli.reproduce_svm_map import SvmMap, svm_map
from bayescal.cli.reproduce_tables import (
    markdown_page,
    reuters_table,
    small_data_table,
)
from bayescal.cli.writing import staged_folder

if TYPE_CHECKING:
    from bayescal.methods import Method
    from bayescal.reproduce.corpus_scores import TopicScores

app = typer.Typer(
    name="reproduce", help="Make the paper's tables and figures again.", no_args_is_help=True
)

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
Repeats = Annotated[
    int, options.option("--repeats", EXPERIMENT, "Number of random subsets of each size.")
]


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
    corpus = read_corpus(asked.data)
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


command(app, Combinations)(strive)
command(app, Combinations)(online)
command(app, Label)(label)
command(app, SvmMap, "svm-map")(svm_map)
command(app, ActionItems, "action-items")(action_items)


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

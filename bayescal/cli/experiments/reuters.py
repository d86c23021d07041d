"""`bayescal reproduce reuters`: the Reuters half of the paper's table, and its figures."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bayescal.cli import options
from bayescal.cli.command import command
from bayescal.cli.errors import blamed_on_use
from bayescal.cli.experiment import (
    EXPERIMENT,
    Data,
    Experiment,
    Topics,
    check_plots,
    read_corpus,
)
from bayescal.cli.experiment_tables import markdown_page, reuters_table
from bayescal.cli.writing import staged_folder

if TYPE_CHECKING:
    from bayescal.methods import Method
    from bayescal.reproduce.corpus_scores import TopicScores

app = typer.Typer()

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
    check_plots()
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

"""`bayescal reproduce svm-map`: rankers for average precision, as the paper compares them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from bayescal.cli import options
from bayescal.cli.command import command
from bayescal.cli.errors import blamed_on_use
from bayescal.cli.experiment import EXPERIMENT, Experiment
from bayescal.cli.experiment_tables import svm_map_table
from bayescal.cli.writing import staged_folder

app = typer.Typer()

Trials = Annotated[
    int,
    options.option(
        "--trials",
        EXPERIMENT,
        "Number of deals of the queries to their roles, a multiple of 10. The paper has 50.",
    ),
]
Collections = Annotated[
    Path | None,
    options.option(
        "--data",
        "Collections",
        "A folder with clueweb09/part*.txt or lightgbm/rank.train and rank.test beside their"
        " .query files, plain or .xz. By default only the constructed collection is taken.",
        metavar="FOLDER",
    ),
]


@dataclass(frozen=True, kw_only=True)
class SvmMap(Experiment):
    """The options of `bayescal reproduce svm-map`."""

    data: Collections = None
    trials: Trials = 10


@command(app, SvmMap, "svm-map")
def svm_map(asked: SvmMap) -> None:
    """Compare rankers for average precision as the paper on SVM-map does.

    [bold]bayescal reproduce svm-map --data ranking --trials 50[/bold]

    deals queries to training, validation and test, so that each has every role
    alike, and prints mean average precision, wins and losses of SVM-MAP, and
    which differences are significant.
    """
    asked.check()
    screen = asked.screen
    from bayescal.reproduce.svm_map import experiment

    with blamed_on_use():
        collections = experiment.read_collections(asked.data, asked.seed)
        dealt = {c.name: experiment.deal(c.queries, asked.trials, asked.seed) for c in collections}
    tables = []
    for collection in collections:
        screen.say(
            f"{collection.name}: {asked.trials} trials of {collection.queries.size} queries ..."
        )
        found = experiment.measure(collection, dealt[collection.name], asked.jobs)
        screen.show(svm_map_table(collection.name, experiment.as_printed(found), asked.trials))
        tables.append(found.assign(collection=collection.name))
    with staged_folder(asked.out) as stage:
        experiment.write(tables, stage)
    screen.say(f"The tables are in {asked.out}.")

"""`bayescal reproduce action-items`: requests and promises in e-mail, by combined classifiers."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from bayescal.cli import options
from bayescal.cli.command import command
from bayescal.cli.errors import blamed_on_use
from bayescal.cli.experiment import EXPERIMENT, Experiment
from bayescal.cli.experiment_tables import action_items_comparisons, action_items_table
from bayescal.cli.settings import check_at_least
from bayescal.cli.writing import staged_folder

app = typer.Typer()

Folder = Annotated[
    Path,
    options.option(
        "--data",
        "Corpus",
        "A folder with Ask0729-fixed.txt and testSet-qualifiedBatch-fixed.txt, of"
        " github.com/ParakweetLabs/EmailIntentDataSet (Apache License 2.0).",
        metavar="FOLDER",
    ),
]
Folds = Annotated[
    int, options.option("--folds", EXPERIMENT, "Number of folds of the cross-validations.")
]


@dataclass(frozen=True, kw_only=True)
class ActionItems(Experiment):
    """The options of `bayescal reproduce action-items`."""

    data: Folder
    folds: Folds = 10


@command(app, ActionItems, "action-items")
def action_items(asked: ActionItems) -> None:
    """Find sentences of e-mail that ask for something: ten classifiers, combined in ten ways.

    [bold]bayescal reproduce action-items --data email_intent[/bold]

    stands in for chapter 10 of the dissertation, whose corpus is not public.
    It cross-validates on the training file and on both files, and judges by
    the test file what the training file has taught. It takes twenty
    minutes of processor time.
    """
    asked.check()
    check_at_least(2, **{"--folds": asked.folds})
    screen = asked.screen
    from bayescal.reproduce.action_items import experiment

    with blamed_on_use():
        parts = experiment.parts(asked.data, asked.folds, asked.seed)
    found = {}
    for name, trials in parts.items():
        screen.say(f"{name}: fitting and combining ten classifiers, {len(trials)} times ...")
        found[name] = experiment.measure_part(trials, asked.seed, asked.jobs)
        screen.show(action_items_table(name, found[name].printed))
        screen.show(action_items_comparisons(name, found[name].printed_gains))
    with staged_folder(asked.out) as stage:
        experiment.write(found, stage)
    screen.say(f"All measures with their intervals are in {asked.out}.")

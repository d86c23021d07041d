"""`bayescal reproduce small-data`: every method from 3 to 100 positives a topic."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import typer

from bayescal.cli import options
from bayescal.cli.command import command
from bayescal.cli.experiment import EXPERIMENT, Experiment, check_plots
from bayescal.cli.experiment_tables import markdown_page, small_data_table
from bayescal.cli.writing import staged_folder

app = typer.Typer()

Repeats = Annotated[
    int, options.option("--repeats", EXPERIMENT, "Number of random subsets of each size.")
]


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
    check_plots()
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

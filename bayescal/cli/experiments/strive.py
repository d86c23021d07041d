"""`bayescal reproduce strive`: the combinations of the dissertation's chapter 7, and ours."""

from __future__ import annotations

import typer

from bayescal.cli.combinations import Combinations, run_combinations
from bayescal.cli.command import command

app = typer.Typer()


@command(app, Combinations)
def strive(asked: Combinations) -> None:
    """Combine five classifiers by every method of the dissertation's chapter 7, and by ours.

    [bold]bayescal reproduce strive --data reuters21578.tar.gz[/bold]

    puts seven measures and significance tests on ten topics beside the
    published ones. It takes a quarter of an hour on two cores.
    """
    from bayescal.reproduce.published_strive import PUBLISHED
    from bayescal.reproduce.strive import COMBINATIONS
    from bayescal.reproduce.strive_table import GROUPS

    run_combinations(asked, "strive", COMBINATIONS, PUBLISHED, GROUPS)

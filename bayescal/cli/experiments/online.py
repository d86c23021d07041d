"""`bayescal reproduce online`: the online combiners of the dissertation's chapter 9."""

from __future__ import annotations

import typer

from bayescal.cli.combinations import Combinations, run_combinations
from bayescal.cli.command import command

app = typer.Typer()


@command(app, Combinations)
def online(asked: Combinations) -> None:
    """Combine five classifiers by the online combiners of the dissertation's chapter 9.

    [bold]bayescal reproduce online --data reuters21578.tar.gz[/bold]

    puts each of them, with one pass and with ten, beside the published
    figures, beside exponentiated gradient and beside the best of chapter 7.
    It takes a quarter of an hour on two cores.
    """
    from bayescal.reproduce.online import COMBINATIONS, GROUPS
    from bayescal.reproduce.published_online import PUBLISHED

    run_combinations(asked, "online", COMBINATIONS, PUBLISHED, GROUPS)

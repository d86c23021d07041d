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
    figures, exponentiated gradient and the best of chapter 7; and says what
    they lose online, beside what they promise.
    It takes nine minutes of processor time.
    """
    from bayescal.reproduce.online import COMBINATIONS, GROUPS
    from bayescal.reproduce.online_rounds import rounds_table
    from bayescal.reproduce.published_online import PUBLISHED

    run_combinations(asked, "online", COMBINATIONS, PUBLISHED, GROUPS, rounds_table)

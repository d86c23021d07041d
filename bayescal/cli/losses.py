"""Losses on the rows to test on: of maximum likelihood, and of the inference beside it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from rich.console import Group
from rich.text import Text

from bayescal.cli.curve import log_odds_at, mle_log_odds
from bayescal.cli.layout import ALL_TOPICS, add_columns, add_topic_column, new_table, titled
from bayescal.cli.problems import Problem

if TYPE_CHECKING:
    from bayescal.fitted.problem import FittedProblem
    from bayescal.metrics import Losses


def held_out_losses(fitted: FittedProblem, problem: Problem) -> dict[str, Losses]:
    """Return the losses on the rows to test on, by inference; nothing where there are none."""
    rows = problem.test_rows
    if rows.size == 0:
        return {}
    from bayescal.metrics import losses

    score, positive = problem.table.score[rows], problem.table.positive[rows]
    found = {"mle": losses(mle_log_odds(fitted, score), positive)} if fitted.has_mle else {}
    if fitted.inference != "mle":
        found[fitted.inference] = losses(log_odds_at(fitted, score), positive)
    return found


def sum_losses(many: Iterable[Mapping[str, Losses]]) -> dict[str, Losses]:
    """Return the sums over topics, of the methods that every topic has."""
    maps = list(many)
    common = [method for method in maps[0] if all(method in other for other in maps)]
    return {method: _sum([other[method] for other in maps]) for method in common}


def losses_table(named: Sequence[tuple[str, Mapping[str, Losses]]], *, total: bool = True) -> Group:
    """
    Return the losses on test rows.

    Parameters
    ----------
    named : sequence of (topic, {method: Losses})
        Topics, and their losses by the name of the method.
    total : bool
        Whether to add the sums over topics, if there are several.
    """
    rows = list(named)
    with_topics = any(topic for topic, _ in rows)
    if total and len(rows) > 1:
        rows.append((ALL_TOPICS, sum_losses(losses for _, losses in rows)))
    table = new_table()
    if with_topics:
        add_topic_column(table)
    add_columns(table, ["method"], justify="left")
    add_columns(table, ["rows", "log-loss", "per row", "squared error", "errors"])
    for topic, by_method in rows:
        for k, (method, one) in enumerate(by_method.items()):
            head = [Text("" if k else topic)] if with_topics else []
            table.add_row(*head, method, *_cells(one), end_section=k + 1 == len(by_method))
    methods = {method for _, losses in rows for method in losses}
    notes = ["MLE: maximum likelihood"] if "MLE" in methods else []
    title = "Losses on test rows (base-2 log-loss; sums, and bits per row)"
    return titled(title, table, *notes)


def _sum(parts: Sequence[Losses]) -> Losses:
    from bayescal.metrics import Losses

    return Losses(
        n=sum(part.n for part in parts),
        log_loss=math.fsum(part.log_loss for part in parts),
        squared_error=math.fsum(part.squared_error for part in parts),
        errors=sum(part.errors for part in parts),
    )


def _cells(one: Losses) -> list[str]:
    # Without a floor one document alone can cost 1e12 bits.
    bits = f"{one.log_loss:.1f}" if one.log_loss < 1e6 else f"{one.log_loss:.1e}"
    mean = f"{one.log_loss / one.n:.4g}"
    return [str(one.n), bits, mean, f"{one.squared_error:.2f}", str(one.errors)]

"""What the rows to test on say: losses, and whether the probabilities are right."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from rich.console import Group

from bayescal.cli.fitting import Calibrated
from bayescal.cli.losses import losses_table, sum_losses
from bayescal.cli.settings import POINT_NAMES
from bayescal.cli.verdicts import verdicts_by_topic, verdicts_table
from bayescal.validation import Floats

if TYPE_CHECKING:
    from bayescal.metrics import Losses


def with_test_rows(many: Sequence[Calibrated]) -> list[Calibrated]:
    """Return the problems that have rows to test on."""
    return [one for one in many if one.problem.test_rows.size]


def held_out_tables(many: Sequence[Calibrated], only: str | None = None) -> list[Group]:
    """
    Return tables of losses and verdicts; none without rows to test on.

    Parameters
    ----------
    many : sequence of Calibrated
        All that was fitted.
    only : str, optional
        What to call the losses of the inference over all rows, in place of a table by topic.
    """
    tested = with_test_rows(many)
    if not tested:
        return []
    rows = [by_method(one) for one in tested]
    if only is not None:
        rows = [("", {only: total_losses(tested)})]
    names = [np.full(one.problem.test_rows.size, one.problem.name) for one in tested]
    verdicts = verdicts_by_topic(*all_test_rows(tested), np.concatenate(names))
    return [losses_table(rows), verdicts_table(verdicts)]


def by_method(one: Calibrated) -> tuple[str, dict[str, Losses]]:
    """Return a fitted problem as a row of `losses_table`."""
    return one.problem.name, {POINT_NAMES[key]: value for key, value in one.losses.items()}


def total_losses(tested: Sequence[Calibrated]) -> Losses:
    """Return the losses of the inference, summed over problems."""
    return sum_losses(one.losses for one in tested)[tested[0].fitted.inference]


def all_test_rows(tested: Sequence[Calibrated]) -> tuple[Floats, NDArray[np.bool_]]:
    """Return the probabilities of all rows to test on, and which of them are positive."""
    probability, positive = zip(*(one.tested for one in tested), strict=True)
    return np.concatenate(probability), np.concatenate(positive)

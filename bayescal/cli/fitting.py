"""Fitted problems with what they say about their rows, whichever calibrator they come from."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from bayescal.cli.curve import Curve, curve_at
from bayescal.cli.losses import held_out_losses
from bayescal.cli.problems import Problem
from bayescal.validation import Floats

if TYPE_CHECKING:
    from bayescal.fitted.problem import FittedProblem, Problems
    from bayescal.metrics import Losses
    from bayescal.results.diagnostics import Diagnostics


class FittedCalibrator(Protocol):
    """What the commands ask of a calibrator itself: all else its problems say."""

    @property
    def diagnostics_(self) -> Diagnostics | None:
        """How well its draws were made."""
        ...

    @property
    def score_problems_(self) -> tuple[str, ...]:
        """What is wrong with the scores that it was fitted to."""
        ...

    def fitted_problems(self) -> Problems:
        """Return the problems fitted."""
        ...

    def save(self, path: str | Path) -> Path:
        """Write it to a file."""
        ...


@dataclass(frozen=True)
class Calibrated:
    """
    A fitted problem, and what it says about its rows.

    Attributes
    ----------
    problem : Problem
        Its rows.
    calibrator : FittedCalibrator
        Fitted to the rows to fit, of this problem alone or of others too.
    fitted : FittedProblem
        What the calibrator says of this problem.
    file : str
        Name of the calibrator's file.
    curve : Curve
        At all rows of the problem, in their order.
    losses : dict of str to Losses
        On the rows to test on, by inference; empty if there are none.
    """

    problem: Problem
    calibrator: FittedCalibrator
    fitted: FittedProblem
    file: str
    curve: Curve
    losses: dict[str, Losses]

    @property
    def undecided(self) -> int | None:
        """Return the rows whose band holds 1/2, so that either class may be likelier."""
        if self.curve.band is None:
            return None
        lower, upper = self.curve.band.T
        return int(((lower < 0.5) & (upper > 0.5)).sum())

    @property
    def tested(self) -> tuple[Floats, NDArray[np.bool_]]:
        """Return the probabilities of the rows to test on, and which of them are positive."""
        rows = self.problem.test_rows
        where = np.searchsorted(self.problem.rows, rows)
        return self.curve.probability[where], self.problem.table.positive[rows]


def calibrated(
    problem: Problem,
    calibrator: FittedCalibrator,
    fitted: FittedProblem,
    file: str,
    level: float,
) -> Calibrated:
    """Work out what a fitted problem says about its rows; arguments as the attributes above."""
    return Calibrated(
        problem=problem,
        calibrator=calibrator,
        fitted=fitted,
        file=file,
        curve=curve_at(fitted, problem.table.score[problem.rows], level),
        losses=held_out_losses(fitted, problem),
    )


def most_undecided_first(many: Iterable[Calibrated]) -> list[Calibrated]:
    """
    Return problems by how many rows are undecided: where people, or labels, help most.

    Without bands, and where as many are, those with few positives come first.
    """
    return sorted(many, key=lambda one: (-(one.undecided or 0), one.problem.counts[1]))


def flags(many: Sequence[Calibrated]) -> list[str]:
    """Return what is wrong with each problem, but for what is wrong with all of several."""
    found = [one.fitted.problems for one in many]
    shared = set.intersection(*map(set, found)) if len(found) > 1 else set()
    return ["; ".join(text for text in each if text not in shared) for each in found]

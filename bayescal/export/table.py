"""Curves as one table: knots in the user's units, and log-odds that are linear between them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bayescal.bayes import probability
from bayescal.curves import interpolation
from bayescal.export.curves import ExportedCurves
from bayescal.export.thinning import thin
from bayescal.validation import SMALLEST_PROBABILITY, Floats, as_scores_of

TOLERANCE = 1e-4  # in probability, of all that is exported
THINNING = 0.4 * TOLERANCE  # what is missed by leaving nodes out
# Log-odds beyond are within 4e-18 of 0 or 1 in probability; exp of them overflows nowhere.
SATURATED = 40.0
UNITS = 1 << 16  # scores, between which lines of one scale are as good as those of another
FINER = (1.0, 4.0, 16.0)  # times, one after the other, until what is missed is little enough
CHECKED = 500  # scores of each kind at which a table is held against the curves
# Of probabilities: those nearer to 0 and 1 than the inner ones are read as these.
ENDS = (0.0, SMALLEST_PROBABILITY, 1.0 - SMALLEST_PROBABILITY, 1.0)
NARROW = 1e-6  # in spreads: between such knots a curve jumps


@dataclass(frozen=True)
class Knots:
    """
    A curve of natural log-odds, linear between its knots.

    Attributes
    ----------
    score : array of shape (k,)
        Ascending, in the user's units.
    log_odds : array of shape (k,)
        At these scores.
    """

    score: Floats
    log_odds: Floats

    @property
    def slope(self) -> Floats:
        """Return the slope after each knot, 0 after the last; shape (k,)."""
        return np.append(np.diff(self.log_odds) / np.diff(self.score), 0.0)


@dataclass(frozen=True)
class Table:
    """
    All that is exported of a problem.

    Attributes
    ----------
    curves : dict of str to Knots
        The curves "probability" and, with a band, "lower" and "upper".
    bounded : bool
        Whether scores are probabilities: first knots are 0 and last ones 1, and beyond is nothing.
        Of other scores the answer beyond is that of the nearest knot.
    """

    curves: dict[str, Knots]
    bounded: bool

    def probabilities(self, scores: Floats) -> Floats:
        """Return what every format says of scores, in the user's units; shape (curves, n)."""
        beyond = np.nan if self.bounded else None
        rows = [
            np.interp(scores, each.score, each.log_odds, left=beyond, right=beyond)
            for each in self.curves.values()
        ]
        return probability(np.stack(rows))


def make_table(curves: ExportedCurves) -> tuple[Table, float]:
    """
    Return the table of some curves, and how far it was found to be from them in probability.

    Raises
    ------
    RuntimeError
        If it is more than 1e-4: no table is better than a wrong one.
    """
    for finer in FINER:
        table = _tabulate(curves, 1.0 / finer)
        off = largest_difference(table, curves)
        # Not a number, where one of them has no answer, is not within anything.
        if off <= TOLERANCE:
            return table, off
    raise RuntimeError(
        f"what is exported must be within {TOLERANCE} of the calibrator in probability, but is"
        f" {off:.2g} from it; nothing is written. Please report it with the calibrator's file."
    )


def _tabulate(curves: ExportedCurves, share: float) -> Table:
    """Return a table for a share of the tolerances."""
    # What nodes miss and what is missed by leaving some out may add up.
    nodes = curves.tabulate(share * (TOLERANCE - THINNING))
    rows = [_knots(curves, *each, share) for each in nodes]
    return Table(dict(zip(curves.names, rows, strict=True)), curves.bounded)


def _knots(curves: ExportedCurves, node: Floats, values: Floats, share: float) -> Knots:
    problem, scale = curves.problem, curves.drawn_in
    fine = scale.scores(np.union1d(node, np.linspace(node[0], node[-1], UNITS)))
    score = np.union1d(problem.shown(fine), ENDS if curves.bounded else [])
    at = np.clip(scale.of(as_scores_of(score, problem.scores_are)), node[0], node[-1])
    log_odds = np.clip(interpolation.read(node, values, at), -SATURATED, SATURATED)
    kept = thin(score, log_odds, share * THINNING)
    return Knots(score[kept], log_odds[kept])


def largest_difference(table: Table, curves: ExportedCurves) -> float:
    """Return how far a table is from the curves in probability, between and beyond its knots."""
    score = curves.problem.shown(_between(table, curves))
    exact = probability(curves.exact(as_scores_of(score, curves.problem.scores_are)))
    return float(np.abs(table.probabilities(score) - exact).max())


def _between(table: Table, curves: ExportedCurves) -> Floats:
    """Return scores that are not knots, on the calibration's scale."""
    knots = np.unique(np.concatenate([each.score for each in table.curves.values()]))
    knot = as_scores_of(knots, curves.problem.scores_are)
    run = np.diff(knot)
    middle = (knot[:-1] + 0.5 * run)[run > NARROW * curves.calibration.spread]
    return np.concatenate(
        [
            middle[:: middle.size // CHECKED + 1],
            np.linspace(*curves.calibration.score_range, CHECKED),
            *(scores[::3] for scores, _ in curves.far),
        ]
    )

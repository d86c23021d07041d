"""What is exported of a fitted problem: its point estimate and its band, as functions of scores."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from bayescal.bayes import probability
from bayescal.curves import interpolation, quantiles
from bayescal.curves.class_prior import Prior
from bayescal.curves.tables import DIRECT
from bayescal.export.drawn_in import DrawnIn
from bayescal.fitted.problem import FittedProblem
from bayescal.results.calibration import Calibration
from bayescal.validation import Floats, as_scores_of, check_fraction

# Powers of two of spreads from the centre, as far as a calibrator tells scores apart.
OCTAVES = np.arange(3.0, 332.5, 3.0)
SETTLED = 1e-5  # in probability, by which a curve moves beyond the ends at most
# Neighbours of a far score, as shares of its distance, which leave a straight line by rounding
# rather than by the curve. So many times as much must not matter: by chance they may lie on one for
# some octaves.
BESIDE, NOISE = (1e-10, 2e-10), 2.0**14


@dataclass(frozen=True)
class ExportedCurves:
    """
    The curves of a problem that are exported; scores are on the calibration's scale.

    Attributes
    ----------
    problem : FittedProblem
        Whose they are.
    calibration : Calibration
        What it says of scores, for the class prior that was asked for.
    level : float or None
        Posterior probability of the pointwise interval; None for the point estimate alone.
    """

    problem: FittedProblem
    calibration: Calibration
    level: float | None

    @classmethod
    def of(cls, problem: FittedProblem, level: float | None, prior: Prior | None) -> ExportedCurves:
        """
        Return the curves of a problem, for the documents of a class prior.

        Raises
        ------
        ValueError
            If `level` or `prior` is not between 0 and 1, or there is no posterior for a band.
        """
        if level is not None:
            check_fraction(level=level)
            if not problem.has_posterior:
                raise ValueError(
                    f"a band needs a posterior and inference={problem.inference!r} has none: pass"
                    " level=None for probabilities alone, or fit with inference='exact'."
                )
        return cls(problem, problem.calibration.with_prior(prior), level)

    @property
    def names(self) -> tuple[str, ...]:
        """Return the names of the curves."""
        return ("probability",) if self.level is None else ("probability", "lower", "upper")

    @property
    def bounded(self) -> bool:
        """Return whether users' scores are probabilities, which end at 0 and 1."""
        return self.problem.scores_are == "probabilities"

    def exact(self, scores: Floats) -> Floats:
        """Return log-odds of shape (curves, n), evaluated one by one."""
        return np.concatenate([self._point(scores), self._band(scores)])

    def tabulate(self, tolerance: float) -> list[tuple[Floats, Floats]]:
        """
        Return nodes and log-odds for each curve, lines between which follow it.

        Parameters
        ----------
        tolerance : float
            In probability, of lines on the scale of `drawn_in`, on which the nodes stand.
        """
        calibration, levels = self.calibration, self._levels
        low, high = self.drawn_in.of(np.array(self.ends())).tolist()
        first = interpolation.first_nodes(low, high, calibration.centre, calibration.spread)
        tables = []
        if levels.size < len(self.names):
            curve = self._point if levels.size else self.exact
            tables.append(interpolation.refine(self.drawn_in.curve(curve), first, tolerance))
        if calibration.draws is not None and levels.size:
            draws = self.drawn_in.draws(calibration.draws)
            tables.append(quantiles.tabulate(draws, first, levels, tolerance))
        return [(node, row) for node, values in tables for row in values]

    @cached_property
    def drawn_in(self) -> DrawnIn:
        """Return the scale on which curves bend as little far out as among the scores fitted."""
        return DrawnIn(self.calibration.centre, self.calibration.spread)

    def ends(self) -> tuple[float, float]:
        """Return the scores beyond which no curve moves, or beyond which there are none."""
        if self.bounded:
            low, high = as_scores_of([0.0, 1.0], self.problem.scores_are)
            return float(low), float(high)
        low, high = (_settled(*each) for each in self.far)
        return low, high

    @cached_property
    def far(self) -> tuple[tuple[Floats, Floats], tuple[Floats, Floats]]:
        """Return scores ever farther out up to noise, and probabilities: below, and above."""
        return self._far(-1.0), self._far(1.0)

    def _far(self, side: float) -> tuple[Floats, Floats]:
        distance = side * self.calibration.spread * np.exp2(OCTAVES)
        scores: Floats = self.calibration.centre + distance
        log_odds = self.exact(scores)
        # Far out two log densities may differ by their rounding alone.
        beside = [
            0.5 * (self.exact(scores - share * distance) + self.exact(scores + share * distance))
            for share in BESIDE
        ]
        noise = NOISE * np.abs(np.stack(beside) - log_odds).max(axis=0)
        p = probability(log_odds)
        moved = probability(log_odds + noise) - probability(log_odds - noise)
        told = np.asarray((moved <= SETTLED).all(axis=0), dtype=np.bool_)
        told[0] = True
        up_to_noise = np.logical_and.accumulate(told)
        return scores[up_to_noise], p[:, up_to_noise]

    @property
    def _levels(self) -> Floats:
        """Return the levels of those curves that are quantiles over draws, the last ones."""
        draws = self.calibration.draws
        if draws is None or draws.size == 1:
            return np.array([])
        median = [0.5] if self.problem.point == "median" else []
        tail = [] if self.level is None else [0.5 - self.level / 2.0, 0.5 + self.level / 2.0]
        return np.array(median + tail)

    def _point(self, scores: Floats) -> Floats:
        point = self.problem.point
        curve = [self.calibration.log_odds(piece, point) for piece in _pieces(scores)]
        return np.concatenate(curve)[None]

    def _band(self, scores: Floats) -> Floats:
        if self.level is None:
            return np.empty((0, scores.size))
        interval = self.calibration.log_odds_interval
        ends = [interval(piece, self.level, "pointwise") for piece in _pieces(scores)]
        return np.concatenate(ends).T


def _pieces(scores: Floats) -> list[Floats]:
    """Return scores in pieces so small that a calibration makes no tables for them."""
    return np.array_split(scores, scores.size // DIRECT + 1)


def _settled(far: Floats, p: Floats) -> float:
    """Return the first of the scores from which on no probability moves any more."""
    moves = (np.abs(p - p[:, -1:]) > SETTLED).any(axis=0)
    # The last one does not move from itself: there always is one after those that do.
    return float(far[np.flatnonzero(moves).max(initial=-1) + 1])

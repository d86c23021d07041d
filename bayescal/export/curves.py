"""What is exported of a fitted problem: its point estimate and its band, as functions of scores."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bayescal.bayes import probability
from bayescal.curves import interpolation
from bayescal.curves.class_prior import Prior
from bayescal.curves.tables import DIRECT
from bayescal.fitted.problem import FittedProblem
from bayescal.results.calibration import Calibration
from bayescal.validation import Floats, as_scores_of, check_fraction

# Powers of two of spreads from the centre, as far as a calibrator tells scores apart.
OCTAVES = np.arange(3.0, 332.25, 0.25)
SETTLED = 1e-5  # in probability, by which a curve moves beyond the ends at most


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
        # By pieces, for which the calibration makes no tables of its own.
        pieces = np.array_split(scores, scores.size // DIRECT + 1)
        out: Floats = np.concatenate([self._exact(piece) for piece in pieces], axis=1)
        return out

    def tabulate(self) -> tuple[Floats, Floats]:
        """Return nodes, and log-odds of shape (curves, nodes), close to the curves in between."""
        low, high = self.ends()
        calibration = self.calibration
        first = interpolation.first_nodes(low, high, calibration.centre, calibration.spread)
        return interpolation.refine(self.exact, first)

    def ends(self) -> tuple[float, float]:
        """Return the scores beyond which no curve moves, or beyond which there are none."""
        if self.bounded:
            low, high = as_scores_of([0.0, 1.0], self.problem.scores_are)
            return float(low), float(high)
        return self._settled(self.far(-1.0)), self._settled(self.far(1.0))

    def far(self, side: float) -> Floats:
        """Return scores ever farther from the centre, on the side of a sign, up to noise."""
        distance = self.calibration.spread * np.exp2(OCTAVES)
        scores: Floats = self.calibration.centre + side * distance
        # Far out two log densities may differ by their rounding alone: neighbours then disagree.
        p, beside = (
            probability(self.exact(each)) for each in (scores, np.nextafter(scores, np.inf))
        )
        told = np.asarray((np.abs(p - beside) <= SETTLED).all(axis=0), dtype=np.bool_)
        told[0] = True
        return scores[np.logical_and.accumulate(told)]

    def _settled(self, far: Floats) -> float:
        p = probability(self.exact(far))
        moves = (np.abs(p - p[:, -1:]) > SETTLED).any(axis=0)
        # The last one does not move from itself: there always is one after those that do.
        return float(far[np.flatnonzero(moves).max(initial=-1) + 1])

    def _exact(self, scores: Floats) -> Floats:
        rows = [self.calibration.log_odds(scores, self.problem.point)]
        if self.level is not None:
            rows += [*self.calibration.log_odds_interval(scores, self.level, "pointwise").T]
        out: Floats = np.stack(rows)
        return out

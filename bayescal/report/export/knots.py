"""Exported curves of a fitted problem: point estimate and band as functions of scores."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from bayescal.families.draws import unwarp, warp
from bayescal.fitting.curves.curves import (
    DIRECT,
    SHORTEST,
    ULPS,
    Curve,
    Prior,
    first_nodes,
    quantiles_of_log_odds,
    refine,
)
from bayescal.fitting.problems.problem import FittedProblem
from bayescal.fitting.results.calibration import Calibration
from bayescal.support.intervals import tails
from bayescal.support.numerics import probability
from bayescal.support.validation import SMALLEST_PROBABILITY, Floats, as_scores_of, check_fraction

# Far from the fitted scores log-odds follow the score or its logarithm, over hundreds of powers of
# two. On an asinh scale, which has few units there, curves bend about as little as near the centre.


@dataclass(frozen=True)
class DrawnIn:
    """The scale x = centre + spread asinh((s - centre)/spread) of scores s."""

    centre: float  # robust centre and spread of the fitted scores
    spread: float

    def of(self, scores: Floats) -> Floats:
        """Return scores on the scale."""
        return warp(scores, self.centre, self.spread)

    def scores(self, x: Floats) -> Floats:
        """Return the scores at values of the scale."""
        return unwarp(x, self.centre, self.spread)

    def curve(self, curve: Curve) -> Curve:
        """Return a curve of scores as a function of the scale."""
        return lambda x: curve(self.scores(x))


# Powers of two of spreads from the centre, as far as a calibrator distinguishes scores.
OCTAVES = np.arange(3.0, 332.5, 3.0)
BAND_NODES = 1000  # first nodes of bands
SETTLED = 1e-5  # in probability: largest movement of a curve beyond its ends
# Neighbours of a far score, at shares of its distance, deviate from a straight line by rounding
# only. The factor allows for octaves where they lie on a line by chance.
BESIDE, NOISE = (1e-10, 2e-10), 2.0**14


@dataclass(frozen=True)
class ExportedCurves:
    """Curves of a problem for export; scores are on the calibration's scale."""

    problem: FittedProblem
    calibration: Calibration  # under the requested class prior
    level: float | None  # of the pointwise interval; None for the point estimate alone

    @classmethod
    def of(cls, problem: FittedProblem, level: float | None, prior: Prior | None) -> ExportedCurves:
        """Return the curves of a problem under a class prior."""
        if level is not None:
            check_fraction(level=level)
            if not problem.has_posterior:
                raise ValueError(
                    f"a band needs a posterior and inference={problem.inference!r} has none: pass"
                    " level=None (--no-band in a shell) for probabilities alone, or fit with"
                    " inference='exact', or 'nuts' for a program."
                )
        return cls(problem, problem.calibration.with_prior(prior), level)

    @property
    def names(self) -> tuple[str, ...]:
        """Return the names of the curves."""
        return ("probability",) if self.level is None else ("probability", "lower", "upper")

    @property
    def bounded(self) -> bool:
        """Return True if users' scores are probabilities, which end at 0 and 1."""
        return self.problem.scores_are == "probabilities"

    def read(self, scores: ArrayLike) -> Floats:
        """Return users' scores on the calibration's scale."""
        return as_scores_of(scores, self.problem.scores_are, ends=self.calibration.ends)

    def exact(self, scores: Floats) -> Floats:
        """Return exact log-odds of shape (curves, n)."""
        return np.concatenate([self._point(scores), self._band(scores)])

    def tabulate(self, errors: Floats) -> list[tuple[Floats, Floats]]:
        """Return nodes and log-odds for linear interpolation of each curve."""
        calibration, levels = self.calibration, self._levels
        low, high = self.drawn_in.of(np.array(self.ends())).tolist()
        first = first_nodes(low, high, calibration.centre, calibration.spread)
        tables = []
        if levels.size < len(self.names):
            curve = self._point if levels.size else self.exact
            tables.append(refine(self.drawn_in.curve(curve), first, errors[0]))
        if calibration.draws is not None and levels.size:
            band = partial(quantiles_of_log_odds, calibration.draws, levels=levels)
            # Quantiles have a kink wherever two draws cross.
            closer = np.union1d(first, np.linspace(low, high, BAND_NODES))
            tables.append(refine(self.drawn_in.curve(band), closer, 0.5 * errors[-levels.size]))
        return [(node, row) for node, values in tables for row in values]

    @cached_property
    def drawn_in(self) -> DrawnIn:
        """Return the scale on which curves bend little."""
        return DrawnIn(self.calibration.centre, self.calibration.spread)

    def ends(self) -> tuple[float, float]:
        """Return the ends of the scores, or the scores beyond which no curve moves."""
        if self.bounded:
            low, high = self.read([0.0, 1.0])
            return float(low), float(high)
        low, high = (_settled(*each) for each in self.far)
        return low, high

    @cached_property
    def far(self) -> tuple[tuple[Floats, Floats], tuple[Floats, Floats]]:
        """Return far scores up to rounding noise, and probabilities: below, and above."""
        return self._far(-1.0), self._far(1.0)

    def _far(self, side: float) -> tuple[Floats, Floats]:
        distance = side * self.calibration.spread * np.exp2(OCTAVES)
        scores: Floats = self.calibration.centre + distance
        log_odds = self.exact(scores)
        # Far out the difference of two log densities may be rounding noise.
        beside = [
            0.5 * (self.exact(scores - share * distance) + self.exact(scores + share * distance))
            for share in BESIDE
        ]
        noise = NOISE * np.abs(np.stack(beside) - log_odds).max(axis=0)
        p = probability(log_odds)
        moved = probability(log_odds + noise) - probability(log_odds - noise)
        settled = np.asarray((moved <= SETTLED).all(axis=0), dtype=np.bool_)
        settled[0] = True
        up_to_noise = np.logical_and.accumulate(settled)
        return scores[up_to_noise], p[:, up_to_noise]

    @property
    def _levels(self) -> Floats:
        """Return the levels of the last curves, those that are quantiles over draws."""
        draws = self.calibration.draws
        if draws is None or draws.size == 1:
            return np.array([])
        median = [0.5] if self.problem.point == "median" else []
        tail = [] if self.level is None else [*tails(self.level)]
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
    """Return pieces of scores, small enough for a calibration to evaluate without tables."""
    return np.array_split(scores, scores.size // DIRECT + 1)


def _settled(far: Floats, p: Floats) -> float:
    """Return the first score from which on no probability moves."""
    moves = (np.abs(p - p[:, -1:]) > SETTLED).any(axis=0)
    # The last score never moves from itself: a next score always exists.
    return float(far[np.flatnonzero(moves).max(initial=-1) + 1])


# Thinning: lines between a subset of points that pass close to all others.

WINDOW = 64  # points tried at first


def thin(score: Floats, log_odds: Floats, tolerance: float) -> NDArray[np.intp]:
    """Return the points to keep so that lines between them pass all points within a tolerance."""
    p = special.expit(log_odds)
    bounds = (
        special.logit(np.maximum(p - tolerance, 0.0)),
        special.logit(np.minimum(p + tolerance, 1.0)),
    )
    kept = [0]
    while kept[-1] < score.size - 1:
        kept.append(_farthest(score, log_odds, bounds, kept[-1]))
    return np.array(kept, dtype=np.intp)


def _farthest(score: Floats, log_odds: Floats, bounds: tuple[Floats, Floats], start: int) -> int:
    """Return the farthest point that a line from `start` reaches, at least the next one."""
    window = WINDOW
    while True:
        ahead = slice(start + 1, start + 1 + window)
        run = score[ahead] - score[start]
        slope, least, most = ((each[ahead] - log_odds[start]) / run for each in (log_odds, *bounds))
        fits = np.maximum.accumulate(least) <= slope
        fits &= slope <= np.minimum.accumulate(most)
        reached = int(np.flatnonzero(fits)[-1])
        if reached < run.size - 1 or run.size < window:
            return start + 1 + reached
        window *= 2


# Tables of curves: knots in the user's units, with log-odds that are linear between them.

# In probability, of points and of band ends (a tenth of the Monte Carlo error of 4,000 draws)
TOLERANCE, BAND_TOLERANCE = 1e-4, 1e-3
THINNING = 0.4  # share of the tolerance for thinning
# Larger log-odds are within 4e-18 of 0 or 1 in probability; exp of this one overflows nowhere.
SATURATED = 40.0
UNITS = 1 << 16  # scores so dense that linear interpolation on either scale agrees
FINER = (1.0, 4.0, 16.0)  # factors tried until the error is within the tolerance
CHECKED = 500  # scores of each kind for checks of a table
# Ends of probabilities; the outer two are read as the inner two.
ENDS = (0.0, SMALLEST_PROBABILITY, 1.0 - SMALLEST_PROBABILITY, 1.0)
NARROW = 1e-6  # in spreads: closer knots stand for a jump


@dataclass(frozen=True)
class Knots:
    """A curve of natural log-odds, linear between its knots."""

    score: Floats  # (k,), rising, in the user's units
    log_odds: Floats  # (k,)

    @property
    def slope(self) -> Floats:
        """Return the slope after each knot, 0 after the last; shape (k,)."""
        return np.append(np.diff(self.log_odds) / np.diff(self.score), 0.0)


@dataclass(frozen=True)
class Table:
    """Exported curves of a problem."""

    curves: dict[str, Knots]  # "probability" and, with a band, "lower" and "upper"
    # True for probabilities: no answer outside [0, 1]. Other scores beyond the knots have the
    # log-odds of the nearest knot
    bounded: bool

    def probabilities(self, scores: Floats) -> Floats:
        """Return the exported curves at scores in the user's units; shape (curves, n)."""
        beyond = np.nan if self.bounded else None
        rows = [
            np.interp(scores, each.score, each.log_odds, left=beyond, right=beyond)
            for each in self.curves.values()
        ]
        return probability(np.stack(rows))


def make_table(curves: ExportedCurves) -> tuple[Table, Floats]:
    """Return the table of curves, and its largest differences from them in probability."""
    for finer in FINER:
        table = _tabulate(curves, 1.0 / finer)
        off = largest_differences(table, curves)
        # False too if a difference is nan.
        if (off <= tolerances(curves)).all():
            return table, off
    raise RuntimeError(
        f"what is exported must be within {TOLERANCE} of the calibrator's probability and within"
        f" {BAND_TOLERANCE} of its band, but is {np.max(off):.2g} from it; nothing is written."
        " Please report it with the calibrator's file."
    )


def tolerances(curves: ExportedCurves) -> Floats:
    """Return the tolerance of each curve, in probability."""
    return np.array([TOLERANCE, BAND_TOLERANCE, BAND_TOLERANCE])[: len(curves.names)]


def _tabulate(curves: ExportedCurves, share: float) -> Table:
    """Return a table with a share of the tolerances."""
    errors = share * tolerances(curves)
    # Errors of nodes and of thinning add up.
    nodes = curves.tabulate((1.0 - THINNING) * errors)
    rows = [
        _knots(curves, row, *each, THINNING * error)
        for row, (each, error) in enumerate(zip(nodes, errors, strict=True))
    ]
    return Table(dict(zip(curves.names, rows, strict=True)), curves.bounded)


def _knots(curves: ExportedCurves, row: int, node: Floats, values: Floats, error: float) -> Knots:
    problem, scale = curves.problem, curves.drawn_in
    fine = scale.scores(np.union1d(node, np.linspace(node[0], node[-1], UNITS)))
    score = np.union1d(problem.shown(fine), ENDS if curves.bounded else [])
    at = np.clip(scale.of(curves.read(score)), node[0], node[-1])
    log_odds = np.clip(np.interp(at, node, values), -SATURATED, SATURATED)
    for end in problem.shown(curves.calibration.jumps):
        # At a jump its level, on both sides the curve a few roundings away.
        off = max(ULPS * np.spacing(abs(end)), SHORTEST)
        near = np.unique(np.clip([end - off, end, end + off], score[0], score[-1]))
        exact = np.clip(curves.exact(curves.read(near))[row], -SATURATED, SATURATED)
        others = (score < near[0]) | (score > near[-1])
        score, log_odds = np.append(score[others], near), np.append(log_odds[others], exact)
        order = np.argsort(score)
        score, log_odds = score[order], log_odds[order]
    kept = thin(score, log_odds, error)
    return Knots(score[kept], log_odds[kept])


def largest_differences(table: Table, curves: ExportedCurves) -> Floats:
    """Return the largest error in probability of each curve, between and beyond its knots."""
    score = curves.problem.shown(_between(table, curves))
    exact = probability(curves.exact(curves.read(score)))
    return np.asarray(np.abs(table.probabilities(score) - exact).max(axis=1))


def _between(table: Table, curves: ExportedCurves) -> Floats:
    """Return scores between and beyond the knots, on the calibration's scale."""
    knots = np.unique(np.concatenate([each.score for each in table.curves.values()]))
    knot = curves.read(knots)
    run = np.diff(knot)
    middle = (knot[:-1] + 0.5 * run)[run > NARROW * curves.calibration.spread]
    return np.concatenate(
        [
            middle[:: middle.size // CHECKED + 1],
            np.linspace(*curves.calibration.score_range, CHECKED),
            *(scores[::3] for scores, _ in curves.far),
        ]
    )

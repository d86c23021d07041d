"""Units of a sample, the random draw, and limits of recall, precision and prevalence from it."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from bayescal.decisions.thresholds import check_threshold
from bayescal.inference.design_effect import FEWEST, design_effect
from bayescal.sampling.exact import NO_ERROR, ReviewerError, count_limits, share_limits, sum_limits
from bayescal.support import score_checks, validation
from bayescal.support.intervals import Interval, counted
from bayescal.support.labels import read_groups
from bayescal.support.validation import Floats

ROUNDING = 1e-9  # of effective numbers
GRID = 40  # thresholds with simultaneous limits; limits between them follow


@dataclass(frozen=True)
class SamplingUnits:
    """The units that are drawn and counted: documents, or groups of documents."""

    scores: Floats  # (units,): a group's highest score
    labels: Floats  # (units,): 1, 0 or nan; 1 for a group with a positive
    of_document: NDArray[np.intp]  # (documents,): the unit of each document

    @classmethod
    def of(cls, scores: Floats, labels: Floats, groups: ArrayLike | None) -> SamplingUnits:
        """Return the units of a collection."""
        if groups is None:
            return cls(scores, labels, np.arange(scores.size))
        names, code = read_groups(groups, "groups", "group", scores.size, "scores")
        highest = np.full(names.size, -np.inf)
        np.maximum.at(highest, code, scores)
        label = np.full(names.size, np.nan)
        np.fmax.at(label, code, labels)
        return cls(highest, label, code)

    def above(self, threshold: float | None) -> NDArray[np.bool_]:
        """Return the mask of the units at or above a threshold, of all units without one."""
        return self.scores >= (-np.inf if threshold is None else threshold)

    def mask(self, documents: NDArray[np.intp]) -> NDArray[np.bool_]:
        """Return the mask of the units of some documents."""
        out = np.zeros(self.scores.size, dtype=bool)
        out[self.of_document[documents]] = True
        return out


def as_threshold(threshold: float | None, *, needed: bool) -> float | None:
    """Return a finite threshold, or None if none is needed."""
    if threshold is None:
        if needed:
            raise ValueError("threshold must be the score from which on documents are taken.")
        return None
    check_threshold(threshold)
    return float(threshold)


def as_partial_labels(
    labels: ArrayLike | None, documents: int, name: str = "labels", *, values_between: bool = False
) -> Floats:
    """Return labels of a collection: 1, 0, values between if allowed, or nan where missing."""
    if labels is None:
        return np.full(documents, np.nan)
    values = validation.reals_or_nan(validation.as_array(labels, name), name)
    if values.shape != (documents,):
        advice = "give the scores of the whole collection, and labels in their order"
        if values.ndim == 2:
            advice = "two reviewers of a document have to agree on one label"
        raise ValueError(
            f"{name} must have shape ({documents},), one a document and nan where there is none,"
            f" got {values.shape}: {advice}."
        )
    between = (values > 0.0) & (values < 1.0) & values_between
    wrong = ~(np.isnan(values) | (values == 0.0) | (values == 1.0) | between)
    if wrong.any():
        expected = "lie between 0 and 1," if values_between else "be 1, 0,"
        raise ValueError(
            f"{name} must {expected} or nan where there is none, got {values[wrong][0]:g}."
        )
    return values


def warn_of_direction(scores: Floats, labels: Floats) -> None:
    """Warn if positives have the lower scores."""
    known = ~np.isnan(labels)
    if not known.any():
        return
    direction = score_checks.direction(scores[known], labels[known] == 1.0)
    if direction is not None and direction.probability_below > score_checks.SURE:
        score_checks.warn_of_scores(
            f"positives have lower scores than negatives (AUC {direction.auc:.2f}): negate the"
            " scores if larger ones stand for negatives; the ranking finds no positives"
        )


@dataclass(frozen=True)
class StratifiedDraw:
    """Units drawn at random within strata, from the units without a label."""

    units: SamplingUnits
    stratum: NDArray[np.intp]  # (units,)
    sampled: NDArray[np.bool_]  # (units,)
    before: NDArray[np.bool_]  # (units,): labelled before the draw
    group: NDArray[np.intp] | None = None  # (units,): the group of each, if groups were drawn
    correlation: float | None = None  # of labels within groups; None to estimate it

    def by_document(self, documents: SamplingUnits) -> StratifiedDraw:
        """Return the draw of groups with their documents as units."""
        code = self.units.of_document
        size, known = np.bincount(code), np.bincount(code, ~np.isnan(documents.labels))
        if partly := int(np.count_nonzero((known > 0) & (known < size))):
            raise ValueError(
                f"labels must hold all documents of a group or none, {counted(partly, 'group')} of"
                f" {size.size:,} have some: label the others; leave out groups if documents were"
                " drawn one by one; or count groups by of='groups'."
            )
        group = code if (size > 1).any() else None
        stratum, sampled = self.stratum[code], self.sampled[code]
        return StratifiedDraw(documents, stratum, sampled, self.before[code], group)

    def limits(
        self, of: str, above: NDArray[np.bool_], level: float, error: ReviewerError = NO_ERROR
    ) -> Interval:
        """Return the limits of a measure at one threshold."""
        simple = not (self.stratum.any() or self.before.any()) and error == NO_ERROR
        if of == "recall" and simple and self.group is None:
            own = (self.units.labels == 1.0) & self.sampled
            return _clopper_pearson(int((own & above).sum()), int(own.sum()), level)
        sides = [self._positives(mine, level, error) for mine in (above, ~above)]
        if of == "recall":
            return share_limits(*sides)
        if of == "prevalence":
            return sum_limits(sides) / above.size
        positives, mine = (sides[0], above) if of == "precision" else (sides[1], ~above)
        return positives / int(mine.sum())

    def simultaneous_limits(
        self,
        of: str,
        threshold: float,
        level: float,
        error: ReviewerError,
        fixed: tuple[float, ...],
    ) -> Interval:
        """Return limits of recall or precision that hold for all thresholds at once."""
        # They hold together at thresholds fixed before the labels and at some of the ranking
        # (Bonferroni), and between them because fewer positives lie above a higher threshold.
        falling = np.sort(self.units.scores)[::-1]
        ranks = np.round(np.geomspace(1.0, falling.size, GRID)).astype(np.intp)
        # The limits at -inf and inf are certain and need no share of the level.
        grid = np.unique(np.r_[-np.inf, falling[ranks - 1], np.inf, fixed])
        level = 1.0 - (1.0 - level) / (grid.size - 2)
        above = self.units.above(threshold)
        own = self.limits(of, above, level, error)
        ends = grid[grid >= threshold][0], grid[grid <= threshold][-1]
        higher, lower = (self.units.above(end) for end in ends)
        if of == "recall":
            low, high = (self.limits(of, each, level, error) for each in (higher, lower))
            return replace(own, lower=low.lower, upper=high.upper)
        taken = int(above.sum())
        low, high = (self._positives(each, level, error) / taken for each in (higher, lower))
        return replace(own, lower=low.lower, upper=min(high.upper, 1.0))

    def _positives(self, mine: NDArray[np.bool_], level: float, error: ReviewerError) -> Interval:
        """Return the limits of the positives among units, by stratum and for earlier labels."""
        positive, correlation = self.units.labels == 1.0, self.correlation_within(mine)
        known = mine & self.before
        cells = [(known, known)]
        for h in range(int(self.stratum.max()) + 1):
            cell = mine & (self.stratum == h) & ~self.before
            if cell.any():
                cells.append((cell, cell & self.sampled))
        parts = []
        for cell, own in cells:
            counts = int((positive & own).sum()), int(own.sum()), int(cell.sum())
            parts.append(_count_limits(*counts, level, error, self._effect(own, correlation)))
        return sum_limits(parts)

    def correlation_within(self, mine: NDArray[np.bool_]) -> float:
        """Return the correlation of labels within groups, given their stratum and `mine`."""
        if self.correlation is not None:
            return self.correlation
        drawn = self.sampled & ~self.before
        if self.group is None or not drawn.any():
            return 0.0
        _, cell = np.unique(2 * self.stratum[drawn] + mine[drawn], return_inverse=True)
        _, code = np.unique(self.group[drawn], return_inverse=True)
        positive = self.units.labels[drawn] == 1.0
        share = np.bincount(cell, positive) / np.bincount(cell)
        found = design_effect(positive, share[cell], code)
        # Fewer groups say nothing of the correlation.
        return found.correlation if found.positive_clusters >= FEWEST else 1.0

    def _effect(self, own: NDArray[np.bool_], correlation: float) -> float:
        """Return the design effect of some drawn units (Kish's design effect)."""
        if self.group is None or not own.any():
            return 1.0
        size = np.bincount(self.group[own])
        return 1.0 + correlation * (float(size @ size) / int(own.sum()) - 1.0)


def _count_limits(
    positives: int, sampled: int, documents: int, level: float, error: ReviewerError, effect: float
) -> Interval:
    """Return limits of a count where every `effect` documents count as one."""
    if effect == 1.0:
        return count_limits(positives, sampled, documents, level, reviewer_error=error)
    some = math.floor(sampled / effect + ROUNDING)
    every = some + math.ceil((documents - sampled) / effect - ROUNDING)
    k = positives * some / sampled
    # Between two whole numbers of positives limits are interpolated.
    fewer, more = (
        count_limits(whole, some, every, level, reviewer_error=error)
        for whole in (math.floor(k + ROUNDING), math.ceil(k - ROUNDING))
    )
    low, high = (np.array([each.value, each.lower, each.upper]) for each in (fewer, more))
    value, lower, upper = (documents / every * (low + k % 1.0 * (high - low))).tolist()
    return Interval(value, lower, upper, level)


def _clopper_pearson(part: int, total: int, level: float) -> Interval:
    if total == 0:
        return Interval(math.nan, 0.0, 1.0, level)
    ends = stats.binomtest(part, total).proportion_ci(level, method="exact")
    return Interval(part / total, float(ends.low), float(ends.high), level)

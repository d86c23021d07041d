r"""Levels of their own for documents that tie at an end of the scores.

Fifteen of a hundred similarities may be exactly 100, and mean a match far more often than 98 does.
A curve that is smooth, or has few pieces, then errs on both sides of the step. With A the documents
at an end, k of them positive, and R all others, the evidence of a level of its own is

    p(y_R | s_R) B(1 + k, 1 + |A| - k),

the first factor being that of monotone log-odds of the rest, and the other one that of labels with
a uniform P(+). The end has its own level if that is larger than p(y | s) of all documents: before
the labels both are as probable as one another. The level is then Beta(1 + k, 1 + |A| - k), and the
curve is fitted to the rest.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import special

from bayescal.fitting.engines.monotone.engine import WARPS, LaplaceFits, vague_log_evidence
from bayescal.fitting.posterior import SAMPLE
from bayescal.fitting.scores import BinaryScores
from bayescal.support.validation import Floats

GROUP = "levels"  # of a tree
# Documents (or their weight) that tie, of which fewer cannot show a step.
FEWEST = 10.0
# Of the rest, of each class.
FEWEST_OF_CLASS = 3


@dataclass(frozen=True)
class Ends:
    """Ends of the scores at and beyond which documents have levels of their own."""

    end: Floats  # (ends,): scores
    lowest: NDArray[np.bool_]  # (ends,): whether all other documents lie above it

    def of(self, scores: Floats) -> NDArray[np.intp]:
        """Return the end that each score is at or beyond, -1 for none."""
        at = np.full(scores.size, -1)
        for k, (end, lowest) in enumerate(zip(self.end, self.lowest, strict=True)):
            at[scores <= end if lowest else scores >= end] = k
        return at


@dataclass(frozen=True)
class EndLevels:
    """Draws of P(+) at each end, and of all documents; of many topics these come first."""

    axes: ClassVar = {
        "end": ("end",),
        "lowest": ("end",),
        "level": (SAMPLE, "end"),
        "prior": (SAMPLE,),
    }

    ends: Ends
    level: Floats  # (draws, ends)
    prior: Floats  # (draws,)


@dataclass(frozen=True)
class TiedDocuments:
    """The documents at ends with levels of their own, and the rest."""

    score: Floats  # the ends, ascending, (ends,)
    positive: Floats  # the weight of positives at each, (ends,)
    total: Floats  # the weight of documents at each, (ends,)
    rest: BinaryScores  # all other documents, in the units of all

    def ends(self, lowest: float) -> Ends:
        """Return the ends, by the lowest of all scores."""
        return Ends(self.score, self.score == lowest)

    def draw(self, data: BinaryScores, draws: int, rng: np.random.Generator) -> EndLevels:
        """Return draws of the levels and of P(+) of all documents."""
        a, b = 1.0 + self.positive, 1.0 + self.total - self.positive
        level = rng.beta(a, b, (draws, a.size))
        prior = rng.beta(1.0 + data.total(True), 1.0 + data.total(False), draws)
        return EndLevels(self.ends(data.score_range[0]), level, prior)


def find_levels(data: BinaryScores) -> TiedDocuments | None:
    """Return the ends of the scores whose labels ask for levels of their own; None without any."""
    none = np.empty(0)
    levels = TiedDocuments(none, none, none, data)
    best = None
    for end in _ends(data):
        with_level = _apart(levels, end)
        if min(np.count_nonzero(with_level.rest.positive == k) for k in (0, 1)) < FEWEST_OF_CLASS:
            continue
        best = _log_evidence(levels) if best is None else best
        evidence = _log_evidence(with_level)
        if evidence > best:
            levels, best = with_level, evidence
    order = np.argsort(levels.score)
    if not order.size:
        return None
    score, positive, total = (each[order] for each in (levels.score, levels.positive, levels.total))
    return replace(levels, score=score, positive=positive, total=total)


def _ends(data: BinaryScores) -> Iterator[float]:
    """Yield the largest and the smallest score at which many documents tie."""
    low, high = data.score_range
    for end in (high, low) if low < high else ():
        tied = np.flatnonzero(data.score == end)
        if tied.size > 1 and _weight(data, tied) >= FEWEST:
            yield end


def _apart(levels: TiedDocuments, end: float) -> TiedDocuments:
    """Return the same with one end more."""
    rest, units = levels.rest, levels.rest.centre_and_spread
    at = rest.score == end
    mine, others = np.flatnonzero(at), np.flatnonzero(~at)
    return TiedDocuments(
        np.append(levels.score, end),
        np.append(levels.positive, _weight(rest, mine[rest.positive[mine]])),
        np.append(levels.total, _weight(rest, mine)),
        replace(
            rest,
            score=rest.score[others],
            positive=rest.positive[others],
            weight=None if rest.weight is None else rest.weight[others],
            units=units,
        ),
    )


def _weight(data: BinaryScores, index: NDArray[np.intp]) -> float:
    return float(index.size if data.weight is None else data.weight[index].sum())


def _log_evidence(levels: TiedDocuments) -> float:
    """Return the natural log of the evidence of the rest's curve and of the levels."""
    of_levels = special.betaln(1.0 + levels.positive, 1.0 + levels.total - levels.positive)
    return vague_log_evidence(LaplaceFits(levels.rest), WARPS) + float(of_levels.sum())

"""Maximum likelihood of densities with a scale of their own to each side of the mode.

A profile over the mode theta: at every candidate the best scales are known in closed form from
the sums of deviations to its left and right, and the log-likelihood is
-N (log width + offset), so the narrowest candidate wins.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Generic, Protocol, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from bayescal.families._family import Fit, Guard
from bayescal.families._guard import OFF_FRACTION, GuardOption, resolve_guard
from bayescal.families._sorted import Indices, SortedScores, sort_scores
from bayescal.validation import Floats, as_scores, as_weights, check_choice

CANDIDATES = ("exact", "bennett")
BLOCK = 1 << 15
ROUNDING = 1e-14  # relative, of widths
BENNETT_PIECES = 10  # "intervals between adjacent scores are divided into 10 pieces"


class Sums(Protocol):
    """Sums of deviations left and right of a mode: `AbsoluteSums` and its siblings."""

    @property
    def scores(self) -> SortedScores: ...
    @property
    def left(self) -> Floats: ...
    @property
    def right(self) -> Floats: ...

    def between(self, index: Indices, share: Floats | float) -> tuple[Floats, Floats]: ...


S = TypeVar("S", bound=Sums)


@dataclass(frozen=True)
class Sides(Generic[S]):
    """
    What distinguishes the families: the sums of deviations and the closed forms for them.

    Attributes
    ----------
    sums : callable
        SortedScores -> the sums at every score.
    scales : callable
        (left, right, total, floor) -> the best left and right scale.
    widths : callable
        (left, right, total, floor) -> the width at the best scales; increasing in left and right.
    log_offset : float
        log-likelihood = -N (log width + log_offset).
    """

    sums: Callable[[SortedScores], S]
    scales: Callable[[Floats, Floats, float, float], tuple[Floats, Floats]]
    widths: Callable[[Floats, Floats, float, float], Floats]
    log_offset: float


@dataclass(frozen=True)
class SidesFit:
    """The best mode and scales, in raw score units."""

    theta: float
    left: float
    right: float
    log_likelihood: float
    weight: float
    guard: Guard
    below: tuple[bool, bool] = (False, False)  # whether the free left and right scale break it

    def as_fit(self, names: tuple[str, str, str], values: tuple[float, float, float]) -> Fit:
        """Return the record of the fit under the family's own parameters."""
        acted = tuple(name for name, low in zip(names[1:], self.below, strict=True) if low)
        parameters = dict(zip(names, values, strict=True))
        return Fit(parameters, self.log_likelihood, self.weight, replace(self.guard, acted=acted))


@dataclass(frozen=True)
class Candidate:
    """A mode, as a score's index and a share of the gap after it, and the sums there."""

    index: int
    share: float
    left: float
    right: float
    width: float


def blocks(n: int) -> Iterator[slice]:
    """Cut range(n) into pieces whose temporary arrays stay in the processor's cache."""
    for start in range(0, n, BLOCK):
        yield slice(start, min(start + BLOCK, n))


def narrowest(
    best: Candidate,
    index: Indices,
    share: Floats | float,
    left: Floats,
    right: Floats,
    width: Floats,
    slack: float = 0.0,
) -> Candidate:
    """
    Return the narrowest of some modes if it is narrower than `best` (1 + slack).

    Of modes that are equally likely to rounding, as symmetric data have, the leftmost.
    """
    i = int(np.argmax(width <= width.min() * (1.0 + ROUNDING)))
    if not width[i] < best.width * (1.0 + slack):
        return best
    at = float(np.broadcast_to(share, width.shape)[i])
    return Candidate(int(index[i]), at, left[i], right[i], width[i])


def fit_two_sided(
    sides: Sides[S],
    x: ArrayLike,
    sample_weight: ArrayLike | None,
    candidates: str,
    guard: GuardOption,
    between: Callable[[Sides[S], S, float, Candidate], Candidate] | None = None,
) -> SidesFit:
    """
    Fit mode and scales; `between` searches the intervals where the optimum can lie inside one.

    Raises
    ------
    ValueError
        If scores, weights, `candidates` or `guard` are not legal.
    """
    check_choice("candidates", candidates, CANDIDATES)
    raw = as_scores(x, "x")
    weight = as_weights(sample_weight, raw.size)
    resolved = resolve_guard(guard, raw, weight)
    sums = sides.sums(sort_scores(raw, weight))
    unit = sums.scores.unit
    search = between if candidates == "exact" else _best_on_grid

    def fit(floor: float) -> SidesFit:
        best = _best_score(sides, sums, floor / unit)
        if search is not None:
            best = search(sides, sums, floor / unit, best)
        return _finish(sides, sums.scores, resolved, best, floor)

    # The guard acts where the optimum without it breaks the floor; elsewhere both are the same.
    free_floor = min(OFF_FRACTION * unit, resolved.floor)
    free = fit(free_floor)
    below = (free.left <= resolved.floor, free.right <= resolved.floor)
    found = fit(resolved.floor) if any(below) and free_floor < resolved.floor else free
    return replace(found, below=below)


def _best_score(sides: Sides[S], sums: S, floor: float) -> Candidate:
    best = Candidate(0, 0.0, 0.0, 0.0, np.inf)
    for part in blocks(sums.left.size):
        left, right = sums.left[part], sums.right[part]
        width = sides.widths(left, right, sums.scores.total, floor)
        best = narrowest(best, part.start + np.arange(width.size), 0.0, left, right, width)
    return best


def _best_on_grid(sides: Sides[S], sums: S, floor: float, best: Candidate) -> Candidate:
    scores = sums.scores
    for part in blocks(scores.gap.size):
        index = np.arange(part.start, part.stop)
        for piece in range(1, BENNETT_PIECES):
            share = piece / BENNETT_PIECES
            left, right = sums.between(index, share)
            width = sides.widths(left, right, scores.total, floor)
            best = narrowest(best, index, share, left, right, width)
    return best


def _finish(
    sides: Sides[S], scores: SortedScores, guard: Guard, best: Candidate, floor: float
) -> SidesFit:
    left, right = np.asarray(best.left), np.asarray(best.right)
    scale_left, scale_right = sides.scales(left, right, scores.total, floor / scores.unit)
    theta = scores.x[best.index]
    if best.share > 0.0:
        theta += best.share * (scores.x[best.index + 1] - theta)
    log_width = np.log(best.width) + np.log(scores.unit)
    return SidesFit(
        theta=float(theta),
        left=float(scale_left * scores.unit),
        right=float(scale_right * scores.unit),
        log_likelihood=float(-scores.total * (log_width + sides.log_offset)),
        weight=scores.total,
        guard=guard,
    )

"""Candidates for the mode: the scores, and Bennett's points between them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from bayescal.families._profile import Profile
from bayescal.families._sorted import Indices
from bayescal.validation import Floats

BLOCK = 1 << 15
ROUNDING = 1e-14  # relative, of widths
BENNETT_PIECES = 10  # "intervals between adjacent scores are divided into 10 pieces"


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


def best_score(profile: Profile) -> Candidate:
    """Return the best of the scores."""
    best = Candidate(0, 0.0, 0.0, 0.0, np.inf)
    sums = profile.sums
    for part in blocks(sums.scores.x.size):
        left, right = sums.left.at[part], sums.right.at[part]
        width = profile.widths(left, right)
        best = narrowest(best, part.start + np.arange(width.size), 0.0, left, right, width)
    return best


def best_on_grid(profile: Profile, best: Candidate) -> Candidate:
    """Return the best of nine points in each interval between scores, or `best`."""
    for part in blocks(profile.sums.scores.gap.size):
        index = np.arange(part.start, part.stop)
        for piece in range(1, BENNETT_PIECES):
            share = piece / BENNETT_PIECES
            left, right = profile.sums.between(index, share)
            width = profile.widths(left, right)
            best = narrowest(best, index, share, left, right, width)
    return best

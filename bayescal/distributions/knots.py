"""Knots and reference of piecewise-linear log-odds: the programs' and the fast engine's."""

import math

import numpy as np

from bayescal.support.validation import Floats, check_same_length

GAP_NODES = 5  # nodes in a gap, including its ends
FEWEST_SCORES = 6  # smallest number of distinct scores for gaps
# A gap is wide if it is more than half of the range without TAIL of the weight on either side; or
# if it has EITHER_SIDE documents on both sides, is more than CLEAR of that range, and is three
# times the widest gap of uniform scores, about log(n)/n.
WIDE_GAP, TAIL = 0.5, 0.05
CLEAR, EITHER_SIDE, WIDEST_OF_UNIFORM = 0.15, 5, 3.0
# Straight pieces: nine up to 100 documents of the rarer class, then proportional to the cube root,
# which balances bias and variance, up to 17.
FEWEST, MOST, PER_ROOT = 9, 17, 1.9


def number_of_pieces(rarer: float) -> int:
    """Return the default number of straight pieces of monotone log-odds.

    Parameters
    ----------
    rarer : float
        Number of documents of the rarer class, or their total weight.

    Returns
    -------
    int
        9 up to 100 documents, then more with their cube root, up to 17.

    Examples
    --------
    >>> from bayescal.distributions import number_of_pieces
    >>> [number_of_pieces(n) for n in (5, 300, 1e5)]
    [9, 13, 17]
    """
    return int(np.clip(round(PER_ROOT * rarer ** (1 / 3)), FEWEST, MOST))


def place_knots(
    score: Floats, positive: np.ndarray, weight: Floats | None, n_segments: int
) -> tuple[Floats, float]:
    """Return knots and reference at quantiles of the two classes, with equal total weights.

    The reference is the balanced median; knots are distinct scores inside the range, at levels
    1/J, ..., (J - 1)/J, or fewer. Labels do not determine log-odds in wide gaps between scores:
    they get knots too, and a reference at the edge of a gap moves to its middle.

    Parameters
    ----------
    score : array of shape (n,)
        Scores, in any unit.
    positive : bool array of shape (n,)
        True for documents of the positive class.
    weight : array of shape (n,), optional
        Weights of the documents, 1 by default.
    n_segments : int
        J, the largest number of segments outside wide gaps; no knots for 1.

    Returns
    -------
    knots : array of shape (at most n_segments - 1 + 3 for each gap,)
        Knots in the unit of the scores, strictly ascending.
    reference : float
        The score whose log-odds is the intercept.

    Examples
    --------
    >>> from bayescal.distributions import place_knots
    >>> place_knots(np.r_[0.0:5.0, 95.0:100.0], np.arange(10) >= 5, None, 1)
    (array([], dtype=float64), 49.5)
    """
    if n_segments < 1:
        raise ValueError(f"n_segments must be at least 1, got {n_segments}.")
    check_same_length("score", score.size, "positive", positive.size)
    weights = np.ones(score.size) if weight is None else weight
    totals = [weights[positive == k].sum() for k in (False, True)]
    share = np.where(positive, *(1.0 / t if t > 0.0 else 0.0 for t in totals[::-1])) * weights
    used = np.flatnonzero(share > 0.0)
    order = used[np.argsort(score[used], kind="stable")]
    ascending, level = score[order], np.cumsum(share[order])
    # A running sum of n terms may miss an exact level by rounding.
    level = level / level[-1] + score.size * np.finfo(np.float64).eps
    wanted = np.arange(1, n_segments) / n_segments
    knots = np.unique(ascending[np.searchsorted(level, wanted)])
    knots = knots[(knots > ascending[0]) & (knots < ascending[-1])]
    reference = float(ascending[np.searchsorted(level, 0.5)])
    for edges in _wide_gaps(ascending, *np.searchsorted(level, (TAIL, 1.0 - TAIL))):
        nodes = np.linspace(*edges, GAP_NODES)
        knots = np.union1d(knots, nodes[1:-1]) if n_segments > 1 else knots
        reference = float(nodes[GAP_NODES // 2]) if reference in edges else reference
    return knots, reference


def _wide_gaps(ascending: Floats, first: int, last: int) -> list[tuple[float, float]]:
    """Return the ends of the wide gaps in the bulk, from the first to the last score."""
    gap = np.diff(ascending[first : last + 1])
    distinct = np.count_nonzero(gap) + 1
    if distinct < FEWEST_SCORES:
        return []
    share = gap / gap.sum()
    below = np.arange(first + 1, last + 1)
    inside = np.minimum(below, ascending.size - below) >= EITHER_SIDE
    clear = share > max(CLEAR, WIDEST_OF_UNIFORM * math.log(distinct) / distinct)
    wide = np.flatnonzero((share > WIDE_GAP) | (inside & clear)) + first
    return [(float(ascending[k]), float(ascending[k + 1])) for k in wide]

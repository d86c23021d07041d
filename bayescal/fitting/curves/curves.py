"""Point estimates and intervals from draws of a curve of log-odds.

Scores are processed in blocks, so that memory never holds draws x scores for more than one block.

Tables evaluate a curve of log-odds at some hundred scores, and interpolate. Nodes are densest
around the centre of the scores fitted. An interval is cut in three, and its neighbours with it, if
a line between its ends misses the curve by more than an error in probability: a quantile over draws
bends wherever two draws change places, and probes of one interval, unlike those of five, may lie on
the line by chance.
"""

from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from bayescal.fitting.posterior import Posterior, log_odds_of_mean
from bayescal.support.intervals import tails
from bayescal.support.numerics import probability
from bayescal.support.validation import Floats, as_reals, check_fraction, unmasked

# A class prior at prediction time: a number, a distribution, or draws.
Prior = float | ArrayLike | Any
SUM_TOLERANCE = 1e-6


def prior_draws(prior: Prior, draws: int) -> Floats:
    """Return draws of a class prior, the same at every call."""
    level = (np.arange(draws) + 0.5) / draws
    prior = unmasked(getattr(prior, "draws", prior), "prior")
    is_distribution = hasattr(prior, "ppf")
    if is_distribution:
        values = np.asarray(prior.ppf(level), dtype=np.float64)
    else:
        try:
            values = as_reals(prior, "prior").ravel()
        except ValueError:
            values = np.empty(0)
        if not values.size:
            raise ValueError(
                "prior must be a number between 0 and 1, draws of one, or a frozen scipy.stats"
                f" distribution, got {prior!r}."
            )
    # nan fails both checks.
    check_fraction(prior=float(values.min()))
    check_fraction(prior=float(values.max()))
    if not is_distribution and values.size > 1 and sum_to_one(values):
        raise ValueError(
            "prior must be P(+), the share of positives, or draws of it; got"
            f" {values.size} numbers that sum to 1, as those of classes: give that of the"
            " positive one."
        )
    quantiles = values if is_distribution else np.quantile(values, level)
    return np.random.default_rng(0).permutation(quantiles)


def sum_to_one(values: ArrayLike) -> bool:
    """Return whether numbers sum to 1, like shares of classes, unlike draws of a prior."""
    return bool(abs(np.sum(np.asarray(values, dtype=np.float64)) - 1.0) <= SUM_TOLERANCE)


# Quantiles over draws, shortest intervals, and levels of simultaneous bands.

# Up to this number of draws, vectorised sorting is faster than partitioning.
SORTED = 1000


def quantiles(values: Floats, levels: Floats) -> Floats:
    """Return quantiles over draws, as ``np.quantile(values, levels, axis=0)`` does, but faster."""
    last = values.shape[0] - 1
    position = levels * last
    low = position.astype(np.intp)
    high = np.minimum(low + 1, last)
    ordered = np.array(values.T, order="C")
    if last < SORTED:
        ordered.sort(axis=1)
    else:
        ordered.partition(np.union1d(low, high), axis=1)
    below, above = ordered[:, low], ordered[:, high]
    share, gap = position - low, above - below
    # From the nearer end, as in np.quantile, so that the ends are exact.
    result: Floats = np.where(share < 0.5, below + gap * share, above - gap * (1.0 - share))
    return result.T


def highest_density(values: Floats, level: float) -> Floats:
    """Return the shortest interval that holds a share of draws, pointwise."""
    ordered = _ordered(values)
    point, draws = ordered.shape
    inside = int(np.ceil(level * draws))
    start = (ordered[:, inside - 1 :] - ordered[:, : draws - inside + 1]).argmin(axis=1)
    ends = np.stack([start, start + inside - 1])
    return np.asarray(ordered[np.arange(point), ends])


INTERVALS = ("pointwise", "hdi")


def interval_of_draws(draws: Floats, level: float, kind: str) -> Floats:
    """Return intervals over draws, one of INTERVALS; draws come first, lower and upper last."""
    # No copy, whether draws are in rows or in columns.
    order: Literal["C", "F"] = "F" if draws.flags.f_contiguous else "C"
    flat = draws.reshape(len(draws), -1, order=order)
    shares = np.array(tails(level))
    ends = highest_density(flat, level) if kind == "hdi" else quantiles(flat, shares)
    return np.moveaxis(ends.reshape(2, *draws.shape[1:], order=order), 0, -1)


def _ordered(values: Floats) -> Floats:
    """Return the sorted draws of each point, shape (n, draws), contiguous in memory."""
    ordered = np.array(values.T, order="C")
    ordered.sort(axis=1)
    return ordered


def simultaneous_tail(curves: Floats, level: float) -> float:
    """Return the tail share at which pointwise equal-tailed intervals hold whole curves."""
    # Besag et al., Statistical Science 1995, section 6.3.
    # A slow import, which pointwise bands do not need.
    from scipy import stats

    draws = curves.shape[0]
    rank = stats.rankdata(curves, axis=0, method="min") - 1
    reverse = draws - stats.rankdata(curves, axis=0, method="max")
    depth = np.minimum(rank, reverse).min(axis=1)
    # Number of curves that must be at least as deep as the tail.
    kept = int(np.ceil(level * draws))
    return float(np.sort(depth)[draws - kept] / (draws - 1)) if draws > 1 else 0.0


BLOCK_ELEMENTS = 1 << 22


def predictive_log_odds(draws: Posterior, scores: Floats) -> Floats:
    """Return the log-odds of P(+ | s, data); shape (scores,)."""
    out = np.empty_like(scores)
    for part in blocks(draws.size, scores.size):
        out[part] = draws.predictive(scores[part])
    return out


def mean_log_odds(draws: Posterior, scores: Floats) -> Floats:
    """Return the log-odds of the mean over draws of P_k(+|s); shape (scores,)."""
    out = np.empty_like(scores)
    for part in blocks(draws.size, scores.size):
        out[part] = log_odds_of_mean(draws.log_odds(scores[part]))
    return out


def quantiles_of_log_odds(draws: Posterior, scores: Floats, levels: Floats) -> Floats:
    """Return pointwise quantiles over draws of the log-odds, shape (levels, scores)."""
    out = np.empty((levels.size, scores.size))
    for part in blocks(draws.size, scores.size):
        out[:, part] = quantiles(draws.log_odds(scores[part]), levels)
    return out


def blocks(draws: int, scores: int) -> Iterator[slice]:
    """Yield slices of the scores, so that draws x scores fit into a block of memory."""
    width = max(1, BLOCK_ELEMENTS // draws)
    for start in range(0, scores, width):
        yield slice(start, min(start + width, scores))


Curve = Callable[[Floats], Floats]

POINT = 1e-4  # error in probability of point estimates
DIRECT = 32  # scores that are evaluated without a table
READ_ONCE = 256  # the same of a curve that is not read again: a table costs as much as 400 scores
# Probed positions as shares of an interval (a curve may touch the line in the middle), the share of
# the error allowed there, and the number of neighbours cut on both sides.
PROBES, SAFETY, NEIGHBOURS = np.array([1.0, 2.0]) / 3.0, 0.35, 2
MOST_NODES = 1 << 14  # limits the refinement of noisy curves
# Errors in log-odds, relative to 1 + |log-odds|, where probabilities are 0 or 1, and elsewhere.
SATURATED, RELATIVE = 1e-16, (0.03, 0.01)
# Shortest intervals to cut, in units in the last place, and in scores, so that slopes are finite.
ULPS, SHORTEST = 64.0, 1e-290
MOST_TABLES = 32
# Many scores are located by cells of equal width, up to REACH spreads from the centre.
MANY, REACH, CELLS, BLOCK = 1 << 15, 8.0, 1 << 16, 1 << 15
FEW_ROWS = 8  # curves of a table up to which each is interpolated by itself


def band_error(draws: int) -> float:
    """Return the error of quantiles: about a tenth of the Monte Carlo error of the draws."""
    return float(1e-3 * np.sqrt(max(1.0, 4000.0 / draws)))


class Tables:
    """Tables of one calibration's curves, whose reach does not depend on earlier scores."""

    def __init__(self, centre: float, spread: float, jumps: Floats | None = None) -> None:
        self._centre, self._spread = centre, spread
        at = np.empty(0) if jumps is None else jumps
        self._jumps = np.concatenate([at, np.nextafter(at, -np.inf), np.nextafter(at, np.inf)])
        self._made: dict[Hashable, _Table] = {}

    def read(
        self, name: Hashable, curve: Curve, scores: Floats, error: float, direct: int = DIRECT
    ) -> Floats:
        """Return a curve's log-odds at scores; up to `direct` scores need no table."""
        if scores.size <= direct:
            return curve(scores)
        farthest = max(float(scores.max()) - self._centre, self._centre - float(scores.min()))
        octaves = int(np.frexp(max(farthest / self._spread, 0.5))[1])
        # Looked up once: other threads may clear the tables, or make the same one.
        table = self._made.get((name, octaves))
        if table is None:
            if len(self._made) >= MOST_TABLES:
                self._made.clear()
            sides = self._spread * np.array([-1.0, 1.0])
            low, high = self._centre + sides * 2.0**octaves
            first = first_nodes(low, high, self._centre, self._spread)
            inside = self._jumps[(self._jumps >= low) & (self._jumps <= high)]
            first = np.union1d(first, inside)
            cells = np.clip(self._centre + sides * REACH, low, high)
            table = self._made[name, octaves] = _Table(*refine(curve, first, error), *cells)
        return table.read(scores)


def first_nodes(low: float, high: float, centre: float, spread: float) -> Floats:
    """Return nodes from low to high, densest around the centre."""
    farthest = max(high - centre, centre - low, spread)
    steps = spread * np.exp2(np.arange(-3.0, np.log2(farthest / spread) + 1.0, 0.25))
    node = np.concatenate([centre - steps, [centre, low, high], centre + steps])
    return np.unique(node[(node >= low) & (node <= high)])


def refine(curve: Curve, node: Floats, error: float) -> tuple[Floats, Floats]:
    """Return nodes (m,) and log-odds (..., m): lines between them follow a curve within `error`."""
    # Errors are of probabilities, and a share of 1 + |log-odds|, for steep curves near 0 or 1.
    values = curve(node)
    left = np.arange(node.size - 1)
    while True:
        shortest = np.maximum(ULPS * np.spacing(np.abs(node[left + 1])), SHORTEST)
        left = left[np.diff(node)[left] > shortest]
        # The narrowest intervals first: they are next to a jump, or near the centre.
        narrowest = np.argsort(np.diff(node)[left], kind="stable")
        left = np.sort(left[narrowest[: max(MOST_NODES - node.size, 0) // PROBES.size]])
        if left.size == 0:
            return node, values
        point = node[left, None] + PROBES * np.diff(node)[left, None]
        true = curve(point.ravel()).reshape(*values.shape[:-1], *point.shape)
        low, high = values[..., left, None], values[..., left + 1, None]
        # Errors in log-odds matter most at log-odds of 0, where the probability is steepest.
        nearest = np.minimum(np.minimum(np.abs(low), np.abs(high)), np.abs(true))
        p = probability(-np.where(np.sign(low) == np.sign(high), nearest, 0.0))
        relative = np.where(p < SATURATED, *RELATIVE)
        limit = relative * (1.0 + np.abs(true))
        limit = np.minimum(limit, error / np.maximum(p * (1.0 - p), 1e-300))
        off = np.abs(true - (low + PROBES * (high - low))) > SAFETY * limit
        wrong = off.any(axis=-1).reshape(-1, left.size).any(axis=0)
        after = np.repeat(left + 1, PROBES.size)
        node = np.insert(node, after, point.ravel())
        values = np.insert(values, after, true.reshape(*values.shape[:-1], -1), axis=-1)
        # Each interval has moved by the nodes inserted before it.
        moved = (left + PROBES.size * np.arange(left.size))[wrong, None]
        near = moved + np.arange(-NEIGHBOURS, PROBES.size + 1 + NEIGHBOURS)
        left = np.unique(np.clip(near, 0, node.size - 2))


@dataclass(frozen=True)
class _Table:
    """Nodes and values, and the range of the cells for many scores."""

    node: Floats
    values: Floats
    low: float
    high: float

    def read(self, scores: Floats) -> Floats:
        """Return the values at scores, linear between nodes; shape (..., n)."""
        rows = self.values.reshape(-1, self.node.size)
        if len(rows) > FEW_ROWS:
            return self._read_rows(rows, scores).reshape(*self.values.shape[:-1], scores.size)
        out = np.empty((rows.shape[0], scores.size))
        block = BLOCK if scores.size >= MANY else scores.size
        for first in range(0, scores.size, block):
            part = slice(first, first + block)
            at, values = scores[part], out[:, part]
            rest: Any = slice(None)
            if scores.size >= MANY:
                self._read_cells(at, values)
                rest = np.flatnonzero(np.isnan(values[0]))
            for row, value in zip(rows, values, strict=True):
                value[rest] = np.interp(at[rest], self.node, row)
        return out.reshape(*self.values.shape[:-1], scores.size)

    def _read_rows(self, rows: Floats, scores: Floats) -> Floats:
        """Return the values of many rows, whose nodes are located once; shape (rows, n)."""
        last = np.clip(np.searchsorted(self.node, scores) - 1, 0, self.node.size - 2)
        share = (scores - self.node[last]) / (self.node[last + 1] - self.node[last])
        out = np.empty((len(rows), scores.size))
        for value, low, rise in zip(out, rows, np.diff(rows, axis=1), strict=True):
            rise.take(last, out=value, mode="clip")  # other modes copy
            value *= share
            value += low.take(last)
        return out

    def _read_cells(self, scores: Floats, out: Floats) -> None:
        """Write the values on the lines across cells, nan in cells with a node."""
        at = (scores - self.low) * (CELLS / (self.high - self.low))
        np.clip(at, 0.0, CELLS - 1.0, out=at)
        cell = at.astype(np.intp)
        for row, (start, slope) in zip(out, self._cells, strict=True):
            slope.take(cell, out=row, mode="clip")  # other modes copy
            row *= at
            row += start.take(cell, mode="clip")

    @cached_property
    def _cells(self) -> list[tuple[Floats, Floats]]:
        """The lines across cells, as functions of the cell's number; nan in cells with a node."""
        edge = np.linspace(self.low, self.high, CELLS + 1)
        first = np.searchsorted(self.node, edge, side="right")
        bent = np.searchsorted(self.node, edge[1:]) > first[:-1]
        bent[[0, -1]] = True  # the end cells include scores beyond
        lines = []
        for row in self.values.reshape(-1, self.node.size):
            value = np.interp(edge, self.node, row)
            slope = np.where(bent, np.nan, np.diff(value))
            lines.append((value[:-1] - slope * np.arange(CELLS), slope))
        return lines

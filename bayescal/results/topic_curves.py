"""What a tree of many topics says of their scores: log-odds and intervals, topic by topic."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from bayescal.bayes import probability
from bayescal.families import Family
from bayescal.results import curves
from bayescal.results.class_draws import ClassDraws
from bayescal.results.tables import Tables
from bayescal.results.topics import read_curve, read_scale
from bayescal.topic_scores import Cells
from bayescal.validation import Floats

Reader = Callable[[ClassDraws, Floats], Floats]


@dataclass(frozen=True)
class TopicCurves:
    """
    The curves of all topics fitted, and of the population.

    Attributes
    ----------
    tree : xarray.DataTree
        What `results.topics.build_topics` returns.
    family : Family
        Of the densities.
    strict : bool
        Whether a topic that was not fitted is an error; else the population answers for it.
    """

    tree: xr.DataTree
    family: Family
    strict: bool

    def log_odds(self, cells: Cells) -> Floats:
        """Return natural log-odds, of the shape of the cells."""
        return self._by_topic(cells, self._point, ())

    def interval(self, cells: Cells, level: float) -> Floats:
        """Return the pointwise equal-tailed interval of P(+|s); lower and upper last."""
        tails = np.array([0.5 - level / 2.0, 0.5 + level / 2.0])
        return probability(self._by_topic(cells, partial(self._band, tails), (2,)))

    def sample(self, cells: Cells, index: NDArray[np.intp] | None = None) -> Floats:
        """Return P_k(+|s) of draws k, all or those at some positions; draws first."""

        def read(curve: ClassDraws, scores: Floats) -> Floats:
            chosen = curve if index is None else curve.take(index)
            return probability(chosen.log_odds(scores)).T

        size = self.draws if index is None else index.size
        return np.moveaxis(self._by_topic(cells, read, (size,)), -1, 0)

    @property
    def draws(self) -> int:
        """Return the number of posterior draws."""
        sizes = self.tree["posterior"].sizes
        return sizes["chain"] * sizes["draw"]

    def _by_topic(self, cells: Cells, read: Reader, more: tuple[int, ...]) -> Floats:
        out = np.empty((cells.score.size, *more))
        names, code = np.unique(cells.topic, return_inverse=True)
        order = np.argsort(code, kind="stable")
        ends = np.cumsum(np.bincount(code, minlength=names.size))
        for position, rows in zip(self._positions(names), np.split(order, ends[:-1]), strict=True):
            out[rows] = read(read_curve(self.tree, self.family, position), cells.score[rows])
        return out.reshape(*cells.shape, *more)

    def _positions(self, names: NDArray[np.str_] | NDArray[np.int_]) -> list[int | None]:
        """Return where each topic is among those fitted; None for the population."""
        fitted = self.tree["topics"].to_dataset()["topic"].values.tolist()
        known = {name: k for k, name in enumerate(fitted)}
        unknown = [name for name in names.tolist() if name not in known]
        if unknown and self.strict:
            raise ValueError(
                f"topics {', '.join(map(repr, unknown[:5]))} were not fitted: add_topics, or"
                " new_topics='population' answers as the population would."
            )
        return [known.get(name) for name in names.tolist()]

    def _point(self, curve: ClassDraws, scores: Floats) -> Floats:
        point = partial(curves.predictive_log_odds, curve)
        return Tables(*read_scale(self.tree)).curve("point", point, scores)

    def _band(self, levels: Floats, curve: ClassDraws, scores: Floats) -> Floats:
        return Tables(*read_scale(self.tree)).quantiles(curve, levels, scores).T

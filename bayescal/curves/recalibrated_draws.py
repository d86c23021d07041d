"""Densities recalibrated: monotone log-odds along the log-odds that class densities give."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

import numpy as np
from numpy.typing import NDArray

from bayescal.bayes import log_odds_of_mixture
from bayescal.curves import interpolation
from bayescal.curves.combined_draws import CombinedDraws
from bayescal.curves.curves import Curves, LogOddsCurves
from bayescal.curves.monotone_draws import MonotoneDraws
from bayescal.engines.data import BinaryScores
from bayescal.engines.exact.leave_one_out import leave_one_out_of_densities
from bayescal.validation import Floats

# The table reaches so many times as far from the centre as the scores fitted.
FARTHER = 4.0
# What is drawn is drawn along this table, which has to be the same for files of every version.
SAFETY, FIRST_PROBES = 0.4, interpolation.THIRDS


@dataclass(frozen=True)
class DensityLogOdds:
    """
    The posterior predictive log-odds of class densities, one curve of the raw score.

    Attributes
    ----------
    densities : Curves
        Posterior draws of class densities, or of several combined.
    centre, spread : float
        Robust centre and spread of the scores fitted: where the curve bends.
    score_range : tuple of float
        The smallest and the largest score fitted.
    """

    densities: Curves
    centre: float
    spread: float
    score_range: tuple[float, float]

    def __call__(self, scores: Floats) -> Floats:
        """Return natural log-odds, within 1e-4 in probability; shape (n,)."""
        node, values = self._table
        out: Floats = np.interp(scores, node, values)
        beyond = np.flatnonzero((scores < node[0]) | (scores > node[-1]))
        if beyond.size:
            out[beyond] = self.densities.predictive(scores[beyond])
        return out

    @cached_property
    def _table(self) -> tuple[Floats, Floats]:
        ends = [self.centre + FARTHER * (end - self.centre) for end in self.score_range]
        first = interpolation.first_nodes(ends[0], ends[1], self.centre, self.spread)
        return interpolation.refine(
            self.densities.predictive, first, safety=SAFETY, first_probes=FIRST_PROBES
        )


@dataclass(frozen=True)
class RecalibratedDraws(LogOddsCurves):
    """
    Draws of log-odds that rise with those of the class densities.

    Attributes
    ----------
    base : DensityLogOdds
        What takes raw scores to the densities' log-odds.
    along : MonotoneDraws
        Draws of the log-odds as a function of these.
    """

    base: DensityLogOdds
    along: MonotoneDraws

    @property
    def size(self) -> int:
        """Return the number of draws."""
        return self.along.size

    @property
    def prior(self) -> Floats:
        """Return the draws of P(+)."""
        return self.along.prior

    def take(self, index: NDArray[np.intp]) -> Self:
        """Return the draws at some positions."""
        return replace(self, along=self.along.take(index))

    def with_prior(self, prior: Floats) -> Self:
        """Return the same draws for a class prior of shape (draws,)."""
        return replace(self, along=self.along.with_prior(prior))

    def log_odds(self, scores: Floats) -> Floats:
        """Return the log-odds at raw scores, shape (draws, scores)."""
        return self.along.log_odds(self.base(scores))

    def label_log_odds(self, data: BinaryScores) -> Floats:
        """Return log-odds along those that the densities give each document left out."""
        densities = self.base.densities.densities
        assert densities is not None  # noqa: S101
        return self.along.log_odds(
            leave_one_out_of_densities(densities.negative, densities.positive, data)
        )


@dataclass(frozen=True)
class PopulationRecalibratedDraws(RecalibratedDraws):
    """
    Draws of a population's curve along the log-odds of one topic's densities.

    Attributes
    ----------
    base_rate : tuple of float
        Parameters of the beta that the population's base rates are from.
    """

    base_rate: tuple[float, float]

    def label_log_odds(self, data: BinaryScores) -> Floats:
        """Return log-odds along those of the densities' mixture, each document left out."""
        mixture = self.base.densities
        assert isinstance(mixture, CombinedDraws)  # noqa: S101
        left_out = []
        for part in mixture.parts:
            own = part.densities
            assert own is not None  # noqa: S101
            left_out.append(
                leave_one_out_of_densities(own.negative, own.positive, data, self.base_rate)
            )
        return self.along.log_odds(log_odds_of_mixture(np.stack(left_out), mixture.weight))

    def seen(self, data: BinaryScores, log_score: Floats) -> None:
        """Return None: the curve was fitted to the population's labels, not to these."""

"""Draws of monotone piecewise-linear log-odds as a curve of the raw score."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

import numpy as np
import xarray as xr
from numpy.typing import NDArray
from scipy import special

from bayescal.families.warps import standardise
from bayescal.fitting.curves.combined_draws import CombinedDraws
from bayescal.fitting.curves.curves import Curves, LogOddsCurves, check_finite, predictive_log_odds
from bayescal.fitting.engines.exact.engine import leave_one_out_of_densities
from bayescal.fitting.engines.monotone.density import Pieces
from bayescal.fitting.scores import BinaryScores
from bayescal.support.numerics import log_odds_of_mixture
from bayescal.support.parallel import one_blas_thread
from bayescal.support.validation import Floats

BLOCK = 8  # rows of a matrix that all kernels of OpenBLAS take at once, or a part of these


@dataclass(frozen=True)
class MonotoneDraws(LogOddsCurves):
    """Draws of log-odds that never fall."""

    pieces: Pieces  # knots and reference, in standardised (warped) scores
    intercept: Floats  # (draws,): log-odds at the reference
    slope: Floats  # (draws, segments): in log-odds a standardised unit
    prior: Floats  # (draws,): p(+) of the population fitted, whose log-odds another prior replaces
    centre: float  # of the standardisation, and of the warp in score units
    spread: float
    asinh_scale: float

    @property
    def size(self) -> int:
        """Return the number of draws."""
        return int(self.intercept.size)

    def take(self, index: NDArray[np.intp]) -> MonotoneDraws:
        """Return the draws at some positions."""
        return replace(
            self, intercept=self.intercept[index], slope=self.slope[index], prior=self.prior[index]
        )

    def with_prior(self, prior: Floats) -> MonotoneDraws:
        """Return the same draws for a class prior of shape (draws,): the intercept moves."""
        moved = self.intercept + special.logit(prior) - special.logit(self.prior)
        return replace(self, intercept=moved, prior=prior)

    @one_blas_thread()
    def log_odds(self, scores: Floats) -> Floats:
        """Return the log-odds at raw scores, shape (draws, scores)."""
        x = standardise(scores, self.centre, self.spread, self.asinh_scale)
        # Draws lie side by side: there are thousands of them, and often few scores.
        product = _whole_blocks(self.pieces.basis(x)) @ _whole_blocks(self.slope).T
        curves: Floats = product[: x.size, : self.size] + self.intercept
        return curves.T


def _whole_blocks(rows: Floats) -> Floats:
    """
    Return rows and some of zeros, so that there are whole blocks of them.

    What is left over at the edges of a product is added up in another order: a draw would differ in
    its last digit by how many scores and draws are asked for with it.
    """
    size, columns = rows.shape
    if size % BLOCK == 0:
        return rows
    whole = np.zeros((size + -size % BLOCK, columns))
    whole[:size] = rows
    return whole


def read_monotone(
    draws: xr.Dataset, constants: xr.Dataset, whose: str, prior: Floats | None = None
) -> MonotoneDraws:
    """Return an engine's draws, with dimensions chain, draw and segment, of these constants."""
    # Variables, not arrays with coordinates: thousands of topics are read one by one.
    intercept = draws.variables["intercept"].values.ravel()
    if prior is None:
        prior = draws.variables["prior"].values.ravel()
    slope = draws.variables["slope"].transpose("chain", "draw", "segment").values
    check_finite(whose, intercept, slope, prior)
    return MonotoneDraws(
        pieces=Pieces(constants["knot"].values, float(constants["reference"])),
        intercept=intercept,
        slope=slope.reshape(intercept.size, -1),
        prior=prior,
        centre=float(constants["centre"]),
        spread=float(constants["spread"]),
        asinh_scale=float(constants["asinh_scale"]),
    )


# Scores that are log-odds already, taken at their word.


@dataclass(frozen=True)
class IdentityDraws(LogOddsCurves):
    """The identity as a curve: every draw says what the score says."""

    prior: Floats  # (draws,): p(+) of the population fitted, whose log-odds another prior replaces
    shift: Floats  # (draws,): what another prior adds to the scores

    @property
    def size(self) -> int:
        """Return the number of draws."""
        return int(self.prior.size)

    def take(self, index: NDArray[np.intp]) -> IdentityDraws:
        """Return the draws at some positions."""
        return IdentityDraws(self.prior[index], self.shift[index])

    def with_prior(self, prior: Floats) -> IdentityDraws:
        """Return the same draws for a class prior of shape (draws,)."""
        moved = self.shift + special.logit(prior) - special.logit(self.prior)
        return replace(self, prior=prior, shift=moved)

    def log_odds(self, scores: Floats) -> Floats:
        """Return the scores, moved by the prior's log-odds; shape (draws, scores)."""
        moved: Floats = scores + self.shift[:, None]
        return moved

    def predictive(self, scores: Floats) -> Floats:
        """Return the scores, moved by the mean of the shifts."""
        moved: Floats = scores + self.shift.mean()
        return moved

    def seen(self, data: BinaryScores, log_score: Floats) -> None:
        """Return None: nothing was fitted."""
        return


# Densities recalibrated: monotone log-odds along the log-odds that class densities give.


@dataclass(frozen=True)
class RecalibratedDraws(LogOddsCurves):
    """Draws of log-odds that are monotone in the class densities' log-odds."""

    # Posterior draws of class densities, or of several combined: their predictive log-odds are the
    # scores of `along`
    base: Curves
    along: MonotoneDraws  # draws of the log-odds as a function of these

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
        return self.along.log_odds(predictive_log_odds(self.base, scores))

    def label_log_odds(self, data: BinaryScores) -> Floats:
        """Return log-odds along those that the densities give each document left out."""
        densities = self.base.densities
        assert densities is not None  # noqa: S101
        return self.along.log_odds(
            leave_one_out_of_densities(densities.negative, densities.positive, data)
        )


@dataclass(frozen=True)
class PopulationRecalibratedDraws(RecalibratedDraws):
    """Draws of a population's curve along the log-odds of one topic's densities."""

    # Parameters of the beta that the population's base rates are from
    base_rate: tuple[float, float]

    def label_log_odds(self, data: BinaryScores) -> Floats:
        """Return leave-one-out log-odds along the log-odds of the densities' mixture."""
        mixture = self.base
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

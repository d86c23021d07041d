"""Log-odds as functions of other log-odds: identity, recalibrated densities, changed log-odds."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np

from bayescal.fitting.curves.combined_draws import CombinedDraws
from bayescal.fitting.curves.curves import predictive_log_odds
from bayescal.fitting.engines.exact.engine import leave_one_out_of_densities
from bayescal.fitting.engines.monotone.posterior import MonotoneDraws
from bayescal.fitting.posterior import Posterior
from bayescal.fitting.scores import BinaryScores
from bayescal.metrics.changes import FARTHEST, LINEAR, LogOddsFrame
from bayescal.support.numerics import log_odds_of_mixture
from bayescal.support.validation import Floats


@dataclass(frozen=True)
class IdentityDraws(Posterior):
    """Scores that are log-odds already, as every draw."""

    prior: Floats  # (draws,): P(+) of the documents fitted
    shift: Floats  # (draws,): change of log-odds by a new prior

    def log_odds(self, scores: Floats) -> Floats:
        """Return the scores plus the shifts; shape (draws, scores)."""
        moved: Floats = scores + self.shift[:, None]
        return moved

    def predictive(self, scores: Floats) -> Floats:
        """Return the scores plus the mean shift."""
        moved: Floats = scores + self.shift.mean()
        return moved

    def seen(self, data: BinaryScores, log_score: Floats) -> None:
        """Return None: nothing was fitted."""
        return


@dataclass(frozen=True)
class ChangedDraws(Posterior):
    """Draws of changes of given log-odds; see `bayescal.metrics.changes`."""

    drawn: ClassVar = ("coefficient", "prior", "shift")

    frame: LogOddsFrame
    coefficient: Floats  # (draws, 2): a and b - 1; or (draws, 12), with the bend's coefficients
    prior: Floats  # (draws,): P(+) of the documents fitted
    shift: Floats  # (draws,): change of log-odds by a new prior

    def log_odds(self, scores: Floats) -> Floats:
        """Return the changed log-odds of given ones, shape (draws, scores)."""
        given = np.clip(scores, -FARTHEST, FARTHEST)
        linear = self.coefficient.shape[1] == LINEAR
        features = self.frame.linear(given) if linear else self.frame.features(given)
        changed: Floats = self.coefficient @ features.T
        changed += given
        changed += self.shift[:, None]
        return changed


@dataclass(frozen=True)
class RecalibratedDraws(Posterior):
    """Draws of log-odds that are monotone in the class densities' log-odds."""

    drawn: ClassVar = ("along",)

    base: Posterior  # class densities, or their mixture: predictive log-odds are the input
    along: MonotoneDraws  # draws of the log-odds as a function of the input

    @property
    def prior(self) -> Floats:
        """Return the draws of P(+)."""
        return self.along.prior

    def with_prior(self, prior: Floats) -> Self:
        """Return the same draws for a class prior of shape (draws,)."""
        return replace(self, along=self.along.with_prior(prior))

    def log_odds(self, scores: Floats) -> Floats:
        """Return the log-odds at raw scores, shape (draws, scores)."""
        return self.along.log_odds(predictive_log_odds(self.base, scores))

    def label_log_odds(self, data: BinaryScores) -> Floats:
        """Return log-odds as a function of the densities' leave-one-out log-odds."""
        densities = self.base.densities
        assert densities is not None  # noqa: S101
        return self.along.log_odds(
            leave_one_out_of_densities(densities.negative, densities.positive, data)
        )


@dataclass(frozen=True)
class PopulationRecalibratedDraws(RecalibratedDraws):
    """Draws of a population's curve as a function of one topic's densities."""

    base_rate: tuple[float, float]  # parameters of the beta of the population's base rates

    def label_log_odds(self, data: BinaryScores) -> Floats:
        """Return log-odds as a function of the mixture's leave-one-out log-odds."""
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
        """Return None: the curve was fitted to the population's labels only."""

"""Log-odds along another score's: the score itself, recalibrated densities, changed log-odds."""

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

    prior: Floats  # (draws,): p(+) of the population fitted, whose log-odds another prior replaces
    shift: Floats  # (draws,): what another prior adds to the scores

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


@dataclass(frozen=True)
class ChangedDraws(Posterior):
    """Draws of changes of given log-odds; see `bayescal.metrics.changes`."""

    drawn: ClassVar = ("coefficient", "prior", "shift")

    frame: LogOddsFrame
    coefficient: Floats  # (draws, 2): a and b - 1; or (draws, 12), those of the bend too
    prior: Floats  # (draws,): p(+) of the documents fitted
    shift: Floats  # (draws,): what another prior adds to the log-odds

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

    # Posterior draws of class densities, or of several combined: their predictive log-odds are the
    # scores of `along`
    base: Posterior
    along: MonotoneDraws  # draws of the log-odds as a function of these

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

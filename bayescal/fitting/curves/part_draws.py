"""Curves of one part: class densities, and given, changed or recalibrated log-odds."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np
import xarray as xr
from scipy import special

from bayescal.families.draws import DensityDraws
from bayescal.fitting.curves.curves import blocks, predictive_log_odds, quantiles
from bayescal.fitting.engines.exact.engine import DensitySides, leave_one_out_of_densities
from bayescal.fitting.engines.monotone.posterior import MonotoneDraws
from bayescal.fitting.engines.point_estimates import ClassFits
from bayescal.fitting.posterior import Posterior
from bayescal.fitting.scores import KLASS, BinaryScores
from bayescal.metrics.changes import FARTHEST, LINEAR, LogOddsFrame
from bayescal.support.intervals import tails
from bayescal.support.numerics import log_odds, log_sum_exp
from bayescal.support.validation import Floats


@dataclass(frozen=True)
class ClassDraws(Posterior):
    """Draws of both classes' densities and of the class prior."""

    drawn: ClassVar = ("negative", "positive", "prior")

    negative: DensityDraws  # the densities
    positive: DensityDraws
    prior: Floats  # (draws,): probability of the positive class

    @classmethod
    def of_sides(cls, sides: DensitySides) -> ClassDraws:
        """Return the densities of modes and sides."""
        return ClassDraws(sides.of_class(0), sides.of_class(1), sides.prior)

    @property
    def densities(self) -> ClassDraws:
        """Return the draws themselves."""
        return self

    def seen(self, data: BinaryScores, log_score: Floats) -> Floats:
        """Return log p(s_i, y_i | k) of each document, the likelihood of densities."""
        negative, positive = self.log_densities(data.score)
        prior = special.logit(self.prior)[:, None]
        negative += special.log_expit(-prior)
        positive += special.log_expit(prior)
        return np.where(data.positive, positive, negative)

    def with_prior(self, prior: Floats) -> Self:
        """Return the same densities with another class prior, of shape (draws,)."""
        return replace(self, prior=prior)

    def log_densities(self, scores: Floats) -> tuple[Floats, Floats]:
        """Return log p(s|-) and log p(s|+), shape (draws, scores)."""
        return self.negative.logpdf(scores), self.positive.logpdf(scores)

    def log_odds(self, scores: Floats) -> Floats:
        """Return the calibrated log-odds, shape (draws, scores)."""
        # Both densities of a draw have the same warp, whose Jacobian cancels.
        negative, positive = (
            density.log_density_warped(scores) for density in (self.negative, self.positive)
        )
        positive += special.logit(self.prior)[:, None]
        positive -= negative
        return positive

    def predictive(self, scores: Floats) -> Floats:
        """
        Return the log-odds of P(+ | s, data): Bayes' rule with posterior predictive densities.

        logit(mean prior) + log mean_k p(s|+, k) - log mean_k p(s|-, k); shape (scores,).
        """
        negative, positive = (log_sum_exp(each, axis=0) for each in self.log_densities(scores))
        return log_odds(float(self.prior.mean()), positive, negative)


def density_dataset(
    fits: ClassFits | None, draws: ClassDraws | None, scores: Floats, level: float
) -> xr.Dataset:
    """Return the densities of both classes at scores; see `ScoreCalibrator.class_densities`."""
    coords = {"klass": list(KLASS), "score": scores}
    variables = {} if fits is None else {"mle": np.exp(fits.log_densities(scores))}
    if draws is not None:
        out = np.empty((3, len(KLASS), scores.size))
        shares = np.array(tails(level))
        for part in blocks(draws.size, scores.size):
            for k, log_density in enumerate(draws.log_densities(scores[part])):
                density = np.exp(log_density)
                out[0, k, part] = density.mean(axis=0)
                out[1:, k, part] = quantiles(density, shares)
        variables |= dict(zip(("predictive", "lower", "upper"), out, strict=True))
    return xr.Dataset({name: (("klass", "score"), v) for name, v in variables.items()}, coords)


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

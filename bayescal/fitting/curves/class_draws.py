"""Draws of two class densities and a prior as a curve of log-odds.

Draw k gives log-odds(s) = logit(prior_k) + log p(s|+, k) - log p(s|-, k).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np
import xarray as xr
from scipy import special

from bayescal.families.draws import DensityDraws
from bayescal.fitting.curves.curves import blocks, quantiles
from bayescal.fitting.engines.exact.engine import DensitySides
from bayescal.fitting.engines.point_estimates import ClassFits
from bayescal.fitting.posterior import Posterior
from bayescal.fitting.scores import KLASS, BinaryScores
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
        tails = np.array([0.5 - level / 2.0, 0.5 + level / 2.0])
        for part in blocks(draws.size, scores.size):
            for k, log_density in enumerate(draws.log_densities(scores[part])):
                density = np.exp(log_density)
                out[0, k, part] = density.mean(axis=0)
                out[1:, k, part] = quantiles(density, tails)
        variables |= dict(zip(("predictive", "lower", "upper"), out, strict=True))
    return xr.Dataset({name: (("klass", "score"), v) for name, v in variables.items()}, coords)

"""Draws of two class densities and a prior as a curve of log-odds.

Draw k gives log-odds(s) = logit(prior_k) + log p(s|+, k) - log p(s|-, k).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import xarray as xr
from numpy.typing import NDArray
from scipy import special

from bayescal.bayes import log_odds
from bayescal.curves.curves import blocks, check_finite
from bayescal.curves.densities import SIDES, mixture_densities, native_densities
from bayescal.curves.intervals import quantiles
from bayescal.density_draws import DensityDraws
from bayescal.engines.data import KLASS, BinaryScores
from bayescal.engines.maximum_likelihood import ClassFits
from bayescal.families import Family
from bayescal.log_sum import log_sum_exp
from bayescal.validation import Floats


@dataclass(frozen=True)
class ClassDraws:
    """
    Draws of both classes' densities and of the class prior.

    Attributes
    ----------
    negative, positive : DensityDraws
        The densities.
    prior : array of shape (draws,)
        Probability of the positive class.
    """

    negative: DensityDraws
    positive: DensityDraws
    prior: Floats

    @property
    def size(self) -> int:
        """Return the number of draws."""
        return int(self.prior.size)

    @property
    def densities(self) -> ClassDraws:
        """Return the draws themselves."""
        return self

    def label_log_odds(self, data: BinaryScores) -> Floats:
        """Return log-odds of the documents fitted; (draws, documents)."""
        return self.log_odds(data.score)

    def seen(self, data: BinaryScores, log_score: Floats) -> Floats:
        """Return log p(s_i, y_i | k) of each document, for densities see scores and labels."""
        negative, positive = self.log_densities(data.score)
        prior = special.logit(self.prior)[:, None]
        negative += special.log_expit(-prior)
        positive += special.log_expit(prior)
        return np.where(data.positive, positive, negative)

    def take(self, index: NDArray[np.intp]) -> ClassDraws:
        """Return the draws at some positions."""
        return ClassDraws(self.negative.take(index), self.positive.take(index), self.prior[index])

    def with_prior(self, prior: Floats) -> ClassDraws:
        """Return the same densities with another class prior, of shape (draws,)."""
        return ClassDraws(self.negative, self.positive, prior)

    def log_densities(self, scores: Floats) -> tuple[Floats, Floats]:
        """Return log p(s|-) and log p(s|+), shape (draws, scores)."""
        return self.negative.logpdf(scores), self.positive.logpdf(scores)

    def log_odds(self, scores: Floats) -> Floats:
        """Return the calibrated log-odds, shape (draws, scores)."""
        # Both densities of a draw are on the same warp: its Jacobian cancels.
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


def read_draws(family: Family, dataset: xr.Dataset) -> ClassDraws:
    """
    Return the draws of a family's own parameters.

    Parameters
    ----------
    family : Family
        Whose parameters they are.
    dataset : xarray.Dataset
        Of the group posterior, with dimensions chain, draw and klass, or mode, with klass alone.

    Raises
    ------
    ValueError
        If a variable of the family is missing, lacks the dimension klass, or is not finite.
    """
    _check_variables(family, dataset)
    _check_finite(dataset, family.parameters)
    negative, positive = (native_densities(family, dataset, k) for k in range(len(KLASS)))
    return ClassDraws(negative, positive, dataset["prior"].values.ravel())


def read_mixture(dataset: xr.Dataset, centre: float) -> ClassDraws:
    """
    Return the draws of a group engine_draws, on warps about a centre.

    Raises
    ------
    ValueError
        If they are not finite.
    """
    _check_finite(dataset, SIDES)
    negative, positive = (mixture_densities(dataset, k, centre) for k in range(len(KLASS)))
    return ClassDraws(negative, positive, dataset["prior"].values.ravel())


def _check_finite(draws: xr.Dataset, names: Iterable[str]) -> None:
    values = (draws[name].values for name in (*names, "prior"))
    check_finite("the part 'densities'", *values)


def _check_variables(family: Family, dataset: xr.Dataset) -> None:
    for name in (*family.parameters, "prior"):
        if name not in dataset:
            raise ValueError(
                f"the program's posterior must hold {', '.join(family.parameters)} (dims 'klass')"
                f" and prior for family {family.name!r}; it holds no {name!r}."
            )
        if name != "prior" and dataset[name].sizes.get("klass") != len(KLASS):
            raise ValueError(f"variable {name!r} of the program must have dims 'klass'.")


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

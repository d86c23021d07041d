"""Draws of two class densities and a prior as a curve of log-odds.

Draw k gives log-odds(s) = logit(prior_k) + log p(s|+, k) - log p(s|-, k).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np
import xarray as xr
from scipy import special

from bayescal.families import FAMILIES, Family
from bayescal.families.draws import DensityDraws, density_draws
from bayescal.families.warps import IDENTITY
from bayescal.fitting.curves.curves import blocks, quantiles
from bayescal.fitting.engines.maximum_likelihood import ClassFits
from bayescal.fitting.posterior import Posterior, check_finite
from bayescal.fitting.scores import KLASS, BinaryScores
from bayescal.support.numerics import log_odds, log_sum_exp
from bayescal.support.validation import Floats

# Densities of a dataset: native parameters of one family, or draws that name theirs.

# The variables of a mixture's draws: mode, and mean length or sigma of either side.
SIDES = ("theta", "left", "right")


def native_densities(family: Family, draws: xr.Dataset, klass: int) -> DensityDraws:
    """Return one class's densities by the parameters of a family."""
    family = family.of_class(klass == 1)
    parameters = (_column(draws, name, klass) for name in family.parameters)
    sides = np.stack(family.sides(*parameters))
    size = sides.shape[1]
    which, asinh_scale = np.zeros(size, dtype=np.intp), np.full(size, IDENTITY)
    return density_draws((family,), which, sides, asinh_scale, 0.0)


def mixture_densities(draws: xr.Dataset, klass: int) -> DensityDraws:
    """Return one class's densities by mode, sides, family and warp of each draw."""
    sides = np.stack([_column(draws, name, klass) for name in SIDES])
    if "family" not in draws:  # one family on raw scores
        names, centre = [draws.attrs["family"]], 0.0
        which, asinh_scale = np.zeros(sides.shape[1], np.intp), np.full(sides.shape[1], IDENTITY)
    else:
        names = draws["family"].attrs["flag_meanings"].split()
        centre = float(draws["centre"])
        which = _column(draws, "family", klass).astype(np.intp)
        asinh_scale = draws["asinh_scale"].values.ravel()
    families = tuple(FAMILIES[name].of_class(klass == 1) for name in names)
    return density_draws(families, which, sides, asinh_scale, centre)


def _column(draws: xr.Dataset, name: str, klass: int) -> Floats:
    # Variables, not arrays with coordinates: every fit pays for this.
    variable = draws.variables[name].transpose("chain", "draw", "klass", missing_dims="ignore")
    return np.asarray(variable.values[..., klass].ravel())


@dataclass(frozen=True)
class ClassDraws(Posterior):
    """Draws of both classes' densities and of the class prior."""

    drawn: ClassVar = ("negative", "positive", "prior")

    negative: DensityDraws  # the densities
    positive: DensityDraws
    prior: Floats  # (draws,): probability of the positive class

    @property
    def densities(self) -> ClassDraws:
        """Return the draws themselves."""
        return self

    def seen(self, data: BinaryScores, log_score: Floats) -> Floats:
        """Return log p(s_i, y_i | k) of each document, for densities see scores and labels."""
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


def read_draws(
    family: Family, dataset: xr.Dataset, whose: str = "the part 'densities'"
) -> ClassDraws:
    """Return the draws of a family's own parameters."""
    _check_variables(family, dataset)
    _check_finite(whose, dataset, family.parameters)
    negative, positive = (native_densities(family, dataset, k) for k in range(len(KLASS)))
    return ClassDraws(negative, positive, dataset["prior"].values.ravel())


def read_mixture(dataset: xr.Dataset, whose: str = "the part 'densities'") -> ClassDraws:
    """Return the draws of mode and sides, of several families on warps about a centre or of one."""
    _check_finite(whose, dataset, SIDES)
    negative, positive = (mixture_densities(dataset, k) for k in range(len(KLASS)))
    return ClassDraws(negative, positive, dataset["prior"].values.ravel())


def _check_finite(whose: str, draws: xr.Dataset, names: Iterable[str]) -> None:
    check_finite(whose, *(draws.variables[name].values for name in (*names, "prior")))


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

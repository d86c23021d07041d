"""From parameter draws to calibrated log-odds: the curve of every draw, points and intervals.

Draw k gives log-odds(s) = logit(prior_k) + log p(s|+, k) - log p(s|-, k). Scores are taken in
blocks, so that memory never holds draws x scores for more than one block.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import xarray as xr
from scipy import special

from bayescal.bayes import log_odds
from bayescal.engines.data import KLASS
from bayescal.engines.maximum_likelihood import ClassFits
from bayescal.families import Family
from bayescal.validation import Floats

BLOCK_ELEMENTS = 1 << 22


@dataclass(frozen=True)
class ClassDraws:
    """
    Parameter draws of both classes.

    Attributes
    ----------
    family : Family
        Which density the parameters belong to.
    negative, positive : tuple of arrays of shape (draws, 1)
        The family's parameters in its order.
    prior : array of shape (draws, 1)
        Probability of the positive class.
    """

    family: Family
    negative: tuple[Floats, ...]
    positive: tuple[Floats, ...]
    prior: Floats

    @property
    def size(self) -> int:
        """Return the number of draws."""
        return int(self.prior.size)

    def take(self, index: np.ndarray) -> ClassDraws:
        """Return the draws at some positions."""
        return ClassDraws(
            self.family,
            tuple(p[index] for p in self.negative),
            tuple(p[index] for p in self.positive),
            self.prior[index],
        )

    def log_densities(self, scores: Floats) -> tuple[Floats, Floats]:
        """Return log p(s|-) and log p(s|+), shape (draws, scores)."""
        return (
            self.family.logpdf(scores, *self.negative),
            self.family.logpdf(scores, *self.positive),
        )

    def log_odds(self, scores: Floats) -> Floats:
        """Return the calibrated log-odds, shape (draws, scores)."""
        negative, positive = self.log_densities(scores)
        return log_odds(self.prior, positive, negative)


def read_draws(family: Family, dataset: xr.Dataset) -> ClassDraws:
    """
    Return the draws in a posterior (or mode) dataset.

    Raises
    ------
    ValueError
        If a variable of the family is missing or lacks the dimension klass.
    """
    if "chain" in dataset.dims:
        dataset = dataset.stack(sample=("chain", "draw"))
    else:
        dataset = dataset.expand_dims("sample")
    for name in (*family.parameters, "prior"):
        if name not in dataset:
            raise ValueError(
                f"the program's posterior must hold {', '.join(family.parameters)} (dims 'klass')"
                f" and prior for family {family.name!r}; it holds no {name!r}."
            )
        if name != "prior" and dataset[name].sizes.get("klass") != len(KLASS):
            raise ValueError(f"variable {name!r} of the program must have dims 'klass'.")
    columns = dataset.transpose("sample", ...)

    def parameters(k: int) -> tuple[Floats, ...]:
        return tuple(columns[name].values[:, k, None] for name in family.parameters)

    return ClassDraws(family, parameters(0), parameters(1), columns["prior"].values[:, None])


def draws_in_tree(family: Family, tree: xr.DataTree) -> ClassDraws | None:
    """Return the draws of the group posterior, or the one of mode, or None where neither is."""
    for group in ("posterior", "mode"):
        if group in tree:
            return read_draws(family, tree[group].to_dataset())
    return None


def predictive_log_odds(draws: ClassDraws, scores: Floats) -> Floats:
    """
    Return the log-odds of P(+ | s, data): Bayes' rule with the posterior predictive densities.

    logit(mean prior) + log mean_k p(s|+, k) - log mean_k p(s|-, k); shape (scores,).
    """
    out = np.empty_like(scores)
    prior = float(draws.prior.mean())
    for part in _blocks(draws.size, scores.size):
        negative, positive = draws.log_densities(scores[part])
        out[part] = log_odds(
            prior, special.logsumexp(positive, axis=0), special.logsumexp(negative, axis=0)
        )
    return out


def mean_log_odds(draws: ClassDraws, scores: Floats) -> Floats:
    """
    Return the log-odds of the mean over draws of P_k(+|s); shape (scores,).

    Computed as log mean P_k(+) - log mean P_k(-), which stays finite where the mean rounds to 1.
    """
    out = np.empty_like(scores)
    for part in _blocks(draws.size, scores.size):
        curve = draws.log_odds(scores[part])
        positive = special.logsumexp(special.log_expit(curve), axis=0)
        out[part] = positive - special.logsumexp(special.log_expit(-curve), axis=0)
    return out


def quantiles_of_log_odds(draws: ClassDraws, scores: Floats, levels: Floats) -> Floats:
    """Return pointwise quantiles over draws of the log-odds, shape (levels, scores)."""
    out = np.empty((levels.size, scores.size))
    for part in _blocks(draws.size, scores.size):
        out[:, part] = np.quantile(draws.log_odds(scores[part]), levels, axis=0)
    return out


def density_dataset(
    family: Family, fits: ClassFits, draws: ClassDraws | None, scores: Floats, level: float
) -> xr.Dataset:
    """Return the densities of both classes at scores; see `ScoreCalibrator.class_densities`."""
    coords = {"klass": list(KLASS), "score": scores}
    both = [fit.parameters.values() for fit in (fits.negative, fits.positive)]
    variables = {"mle": np.exp([family.logpdf(scores, *values) for values in both])}
    if draws is not None:
        out = np.empty((3, len(KLASS), scores.size))
        tails = [0.5 - level / 2.0, 0.5 + level / 2.0]
        for part in _blocks(draws.size, scores.size):
            for k, log_density in enumerate(draws.log_densities(scores[part])):
                density = np.exp(log_density)
                out[0, k, part] = density.mean(axis=0)
                out[1:, k, part] = np.quantile(density, tails, axis=0)
        variables |= dict(zip(("predictive", "lower", "upper"), out, strict=True))
    return xr.Dataset({name: (("klass", "score"), v) for name, v in variables.items()}, coords)


def _blocks(draws: int, scores: int) -> Iterator[slice]:
    width = max(1, BLOCK_ELEMENTS // draws)
    for start in range(0, scores, width):
        yield slice(start, min(start + width, scores))

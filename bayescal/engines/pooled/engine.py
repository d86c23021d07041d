"""All topics at once: pooled partially, completely or not at all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import xarray as xr

from bayescal.density_draws import DensityDraws, density_draws
from bayescal.engines.data import BinaryScores, together
from bayescal.engines.exact.hyperparameters import Hyperparameters, resolve
from bayescal.engines.pooled.base_rates import draw_base_rates, rates_given
from bayescal.engines.pooled.drawing import Health
from bayescal.engines.pooled.hyperparameters import TopicHyperparameters
from bayescal.engines.pooled.hyperprior import Normal
from bayescal.engines.pooled.population import draw_unseen, fixed_population
from bayescal.engines.pooled.topics import Scores, draw_population, draw_topics
from bayescal.families import Family
from bayescal.validation import Floats
from bayescal.warps import IDENTITY

POOLINGS = ("partial", "none", "complete")
MOST_TOPIC_DRAWS, FEWEST_TOPIC_DRAWS = 2000, 500
ALL_TOPIC_DRAWS = 100_000


@dataclass(frozen=True)
class TopicPosterior:
    """
    Draws of every topic's class densities and base rate, and of a topic without documents.

    Attributes
    ----------
    sides : array of shape (2, 3, topics, draws)
        Of negatives and positives: mode, left and right side, in raw score units.
    rate : array of shape (topics, draws)
        P(+) of each topic.
    new_sides : array of shape (2, 3, draws)
        The same of a topic that the population makes.
    new_rate : array of shape (draws,)
    rate_population : array of shape (2, draws)
        Parameters of the beta that rates are from.
    population : array of shape (2, draws, 6)
        Unbounded hyperparameters of each class; see `population`.
    pareto_k, population_efficiency : array of shape (2,)
        Of the hyperparameters' importance weights the Pareto shape, -inf where there are none, and
        the effective share of the proposals.
    efficiency : array of shape (2, topics)
        Share of a topic's draws that its reweighting to populations leaves effective.
    health : Health
        How well each topic was drawn under those that are reweighted; of shape (2, topics).
    sample_stats : xarray.Dataset or None
        Of NUTS, where it made the draws.
    """

    sides: Floats
    rate: Floats
    new_sides: Floats
    new_rate: Floats
    rate_population: Floats
    population: Floats
    pareto_k: Floats
    population_efficiency: Floats
    efficiency: Floats
    health: Health
    sample_stats: xr.Dataset | None = None


def fit_topics(
    topics: Sequence[BinaryScores],
    family: Family,
    rng: np.random.Generator,
    *,
    draws: int,
    pooling: str,
    scale: tuple[float, float],
    hyperparameters: TopicHyperparameters | None = None,
) -> TopicPosterior:
    """
    Draw from the posterior of all topics.

    Parameters
    ----------
    topics : sequence of BinaryScores
        Raw scores, labels and weights of every topic; it may lack a class, or have no documents.
    family : Family
        Of both classes.
    rng : numpy.random.Generator
        Source of randomness.
    draws : int
        How many.
    pooling : {"partial", "none", "complete"}
        Densities of topics around a population's, each by itself (standardised by its own
        scores), or the same for all.
    scale : tuple of float
        Robust centre and spread of all topics' scores.
    hyperparameters : TopicHyperparameters, optional
        Those that are not the default.

    Raises
    ------
    ValueError
        If a hyperparameter of topics without a population is not legal.
    """
    given = hyperparameters or TopicHyperparameters()
    prior = resolve((family,), scale, given.own)
    draw_class = partial(_apart, prior=prior)
    if pooling == "partial":
        draw_class = partial(_partial, given=given.populations)
    negatives, positives = totals(topics)
    scales = [scale] * len(topics)
    if pooling == "none":
        scales = [_own_scale(data, family, scale, given) for data in topics]
        rate_population = np.tile([[float(prior.prior_alpha)], [float(prior.prior_beta)]], draws)
        rate = rates_given(rate_population, positives, negatives, rng)
    else:
        rate, rate_population = draw_base_rates(positives, negatives, draws, rng, given.populations)
    nothing = np.zeros(1)
    standardised = [
        replace(data, score=(data.score - centre) / spread)
        for data, (centre, spread) in zip(topics, scales, strict=True)
    ]
    if pooling == "complete":
        standardised = [together(standardised)]
    found = []
    for positive in (False, True):
        own = [data.of_class(positive) for data in standardised]
        found.append(draw_class(own, family.of_class(positive), rng, draws))
    if pooling == "complete":
        found = [each.of_all(len(topics)) for each in found]
    centre, spread = np.array(scales).T[:, :, None]
    return TopicPosterior(
        sides=np.stack([raw_sides(each.sides, centre, spread) for each in found]),
        rate=rate,
        new_sides=np.stack([raw_sides(each.new_sides, *scale) for each in found]),
        new_rate=rates_given(rate_population, nothing, nothing, rng)[0],
        rate_population=rate_population,
        population=np.stack([each.population for each in found]),
        pareto_k=np.array([each.pareto_k for each in found]),
        population_efficiency=np.array([each.population_efficiency for each in found]),
        efficiency=np.stack([each.efficiency for each in found]),
        health=Health.stack([each.health for each in found]),
    )


def totals(topics: Sequence[BinaryScores]) -> tuple[Floats, Floats]:
    """Return the number, or the weight, of negatives and of positives of each topic."""
    negatives, positives = (
        np.array([data.total(positive) for data in topics]) for positive in (False, True)
    )
    return negatives, positives


def densities_of(sides: Floats, family: Family, centre: float) -> tuple[DensityDraws, DensityDraws]:
    """Return the densities of negatives and of positives by mode and sides, (2, 3, draws)."""
    draws = sides.shape[-1]
    which, asinh_scale = np.zeros(draws, dtype=np.intp), np.full(draws, IDENTITY)
    negative, positive = (
        density_draws(
            (family.of_class(positive),), which, sides[int(positive)], asinh_scale, centre
        )
        for positive in (False, True)
    )
    return negative, positive


@dataclass(frozen=True)
class _Class:
    """Standardised draws of one class, as `TopicPosterior` has them of both."""

    sides: Floats
    new_sides: Floats
    population: Floats
    pareto_k: float
    population_efficiency: float
    efficiency: Floats
    health: Health

    def of_all(self, topics: int) -> _Class:
        """Return the draws of so many topics that are one, and for which that one answers."""
        return replace(
            self,
            sides=np.repeat(self.sides, topics, axis=1),
            new_sides=self.sides[:, 0],
            efficiency=self.efficiency.repeat(topics),
            health=self.health.repeat(topics),
        )


def _partial(
    topics: list[Scores],
    family: Family,
    rng: np.random.Generator,
    draws: int,
    *,
    given: Mapping[str, Normal],
) -> _Class:
    each = topic_draws_of(len(topics))
    found = draw_population(topics, family, rng, draws=draws, topic_draws=each, given=given)
    return _Class(
        sides=found.pick(rng),
        new_sides=draw_unseen(found.points, family, rng),
        population=found.points,
        pareto_k=found.pareto_k,
        population_efficiency=found.efficiency,
        efficiency=found.topics.efficiency(found.points),
        health=found.topics.health,
    )


def _apart(
    topics: list[Scores],
    family: Family,
    rng: np.random.Generator,
    draws: int,
    *,
    prior: Hyperparameters,
) -> _Class:
    base = fixed_population(family, prior)
    found = draw_topics(topics, family, base[None], draws, rng)
    points = np.broadcast_to(base, (draws, base.size)).copy()
    return _Class(
        sides=found.values,
        new_sides=draw_unseen(points, family, rng),
        population=points,
        pareto_k=-np.inf,
        population_efficiency=1.0,
        efficiency=np.ones(len(topics)),
        health=found.health,
    )


def _own_scale(
    data: BinaryScores, family: Family, scale: tuple[float, float], given: TopicHyperparameters
) -> tuple[float, float]:
    """Return the centre and the spread that a topic by itself is standardised by."""
    found = data.centre_and_spread if data.score.size else scale
    own = resolve((family,), found, given.own)
    return own.centre, own.spread


def topic_draws_of(topics: int) -> int:
    """Return how many draws of each of so many topics stand for its posterior."""
    return int(np.clip(ALL_TOPIC_DRAWS // topics, FEWEST_TOPIC_DRAWS, MOST_TOPIC_DRAWS))


def raw_sides(sides: Floats, centre: Floats | float, spread: Floats | float) -> Floats:
    """Return mode and sides, the first axis, in raw score units."""
    raw = sides * spread
    raw[0] += centre
    return raw

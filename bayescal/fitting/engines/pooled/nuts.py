"""Partial pooling of all topics by NUTS on the program `topics`."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray
from scipy import special

from bayescal.distributions import programs
from bayescal.families import Family
from bayescal.fitting.engines.exact.class_posterior import SMALLEST_SHARE
from bayescal.fitting.engines.exact.engine import SIDES
from bayescal.fitting.engines.pooled.drawing import Health
from bayescal.fitting.engines.pooled.engine import (
    DensitiesOfTopics,
    TopicPosterior,
    raw_sides,
    sides_of,
)
from bayescal.fitting.engines.pooled.hyperparameters import TopicHyperparameters
from bayescal.fitting.engines.pooled.population import (
    DENSITY_NAMES,
    Hyperprior,
    draw_unseen,
    rates_given,
)
from bayescal.fitting.engines.program import draw_posterior
from bayescal.fitting.scores import BinaryScores, together
from bayescal.support.validation import Floats


def sample_topics(
    topics: Sequence[BinaryScores],
    family: Family,
    rng: np.random.Generator,
    *,
    draws: int,
    chains: int,
    scale: tuple[float, float],
    hyperparameters: TopicHyperparameters | None = None,
    options: Mapping[str, Any] | None = None,
    progressbar: bool = False,
) -> DensitiesOfTopics:
    """Return draws by pm.sample; topics without documents are drawn from the populations."""
    hyper = hyperparameters or TopicHyperparameters()
    data, sizes = together(topics), [each.score.size for each in topics]
    model = programs.load("topics").model(
        data.score,
        data.positive.astype(np.int64),
        np.repeat(np.arange(len(topics)), sizes),
        family=family.name,
        weight=data.weight,
        centre=scale[0],
        spread=scale[1],
        **hyper.populations,
    )
    groups = draw_posterior(
        model, rng, draws=draws, chains=chains, progressbar=progressbar, options=options
    )
    # The program requires documents of every topic.
    return _posterior(groups, family, len(topics), np.flatnonzero(sizes), rng, scale)


def _posterior(
    groups: dict[str, xr.Dataset],
    family: Family,
    topics: int,
    seen: NDArray[np.intp],
    rng: np.random.Generator,
    scale: tuple[float, float],
) -> DensitiesOfTopics:
    posterior = groups["posterior"].stack(sample=("chain", "draw"))
    population = _populations(posterior, family, rng)
    mean = special.expit(posterior["logit_rate"].values)
    documents = np.exp(posterior["log_documents"].values)
    rate_population = np.stack([documents * mean, documents * (1.0 - mean)])
    rate = rates_given(rate_population, np.zeros(topics), np.zeros(topics), rng)
    rate[seen] = posterior["prior"].transpose("topic", "sample").values
    sides = np.stack(
        [
            np.stack([draw_unseen(points, family, rng) for _ in range(topics)], axis=1)
            for points in population
        ]
    )
    for k, name in enumerate(SIDES):
        sides[:, k, seen] = posterior[name].transpose("klass", "topic", "sample").values
    new = [draw_unseen(points, family, rng) for points in population]
    new_rate = rates_given(rate_population, np.zeros(1), np.zeros(1), rng)[0]
    opened = [raw_sides(_open(each), *scale) for each in sides]
    return TopicPosterior(
        topics=sides_of(family.name, opened, np.clip(rate, 1e-15, 1.0 - 1e-15)),
        unseen=sides_of(family.name, [raw_sides(each, *scale) for each in new], new_rate),
        population=population,
        pareto_k=np.full(2, -np.inf),
        population_efficiency=np.ones(2),
        efficiency=np.ones((2, topics)),
        health=Health.without_proposals((2, topics)),
        rates=rate_population,
        sample_stats=groups["sample_stats"],
    )


def _populations(posterior: xr.Dataset, family: Family, rng: np.random.Generator) -> Floats:
    """Return hyperparameters (2, draws, 6); a symmetric family's share follows its prior."""
    size = posterior.sizes["sample"]
    hyperprior = Hyperprior.of(family.powers[0])
    points = np.stack([hyperprior.draw(size, rng) for _ in range(2)])
    for k, name in enumerate(DENSITY_NAMES):
        if name in posterior:
            points[..., k] = posterior[name].transpose("klass", "sample").values
    return points


def _open(sides: Floats) -> Floats:
    """Return mode and sides, with positive shares of both sides."""
    theta, left, right = sides
    total = left + right
    share = np.clip(left / total, SMALLEST_SHARE, 1.0 - SMALLEST_SHARE)
    return np.stack([theta, share * total, (1.0 - share) * total])

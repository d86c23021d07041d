"""All topics at once: pooled partially, completely or not at all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import Any, Generic, TypeVar

import numpy as np
import xarray as xr
from numpy.typing import NDArray
from scipy import special

from bayescal.distributions import programs
from bayescal.families import FAMILIES, Family
from bayescal.fitting.engines.exact.class_posterior import SMALLEST_SHARE, ClassPosterior
from bayescal.fitting.engines.exact.engine import EFFICIENCY_LIMIT, SIDES, DensitySides, efficiency
from bayescal.fitting.engines.exact.joint_density import DeviationSums, Hyperparameters, resolve
from bayescal.fitting.engines.pooled import drawing
from bayescal.fitting.engines.pooled.drawing import Drawn, Health, TopicDraws
from bayescal.fitting.engines.pooled.hyperparameters import (
    Hyperposterior,
    TopicHyperparameters,
    draw_hyperposterior,
)
from bayescal.fitting.engines.pooled.population import (
    DENSITY_NAMES,
    Hyperprior,
    Normal,
    added_rates,
    coefficients,
    draw_base_rates,
    draw_unseen,
    fixed_population,
    prior_of,
    rates_given,
    statistics,
)
from bayescal.fitting.engines.program import draw_posterior
from bayescal.fitting.scores import BinaryScores, together
from bayescal.support.numerics import blocks_of
from bayescal.support.parallel import in_parallel
from bayescal.support.validation import Floats

POOLINGS = ("partial", "none", "complete")
MOST_TOPIC_DRAWS, FEWEST_TOPIC_DRAWS = 2000, 500
ALL_TOPIC_DRAWS = 100_000


Curves = TypeVar("Curves")  # a `Posterior`, or arrays of mode and sides of one class


@dataclass(frozen=True)
class TopicPosterior(Generic[Curves]):
    """Draws of every topic and of a topic without documents, around their population."""

    # Densities have the axis `of`, negatives and positives; log-odds and one class have none.

    topics: Curves  # in raw score units, topics first
    unseen: Curves  # of a topic without documents
    population: Floats  # (of, draws, k): unbounded hyperparameters; see `pooled.population`
    pareto_k: Floats  # (of,): Pareto shape of the hyperparameters' weights; -inf without weights
    population_efficiency: Floats  # (of,): effective share of their proposals
    efficiency: Floats  # (of, topics): effective share of a topic's draws after reweighting
    health: Health  # (of, topics): quality of the draws before reweighting
    rates: Floats | None = None  # (2, draws): parameters of the beta of P(+), of densities
    sample_stats: xr.Dataset | None = None  # statistics of NUTS, if it made the draws

    @property
    def mean_rates(self) -> tuple[float, float]:
        """Return the mean parameters of the beta of P(+)."""
        assert self.rates is not None  # noqa: S101
        alpha, beta = self.rates.mean(axis=1).tolist()
        return alpha, beta


DensitiesOfTopics = TopicPosterior[DensitySides]


def fit_topics(
    topics: Sequence[BinaryScores],
    family: Family,
    rng: np.random.Generator,
    *,
    draws: int,
    pooling: str,
    scale: tuple[float, float],
    hyperparameters: TopicHyperparameters | None = None,
) -> DensitiesOfTopics:
    """Draw from the posterior of all topics."""
    hyper = hyperparameters or TopicHyperparameters()
    prior = resolve((family,), scale, hyper.own)
    draw_class = partial(_apart, prior=prior)
    if pooling == "partial":
        draw_class = partial(_partial, hyperpriors=hyper.populations)
    negatives, positives = totals(topics)
    scales = [scale] * len(topics)
    if pooling == "none":
        scales = [_own_scale(data, family, scale, hyper) for data in topics]
        rate_population = np.tile([[float(prior.prior_alpha)], [float(prior.prior_beta)]], draws)
        rate = rates_given(rate_population, positives, negatives, rng)
    else:
        rate, rate_population = draw_base_rates(positives, negatives, draws, rng, hyper.populations)
    nothing = np.zeros(1)
    standardised = [
        replace(data, score=(data.score - centre) / spread)
        for data, (centre, spread) in zip(topics, scales, strict=True)
    ]
    if pooling == "complete":
        standardised = [together(standardised)]
    fits = []
    for positive in (False, True):
        own = [data.of_class(positive) for data in standardised]
        fits.append(draw_class(own, family, rng, draws))
    if pooling == "complete":
        fits = [_repeated(each, len(topics)) for each in fits]
    centre, spread = np.array(scales).T[:, :, None]
    new_rate = rates_given(rate_population, nothing, nothing, rng)[0]
    return TopicPosterior(
        topics=sides_of(
            family.name, [raw_sides(each.topics, centre, spread) for each in fits], rate
        ),
        unseen=sides_of(family.name, [raw_sides(each.unseen, *scale) for each in fits], new_rate),
        population=np.stack([each.population for each in fits]),
        pareto_k=np.stack([each.pareto_k for each in fits]),
        population_efficiency=np.stack([each.population_efficiency for each in fits]),
        efficiency=np.stack([each.efficiency for each in fits]),
        health=Health.stack([each.health for each in fits]),
        rates=rate_population,
    )


def totals(topics: Sequence[BinaryScores]) -> tuple[Floats, Floats]:
    """Return the number (or weight) of negatives and of positives of each topic."""
    negatives, positives = (
        np.array([data.total(positive) for data in topics]) for positive in (False, True)
    )
    return negatives, positives


def sides_of(name: str, sides: Sequence[Floats], rate: Floats) -> DensitySides:
    """Return draws of a family from both classes' modes and sides, (3, ..., draws), and P(+)."""
    theta, left, right = np.stack(sides, axis=-1)
    return DensitySides((name,), theta, left, right, rate)


def _repeated(one: TopicPosterior[Floats], topics: int) -> TopicPosterior[Floats]:
    """Return the draws of topics that share the posterior of one."""
    return replace(
        one,
        topics=np.repeat(one.topics, topics, axis=1),
        unseen=one.topics[:, 0],
        efficiency=one.efficiency.repeat(topics),
        health=one.health.repeat(topics),
    )


def _partial(
    topics: list[Scores],
    family: Family,
    rng: np.random.Generator,
    draws: int,
    *,
    hyperpriors: Mapping[str, Normal],
) -> TopicPosterior[Floats]:
    # Topics without scores of the class are drawn from the population, without informing it.
    some = np.flatnonzero([scores.size > 0 for scores, _ in topics])
    some = some if some.size else np.arange(len(topics))
    posterior = draw_population(
        [topics[t] for t in some],
        family,
        rng,
        draws=draws,
        topic_draws=topic_draws_of(some.size),
        hyperpriors=hyperpriors,
    )
    points = posterior.points
    sides, efficiency = np.empty((3, len(topics), draws)), np.ones(len(topics))
    sides[:, some], efficiency[some] = posterior.pick(rng), posterior.topics.efficiency(points)
    for t in np.setdiff1d(np.arange(len(topics)), some):
        sides[:, t] = draw_unseen(points, family, rng)
    return TopicPosterior(
        topics=sides,
        unseen=draw_unseen(points, family, rng),
        population=points,
        pareto_k=np.asarray(posterior.pareto_k),
        population_efficiency=np.asarray(posterior.efficiency),
        efficiency=efficiency,
        health=posterior.topics.draws.health.of_some(some, len(topics)),
    )


def _apart(
    topics: list[Scores],
    family: Family,
    rng: np.random.Generator,
    draws: int,
    *,
    prior: Hyperparameters,
) -> TopicPosterior[Floats]:
    base = fixed_population(family, prior)
    drawn = draw_topics(topics, family, base[None], draws, rng)
    points = np.broadcast_to(base, (draws, base.size)).copy()
    return TopicPosterior(
        topics=drawn.draws.values,
        unseen=draw_unseen(points, family, rng),
        population=points,
        pareto_k=np.asarray(-np.inf),
        population_efficiency=np.asarray(1.0),
        efficiency=np.ones(len(topics)),
        health=drawn.draws.health,
    )


def _own_scale(
    data: BinaryScores, family: Family, scale: tuple[float, float], hyper: TopicHyperparameters
) -> tuple[float, float]:
    """Return the centre and the spread that a topic by itself is standardised by."""
    centre_and_spread = data.centre_and_spread if data.score.size else scale
    own = resolve((family,), centre_and_spread, hyper.own)
    return own.centre, own.spread


def topic_draws_of(topics: int) -> int:
    """Return the number of draws that represent the posterior of each topic."""
    return int(np.clip(ALL_TOPIC_DRAWS // topics, FEWEST_TOPIC_DRAWS, MOST_TOPIC_DRAWS))


def raw_sides(sides: Floats, centre: Floats | float, spread: Floats | float) -> Floats:
    """Return mode and sides, the first axis, in raw score units."""
    raw = sides * spread
    raw[0] += centre
    return raw


def add_topics(
    topics: Sequence[BinaryScores],
    family: Family,
    fitted: DensitiesOfTopics,
    rng: np.random.Generator,
    scale: tuple[float, float],
) -> DensitiesOfTopics:
    """Return draws of new topics in place of the fitted ones, each alone around the population."""
    centre, spread = scale
    sides, efficiency, health = [], [], []
    for k, positive in enumerate((False, True)):
        of_class = (data.of_class(positive) for data in topics)
        standardised = [((scores - centre) / spread, weight) for scores, weight in of_class]
        points = fitted.population[k]
        bases = Hyperprior.of(family.power).bases_of(points)
        drawn = draw_topics(standardised, family, bases, drawing.TOPIC_DRAWS, rng)
        values, share = drawing.pick_updated(drawn, points, rng)
        sides.append(raw_sides(values, centre, spread))
        efficiency.append(share)
        health.append(drawn.draws.health)
    negatives, positives = totals(topics)
    assert fitted.rates is not None  # noqa: S101
    rate, of_rates = added_rates(fitted.rates, positives, negatives, rng)
    return replace(
        fitted,
        topics=sides_of(family.name, sides, rate),
        # At worst of the topic's and of the population's draws.
        efficiency=np.minimum(np.stack(efficiency), of_rates),
        health=Health.stack(health),
    )


FITTED_A_TASK = 100  # topics of a task, for tenths of a second

_Task = tuple[str, list[BinaryScores]]


def fit_unpooled(topics: Sequence[BinaryScores], family: str) -> Floats:
    """Return mode, left and right side of both classes of each topic; shape (2, 3, topics)."""
    parts = blocks_of(FITTED_A_TASK, len(topics))
    tasks = [(family, list(topics[part])) for part in parts]
    sizes = [part.stop - part.start for part in parts]
    return np.concatenate(list(in_parallel(_fit_task, tasks, sizes)), axis=-1)


def _fit_task(task: _Task) -> Floats:
    name, topics = task
    family = FAMILIES[name]
    out = np.full((2, 3, len(topics)), np.nan)
    for k, positive in enumerate((False, True)):
        for t, data in enumerate(topics):
            scores, weight = data.of_class(positive)
            if scores.size:
                values = family.fit(scores, weight).parameters.values()
                out[k, :, t] = family.sides(*map(np.asarray, values))
    return out


Scores = tuple[Floats, Floats | None]
DRAWN_A_TASK = 25  # topics of a task, for tenths of a second


def draw_population(
    topics: Sequence[Scores],
    family: Family,
    rng: np.random.Generator,
    *,
    draws: int,
    topic_draws: int,
    hyperpriors: Mapping[str, Normal] | None = None,
) -> Hyperposterior:
    """Return draws of the hyperparameters of one class's population, and of its topics."""
    some = drawing.some_of(topics, rng)
    hyperprior = Hyperprior.of(family.power).with_values(DENSITY_NAMES, hyperpriors or {})
    return draw_hyperposterior(
        partial(draw_topics, topics, family),
        hyperprior,
        rng,
        draws=draws,
        topic_draws=topic_draws,
        search=None if some is None else partial(draw_topics, some, family),
    )


def draw_topics(
    topics: Sequence[Scores], family: Family, bases: Floats, draws: int, rng: np.random.Generator
) -> TopicDraws:
    """Return exact draws of every topic under a few populations."""
    draw_one = partial(_draw_one, family=family, draws=draws)
    drawn = drawing.draw_under_bases(draw_one, topics, bases, rng, topics_a_task=DRAWN_A_TASK)
    theta, share, width, *sides = drawn.values
    drawn = drawn._replace(values=np.stack([theta, *sides]))
    of_family = partial(coefficients, family=family)
    return TopicDraws.under(bases, drawn, statistics(theta, share, width, family), of_family)


@lru_cache(maxsize=16)
def _without_scores(base: tuple[float, ...], family: Family) -> tuple[float, ClassPosterior]:
    """Return location and posterior of all topics without scores of the class."""
    location, prior = prior_of(np.array(base), family)
    return location, ClassPosterior(DeviationSums(np.empty(0), None, family.power), prior)


def _draw_one(
    data: Scores, base: Floats, rng: np.random.Generator, *, family: Family, draws: int
) -> Drawn:
    """Return mode, share of the left side, width, and both sides."""
    scores, weight = data
    if scores.size:
        location, prior = prior_of(base, family)
        sums = DeviationSums(scores - location, weight, family.power)
        posterior = ClassPosterior(sums, prior)
    else:
        location, posterior = _without_scores(tuple(base.tolist()), family)
    drawn = posterior.draw(draws, rng)
    values = np.stack([drawn.theta + location, drawn.left_share, drawn.width, *drawn.sides])
    share = efficiency(drawn.ratios)
    resolved = posterior.resolved and share >= EFFICIENCY_LIMIT
    return Drawn(
        log_evidence=posterior.log_evidence,
        resolved=resolved,
        efficiency=share,
        pareto_k=-np.inf,
        of_prior=False,
        log_likelihood=np.zeros(draws),
        values=values,
    )


# Partial pooling by NUTS on the program `topics`.


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
    return _sampled(groups, family, len(topics), np.flatnonzero(sizes), rng, scale)


def _sampled(
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
    drawn = ([draw_unseen(points, family, rng) for _ in range(topics)] for points in population)
    sides = np.stack([np.stack(of_class, axis=1) for of_class in drawn])
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
    hyperprior = Hyperprior.of(family.power)
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

"""Topics' exact draws of class densities under a few populations, and under all likely ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np

from bayescal.engines.exact.deviations import DeviationSums
from bayescal.engines.exact.engine import EFFICIENCY_LIMIT, efficiency
from bayescal.engines.exact.posterior import ClassPosterior
from bayescal.engines.pooled.drawing import Drawn, draw_under_bases, some_of
from bayescal.engines.pooled.hyperposterior import Hyperposterior, draw_hyperposterior
from bayescal.engines.pooled.hyperprior import Normal
from bayescal.engines.pooled.population import NAMES, Hyperprior, coefficients, prior_of, statistics
from bayescal.engines.pooled.reweighting import TopicDraws, terms_of
from bayescal.families import Family
from bayescal.validation import Floats

Scores = tuple[Floats, Floats | None]
TOPICS_A_TASK = 25  # drawn; tenths of a second of a worker's time


def draw_population(
    topics: Sequence[Scores],
    family: Family,
    rng: np.random.Generator,
    *,
    draws: int,
    topic_draws: int,
    given: Mapping[str, Normal] | None = None,
) -> Hyperposterior:
    """
    Return draws of the hyperparameters of one class's population, and of its topics.

    Parameters
    ----------
    topics, family, rng
        As of `draw_topics`.
    draws, topic_draws : int
        As of `draw_hyperposterior`.
    given : mapping, optional
        Means and standard deviations of hyperparameters, by name, that are not the usual.
    """
    some = some_of(topics, rng)
    hyperprior = Hyperprior.of(family.powers[0]).given(NAMES, given or {})
    return draw_hyperposterior(
        partial(draw_topics, topics, family),
        hyperprior,
        rng,
        draws=draws,
        topic_draws=topic_draws,
        search=None if some is None else partial(draw_topics, some, family),
    )


def draw_topics(
    topics: Sequence[Scores],
    family: Family,
    bases: Floats,
    draws: int,
    rng: np.random.Generator,
) -> TopicDraws:
    """
    Return exact draws of every topic under a few populations.

    Parameters
    ----------
    topics : sequence of (scores, weights)
        Standardised scores of one class, and their weights or None; a topic may have none, then
        the population answers.
    family : Family
        Of the class.
    bases : array of shape (bases, 6)
        Unbounded hyperparameters; see `population`.
    draws : int
        Of each topic under each base.
    rng : numpy.random.Generator
        Source of randomness.

    Returns
    -------
    TopicDraws
        Its values are mode and sides, standardised.
    """
    draw_one = partial(_draw_one, family=family, draws=draws)
    log_evidence, health, drawn = draw_under_bases(
        draw_one, topics, bases, rng, topics_a_task=TOPICS_A_TASK
    )
    theta, share, width, *sides = drawn
    of_family = partial(coefficients, family=family)
    terms = terms_of(statistics(theta, share, width, family), bases, log_evidence, of_family)
    return TopicDraws(of_family, bases, log_evidence, np.stack([theta, *sides]), terms, health)


def _draw_one(
    data: Scores, base: Floats, rng: np.random.Generator, *, family: Family, draws: int
) -> Drawn:
    """Return mode, share of the left side, width, and both sides."""
    (scores, weight), (location, prior) = data, prior_of(base, family)
    posterior = ClassPosterior(DeviationSums(scores - location, weight, family.powers), prior)
    found = posterior.draw(draws, rng)
    values = np.stack([found.theta + location, found.left_share, found.width, *found.sides])
    share = efficiency(found.ratios)
    resolved = posterior.resolved and share >= EFFICIENCY_LIMIT
    return Drawn(posterior.log_evidence, resolved, share, -np.inf, values)

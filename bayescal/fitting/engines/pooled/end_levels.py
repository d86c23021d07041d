"""Separate levels of many topics at an end of the scores; see `engines.atoms`.

The documents of all topics together decide whether an end has levels. Those of all topics at one
end are then draws from one beta, as their base rates are.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from bayescal.fitting.engines.atoms import EndLevels, Ends, find_levels
from bayescal.fitting.engines.pooled.population import (
    Normal,
    added_rates,
    draw_base_rates,
    rates_given,
)
from bayescal.fitting.scores import BinaryScores, TopicScores
from bayescal.support.validation import Floats

# Mean and standard deviation of the logit of the levels' mean: as often above as below one half.
HYPERPRIOR: Mapping[str, Normal] = {"logit_rate": (0.0, 2.0)}
UNIFORM = (1.0, 1.0)  # the beta of levels before the labels; see `engines.atoms`


@dataclass(frozen=True)
class TopicLevels:
    """Draws of the levels of all topics, and of P(+) of all documents."""

    topics: EndLevels  # topics first
    unseen: EndLevels  # of a topic without documents
    population: Floats  # parameters of the betas of levels and of P(+), (ends + 1, 2, draws)


def find_ends(data: TopicScores) -> Ends | None:
    """Return the ends at which the labels of all topics ask for levels; None without any."""
    tied = find_levels(BinaryScores(data.score, data.positive, data.weight))
    if tied is None:
        return None
    ends = tied.ends(data.score.min())
    return ends if between(ends, data).score.size else None


def between(ends: Ends, data: TopicScores) -> TopicScores:
    """Return the documents at no end, of the topics whose scores differ."""
    others = data.take(ends.of(data.score) < 0)
    return others.without(others.constant())


def _counts(ends: Ends, data: TopicScores) -> list[tuple[Floats, Floats]]:
    """Return the weights of positives and negatives by topic, at each end and of all documents."""
    at = ends.of(data.score)
    parts = [*(data.take(at == k) for k in range(ends.end.size)), data]
    return [
        (part.counts(True).astype(np.float64), part.counts(False).astype(np.float64))
        for part in parts
    ]


def draw_levels(
    ends: Ends,
    data: TopicScores,
    draws: int,
    rng: np.random.Generator,
    hyperpriors: Mapping[str, Normal],
    *,
    apart: tuple[float, float] | None = None,
) -> TopicLevels:
    """
    Return draws of the levels and of the base rates of all topics, around a population.

    `apart` gives the beta of P(+) of topics without a population.
    """
    counts = _counts(ends, data)
    if apart is None:
        priors = [HYPERPRIOR] * ends.end.size + [hyperpriors]
        drawn = [
            draw_base_rates(*each, draws, rng, prior)
            for each, prior in zip(counts, priors, strict=True)
        ]
    else:
        betas = [UNIFORM] * ends.end.size + [apart]
        fixed = [np.repeat(np.array(beta)[:, None], draws, axis=1) for beta in betas]
        drawn = [
            (rates_given(own, *each, rng), own) for own, each in zip(fixed, counts, strict=True)
        ]
    rates, populations = zip(*drawn, strict=True)
    nothing = np.zeros(1)
    unseen = [rates_given(each, nothing, nothing, rng)[0] for each in populations]
    return TopicLevels(_levels(ends, rates), _levels(ends, unseen), np.stack(populations))


def add_levels(
    ends: Ends, population: Floats, data: TopicScores, rng: np.random.Generator
) -> EndLevels:
    """Return draws of levels and base rates of further topics."""
    pairs = zip(population, _counts(ends, data), strict=True)
    return _levels(ends, [added_rates(own, *each, rng)[0] for own, each in pairs])


def _levels(ends: Ends, rates: Sequence[Floats]) -> EndLevels:
    """Return levels by the draws of P(+) at each end and of all documents."""
    return EndLevels(ends, np.stack(rates[:-1], axis=-1), rates[-1])

"""Separate levels of many topics at an end of the scores; see `engines.atoms`.

The documents of all topics together decide whether an end has levels. Those of all topics at one
end are then draws from one beta, as their base rates are.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bayescal.fitting.engines.atoms import find_levels
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


@dataclass(frozen=True)
class TopicEnds:
    """Ends of the scores at and beyond which documents have levels of their own."""

    score: Floats  # (ends,)
    lowest: NDArray[np.bool_]  # (ends,): whether all other documents lie above it

    def of(self, scores: Floats) -> NDArray[np.intp]:
        """Return the end that each score is at or beyond, -1 for none."""
        at = np.full(scores.size, -1)
        for k, (end, lowest) in enumerate(zip(self.score, self.lowest, strict=True)):
            at[scores <= end if lowest else scores >= end] = k
        return at

    def rest(self, data: TopicScores) -> TopicScores:
        """Return the documents at no end, as far as they say anything of their labels."""
        others = data.take(self.of(data.score) < 0)
        return others.without(others.constant())

    def counts(self, data: TopicScores) -> tuple[Floats, Floats]:
        """Return the weight of positives and of negatives, (ends and all documents, topics)."""
        at = self.of(data.score)
        parts = [data.take(at == k) for k in range(self.score.size)]
        positives, negatives = (
            np.array([part.counts(klass) for part in (*parts, data)], dtype=np.float64)
            for klass in (True, False)
        )
        return positives, negatives


@dataclass(frozen=True)
class TopicLevels:
    """Draws of the levels of all topics, and of P(+) of all documents, which come last."""

    ends: TopicEnds
    rates: Floats  # (ends + 1, topics, draws)
    population: Floats  # parameters of the betas that they are from, (ends + 1, 2, draws)
    unseen: Floats  # of a topic without documents, (ends + 1, draws)


def find_ends(data: TopicScores) -> TopicEnds | None:
    """Return the ends at which the labels of all topics ask for levels; None without any."""
    levels = find_levels(BinaryScores(data.score, data.positive, data.weight))
    if levels is None:
        return None
    ends = TopicEnds(levels.score, levels.score == data.score.min())
    return ends if ends.rest(data).score.size else None


def draw_levels(
    ends: TopicEnds,
    data: TopicScores,
    draws: int,
    rng: np.random.Generator,
    hyperpriors: Mapping[str, Normal],
) -> TopicLevels:
    """Return draws of the levels and of the base rates of all topics."""
    positives, negatives = ends.counts(data)
    priors = [HYPERPRIOR] * ends.score.size + [hyperpriors]
    drawn = [
        draw_base_rates(one, other, draws, rng, prior)
        for one, other, prior in zip(positives, negatives, priors, strict=True)
    ]
    rates, populations = zip(*drawn, strict=True)
    nothing = np.zeros(1)
    unseen = [rates_given(each, nothing, nothing, rng)[0] for each in populations]
    return TopicLevels(ends, np.stack(rates), np.stack(populations), np.stack(unseen))


def add_levels(
    ends: TopicEnds, population: Floats, data: TopicScores, rng: np.random.Generator
) -> Floats:
    """Return draws of levels and base rates of further topics, (ends + 1, topics, draws)."""
    counts = zip(population, *ends.counts(data), strict=True)
    return np.stack([added_rates(own, one, other, rng)[0] for own, one, other in counts])

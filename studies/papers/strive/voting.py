"""The best base classifier of each problem, and the unweighted majority of all.

Each classifier decides by its own best threshold for the measure; see the dissertation, sections
7.1 and 10.4.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bayescal.combining.combiners.measures import MEASURES, Combined, Combiner, best_threshold
from bayescal.combining.nested import Inputs, Labelled
from bayescal.support.validation import Floats


def loss_of(
    measure: str,
    taken: NDArray[np.bool_],
    positive: NDArray[np.bool_],
    weight: Floats | None = None,
) -> float:
    """Return the loss of decisions; of "f1" it is minus F1."""
    own = np.ones(positive.size) if weight is None else weight
    hits, wrong, missed = (
        np.asarray(own[which].sum())
        for which in (taken & positive, taken & ~positive, ~taken & positive)
    )
    return float(MEASURES[measure].loss(hits, wrong, missed, float(own.sum())))


Thresholds = dict[str, Floats]  # by measure, shape (classifiers,)


def votes(inputs: Inputs, thresholds: Floats) -> NDArray[np.bool_]:
    """Return the decisions of each classifier, (n, classifiers)."""
    return np.asarray(inputs.scores >= thresholds)


BY = "error"  # the measure behind scores


@dataclass(frozen=True)
class Best(Combined):
    """The classifier that is best by each measure."""

    base_thresholds: Thresholds
    best: dict[str, int]  # position of the best classifier, by measure

    @property
    def held_out(self) -> Floats:
        """Return scores of the documents fitted."""
        return self.score(self.labelled.inputs)

    def score(self, inputs: Inputs) -> Floats:
        """Return the scores of the classifier with the fewest errors, less its threshold."""
        which = self.best[BY]
        return np.asarray(inputs.scores[:, which] - self.base_thresholds[BY][which])

    def decide(self, inputs: Inputs, measure: str) -> NDArray[np.bool_]:
        """Return the decisions of the classifier that is best by a measure."""
        return votes(inputs, self.base_thresholds[measure])[:, self.best[measure]]


@dataclass(frozen=True)
class MajorityVote(Best):
    """The votes of the classifiers; ties go to the best one by the measure."""

    def score(self, inputs: Inputs) -> Floats:
        """Return the share of classifiers that decide for positive, less one half."""
        return np.asarray(votes(inputs, self.base_thresholds[BY]).mean(axis=1) - 0.5)

    def decide(self, inputs: Inputs, measure: str) -> NDArray[np.bool_]:
        """Return the majority's decisions."""
        share = votes(inputs, self.base_thresholds[measure]).mean(axis=1)
        return np.where(share == 0.5, super().decide(inputs, measure), share > 0.5)


@dataclass(frozen=True)
class Voting(Combiner):
    """Best by class, or the unweighted majority; see the dissertation, sections 7.1 and 10.4."""

    vote: type[Best]

    def fit(
        self, problems: Sequence[Labelled], rng: np.random.Generator, n_jobs: int | None
    ) -> Sequence[Combined]:
        """Return the vote of each problem."""
        return [self.fit_problem(labelled) for labelled in problems]

    def fit_problem(self, labelled: Labelled) -> Best:
        """Return the vote with the best thresholds, and the best classifier, by each measure."""
        scores, positive, weight = labelled.inputs.scores, labelled.positive, labelled.weight
        thresholds = {
            measure: np.array([best_threshold(measure, s, positive, weight) for s in scores.T])
            for measure in MEASURES
        }
        losses = {
            measure: [
                loss_of(measure, taken, positive, weight) for taken in votes(labelled.inputs, own).T
            ]
            for measure, own in thresholds.items()
        }
        best = {measure: int(np.argmin(each)) for measure, each in losses.items()}
        return self.vote(labelled, thresholds, best)

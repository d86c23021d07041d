"""Best by class: for each problem the base classifier that is best on held-out documents."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bayescal.combining.combiners.combiner import Combined, Combiner
from bayescal.combining.combiners.votes import Thresholds, base_thresholds, votes
from bayescal.combining.inputs import Inputs, Labelled
from bayescal.combining.measures import MEASURES, loss_of
from bayescal.validation import Floats

# The score, which one classifier has to give for all measures, is that of the fewest errors.
BY = "error"


@dataclass(frozen=True)
class Best(Combined):
    """
    The classifier that is best by each measure.

    Attributes
    ----------
    base_thresholds : dict of str to array of shape (classifiers,)
        Of each classifier, by measure.
    best : dict of str to int
        Which classifier, by measure.
    """

    base_thresholds: Thresholds
    best: dict[str, int]

    @property
    def held_out(self) -> Floats:
        """Return scores of the documents fitted, by the classifier of the fewest errors."""
        return self.score(self.labelled.inputs)

    def score(self, inputs: Inputs) -> Floats:
        """Return the scores of the classifier of the fewest errors, less its threshold."""
        which = self.best[BY]
        return np.asarray(inputs.scores[:, which] - self.base_thresholds[BY][which])

    def decide(self, inputs: Inputs, measure: str) -> NDArray[np.bool_]:
        """Return the decisions of the classifier that is best by a measure."""
        return votes(inputs, self.base_thresholds[measure])[:, self.best[measure]]


class BestByClass(Combiner):
    """Best by class (dissertation, section 7.1): no score of its own, so no ROC curve."""

    def fit(
        self, problems: Sequence[Labelled], rng: np.random.Generator, n_jobs: int | None
    ) -> Sequence[Combined]:
        """Return the best classifiers of each problem."""
        return [_best_of(labelled) for labelled in problems]


def combiner(*, normalise: bool = True) -> BestByClass:
    """Return the best by class, for which inputs need no normalising."""
    return BestByClass()


def _best_of(labelled: Labelled) -> Best:
    thresholds = base_thresholds(labelled)
    best = {
        measure: int(
            np.argmin(
                [
                    loss_of(measure, taken, labelled.positive, labelled.weight)
                    for taken in votes(labelled.inputs, thresholds[measure]).T
                ]
            )
        )
        for measure in MEASURES
    }
    return Best(labelled, thresholds, best)

"""Majority: a document is taken by more than half of the base classifiers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bayescal.combining.combiners.best_by_class import BY, BestByClass
from bayescal.combining.combiners.combiner import Combined, Combiner
from bayescal.combining.combiners.votes import Thresholds, base_thresholds, votes
from bayescal.combining.inputs import Inputs, Labelled
from bayescal.validation import Floats


@dataclass(frozen=True)
class Votes(Combined):
    """
    The votes of the classifiers.

    Attributes
    ----------
    base_thresholds : dict of str to array of shape (classifiers,)
        Of each classifier, by measure.
    tie_breaker : Combined
        Decides where as many are for as against.
    """

    base_thresholds: Thresholds
    tie_breaker: Combined

    @property
    def held_out(self) -> Floats:
        """Return shares of votes for the documents fitted."""
        return self.score(self.labelled.inputs)

    def score(self, inputs: Inputs) -> Floats:
        """Return the share of classifiers that take a document when errors count, less one half."""
        return np.asarray(votes(inputs, self.base_thresholds[BY]).mean(axis=1) - 0.5)

    def decide(self, inputs: Inputs, measure: str) -> NDArray[np.bool_]:
        """Return the majority's decisions; ties go to the best classifier by the measure."""
        share = votes(inputs, self.base_thresholds[measure]).mean(axis=1)
        tied = self.tie_breaker.decide(inputs, measure)
        return np.asarray(np.where(share == 0.5, tied, share > 0.5))


class Majority(Combiner):
    """Unweighted majority of the base decisions (section 7.1; ties as in section 10.4)."""

    def fit(
        self, problems: Sequence[Labelled], rng: np.random.Generator, n_jobs: int | None
    ) -> Sequence[Combined]:
        """Return the vote of each problem."""
        best = BestByClass().fit(problems, rng, n_jobs)
        return [
            Votes(labelled, base_thresholds(labelled), each)
            for labelled, each in zip(problems, best, strict=True)
        ]


def combiner(*, normalise: bool = True) -> Majority:
    """Return the majority, for which inputs need no normalising."""
    return Majority()

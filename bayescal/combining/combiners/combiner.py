"""What a combiner is: from labelled inputs of some problems to a score of each document."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from bayescal.combining.inputs import Inputs, Labelled
from bayescal.combining.measures import MEASURES, best_threshold
from bayescal.validation import Floats


@dataclass(frozen=True)
class Combined(ABC):
    """
    A fitted combination of one binary problem.

    Attributes
    ----------
    labelled : Labelled
        What it was fitted to.
    """

    labelled: Labelled = field(repr=False)

    @property
    @abstractmethod
    def held_out(self) -> Floats:
        """Return scores of the documents fitted, by combinations that had not seen their labels."""

    @abstractmethod
    def score(self, inputs: Inputs) -> Floats:
        """Return scores of documents, shape (n,); those above 0 are taken by default."""

    @cached_property
    def thresholds(self) -> dict[str, float]:
        """Return the threshold on the score that is best by each measure."""
        positive, weight = self.labelled.positive, self.labelled.weight
        return {name: best_threshold(name, self.held_out, positive, weight) for name in MEASURES}

    def decide(self, inputs: Inputs, measure: str) -> NDArray[np.bool_]:
        """Return which documents are taken for positive, to be best by a measure."""
        return np.asarray(self.score(inputs) >= self.thresholds[measure])


class Combiner(ABC):
    """
    A way to combine.

    Attributes
    ----------
    gives_log_odds : bool
        Whether scores are log-odds, so that there are probabilities.
    takes_weights : bool
        Whether documents may have weights.
    """

    gives_log_odds: bool = False
    takes_weights: bool = True

    @abstractmethod
    def fit(
        self, problems: Sequence[Labelled], rng: np.random.Generator, n_jobs: int | None
    ) -> Sequence[Combined]:
        """Return the combination of each problem."""

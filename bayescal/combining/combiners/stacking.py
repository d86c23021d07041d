"""Stacking: a scikit-learn classifier of the inputs, cross-validated for its thresholds.

On the base classifiers' scores alone it is stacking; with indicators it is STRIVE ("stacked
reliability indicator variable ensemble", dissertation, chapter 7).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import has_fit_parameter

from bayescal.classification.raw_scores import raw_scores
from bayescal.classification.targets import BINARY
from bayescal.combining.combiners.combiner import Combined, Combiner
from bayescal.combining.ends import Ends
from bayescal.combining.inputs import Inputs, Labelled
from bayescal.combining.standardiser import Standardiser
from bayescal.validation import Floats

# Of the inputs' mean squared length, how many of them are scores (the first ones) and a seed: an
# unfitted classifier.
Make = Callable[[float, int, int], Any]


@dataclass(frozen=True)
class Model:
    """
    A fitted classifier of inputs.

    Attributes
    ----------
    classifier : classifier
        Fitted.
    standardiser : Standardiser or None
        What inputs go through first.
    """

    classifier: Any
    standardiser: Standardiser | None

    def score(self, inputs: Inputs) -> Floats:
        """Return scores of documents."""
        columns = inputs.matrix
        if self.standardiser is not None:
            columns = self.standardiser.apply(columns)
        return raw_scores(self.classifier, columns, BINARY, 1)[:, 0]


@dataclass(frozen=True)
class Stacked(Combined):
    """
    A fitted classifier of inputs, with held-out scores.

    Attributes
    ----------
    model : Model
        Fitted to all documents.
    cross_validated : array of shape (n,)
        Scores of documents by models fitted to the other folds.
    """

    model: Model
    cross_validated: Floats = field(repr=False)

    @cached_property
    def ends(self) -> Ends:
        """Return where infinite scores stand, which probabilities of 0 and 1 have."""
        return Ends.of(self.cross_validated[:, None])

    @property
    def held_out(self) -> Floats:
        """Return scores by models that were fitted to other documents."""
        return self.ends.finite(self.cross_validated[:, None])[:, 0]

    def score(self, inputs: Inputs) -> Floats:
        """Return scores of documents."""
        return self.ends.finite(self.model.score(inputs)[:, None])[:, 0]


@dataclass(frozen=True)
class Stacking(Combiner):
    """
    Stacking by a classifier.

    Attributes
    ----------
    make : callable
        Returns an unfitted classifier, see `Make`.
    normalise : bool
        Whether it gets standardised inputs.
    gives_log_odds : bool
        Whether its scores are log-odds.
    takes_weights : bool
        Whether its fit takes weights.
    """

    make: Make
    normalise: bool = True
    gives_log_odds: bool = False
    takes_weights: bool = True

    def fit(
        self, problems: Sequence[Labelled], rng: np.random.Generator, n_jobs: int | None
    ) -> Sequence[Combined]:
        """Return a classifier of each problem, with what its likes say of documents held out."""
        jobs = []
        for labelled in problems:
            parts = [np.arange(labelled.positive.size), *(train for train, _ in labelled.splits())]
            seeds = rng.integers(2**31, size=len(parts)).tolist()
            jobs += [
                delayed(self.fit_model)(labelled.take(rows), seed)
                for rows, seed in zip(parts, seeds, strict=True)
            ]
        models = iter(Parallel(n_jobs=n_jobs)(jobs))
        return [_stacked(labelled, models) for labelled in problems]

    def fit_model(self, labelled: Labelled, seed: int) -> Model:
        """Return the classifier fitted to some documents."""
        columns, weight = labelled.inputs.matrix, labelled.weight
        standardiser = Standardiser.of(columns, weight) if self.normalise else None
        if standardiser is not None:
            columns = standardiser.apply(columns)
        length = mean_square_length(columns, weight)
        classifier = self.make(length, labelled.inputs.scores.shape[1], seed)
        params = {} if weight is None else {"sample_weight": weight}
        return Model(
            classifier.fit(columns, labelled.positive.astype(np.int64), **params), standardiser
        )


def of_classifier(classifier: Any, *, normalise: bool) -> Stacking:
    """Return stacking by a classifier of the user's own; clones of it are fitted."""
    from sklearn.base import clone

    def make(length: float, scores: int, seed: int) -> Any:
        copy = clone(classifier)
        if copy.get_params(deep=False).get("random_state", 0) is None:
            copy.set_params(random_state=seed)
        return copy

    takes_weights = has_fit_parameter(classifier, "sample_weight")
    return Stacking(
        make,
        normalise,
        # A decision_function may be margins; without one raw scores are log-odds of probabilities.
        gives_log_odds=not hasattr(classifier, "decision_function"),
        takes_weights=takes_weights,
    )


def mean_square_length(columns: Floats, weight: Floats | None = None) -> float:
    """
    Return the mean of <x, x> over documents.

    Examples
    --------
    >>> mean_square_length(np.array([[3.0, 4.0], [0.0, 0.0]]))
    12.5
    """
    return float(np.average((columns**2).sum(axis=1), weights=weight))


def _stacked(labelled: Labelled, models: Any) -> Stacked:
    model = next(models)
    scores = np.empty(labelled.positive.size)
    for _, held in labelled.splits():
        scores[held] = next(models).score(labelled.inputs.take(held))
    return Stacked(labelled, model, scores)

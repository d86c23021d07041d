"""Stacking: a scikit-learn classifier of the inputs, cross-validated for its thresholds.

With indicators it is STRIVE ("stacked reliability indicator variable ensemble", Bennett's
dissertation, chapter 7).
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import has_fit_parameter

from bayescal.calibrators.classifier.raw_scores import last_step, raw_scores
from bayescal.calibrators.classifier.targets import BINARY
from bayescal.combining.combiners.measures import Combined, Combiner
from bayescal.combining.nested import FiniteEnds, Gaps, Inputs, Labelled, seeded_clone
from bayescal.support.validation import Floats
from bayescal.text.word_models import LogOddsMixin

# The decision_function of these is the log-odds of their probabilities.
OF_LOG_ODDS = (LogisticRegression, HistGradientBoostingClassifier, LogOddsMixin)


@dataclass(frozen=True)
class Model:
    """A fitted classifier of inputs."""

    classifier: Any
    scaler: StandardScaler | None
    gaps: Gaps

    def score(self, inputs: Inputs) -> Floats:
        """Return scores of documents."""
        columns = inputs.filled(self.gaps).matrix
        columns = columns if self.scaler is None else self.scaler.transform(columns)
        return raw_scores(self.classifier, columns, BINARY, 1)[:, 0]


@dataclass(frozen=True)
class Stacked(Combined):
    """A fitted classifier of inputs, with held-out scores."""

    model: Model  # fitted to all documents
    cross_validated: Floats = field(repr=False)  # (n,): scores by models of the other folds

    @property
    def held_out(self) -> Floats:
        """Return scores by models that were fitted to other documents."""
        return self._finite(self.cross_validated)

    def score(self, inputs: Inputs) -> Floats:
        """Return scores of documents."""
        return self._finite(self.model.score(inputs))

    @cached_property
    def _ends(self) -> FiniteEnds:
        return FiniteEnds.of(self.cross_validated[:, None])

    def _finite(self, scores: Floats) -> Floats:
        # Probabilities of 0 and 1 have infinite scores.
        return self._ends.finite(scores[:, None])[:, 0]


@dataclass(frozen=True)
class Stacking(Combiner):
    """Stacking by a classifier."""

    classifier: Any  # clones are fitted
    normalise: bool  # whether inputs are standardised
    gives_log_odds: bool = False
    takes_weights: bool = True

    def fit(
        self, problems: Sequence[Labelled], rng: np.random.Generator, n_jobs: int | None
    ) -> Sequence[Combined]:
        """Return a classifier of each problem, with cross-validated scores."""
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
        gaps, weight = Gaps.of(labelled.inputs.scores), labelled.weight
        columns = labelled.inputs.filled(gaps).matrix
        scaler = StandardScaler() if self.normalise else None
        if scaler is not None:
            columns = scaler.fit_transform(columns, sample_weight=weight)
        classifier = seeded_clone(self.classifier, lambda: seed)
        params = {} if weight is None else {"sample_weight": weight}
        fitted = classifier.fit(columns, labelled.positive.astype(np.int64), **params)
        return Model(fitted, scaler, gaps)


def of_classifier(classifier: Any, *, normalise: bool) -> Stacking:
    """Return stacking by clones of a classifier."""
    # Without a decision_function raw scores are log-odds; of other classes it may give margins.
    kind, _ = last_step(classifier)
    log_odds = isinstance(kind, OF_LOG_ODDS) or not hasattr(classifier, "decision_function")
    return Stacking(classifier, normalise, log_odds, has_fit_parameter(classifier, "sample_weight"))


def _stacked(labelled: Labelled, models: Any) -> Stacked:
    model = next(models)
    scores = np.empty(labelled.positive.size)
    for _, held in labelled.splits():
        scores[held] = next(models).score(labelled.inputs.take(held))
    return Stacked(labelled, model, scores)

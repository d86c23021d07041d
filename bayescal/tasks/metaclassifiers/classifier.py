"""Any scikit-learn classifier of all tasks' documents, the same for all tasks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

from bayescal.tasks.metaclassifiers.metaclassifier import Metaclassifier, TaskModel
from bayescal.tasks.task_data import TaskData
from bayescal.validation import Floats, Integers


@dataclass(frozen=True)
class GeneralModel(TaskModel):
    """
    A fitted classifier.

    Attributes
    ----------
    classifier : classifier
        With probabilities.
    """

    classifier: Any

    def log_odds(self, columns: Floats, task: Integers) -> Floats:
        """Return log-odds of documents, which no task is treated apart in."""
        # Logarithms of probabilities of 0 are the infinite log-odds that they mean.
        with np.errstate(divide="ignore"):
            log_proba = self.classifier.predict_log_proba(columns)
        return np.asarray(log_proba[:, 1] - log_proba[:, 0])


@dataclass(frozen=True)
class GeneralClassifier(Metaclassifier):
    """
    One classifier for all tasks.

    Attributes
    ----------
    classifier : classifier
        Clones are fitted.
    """

    classifier: Any

    def fit(self, data: TaskData, rng: np.random.Generator) -> TaskModel:
        """Return a clone fitted to all documents."""
        fitted = seeded_clone(self.classifier, rng)
        return GeneralModel(fitted.fit(data.columns, data.positive.astype(np.int64)))


def seeded_clone(classifier: Any, rng: np.random.Generator) -> Any:
    """Return an unfitted copy; a random state of None becomes a number drawn here."""
    copy = clone(classifier)
    if copy.get_params(deep=False).get("random_state", 0) is None:
        copy.set_params(random_state=int(rng.integers(2**31)))
    return copy

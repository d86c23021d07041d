"""What is the same for all documents of a task, and tells tasks apart when they are pooled.

Bennett's dissertation, section 5.3, which proposes them and does not try them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from bayescal.indicators.kind import Indicator
from bayescal.validation import Floats


@dataclass(frozen=True)
class Task:
    """
    What a binary problem was learnt from.

    Attributes
    ----------
    training : int
        Training documents.
    positive : int
        Positive ones of them.
    support_vectors : int
        Support vectors of the SVM; 0 without one.
    documents : int
        Documents that values are wanted for.
    """

    training: int
    positive: int
    support_vectors: int
    documents: int


def training_documents(task: Task) -> Floats:
    """Return N, the number of training documents."""
    return np.full(task.documents, float(task.training))


def share_positive(task: Task) -> Floats:
    """Return N_+/N, the share of positive training documents."""
    return np.full(task.documents, task.positive / task.training)


def support_vectors(task: Task) -> Floats:
    """Return how many training documents x have y f(x) <= 1."""
    return np.full(task.documents, float(task.support_vectors))


INDICATORS: Mapping[str, Indicator] = {
    "NumTrainingPoints": training_documents,
    "%TrainingPointsInPositive": share_positive,
    "NumberOfSupportVectors": support_vectors,
}

"""What is the same for all documents of a task, and tells tasks apart when they are pooled.

Bennett's dissertation, section 5.3, which proposes them and does not try them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass


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
    """

    training: int
    positive: int
    support_vectors: int


def training_documents(task: Task) -> float:
    """Return N, the number of training documents."""
    return float(task.training)


def share_positive(task: Task) -> float:
    """Return N_+/N, the share of positive training documents."""
    return task.positive / task.training


def support_vectors(task: Task) -> float:
    """Return how many training documents x have y f(x) <= 1."""
    return float(task.support_vectors)


INDICATORS: Mapping[str, Callable[[Task], float]] = {
    "NumTrainingPoints": training_documents,
    "%TrainingPointsInPositive": share_positive,
    "NumberOfSupportVectors": support_vectors,
}

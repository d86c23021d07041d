"""What is fitted to all tasks' documents, one a file, and which of them parameters mean."""

from __future__ import annotations

import math
from numbers import Real
from typing import Any

import numpy as np

from bayescal.tasks.metaclassifiers.classifier import GeneralClassifier
from bayescal.tasks.metaclassifiers.metaclassifier import Metaclassifier
from bayescal.tasks.metaclassifiers.tree import Tree
from bayescal.tasks.metaclassifiers.weights import TaskWeights
from bayescal.text.decision_tree import DecisionTree

# What `specialise` may be by name, and the m of equation 8.1; None where the tasks tell it.
SPECIALISE: dict[str, float | None] = {"pooled": None, "repop": 0.0, "general": math.inf}


def read_metaclassifier(metaclassifier: Any, specialise: Any, memory: Any = None) -> Metaclassifier:
    """
    Return the metaclassifier that parameters mean.

    Parameters
    ----------
    metaclassifier : "tree", "weights" or classifier
        See `PooledCombiner`.
    specialise : str or float
        See `PooledCombiner`.
    memory : str, joblib.Memory or None
        See `PooledCombiner`.

    Raises
    ------
    ValueError
        If one of them is unknown, or they do not go together.

    Examples
    --------
    >>> read_metaclassifier("tree", -1.0)
    Traceback (most recent call last):
    ...
    ValueError: specialise must be 'pooled', 'repop', 'general' or a number m of documents, ...
    """
    m = read_specialise(specialise)
    if isinstance(metaclassifier, str):
        if metaclassifier == "tree":
            return Tree(DecisionTree(), m, memory)
        if metaclassifier != "weights":
            raise ValueError(
                f"metaclassifier must be 'tree', 'weights' or a classifier, got {metaclassifier!r}."
            )
        if m is not None:
            raise ValueError(
                "metaclassifier 'weights' has no leaves for m documents to count at: specialise"
                f" must be 'pooled', got {specialise!r}. The same weights for all tasks are those"
                " of LogisticRegression() with specialise='general'."
            )
        return TaskWeights()
    if hasattr(metaclassifier, "apply") and hasattr(metaclassifier, "get_n_leaves"):
        return Tree(metaclassifier, m, memory)
    if isinstance(metaclassifier, DecisionTree):
        return Tree(metaclassifier, m, memory)
    if not hasattr(metaclassifier, "predict_log_proba"):
        raise ValueError(
            "metaclassifier must have probabilities (predict_log_proba), got"
            f" {metaclassifier!r}: wrap it in CalibratedClassifier."
        )
    if m != math.inf:
        raise ValueError(
            f"metaclassifier {metaclassifier!r} has no leaves to specialise to tasks: specialise"
            f" must be 'general', got {specialise!r}."
        )
    return GeneralClassifier(metaclassifier)


def read_specialise(specialise: Any) -> float | None:
    """
    Return the m of equation 8.1, None where it is learnt.

    Examples
    --------
    >>> read_specialise("repop"), read_specialise(25)
    (0.0, 25.0)
    """
    if isinstance(specialise, str) and specialise in SPECIALISE:
        return SPECIALISE[specialise]
    number = isinstance(specialise, Real) and not isinstance(specialise, bool | np.bool_)
    if not number or not float(specialise) >= 0.0:
        raise ValueError(
            "specialise must be 'pooled', 'repop', 'general' or a number m of documents, at least"
            f" 0, got {specialise!r}."
        )
    return float(specialise)

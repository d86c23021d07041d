"""What combiners get of a topic: scores and indicators, of training documents by nested folds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayescal.classification.targets import read_target
from bayescal.combining.inputs import Inputs, Labelled
from bayescal.combining.nested import Problem, fit_nested
from bayescal.indicators import ReliabilityIndicators
from bayescal.text.cross_validation import FOLDS, splitter


def nested_inputs(
    topic: str,
    classifiers: Mapping[str, Any],
    features: tuple[Any, Any],
    positive: NDArray[np.bool_],
    *,
    best: str,
    text: bool = True,
    random_state: int = 0,
    fit_params: Mapping[str, dict[str, Any]] | None = None,
) -> tuple[Labelled, Inputs]:
    """
    Return what base classifiers and their indicators say of training documents and of new ones.

    Of training documents it is said by classifiers that were not trained on them, of new ones by
    classifiers trained on all training documents.

    Parameters
    ----------
    topic : str
        What messages call the positive class.
    classifiers : mapping of str to classifier
        The base classifiers; clones are fitted.
    features : pair of arrays or sparse matrices of shape (n, columns) and (m, columns)
        Of training documents and of new ones.
    positive : array of shape (n,) of bool
        Which training documents are of the topic.
    best : str
        The classifier whose votes the others' are compared with. By default the indicators would
        take the best on training documents, which is one that knows these by heart.
    text : bool
        Whether the features count words of documents, of which there are indicators too.
    random_state : int
        Of the folds, which are five, or as many as the topic has positives.
    fit_params : mapping of str to dict, optional
        Further arguments of fit, by classifier; those of length n are split like the documents.

    Raises
    ------
    ValueError
        If either class has a single document.
    """
    train, new = features
    own = {name: (fit_params or {}).get(name, {}) for name in classifiers}
    target = read_target(positive.astype(np.int64), positive.size)
    # A single positive is refused by `splits_of`, in words of documents rather than of folds.
    folds = splitter(min(FOLDS, max(2, int(positive.sum()))), random_state)
    problem = Problem.of(target, topic, train, own, folds, {})
    indicators = ReliabilityIndicators(list(classifiers.items()), text=text, best=best)
    (nested,) = fit_nested(classifiers, indicators, [problem], None, 1)
    return nested.labelled, nested.members.inputs(new)

"""Class priors to predict for, one for each column of scores, in the forms that they come in."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayescal.classification.score_maps import Priors
from bayescal.classification.targets import BINARY, MULTILABEL
from bayescal.curves.class_prior import sum_to_one


def priors_of(kind: str, names: NDArray[Any], prior: Any) -> Priors:
    """
    Return a class prior for each column of scores, or None for each.

    Parameters
    ----------
    kind : {"binary", "multiclass", "multilabel"}
        Of the target.
    names : array of shape (2,), (classes,) or (labels,)
        The classes or labels, in the order of probabilities.
    prior : float, distribution, draws, sequence, mapping, Series or None
        Of two classes that of the positive one, or those of both, which sum to 1; else one for
        each class or label, in the order of the names or by name.

    Raises
    ------
    ValueError
        If there is not one for each class or label, or those of classes do not sum to 1.

    Examples
    --------
    >>> priors_of("multiclass", np.array(["a", "b", "c"]), {"b": 0.7, "a": 0.1, "c": 0.2})
    [0.1, 0.7, 0.2]
    """
    if prior is None:
        return [None] * (1 if kind == BINARY else names.size)
    # A Series for two classes may hold draws of one.
    named = isinstance(prior, Mapping) or (
        hasattr(prior, "to_dict") and (kind != BINARY or len(prior) == names.size)
    )
    if named:
        prior = _in_order(dict(prior.items()), names.tolist())
    elif kind == BINARY and not (np.shape(prior) == (2,) and sum_to_one(prior)):
        return [prior]
    if not hasattr(prior, "__len__") or len(prior) != names.size:
        raise ValueError(
            f"prior must hold one value for each of the {names.size} classes or labels, got"
            f" {prior!r}."
        )
    if kind != MULTILABEL and not sum_to_one(prior):
        raise ValueError(f"prior must sum to 1 over the classes, got {sum(prior):g}.")
    return [prior[1]] if kind == BINARY else list(prior)


def _in_order(by_name: dict[Any, Any], names: list[Any]) -> list[Any]:
    """Return values by name in the order of the names."""
    if set(by_name) != set(names):
        shown = ", ".join(map(repr, by_name))
        raise ValueError(
            f"prior must have one value for each of {', '.join(map(repr, names))}, by name; got"
            f" those of {shown}."
        )
    return [by_name[name] for name in names]

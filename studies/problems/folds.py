"""Stratified folds of documents with several classes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]


def deal(label: Bools, folds: int, seed: int) -> Ints:
    """Return each document's fold; the documents of each class are dealt in turn.

    A document of several classes is dealt with the rarest of them, whose folds matter most;
    documents without a class form a group. With one class a document, this stratifies exactly.

    Parameters
    ----------
    label : array of shape (n, classes) of bool
        The classes of each document.
    folds : int
        How many.
    seed : int
        The documents are shuffled before.

    Returns
    -------
    array of shape (n,) of int
        From 0 to folds - 1.

    Examples
    --------
    >>> fold = deal(np.array([[True]] * 4 + [[False]] * 6), 2, seed=0)
    >>> int(fold[:4].sum()), int(fold[4:].sum())
    (2, 3)
    """
    count = label.sum(axis=0)
    none = label.shape[1]
    rarest = np.where(label, count, np.inf).argmin(axis=1)
    suit = np.where(label.any(axis=1), rarest, none)
    shuffled = np.random.default_rng(seed).permutation(len(label))
    order = shuffled[np.argsort(suit[shuffled], kind="stable")]
    fold = np.empty(len(label), dtype=np.int64)
    fold[order] = np.arange(len(label)) % folds
    return fold

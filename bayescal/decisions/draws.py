"""Posterior draws of probabilities, of two classes or of several."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import ArrayLike

from bayescal.validation import Floats

BLOCK_ELEMENTS = 1 << 22
SUM_TOLERANCE = 1e-6
FEW = 8  # draws of two documents that may sum to 1 by chance


def as_draws(draws: ArrayLike, name: str = "draws") -> Floats:
    """
    Return draws as a float64 array.

    Parameters
    ----------
    draws : array-like of shape (draws, documents) or (draws, documents, classes)
        P(+), or probabilities of all classes, which sum to 1.
    name : str
        What the error messages call the argument.

    Raises
    ------
    ValueError
        If the shape is another one, a value lies outside [0, 1], classes do not sum to 1, or many
        draws of two documents do, as only probabilities of two classes would.
    """
    p = np.asarray(draws, dtype=np.float64)
    if p.ndim not in (2, 3) or 0 in p.shape:
        raise ValueError(
            f"{name} must have shape (draws, documents) or (draws, documents, classes), got"
            f" {p.shape}."
        )
    # Written so that nan fails too.
    if not (p.min() >= 0.0 and p.max() <= 1.0):
        raise ValueError(f"{name} must hold probabilities from 0 to 1, got others.")
    if p.shape[1:] == (2,) and len(p) > FEW and _off_one(p) <= SUM_TOLERANCE:
        raise ValueError(
            f"{name} must have shape (draws, documents), as sample_proba returns them; got"
            f" {p.shape} of which all rows sum to 1, as predict_proba returns them."
        )
    if p.ndim == 3 and (off := _off_one(p)) > SUM_TOLERANCE:
        raise ValueError(
            f"{name} of all classes must sum to 1, got sums up to {off:.2g} off: normalise each"
            " draw."
        )
    return p


def _off_one(p: Floats) -> float:
    """Return by how much sums over the last axis are off 1, at most."""
    return float(np.abs(p.sum(axis=-1) - 1.0).max())


def as_binary_draws(draws: ArrayLike) -> Floats:
    """Return draws of P(+), shape (draws, documents); ValueError for anything else."""
    p = as_draws(draws)
    if p.ndim != 2:
        raise ValueError(
            f"draws must have shape (draws, documents), P(+) of one class, got {p.shape}: pass"
            " draws[:, :, k] for class k."
        )
    return p


def number_of_classes(draws: Floats) -> int:
    """Return 2 for draws of P(+), or the number of classes."""
    return 2 if draws.ndim == 2 else int(draws.shape[2])


def of_all_classes(draws: Floats) -> Floats:
    """Return draws with a last dimension for the classes, negative first."""
    return np.stack([1.0 - draws, draws], axis=-1) if draws.ndim == 2 else draws


def blocks(draws: Floats) -> Iterator[slice]:
    """Yield slices of the documents, so few that a copy of their draws stays small."""
    width = max(1, BLOCK_ELEMENTS // (draws.shape[0] * number_of_classes(draws)))
    for start in range(0, draws.shape[1], width):
        yield slice(start, min(start + width, draws.shape[1]))

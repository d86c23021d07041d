"""What experts say of documents, in the order in which a combiner hears of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bayescal.validation import Floats, Integers


@dataclass(frozen=True)
class Advice:
    """
    What experts say of n documents; document t is round t of the online game.

    Attributes
    ----------
    probabilities : array of shape (n, experts, classes)
        Each expert's probabilities of all classes; zeros where it sleeps.
    awake : array of shape (n, experts) of bool
        Which experts speak; of each document at least one.
    indicators : array of shape (n, indicators)
        In [0, 1]: how far each is on; of each document at least one is not 0.
    """

    probabilities: Floats
    awake: NDArray[np.bool_]
    indicators: Floats

    def of_labels(self, label: Integers) -> Floats:
        """Return what each expert said of the right class, shape (n, experts)."""
        return np.asarray(self.probabilities[np.arange(label.size), :, label])

    def mixture(self, shares: Floats) -> Floats:
        """Return probabilities of all classes, experts weighed by shares; shape (n, classes)."""
        return np.asarray(np.matmul(shares[:, None, :], self.probabilities)[:, 0, :])


def squared_error(of_labels: Floats) -> Floats:
    """
    Return (1 - P(label))^2, the loss of everything in this room; in [0, 1].

    Examples
    --------
    >>> squared_error(np.array([1.0, 0.5, 0.0]))
    array([0.  , 0.25, 1.  ])
    """
    return np.asarray((1.0 - of_labels) ** 2)


def blocks(n: int, log_beta: float) -> Iterator[slice]:
    """
    Yield runs of rounds in which no weight changes by more than a factor of e^600.

    Exponent of an update are at most 2 in size, so that weights relative to the largest of the
    block's start can be updated without their logarithms, whatever beta is.

    Examples
    --------
    >>> [(each.start, each.stop) for each in blocks(5, -150.0)]
    [(0, 2), (2, 4), (4, 5)]
    """
    size = int(np.clip(300.0 / -log_beta, 1.0, 256.0))
    for start in range(0, n, size):
        yield slice(start, min(start + size, n))

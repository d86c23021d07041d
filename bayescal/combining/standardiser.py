"""Inputs on one scale, so that a regularised combiner weighs all of them alike."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bayescal.validation import Floats


@dataclass(frozen=True)
class Standardiser:
    """
    z = (x - mean) / sd of each column, with mean and sd of the documents a combiner learns from.

    The dissertation's experiments divided by sqrt(E x^2) instead, which is the sd for columns of
    mean 0 alone: the line that made it so had been commented out (section 7.1.4). It meant this.

    Attributes
    ----------
    mean, scale : array of shape (columns,)
        Columns that are the same for all documents have scale 1.

    Examples
    --------
    >>> x = np.array([[1.0, 5.0], [3.0, 5.0]])
    >>> Standardiser.of(x).apply(x)
    array([[-1.,  0.],
           [ 1.,  0.]])
    """

    mean: Floats
    scale: Floats

    @classmethod
    def of(cls, columns: Floats, weight: Floats | None = None) -> Standardiser:
        """Return that of columns, shape (n, columns); weights count documents."""
        n = len(columns)
        share = np.full(n, 1.0 / n) if weight is None else weight / weight.sum()
        mean = share @ columns
        scale = np.sqrt(share @ (columns - mean) ** 2)
        # The spread of equal numbers may differ from 0 by rounding.
        level = scale > 1e-12 * np.maximum(np.abs(mean), np.finfo(float).tiny)
        return cls(mean, np.where(level, scale, 1.0))

    def apply(self, columns: Floats) -> Floats:
        """Return standardised columns."""
        return np.asarray((columns - self.mean) / self.scale)


@dataclass(frozen=True)
class WithinRange:
    """
    Standardised columns, kept within the range that they had in the documents learnt from.

    A column that hardly varies there has a tiny standard deviation: documents to come would be far
    out by it, and whatever weight the column has would be multiplied.

    Attributes
    ----------
    standardiser : Standardiser
        Mean and standard deviation of every column.
    low, high : array of shape (columns,)
        The smallest and the largest standardised value.

    Examples
    --------
    >>> WithinRange.of(np.array([[1.0], [3.0]])).apply(np.array([[2.0], [99.0]]))
    array([[0.],
           [1.]])
    """

    standardiser: Standardiser
    low: Floats
    high: Floats

    @classmethod
    def of(cls, columns: Floats, weight: Floats | None = None) -> WithinRange:
        """Return that of documents, shape (n, columns); weights count documents."""
        standardiser = Standardiser.of(columns, weight)
        own = standardiser.apply(columns)
        return cls(standardiser, own.min(axis=0), own.max(axis=0))

    def apply(self, columns: Floats) -> Floats:
        """Return standardised columns."""
        return np.clip(self.standardiser.apply(columns), self.low, self.high)

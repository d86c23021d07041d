"""Indicators as the Bayesian combination has them: columns that shift log-odds, and weights."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from bayescal.combining.standardiser import WithinRange
from bayescal.engines.classifier_weights.design import interactions
from bayescal.validation import Floats

# Each costs as many coefficients as there are classifiers. Of indicators that say much the same
# the first few components hold what they have in common.
MOST_MODERATORS = 8
# Components of less variance, as a share of all, are rounding.
SMALLEST_VARIANCE = 1e-9


@dataclass(frozen=True)
class Shifts:
    """
    Indicators standardised, none beyond those of the documents fitted; and moderators of weights.

    Moderators are the leading principal components of the standardised indicators, divided by the
    square root of the variance of all: their squares sum to 1 on average at most. If weights depend
    on every indicator with a coefficient of the same Gaussian prior, they depend on components
    alike, for the prior has no direction; what is left out is of the least variance.

    Attributes
    ----------
    scale : WithinRange
        Of the documents fitted.
    axes : array of shape (indicators, moderators)
        What makes moderators of standardised indicators; without columns, weights shift nowhere.
    """

    scale: WithinRange
    axes: Floats

    @classmethod
    def of(cls, indicators: Floats, weight: Floats | None, *, of_weights: bool = False) -> Shifts:
        """
        Return those of the documents fitted.

        Parameters
        ----------
        indicators : array of shape (n, indicators)
            As they came.
        weight : array of shape (n,) or None
            How many documents each counts for.
        of_weights : bool
            Whether there are moderators.

        Examples
        --------
        >>> x = np.random.default_rng(0).normal(size=(50, 3))
        >>> shifts = Shifts.of(x, None, of_weights=True)
        >>> z = shifts.moderators(x)
        >>> z.shape, round(float((z**2).sum(axis=1).mean()), 2)
        ((50, 3), 1.0)
        """
        scale = WithinRange.of(indicators, weight)
        columns = scale.apply(indicators)
        found = cls(scale, np.empty((columns.shape[1], 0)))
        if not (of_weights and columns.shape[1]):
            return found
        share = np.ones(len(columns)) if weight is None else weight
        # They have mean 0 already.
        covariance = (columns.T * (share / share.sum())) @ columns
        variance, axes = np.linalg.eigh(covariance)
        leading = np.arange(variance.size)[::-1][:MOST_MODERATORS]
        total = max(float(variance.sum()), 1.0)
        leading = leading[variance[leading] > SMALLEST_VARIANCE * total]
        return replace(found, axes=axes[:, leading] / np.sqrt(total))

    def columns(self, indicators: Floats) -> Floats:
        """Return what shifts the log-odds of documents."""
        return self.scale.apply(indicators)

    def moderators(self, indicators: Floats) -> Floats:
        """Return what shifts the classifiers' weights at documents, shape (n, moderators)."""
        return np.asarray(self.columns(indicators) @ self.axes)

    def design(self, evidence: Floats, indicators: Floats) -> Floats:
        """Return all columns that log-odds are linear in; see `engines` for their coefficients."""
        columns = self.columns(indicators)
        between = interactions(evidence, columns @ self.axes)
        return np.hstack([np.ones((len(evidence), 1)), evidence, columns, between])

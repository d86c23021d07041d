"""Another class prior at prediction time: a number, a distribution, or draws of one."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from bayescal.validation import Floats, check_fraction

Prior = float | ArrayLike | Any
SUM_TOLERANCE = 1e-6


def prior_draws(prior: Prior, draws: int) -> Floats:
    """
    Return draws of a class prior, the same at every call.

    Parameters
    ----------
    prior : float, array-like, PriorPosterior, or frozen scipy.stats distribution
        P(+) of the population predicted for: a number; a distribution on (0, 1), such as
        scipy.stats.beta(2, 98); draws of one, or what `bayescal.prior_shift` found, which has some.
    draws : int
        How many to return: evenly spaced quantiles, shuffled.

    Raises
    ------
    ValueError
        If a value lies outside (0, 1), or several sum to 1 as the priors of classes do.

    Examples
    --------
    >>> prior_draws(0.01, 2)
    array([0.01, 0.01])
    """
    level = (np.arange(draws) + 0.5) / draws
    if hasattr(prior, "ppf"):
        values = found = np.asarray(prior.ppf(level), dtype=np.float64)
    else:
        try:
            values = np.asarray(getattr(prior, "draws", prior), dtype=np.float64).ravel()
            found = np.quantile(values, level)
        except (TypeError, ValueError, IndexError):
            raise ValueError(
                "prior must be a number between 0 and 1, draws of one, or a frozen scipy.stats"
                f" distribution, got {prior!r}."
            ) from None
        if values.size > 1 and sum_to_one(values):
            raise ValueError(
                "prior must be P(+), the share of positives, or draws of it; got"
                f" {values.size} numbers that sum to 1, as those of classes: give that of the"
                " positive one."
            )
    # nan is neither smaller nor larger than anything.
    check_fraction(prior=float(values.min()))
    check_fraction(prior=float(values.max()))
    return np.random.default_rng(0).permutation(found)


def sum_to_one(values: ArrayLike) -> bool:
    """Return whether numbers sum to 1, as class priors do and draws of one do not."""
    return bool(abs(np.sum(np.asarray(values, dtype=np.float64)) - 1.0) <= SUM_TOLERANCE)

"""Another class prior at prediction time: a number, a distribution, or draws of one."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from bayescal.validation import Floats, check_fraction

Prior = float | ArrayLike | Any


def prior_draws(prior: Prior, draws: int) -> Floats:
    """
    Return draws of a class prior, the same at every call.

    Parameters
    ----------
    prior : float, array-like, or frozen scipy.stats distribution
        P(+) of the population predicted for: a number; a distribution on (0, 1), such as
        scipy.stats.beta(2, 98); or draws of one.
    draws : int
        How many to return: evenly spaced quantiles, shuffled.

    Raises
    ------
    ValueError
        If a value lies outside (0, 1).

    Examples
    --------
    >>> prior_draws(0.01, 2)
    array([0.01, 0.01])
    """
    level = (np.arange(draws) + 0.5) / draws
    if hasattr(prior, "ppf"):
        values = np.asarray(prior.ppf(level), dtype=np.float64)
    else:
        try:
            values = np.quantile(np.asarray(prior, dtype=np.float64), level)
        except (TypeError, ValueError, IndexError):
            raise ValueError(
                "prior must be a number between 0 and 1, draws of one, or a frozen scipy.stats"
                f" distribution, got {prior!r}."
            ) from None
    # nan is neither smaller nor larger than anything.
    check_fraction(prior=float(values.min()))
    check_fraction(prior=float(values.max()))
    return np.random.default_rng(0).permutation(values)

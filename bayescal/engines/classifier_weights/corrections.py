r"""What exact likelihoods say of the population and the scales, beyond Laplace's approximation.

A proposal's importance ratio r is the likelihood of one problem over its Gaussian stand-in. Given
the population's weights and the scales, x, its mean E[r | x] is what the problem's exact evidence
is of Laplace's. It is a smooth function of x,

    log E[r | x] = f(x)' beta,    f(x) = (1, x, x^2),

fitted to all proposals at once, where a mean of its own for each x would take many times as many.
"""

from __future__ import annotations

import numpy as np

from bayescal.validation import Floats

MOST_STEPS = 30
SMALLEST_DECREMENT = 1e-6
# A coefficient's prior precision, in proposals' worth: what varies next to nothing stays put.
RIDGE = 1.0


def features(x: Floats) -> Floats:
    """
    Return 1, x and x^2, standardised; columns of x that do not vary are left out.

    Examples
    --------
    >>> features(np.array([[0.0, 5.0], [1.0, 5.0], [2.0, 5.0]])).shape
    (3, 3)
    """
    columns = [np.ones(len(x))]
    for values in x.T:
        if np.ptp(values) > 0.0:
            z = (values - values.mean()) / values.std()
            square = z * z - 1.0
            columns.append(z)
            # Of two values the square is the same for all.
            if np.ptp(square) > 1e-9:
                columns.append(square)
    return np.column_stack(columns)


def log_mean(columns: Floats, log_ratio: Floats) -> Floats:
    """
    Return log E[exp(log_ratio) | columns], linear in the columns.

    The score equations sum f (r - exp(f' beta)) = 0 are those of a Poisson regression, which
    needs no more than the mean to be right.

    Parameters
    ----------
    columns : array of shape (n, p)
        What `features` returns.
    log_ratio : array of shape (n,)
        Natural logarithms, one of them finite.

    Returns
    -------
    array of shape (n,)

    Examples
    --------
    >>> x = np.linspace(-1.0, 1.0, 500)[:, None]
    >>> found = log_mean(features(x), 0.5 * x[:, 0])
    >>> bool(np.abs(found - 0.5 * x[:, 0]).max() < 0.01)
    True
    """
    top = log_ratio.max()
    ratio = np.exp(log_ratio - top)
    level = float(ratio.mean())
    ratio /= level
    beta = np.zeros(columns.shape[1])

    def value(at: Floats) -> float:
        rate = columns @ at
        with np.errstate(over="ignore"):
            return float((ratio * rate - np.exp(rate)).sum() - 0.5 * RIDGE * at[1:] @ at[1:])

    penalty = np.r_[0.0, np.full(beta.size - 1, RIDGE)]
    here = value(beta)
    for _ in range(MOST_STEPS):
        mean = np.exp(columns @ beta)
        slope = columns.T @ (ratio - mean) - penalty * beta
        step = np.linalg.solve((columns.T * mean) @ columns + np.diag(penalty), slope)
        decrement = float(slope @ step)
        if decrement < SMALLEST_DECREMENT:
            break
        size = 1.0
        while value(beta + size * step) < here + 1e-4 * size * decrement and size > 1e-6:
            size *= 0.5
        beta = beta + size * step
        here = value(beta)
    return np.asarray(columns @ beta + top + np.log(level))

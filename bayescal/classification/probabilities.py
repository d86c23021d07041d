"""From one-vs-rest probabilities to those of a target: normalised, averaged, with intervals."""

from __future__ import annotations

from functools import reduce

import numpy as np
from scipy.special import logsumexp

from bayescal.classification.targets import BINARY, MULTICLASS
from bayescal.curves.intervals import highest_density, quantiles
from bayescal.validation import Floats


def log_proba_of(kind: str, log_negative: Floats, log_positive: Floats) -> Floats:
    """
    Return log probabilities: of both classes, of all classes, or of each label.

    Several classes' one-vs-rest probabilities are divided by their sum (Zadrozny and Elkan, KDD
    2002, section 4); where all are 0, every class gets the same.

    Parameters
    ----------
    kind : {"binary", "multiclass", "multilabel"}
        Of the target.
    log_negative, log_positive : array of shape (n, columns)
        Log probabilities of each column's negatives and positives.

    Examples
    --------
    >>> p = np.array([[0.2, 0.3, 0.5], [0.1, 0.1, 0.2]])
    >>> np.exp(log_proba_of("multiclass", np.log1p(-p), np.log(p)))
    array([[0.2 , 0.3 , 0.5 ],
           [0.25, 0.25, 0.5 ]])
    """
    if kind == BINARY:
        return np.concatenate([log_negative, log_positive], axis=1)
    if kind != MULTICLASS:
        return log_positive
    total = logsumexp(log_positive, axis=1, keepdims=True)
    lost = np.isneginf(total)
    flat = -np.log(log_positive.shape[1])
    return np.asarray(np.where(lost, flat, log_positive - np.where(lost, 0.0, total)))


def log_odds_of_classes(log_p: Floats) -> Floats:
    """
    Return the log-odds of every class against the rest, natural logarithms.

    The rest is summed class by class: 1 - p would round to 0 where p is nearly 1.

    Parameters
    ----------
    log_p : array of shape (n, classes)
        Log probabilities.

    Examples
    --------
    >>> log_odds_of_classes(np.log([[0.2, 0.3, 0.5]])).round(2)
    array([[-1.39, -0.85,  0.  ]])
    """
    rest = [logsumexp(np.delete(log_p, k, axis=1), axis=1) for k in range(log_p.shape[1])]
    return np.asarray(log_p - np.stack(rest, axis=1))


def on_simplex(kind: str, draws: Floats) -> Floats:
    """
    Return draws of probabilities, of several classes each draw divided by its sum.

    Parameters
    ----------
    kind : {"binary", "multiclass", "multilabel"}
        Of the target.
    draws : array of shape (draws, n, columns)
        One-vs-rest probabilities.
    """
    if kind != MULTICLASS:
        return draws
    # Class by class: sums along a short last axis take as long as all else.
    total = reduce(np.add, np.moveaxis(draws, 2, 0))[:, :, None]
    if (total > 0.0).all():
        return np.asarray(draws / total)
    flat = np.full_like(draws, 1.0 / draws.shape[2])
    return np.asarray(np.divide(draws, total, out=flat, where=total > 0.0))


def mean_log_proba(members: list[Floats]) -> Floats:
    """Return the log of the mean over members of their probabilities, given in logarithms."""
    if len(members) == 1:
        return members[0]
    return np.asarray(logsumexp(np.stack(members), axis=0) - np.log(len(members)))


def interval_of_draws(draws: Floats, level: float, kind: str) -> Floats:
    """
    Return intervals over draws, shape (n, columns, 2); lower and upper last.

    Parameters
    ----------
    draws : array of shape (draws, n, columns)
        Probabilities.
    level : float
        Share of draws inside.
    kind : {"pointwise", "hdi"}
        Equal tails, or the shortest.
    """
    tails = np.array([0.5 - level / 2.0, 0.5 + level / 2.0])
    columns = np.moveaxis(draws, 2, 0)
    if kind == "hdi":
        ends = [highest_density(column, level) for column in columns]
    else:
        ends = [quantiles(column, tails) for column in columns]
    return np.stack(ends).transpose(2, 0, 1)

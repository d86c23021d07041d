"""Several classes: abstaining on uncertain documents, and answering with sets of classes."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from bayescal.decisions.draws import SUM_TOLERANCE, as_draws, of_all_classes
from bayescal.support import validation
from bayescal.support.intervals import Interval, tails
from bayescal.support.labels import as_labels, as_positions
from bayescal.support.validation import Floats


@dataclass(frozen=True)
class RiskCoverage:
    """Errors among the documents that are answered, against the share of documents answered.

    Attributes
    ----------
    coverage : array of shape (points,)
        Share of documents answered, largest probabilities first.
    probability : array of shape (points,)
        Smallest probability of the answer among these documents.
    risk, lower, upper : array of shape (points,)
        Expected share of errors among them, with its posterior interval.
    observed : array of shape (points,) or None
        Share of errors by the labels.
    level : float
        Probability of the intervals.
    """

    coverage: Floats
    probability: Floats
    risk: Floats
    lower: Floats
    upper: Floats
    observed: Floats | None
    level: float


def risk_coverage(
    draws: ArrayLike,
    y_true: ArrayLike | None = None,
    *,
    points: int = 50,
    level: float = 0.9,
    rng: Any = 0,
) -> RiskCoverage:
    """Return the share of wrong answers by coverage, with the least certain documents unanswered.

    Of equally certain documents, each answered one counts by the mean of all of them.

    Parameters
    ----------
    draws : array-like of shape (draws, documents, classes)
        See `bayescal.decisions`.
    y_true : array-like of shape (documents,), optional
        Positions of the true classes among the columns.
    points : int
        Number of shares of documents, evenly spaced up to 1.
    level : float
        Probability of the intervals.
    rng : int, Generator, RandomState or None
        Seeds drawn labels.

    References
    ----------
    Y. Geifman and R. El-Yaniv, *Selective classification for deep neural networks*, NeurIPS 2017.

    Examples
    --------
    >>> p = [[[0.9, 0.1, 0.0], [0.4, 0.3, 0.3]]]
    >>> result = risk_coverage(p, [0, 1], points=2)
    >>> result.coverage.tolist(), result.risk.round(2).tolist(), result.observed.tolist()
    ([0.5, 1.0], [0.1, 0.35], [0.0, 0.5])
    """
    validation.check_fraction(level=level)
    validation.check_count("points", points)
    p = as_draws(draws)
    full = of_all_classes(p)
    mean = full.mean(axis=0)
    n = len(mean)
    top = mean.argmax(axis=1)
    certainty = mean.max(axis=1)
    order = np.argsort(-certainty, kind="stable")
    certainty = certainty[order]
    own = full[:, order, top[order]]
    answered = np.unique(np.ceil(n * (np.arange(points) + 1.0) / points).astype(np.intp))
    starts = np.unique(-certainty, return_index=True)[1]
    sizes = np.diff(np.append(starts, n))

    def of_answered(values: Floats) -> Floats:
        # Equally certain documents have equal shares, so that the order of rows decides nothing.
        shares = np.add.reduceat(values, starts, axis=-1) / sizes
        return np.cumsum(np.repeat(shares, sizes, axis=-1), axis=-1)[..., answered - 1]

    wrong, variance = of_answered(1.0 - own), of_answered(own * (1.0 - own))
    # Normal approximations of sums of labels, given each draw.
    repeats = max(1, -(-1000 // len(own)))
    noise = validation.generator(rng).standard_normal((repeats, len(own), 1))
    drawn = (wrong + np.sqrt(variance) * noise).reshape(-1, answered.size) / answered
    lower, upper = np.clip(np.quantile(drawn, tails(level), axis=0), 0.0, 1.0)
    observed = None
    if y_true is not None:
        label = as_positions(y_true, n, "documents of draws", mean.shape[1])
        observed = of_answered((label[order] != top[order]).astype(float)) / answered
    return RiskCoverage(
        coverage=answered / n,
        probability=certainty[answered - 1],
        risk=wrong.mean(axis=0) / answered,
        lower=lower,
        upper=upper,
        observed=observed,
        level=level,
    )


def expected_sets(y_prob: ArrayLike, coverage: float = 0.9) -> NDArray[np.bool_]:
    """Return sets of classes with a wanted expected coverage of these documents, shape (n, K).

    A set holds the likeliest class, and all classes whose probability reaches a threshold, the
    largest at which the mean probability of the sets is at least `coverage`.

    Parameters
    ----------
    y_prob : array-like of shape (n, K)
        Calibrated probabilities, which sum to 1 over the classes.
    coverage : float
        Expected share of documents whose set holds the true class.

    Examples
    --------
    >>> expected_sets([[0.9, 0.1, 0.0], [0.5, 0.3, 0.2]], coverage=0.8).sum(axis=1).tolist()
    [1, 2]
    """
    validation.check_fraction(coverage=coverage)
    p = validation.as_reals(y_prob, "y_prob")
    p = validation.probabilities_of_shape(p, "y_prob", "n", "classes", tolerance=SUM_TOLERANCE)
    return sets_above(p, set_threshold(p, coverage))


def set_threshold(p: Floats, coverage: float, weight: Floats | None = None) -> float:
    """Return the largest threshold at which `sets_above` it have the expected coverage."""
    weight = np.ones(len(p)) if weight is None else weight
    share = weight / weight.sum()
    certain = float(share @ p.max(axis=1))
    if certain >= coverage:
        return np.inf
    rest = ~sets_above(p, np.inf)
    others, each = p[rest], np.repeat(share, p.shape[1])[rest.ravel()]
    order = np.argsort(-others)
    reached = certain + np.cumsum((others * each)[order])
    enough = int(np.searchsorted(reached, coverage - 1e-12))
    return float(others[order][min(enough, others.size - 1)])


def sets_above(p: Floats, threshold: float) -> NDArray[np.bool_]:
    """Return sets of the likeliest class and of all possible classes that reach a threshold."""
    chosen = (p >= threshold) & (p > 0.0)
    chosen[np.arange(len(p)), p.argmax(axis=1)] = True
    return chosen


def conformal_sets(
    y_prob: ArrayLike, y_true: ArrayLike, new_prob: ArrayLike, coverage: float = 0.9
) -> NDArray[np.bool_]:
    """Return split conformal sets of new documents, the classes with 1 - p <= q; shape (n, K).

    q is the ceil((m + 1) coverage)-th smallest 1 - p(true class) of m labelled documents. The sets
    cover with probability `coverage` or more if documents are exchangeable; they may be empty.

    Parameters
    ----------
    y_prob : array-like of shape (m, K)
        Probabilities of labelled documents that the calibrator was not fitted to.
    y_true : array-like of shape (m,)
        Positions of their classes among the columns.
    new_prob : array-like of shape (n, K)
        Probabilities of new documents.
    coverage : float
        Wanted coverage, between 0 and 1.

    References
    ----------
    M. Sadinle, J. Lei and L. Wasserman, *Least ambiguous set-valued classifiers with bounded error
    levels*, JASA 2019.

    Examples
    --------
    >>> p = [[0.8, 0.2], [0.6, 0.4], [0.3, 0.7]]
    >>> conformal_sets(p, [0, 0, 1], [[0.65, 0.35]], coverage=0.5).tolist()
    [[False, False]]
    """
    validation.check_fraction(coverage=coverage)
    p, new = (
        validation.probabilities_of_shape(validation.as_reals(each, name), name, "n", "classes")
        for each, name in ((y_prob, "y_prob"), (new_prob, "new_prob"))
    )
    label = as_positions(y_true, len(p), "y_prob", p.shape[1])
    rank = int(np.ceil((len(p) + 1) * coverage - 1e-9))
    if rank > len(p):
        return np.ones(new.shape, dtype=np.bool_)
    limit = np.sort(1.0 - p[np.arange(len(p)), label])[rank - 1]
    return np.asarray(1.0 - new <= limit)


@dataclass(frozen=True, kw_only=True)
class SetCoverage(Interval):
    """Share of documents whose set holds the true class.

    Attributes
    ----------
    value, lower, upper, level
        The share, and Jeffreys' interval of the share among many similar documents.
    size : float
        Mean number of classes in a set.
    """

    size: float


def set_coverage(sets: ArrayLike, y_true: ArrayLike, *, level: float = 0.9) -> SetCoverage:
    """Return the coverage and the mean size of sets of classes.

    Parameters
    ----------
    sets : array-like of bool, shape (n, K)
        Sets of classes.
    y_true : array-like of shape (n,)
        Positions of the true classes among the columns.
    level : float
        Probability of the interval.

    Examples
    --------
    >>> result = set_coverage([[True, False], [True, True]], [1, 1])
    >>> result.value, result.size
    (0.5, 1.5)
    """
    validation.check_fraction(level=level)
    held = as_labels(sets, "sets", "documents without a set")
    if held.ndim != 2 or held.size == 0:
        raise ValueError(f"sets must have shape (n, classes), got {held.shape}.")
    if held.dtype.kind != "b":
        raise ValueError("sets must hold booleans, whether a set has a class: pass p >= threshold.")
    label = as_positions(y_true, len(held), "sets", held.shape[1])
    hits = int(held[np.arange(len(held)), label].sum())
    ends = special.betaincinv(hits + 0.5, len(held) - hits + 0.5, tails(level))
    lower, upper = ends.tolist()
    return SetCoverage(hits / len(held), lower, upper, level, size=float(held.sum(1).mean()))

"""The verdict on the probabilities of several exclusive classes; every document counts once."""

import math
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from bayescal.inference.design_effect import DesignEffect, design_effect
from bayescal.metrics.calibration_error import error_of_residuals, residuals
from bayescal.metrics.class_test import LEAST_LOG, RaoScores, RaoSums, RaoTest
from bayescal.metrics.evidence import Verdict
from bayescal.metrics.inputs import SUM_TOLERANCE, read_class_outcomes
from bayescal.support.condensing import over_blocks
from bayescal.support.intervals import counted, p_words, percent, readable, tails
from bayescal.support.labels import names_of_columns
from bayescal.support.validation import Floats, as_reals, check_fraction, probabilities_of_shape
from bayescal.support.weighting import (
    either_weights,
    ratio_of_weights,
    read_clusters,
    scaled_to_effective_size,
    whole_counts,
)

MOST_REPEATED = 10_000_000  # documents, if weights repeat them
LOG_SLOPES = np.linspace(np.log(0.02), np.log(50.0), 49)  # interpolated: slopes within 1e-5


@dataclass(frozen=True)
class ClassVerdict(Verdict):
    """The verdict of held-out labels on the probabilities of several exclusive classes.

    Attributes
    ----------
    classes : array of shape (K,)
        The classes, in the order of the columns.
    documents : float
        Number of documents, or the sum of their weights.
    observed, expected : array of shape (K,)
        Documents of each class, and the sums of its probabilities.
    lower, upper : array of shape (K,)
        Interval of the number of each class, with probability `level`, if the probabilities are
        right; with `draws`, if the posterior is.
    confusion, confusion_expected, confusion_lower, confusion_upper : array of shape (K, K)
        Documents by their likeliest class (row) and their own class (column), their expected
        numbers and intervals.
    log_loss, brier : float
        Mean of -log P(class), in nats, and of the squared distance of probabilities from labels,
        summed over the classes.
    error, class_errors : float, array of shape (K,)
        Smooth calibration errors of the likeliest class and of each class.
    pvalue, pvalue_of_point, level, with_bands
        As in `CalibrationVerdict`.
    slope : float
        The likeliest power s of the probabilities, P proportional to p^s: below 1 they are
        over-confident.
    cause : {"none", "shares", "slope", "impossible"}
        The error: none; the shares of classes; over- or under-confidence; or a class of probability
        0 that occurred.
    detectable : float
        Smallest error of all log-odds, as a factor, that the test finds with probability .8.
    design_effect : bayescal.inference.design_effect.DesignEffect or None
        How many documents of clusters count as one.
    """

    classes: NDArray[np.object_]
    documents: float
    observed: Floats
    expected: Floats
    lower: Floats
    upper: Floats
    confusion: Floats
    confusion_expected: Floats
    confusion_lower: Floats
    confusion_upper: Floats
    log_loss: float
    brier: float
    error: float
    class_errors: Floats
    pvalue: float
    pvalue_of_point: float
    level: float
    slope: float
    cause: str
    detectable: float
    with_bands: bool
    design_effect: DesignEffect | None = None
    _if_impossible: ClassVar[str] = "Calibrate the probabilities, or keep them away from 0."

    @property
    def accuracy(self) -> float:
        """Return the share of documents whose likeliest class is right."""
        return float(np.trace(self.confusion)) / self.documents

    @property
    def accuracy_expected(self) -> float:
        """Return the mean probability of the likeliest class."""
        return float(np.trace(self.confusion_expected)) / self.documents

    @property
    def test(self) -> str:
        """Return the test and its numbers in words."""
        right, hoped = np.trace(self.confusion), np.trace(self.confusion_expected)
        return (
            f"Probabilities of {self.classes.size} classes against"
            f" {counted(self.documents, 'held-out label')}: {self._outcome_words} (p"
            f" {p_words(self.pvalue)}, tested at {percent(1.0 - self.level)}). The likeliest"
            f" class is right for {counted(float(right), 'document')} where {readable(hoped)} were"
            f" expected; log-loss {readable(self.log_loss)} nats."
            f"{'' if self.design_effect is None else f' {self.design_effect}.'}"
        )

    @property
    def finding(self) -> str:
        """Describe the error and its size; without one, the smallest detectable error."""
        if self.cause == "impossible":
            return "Classes of probability 0 occurred."
        if self.cause == "none":
            return self._smallest_error("log-odds", "too large or too small")
        width = np.maximum(self.upper - self.lower, 1.0)
        k = int((np.abs(self.observed - self.expected) / width).argmax())
        observed, expected = readable(self.observed[k]), readable(self.expected[k])
        shares = (
            f"The shares of classes are off, most of all that of {self.classes[k]!r}: {observed}"
            f" documents where {expected} were expected."
        )
        if self.cause == "shares":
            return shares
        how = "over-confident" if self.slope < 1.0 else "under-confident"
        slope = (
            f"They are {how}: the likeliest power of the probabilities is {readable(self.slope)}."
        )
        also = not self.lower[k] <= self.observed[k] <= self.upper[k]
        return f"{slope} {shares}" if also else slope

    @property
    def _new_prior(self) -> str:
        if self.cause == "slope":
            return ""
        return (
            "If only the shares of the classes changed (label shift), predict with prior=, their"
            " new shares; if the case mix changed, fit again on documents like these."
        )


def class_verdict(
    y_true: ArrayLike,
    y_prob: ArrayLike,
    classes: ArrayLike | None = None,
    *,
    draws: ArrayLike | None = None,
    level: float = 0.95,
    sample_weight: ArrayLike | None = None,
    inclusion: ArrayLike | None = None,
    clusters: ArrayLike | None = None,
) -> ClassVerdict:
    r"""Test whether the probabilities of several exclusive classes are right.

    Rao's score test of intercepts 0 and slope 1 in P(k) proportional to exp(a_k) p_k^s. With
    f(k) = (one-hot k, log p_k), U = sum_i f_i(y_i) - sum_k p_ik f_i(k), and I the covariance of U
    if p is right, the statistic is U' I^- U. Its p-value is the share of 999 samples of labels
    drawn from p that reach it, with a fixed seed (fewer, at least 199, with more than 400,000
    documents times classes). With `draws`, each sample is from one posterior draw, and U is
    compared with its posterior predictive mean and covariance by the other draws.

    Each block of Dask collections is summed where it is, with 199 samples. The p-value is then at
    least .005, with a standard error of sqrt(p (1 - p) / 199), .015 at .05; that of the ends of
    95 % intervals is .2 standard deviations. Other numbers are those of the rows in memory.

    Parameters
    ----------
    y_true : array-like or Dask collection of shape (n,)
        The class of each held-out document.
    y_prob : array-like or Dask collection of shape (n, K)
        Probabilities, which sum to 1 over the classes. With a collection, `y_true` and
        `sample_weight` are collections too, and `draws`, `inclusion` and `clusters` None.
    classes : array-like of shape (K,), optional
        The classes, in the order of the columns; by default positions 0 to K - 1.
    draws : array-like of shape (draws, n, K), optional
        Posterior draws of the same probabilities, as from `MulticlassCalibrator.sample_proba`.
    level : float
        One minus the size of the test; also the probability of intervals.
    sample_weight : array-like or Dask collection of shape (n,), optional
        How many documents each counts for, in whole numbers.
    inclusion : array-like of shape (n,), optional
        The probability that each document was labelled, which may depend on its scores and its
        class. Counts, losses and errors have weights w_i = 1 / inclusion. The test has U = sum_i
        w_i (f_i(y_i) - sum_k p_ik f_i(k)) and labels of P(k | labelled) proportional to p_ik /
        w_ik, where w_ik / w_i is the ratio of the weights of the classes k and y_i.
    clusters : array-like of shape (n,), optional
        The cluster of each document, as in `calibration_verdict`: the variance of U, given the
        posterior, is multiplied by one `design_effect` of all classes.

    References
    ----------
    D. R. Cox, *Two further applications of a model for binary regression*, Biometrika 1958; C. Guo
    et al., *On calibration of modern neural networks*, ICML 2017 (the slope is an inverse
    temperature).

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> p = rng.dirichlet(np.ones(3), size=500)
    >>> y = (p.cumsum(axis=1) < rng.random((500, 1))).sum(axis=1)
    >>> sharp = p**2 / (p**2).sum(axis=1, keepdims=True)
    >>> result = class_verdict(y, sharp)
    >>> result.outcome, result.cause, round(result.slope, 1)
    ('off', 'slope', 0.5)
    """
    check_fraction(level=level)
    rows: dict[str, Any] = {"y_prob": y_prob, "y_true": y_true, "sample_weight": sample_weight}
    others: dict[str, Any] = {"draws": draws, "inclusion": inclusion, "clusters": clusters}
    sums = over_blocks(rows, partial(_sums_of, classes=classes), _added, **others)
    of_point = RaoTest(sums.of_point)
    test = of_point if sums.of_draws is None else RaoTest(sums.of_draws)
    pvalue, pvalue_of_point = test.pvalue, of_point.pvalue
    if sums.impossible:
        cause, pvalue, pvalue_of_point = "impossible", 0.0, 0.0
    elif min(pvalue, pvalue_of_point) > 1.0 - level:
        cause = "none"
    else:
        worst = test if pvalue <= 1.0 - level else of_point
        cause = "slope" if worst.pvalue_of_slope < 1.0 - level else "shares"
    observed, expected = sums.confusion.sum(axis=0), sums.confusion_expected.sum(axis=0)
    lower, upper = _ends(expected, test.excess.sum(axis=1), level)
    pairs_lower, pairs_upper = _ends(sums.confusion_expected, test.excess, level)
    documents = float(observed.sum())
    *class_errors, error = map(error_of_residuals, sums.residuals / documents)
    return ClassVerdict(
        classes=names_of_columns(classes, observed.size, "y_prob").astype(object),
        documents=documents,
        observed=observed,
        expected=expected,
        lower=lower,
        upper=upper,
        confusion=sums.confusion,
        confusion_expected=sums.confusion_expected,
        confusion_lower=pairs_lower,
        confusion_upper=pairs_upper,
        log_loss=sums.log_loss / documents,
        brier=sums.brier / documents,
        error=error,
        class_errors=np.array(class_errors),
        pvalue=pvalue,
        pvalue_of_point=pvalue_of_point,
        level=level,
        slope=_slope(sums.by_slope),
        cause=cause,
        detectable=test.detectable(level),
        with_bands=draws is not None,
        design_effect=sums.effect,
    )


class _Sums(NamedTuple):
    """Sums over documents."""

    confusion: Floats
    confusion_expected: Floats
    log_loss: float
    brier: float
    impossible: int
    by_slope: Floats  # log-losses with the powers exp(LOG_SLOPES)
    residuals: Floats  # of each class and of the likeliest, for smooth errors
    of_point: RaoSums
    of_draws: RaoSums | None
    effect: DesignEffect | None


def _added(parts: Any) -> Any:
    """Return the sums over all documents of several blocks."""
    if isinstance(parts[0], tuple):
        return type(parts[0])(*map(_added, zip(*parts, strict=True)))
    return None if parts[0] is None else sum(parts)


def _sums_of(
    y_prob: Any,
    y_true: Any,
    sample_weight: Any,
    classes: Any,
    draws: Any = None,
    inclusion: Any = None,
    clusters: Any = None,
    block: int | None = None,
) -> _Sums:
    """Return the sums over documents in memory, or over a block of a collection."""
    try:
        label, p, _ = read_class_outcomes(y_true, y_prob, classes)
        weight = either_weights(sample_weight, inclusion, label.size, as_evidence=True)
        repeated = None if weight is None or inclusion is not None else _repetitions(weight)
    except ValueError as error:
        if block is None:
            raise
        raise ValueError(f"{error} This is in block {block} (counted from 0).") from error
    drawn = None
    if draws is not None:
        drawn = as_reals(draws, "draws")
        drawn = probabilities_of_shape(drawn, "draws", "draws", *p.shape, tolerance=SUM_TOLERANCE)
    code = None
    if clusters is not None:
        _, code = read_clusters(clusters, label.size, "y_true")
    if repeated is not None:
        label, p, weight = label[repeated], p[repeated], None
        drawn = None if drawn is None else drawn[:, repeated]
        code = None if code is None else code[repeated]
    if weight is None:
        weight = np.ones(label.size)
    effect = None
    if code is not None:
        changed = _likeliest_change(label, p)
        own, by_chance = label[:, None] == np.arange(p.shape[1]), inclusion is not None
        effect = design_effect(own, changed, code, weight, sampled=by_chance)
    factor = 1.0 if effect is None else effect.factor
    by_class = weight[:, None] * _ratios(weight, label, p)
    of_point = RaoScores(label, p, p[None], by_class, factor, block)
    of_draws = None if drawn is None else RaoScores(label, p, drawn, by_class, factor, block).sums
    at, top = np.arange(label.size), of_point.top
    own = p[at, label]
    impossible = own == 0.0
    if drawn is not None:
        impossible &= (drawn[:, at, label] == 0.0).all(axis=0)
    one_hot = np.eye(p.shape[1])[label]
    tops = np.eye(p.shape[1])[top] * weight[:, None]
    by_cell = [residuals(label == k, each, weight) for k, each in enumerate(p.T)]
    by_cell.append(residuals(label == top, p[at, top], weight))
    evidence = scaled_to_effective_size(weight) / factor
    powers = (special.log_softmax(s * of_point.log_p, axis=1) for s in np.exp(LOG_SLOPES))
    with np.errstate(divide="ignore"):
        log_loss = float(-(weight @ np.log(own)))
    return _Sums(
        confusion=tops.T @ one_hot,
        confusion_expected=tops.T @ p,
        log_loss=log_loss,
        brier=float(weight @ ((p - one_hot) ** 2).sum(axis=1)),
        impossible=int(impossible.sum()),
        by_slope=np.array([-(evidence @ each[at, label]) for each in powers]),
        residuals=np.stack(by_cell),
        of_point=of_point.sums,
        of_draws=of_draws,
        effect=effect,
    )


def _repetitions(weight: Floats) -> NDArray[np.intp]:
    """Return the position of each document as often as it counts."""
    if weight.sum() > MOST_REPEATED:
        raise ValueError(
            f"sample_weight must count at most {MOST_REPEATED:,} documents in all, got"
            f" {weight.sum():,.0f} or more: draw some of them, or give the test inclusion= if these"
            " are inverse inclusion probabilities."
        )
    return np.repeat(np.arange(weight.size), whole_counts(weight))


def _ratios(weight: Floats, label: NDArray[np.intp], p: Floats) -> Floats:
    """Return the weight of each class relative to the document's own class, (n, K)."""
    ratio = np.ones(p.shape[1])
    if (weight != weight[0]).any():
        frequent = int(np.bincount(label).argmax())
        for k in np.unique(label[label != frequent]).tolist():
            rows = np.flatnonzero((label == k) | (label == frequent))
            some = p[rows]
            total = some[:, k] + some[:, frequent]
            score = np.divide(some[:, k], total, out=np.full(rows.size, 0.5), where=total > 0.0)
            ratio[k] = ratio_of_weights(weight[rows], label[rows] == k, score)
    return np.asarray(ratio / ratio[label, None])


def _ends(expected: Floats, excess: Floats, level: float) -> Floats:
    """Return intervals of numbers, from expected ones and samples' excesses over them."""
    ends = expected + np.quantile(excess, tails(level), axis=0, method="inverted_cdf")
    return np.maximum(np.round(ends, 9), 0.0)


def _slope(losses: Floats) -> float:
    """Return the likeliest power, by the losses of LOG_SLOPES, under a prior around 1."""
    from scipy import interpolate, optimize

    loss = interpolate.make_interp_spline(LOG_SLOPES, losses + 0.5 * LOG_SLOPES**2, k=5)
    ends = LOG_SLOPES[0], LOG_SLOPES[-1]
    found = optimize.minimize_scalar(lambda at: float(loss(at)), bounds=ends, method="bounded")
    return math.exp(found.x)


def _likeliest_change(label: NDArray[np.intp], p: Floats) -> Floats:
    """Return P(k) proportional to exp(a_k) p_k^s, likeliest under normal priors."""
    from scipy import optimize

    with np.errstate(divide="ignore"):
        log_p = np.maximum(np.log(p), LEAST_LOG)
    one_hot = np.eye(p.shape[1])[label]

    def loss(change: Floats) -> tuple[float, Floats]:
        q = special.log_softmax((1.0 + change[-1]) * log_p + change[:-1], axis=1)
        away = np.exp(q) - one_hot
        gradient = np.append(away.sum(axis=0), (away * log_p).sum()) + change
        return float(0.5 * change @ change - q[one_hot > 0.0].sum()), gradient

    found = optimize.minimize(loss, np.zeros(p.shape[1] + 1), jac=True, method="L-BFGS-B").x
    return np.asarray(special.softmax((1.0 + found[-1]) * log_p + found[:-1], axis=1))

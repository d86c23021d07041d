"""DriftMonitor: an alarm when labels no longer follow a calibrator's probabilities."""

from __future__ import annotations

import copy
import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NoReturn, Protocol, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from bayescal.support.validation import (
    Floats,
    as_scores,
    check_count,
    check_fraction,
    check_same_length,
    match_labels,
    negative_and_positive,
)

if TYPE_CHECKING:
    import pandas as pd

# What may change: log-odds after a change as a function of those before it, with its prior.
#
# With f(s) the log-odds of a document before the change, beta the log-odds of the base rate, and
#
#     f'(s) = beta + a (f(s) - beta) + b,
#
# b moves the base rate, as prior shift does, and the slope a multiplies what the score says beyond
# the base rate. The priors are those of b ~ Normal(0, 1) and log a ~ Normal(0, 1/2), standard
# deviations in natural logarithms: odds that differ by a factor of e or so, and evidence by one of
# 1.6. They are taken on a grid, so that integrals over them are sums.

SHIFT_SD, LOG_SLOPE_SD = 1.0, 0.5
REACH = 3.0  # standard deviations that a grid covers on either side


@dataclass(frozen=True)
class Change:
    """
    A kind of change: a grid of slopes and shifts, and a prior on it.

    A kind of one's own is another entry of `CHANGES`.

    Attributes
    ----------
    slope : array of shape (slopes,)
        a, positive.
    shift : array of shape (shifts,)
        b, in natural log-odds.
    prior : array of shape (slopes, shifts)
        Their probabilities, which sum to 1.
    """

    slope: Floats
    shift: Floats
    prior: Floats

    def log_odds(self, before: Floats, base: float) -> Floats:
        """
        Return log-odds after each change of the grid, without its shift b.

        Parameters
        ----------
        before : array
            Log-odds before it.
        base : float
            beta, the log-odds of the base rate.

        Returns
        -------
        array of shape (slopes, *before.shape)

        Examples
        --------
        >>> steeper = Change(np.array([1.0, 2.0]), np.zeros(1), np.full((2, 1), 0.5))
        >>> steeper.log_odds(np.array([-1.0, 1.0]), base=-1.0)
        array([[-1.,  1.],
               [-1.,  3.]])
        """
        after: Floats = base + np.multiply.outer(self.slope, before - base)
        return after


def _grid(sd: float, points: int) -> tuple[Floats, Floats]:
    """Return evenly spaced nodes of Normal(0, sd), and their probabilities."""
    node = np.linspace(-REACH, REACH, points)
    density = np.exp(-0.5 * node**2)
    return sd * node, density / density.sum()


def base_rate_change(points: int = 25) -> Change:
    """
    Return a change of the base rate alone: log-odds move by b.

    Examples
    --------
    >>> change = base_rate_change()
    >>> round(float(change.prior[0] @ change.shift**2), 2)
    0.98
    """
    shift, prior = _grid(SHIFT_SD, points)
    return Change(np.ones(1), shift, prior[None])


def slope_change(slopes: int = 9, points: int = 11) -> Change:
    """
    Return a change of the slope, and of the base rate with it.

    Examples
    --------
    >>> slope_change().slope.round(2).tolist()
    [0.22, 0.32, 0.47, 0.69, 1.0, 1.45, 2.12, 3.08, 4.48]
    """
    log_slope, of_slope = _grid(LOG_SLOPE_SD, slopes)
    shift, of_shift = _grid(SHIFT_SD, points)
    return Change(np.exp(log_slope), shift, np.outer(of_slope, of_shift))


CHANGES = {"base rate": base_rate_change(), "slope": slope_change()}


# Running evidence of changes: sums over when, how much, and which curve was true before.
#
# Labels y_1, ..., y_n as before have the density P_0, the mean over all curves k of the posterior
# of prod_i p_k(y_i). With changes g of a grid, of probabilities pi_g, and rho_t the probability
# that document t is the first after the change, their density else is
#
#     sum_t rho_t P_0(y_1, ..., y_(t-1)) sum_k q_k(t) sum_g pi_g prod_(i >= t) p_kg(y_i),
#
# with q_k(t) the posterior weights by the labels before t of a few curves: those after a change
# need not be known as well. The terms for each k and g, relative to P_0, follow from one document
# to the next without a look back:
#
#     W_kg <- (W_kg + rho_t pi_g q_k(t)) p_kg(y_t) / P_0(y_t | y_1, ..., y_(t-1)).

LARGEST = 1e100  # sums above are scaled down, long before they overflow
MOMENTS = 3  # of the change's place: sums of W, t W and t^2 W


def not_yet(documents: int) -> float:
    """
    Return the prior probability that nothing changes up to a document, 1/(1 + log(1 + t)).

    It falls so slowly that a change after a million quiet documents still has a probability of some
    e^-19: the evidence it takes grows with the logarithm of the time, and never runs out.

    Examples
    --------
    >>> [round(not_yet(t), 3) for t in (0, 1, 100, 10_000)]
    [1.0, 0.591, 0.178, 0.098]
    """
    return 1.0 / (1.0 + math.log1p(documents))


@dataclass(frozen=True)
class Label:
    """A label that came, and what was expected of it as before."""

    # (curves,): of its document, by each curve of the posterior
    log_odds: Floats
    # -1 for a positive label and 1 for a negative one, which makes log-odds those of the other
    sign: float
    # (curves,): posterior weights of the curves by the labels before it
    weight: Floats
    # Positions of the curves that may have changed
    few: NDArray[np.intp]

    @cached_property
    def of_curves(self) -> Floats:
        """Return the label's probability by each curve, shape (curves,)."""
        probability: Floats = special.expit(-self.sign * self.log_odds)
        return probability

    @cached_property
    def predicted(self) -> float:
        """Return the label's probability by all curves."""
        return float(self.weight @ self.of_curves)

    @property
    def weight_after(self) -> Floats:
        """Return the weights of the curves by this label too."""
        return self.weight * self.of_curves / self.predicted

    @cached_property
    def weight_of_few(self) -> Floats:
        """Return the weights of the few among themselves."""
        own = self.weight[self.few]
        total = float(own.sum())
        # All of the few may be ruled out in the long run, in favour of others.
        return own / total if total > 0.0 else np.full(own.size, 1.0 / own.size)


class Changed:
    """
    Labels after one kind of change, at any document so far.

    Parameters
    ----------
    change : Change
        The kind.
    base : float
        Log-odds of the base rate before it.
    curves : int
        How many curves may have changed.
    """

    def __init__(self, change: Change, base: float, curves: int) -> None:
        self._change, self._base = change, base
        self._documents = 0
        self._log_scale = 0.0
        # Moments of the place, slopes, shifts, curves.
        self._sums = np.zeros((MOMENTS, *change.prior.shape, curves))

    def learn(self, label: Label) -> None:
        """Take in one label."""
        t = self._documents = self._documents + 1
        arrival = (not_yet(t - 1) - not_yet(t)) * math.exp(-self._log_scale)
        first = arrival * self._change.prior[:, :, None] * label.weight_of_few
        for sums in self._sums:
            sums += first
            first *= t
        # exp(-(f + b)) = exp(-f) exp(-b): as many exponentials as slopes and shifts, not products.
        log_odds = self._change.log_odds(label.log_odds[label.few], self._base)
        of_slope = np.exp(label.sign * log_odds)
        of_shift = np.exp(label.sign * self._change.shift)
        inverse = of_shift[None, :, None] * of_slope[:, None, :]
        inverse += 1.0
        inverse *= label.predicted
        self._sums *= np.reciprocal(inverse, out=inverse)
        total = float(self._sums[0].sum())
        if total > LARGEST:
            self._sums /= total
            self._log_scale += math.log(total)

    @property
    def log_bayes_factor(self) -> float:
        """Return the log Bayes factor of a change, now or later, against "as before"."""
        so_far = math.log(max(float(self._sums[0].sum()), math.ulp(0.0))) + self._log_scale
        return float(np.logaddexp(so_far, math.log(not_yet(self._documents))))

    @property
    def first_changed(self) -> tuple[float, float]:
        """Return posterior mean and standard deviation of the first document after the change."""
        total, first, second = self._sums.sum(axis=(1, 2, 3))
        mean = first / total
        return float(mean), math.sqrt(max(second / total - mean**2, 0.0))

    @property
    def size(self) -> tuple[float, float]:
        """Return the posterior means of the slope a and of the shift b."""
        weight = self._sums[0].sum(axis=2)
        weight = weight / weight.sum()
        slope = float(weight.sum(axis=1) @ self._change.slope)
        return slope, float(weight.sum(axis=0) @ self._change.shift)


# Beyond these log-odds probabilities round to 0 or 1; one label may not rule everything out.
FARTHEST = 36.0
ANY = "any"
BLOCK = 256  # documents whose curves are in memory at once


class _Fits(Protocol):
    @property
    def prior(self) -> float: ...


class _Calibrator(Protocol):
    classes_: NDArray[Any]

    @property
    def mle_(self) -> _Fits: ...

    def sample_proba(self, scores: Any) -> Floats: ...


@dataclass(frozen=True)
class Alarm:
    """
    What a monitor that raised an alarm knows by now.

    Attributes
    ----------
    change : str
        The kind of change with the largest Bayes factor, a key of `bayescal.monitoring.CHANGES`.
    document : int
        The document at which the alarm was raised, the first being 1.
    since, since_sd : float
        The first document after the change: posterior mean and standard deviation.
    slope, shift : float
        Posterior means of the slope a, by which what the score says is multiplied, and of the
        shift b of the log-odds.
    """

    change: str
    document: int
    since: float
    since_sd: float
    slope: float
    shift: float


class DriftMonitor:
    r"""
    Watch whether labels go on as a calibrator predicts, and raise an alarm when they do not.

    Labels "as before" have probabilities P_k(+|s) by curves k of the posterior that the calibrator
    has now; others had their log-odds changed at some document, by another base rate or another
    slope (`bayescal.monitoring.drift`). The Bayes factor of these against "as before", integrated
    over curves, over the size of the change and over when it was, is a martingale where nothing
    changed, with mean 1. By Ville's inequality it ever reaches 1/alpha with probability alpha at
    most:

        P(alarm, ever | as before) <= alpha,

    whenever one looks, however long the stream is. The probability is over curves from the
    posterior too. A monitor that took one curve for certain would in time find fault with any.

    Pickle or joblib keeps a monitor with all that it has seen.

    Parameters
    ----------
    calibrator : ScoreCalibrator
        Fitted, with a posterior. Nothing else is monitored: of a classifier give the
        `ScoreCalibrator` of its scores, of topics or classes one monitor each. Updates of it later
        do not change the monitor.
    alpha : float
        Probability of ever raising a false alarm.
    draws : int
        How many curves of the posterior a change is integrated over at most, evenly chosen. What
        is as before is integrated over all of them.
    changes : mapping of str to Change, optional
        Kinds of change, alike a priori; by default `bayescal.monitoring.CHANGES`.

    Attributes
    ----------
    documents_ : int
        How many labels were seen.
    log_bayes_factors_ : pandas.DataFrame
        After every document, the natural logarithm of the Bayes factor of each kind of change, and
        of any, against "as before".
    bayes_factors_ : dict of str to float
        The Bayes factors now.
    alarm_ : Alarm or None
        None until an alarm is raised. From then on, which change it is and since when, by all
        documents so far.

    Raises
    ------
    sklearn.exceptions.NotFittedError
        If the calibrator is not fitted.
    ValueError
        If an argument is not as described, or the calibrator has no posterior.

    References
    ----------
    J. Ville, *Etude critique de la notion de collectif*, 1939. G. Shafer, A. Shen, N. Vereshchagin
    and V. Vovk, *Test martingales, Bayes factors and p-values*, Statistical Science 2011.

    Examples
    --------
    >>> import numpy as np
    >>> from bayescal import ScoreCalibrator
    >>> from bayescal.monitoring import DriftMonitor
    >>> rng = np.random.default_rng(0)
    >>> y = rng.random(900) < np.where(np.arange(900) < 600, 0.2, 0.6)  # from 600 on
    >>> s = rng.normal(2.0 * y)
    >>> calibrator = ScoreCalibrator("gaussian", random_state=0).fit(s[:300], y[:300])
    >>> monitor = DriftMonitor(calibrator).update(s[300:600], y[300:600])
    >>> monitor.alarm_ is None
    True
    >>> alarm = monitor.update(s[600:], y[600:]).alarm_
    >>> alarm.change, 290 < alarm.since < 320
    ('base rate', True)
    """

    def __init__(
        self,
        calibrator: _Calibrator,
        alpha: float = 0.05,
        *,
        draws: int = 200,
        changes: Mapping[str, Change] | None = None,
    ) -> None:
        check_fraction(alpha=alpha)
        check_count("draws", draws)
        self.calibrator = copy.copy(calibrator)  # a later update must not change what was promised
        self.alpha = alpha
        self.draws = draws
        curves = _number_of_curves(calibrator)
        self._few = np.unique(np.linspace(0, curves - 1, min(draws, curves)).astype(np.intp))
        self._weight = np.full(curves, 1.0 / curves)
        kinds = CHANGES if changes is None else changes
        if not kinds:
            raise ValueError("changes must hold at least one kind of change, got none.")
        base = float(special.logit(calibrator.mle_.prior))
        self._changed = {name: Changed(kind, base, self._few.size) for name, kind in kinds.items()}
        self._history: list[list[float]] = []
        self._raised: int | None = None

    def update(self, scores: ArrayLike, labels: ArrayLike) -> Self:
        """
        Take in further documents, in the order in which they came.

        Parameters
        ----------
        scores : array-like of shape (n,) or (n, 1)
            Raw scores.
        labels : array-like of shape (n,)
            Their labels, of the calibrator's classes.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If an argument is not as described. The monitor is then as it was before.
        """
        values = as_scores(scores)
        positive = match_labels(labels, negative_and_positive(self.calibrator), "labels")
        check_same_length("scores", values.size, "labels", positive.size)
        # Scores that the calibrator refuses, such as probabilities above 1, must change nothing.
        self.calibrator.sample_proba([values.min(), values.max()])
        sign = np.where(positive, -1.0, 1.0)
        for start in range(0, values.size, BLOCK):
            part = slice(start, start + BLOCK)
            for own, each in zip(self._curves(values[part]), sign[part], strict=True):
                self._learn(Label(own, float(each), self._weight, self._few))
        return self

    @property
    def documents_(self) -> int:
        """The number of labels observed."""
        return len(self._history)

    @property
    def alarm_(self) -> Alarm | None:
        """None, or once there was an alarm what is known by now of the change."""
        if self._raised is None:
            return None
        name, changed = max(self._changed.items(), key=lambda each: each[1].log_bayes_factor)
        return Alarm(name, self._raised, *changed.first_changed, *changed.size)

    @property
    def log_bayes_factors_(self) -> pd.DataFrame:
        """The natural log Bayes factors after each document."""
        import pandas as pd

        index = pd.RangeIndex(1, self.documents_ + 1, name="document")
        columns = [*self._changed, ANY]
        values = np.reshape(self._history, (self.documents_, len(columns)))
        return pd.DataFrame(values, index=index, columns=columns)

    @property
    def bayes_factors_(self) -> dict[str, float]:
        """The Bayes factors now; infinite where they are beyond the largest number."""
        now = self._history[-1] if self._history else np.zeros(len(self._changed) + 1)
        with np.errstate(over="ignore"):
            return dict(zip([*self._changed, ANY], np.exp(now).tolist(), strict=True))

    def _curves(self, scores: Floats) -> Floats:
        """Return log-odds of every curve, shape (scores, curves)."""
        p = self.calibrator.sample_proba(scores)
        with np.errstate(divide="ignore"):
            log_odds = np.clip(special.logit(p), -FARTHEST, FARTHEST)
        return np.ascontiguousarray(log_odds.T)

    def _learn(self, label: Label) -> None:
        for changed in self._changed.values():
            changed.learn(label)
        self._weight = label.weight_after
        each = [changed.log_bayes_factor for changed in self._changed.values()]
        of_any = float(special.logsumexp(each)) - math.log(len(each))
        self._history.append([*each, of_any])
        if self._raised is None and of_any >= -math.log(self.alpha):
            self._raised = self.documents_


def _number_of_curves(calibrator: Any) -> int:
    """Return the number of posterior curves of a calibrator, after checking it."""
    if not hasattr(calibrator, "mle_"):
        _refuse(calibrator)
    try:
        return int(calibrator.sample_proba([0.0]).shape[0])  # of any score
    except ValueError as err:
        raise ValueError(
            "a monitor needs a posterior and its calibrator has none: fit that with"
            " inference='exact'."
        ) from err


def _refuse(calibrator: Any) -> NoReturn:
    """Say what may be monitored, or of an estimator that was not fitted that it was not."""
    if hasattr(calibrator, "fit"):
        from sklearn.utils.validation import check_is_fitted

        check_is_fitted(calibrator)
    raise ValueError(
        f"calibrator must be a fitted ScoreCalibrator, got {type(calibrator).__name__}: of a"
        " classifier give the ScoreCalibrator of its scores, of topics or classes one for each."
    )

"""DriftMonitor: an alarm when labels no longer follow a calibrator's probabilities."""

from __future__ import annotations

import copy
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from bayescal.monitoring.running_evidence import CHANGES, Change, Changed, Label
from bayescal.support import validation
from bayescal.support.validation import Floats

if TYPE_CHECKING:
    import pandas as pd

    from bayescal.calibrators.score_calibrator import ScoreCalibrator


class History:
    """
    Rows of numbers of a stream, a bounded number of them.

    The latest `LATEST` documents and the first one have a row each. Whenever there are twice as
    many, every other row before the latest ones is dropped.
    """

    def __init__(self) -> None:
        self.document: list[int] = []
        self.row: list[list[float]] = []

    def append(self, document: int, row: list[float]) -> None:
        """Take in the row of a document."""
        self.document.append(document)
        self.row.append(row)
        if len(self.row) >= 2 * LATEST:
            del self.document[1:-LATEST:2], self.row[1:-LATEST:2]


# Beyond these log-odds probabilities round to 0 or 1; one curve's label may not rule it out.
FARTHEST = 36.0
ANY, IMPOSSIBLE = "any", "impossible"
BLOCK = 256  # documents whose curves are in memory at once
LATEST = 2000  # documents


@dataclass(frozen=True)
class Alarm:
    """
    An alarm, with the posterior of the change given all documents so far.

    Attributes
    ----------
    change : str
        The kind of change with the largest Bayes factor, a key of `bayescal.monitoring.CHANGES`; or
        "impossible" after a label to which every curve gives probability 0.
    document : int
        The document at which the alarm was raised, the first being 1.
    since, since_sd : float
        The first document after the change: posterior mean and standard deviation. The first
        impossible label, and 0.
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
    slope (`bayescal.monitoring.running_evidence`). The Bayes factor of these against "as before",
    integrated over curves, over the size of the change and over when it was, is a martingale where
    nothing changed, with mean 1. By Ville's inequality it ever reaches 1/alpha with probability
    alpha at most:

        P(alarm, ever | as before) <= alpha,

    whenever one looks, however long the stream is. The probability is over curves from the
    posterior too. A monitor that took one curve for certain would in time find fault with any.

    Memory is bounded: of each document only sums remain, and the Bayes factors of the latest 2,000
    documents and of ever fewer of those before. Pickle or joblib keeps a monitor.

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
        The natural logarithm of the Bayes factor of each kind of change, and of any, against "as
        before", after each of the latest 2,000 documents and some of those before; index
        `document`. Infinite for any after an impossible label.
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
        calibrator: ScoreCalibrator,
        alpha: float = 0.05,
        *,
        draws: int = 200,
        changes: Mapping[str, Change] | None = None,
    ) -> None:
        validation.check_fraction(alpha=alpha)
        validation.check_count("draws", draws)
        self.calibrator = copy.copy(calibrator)  # later updates must not change the monitor
        self.alpha = alpha
        self.draws = draws
        curves = _number_of_curves(calibrator)
        self._few = np.unique(np.linspace(0, curves - 1, min(draws, curves)).astype(np.intp))
        self._weight = np.full(curves, 1.0 / curves)
        asked = CHANGES if changes is None else changes
        if not asked:
            raise ValueError("changes must hold at least one kind of change, got none.")
        base = float(special.logit(calibrator.mle_.prior))
        self._changed = {name: Changed(kind, base, self._few.size) for name, kind in asked.items()}
        self._history, self._documents = History(), 0
        self._raised: int | None = None
        self._impossible: int | None = None

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
        values = validation.as_scores(scores)
        classes = validation.negative_and_positive(self.calibrator)
        positive = validation.match_labels(labels, classes, "labels")
        validation.check_same_length("scores", values.size, "labels", positive.size)
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
        return self._documents

    @property
    def alarm_(self) -> Alarm | None:
        """None, or once there was an alarm what is known by now of the change."""
        if self._raised is None:
            return None
        name, changed = max(self._changed.items(), key=lambda each: each[1].log_bayes_factor)
        since = changed.first_changed
        if self._impossible is not None:
            name, since = IMPOSSIBLE, (float(self._impossible), 0.0)
        return Alarm(name, self._raised, *since, *changed.size)

    @property
    def log_bayes_factors_(self) -> pd.DataFrame:
        """The natural log Bayes factors after each document that has a row."""
        import pandas as pd

        index = pd.Index(self._history.document, dtype=np.int64, name="document")
        columns = [*self._changed, ANY]
        values = np.reshape(self._history.row, (index.size, len(columns)))
        return pd.DataFrame(values, index=index, columns=columns)

    @property
    def bayes_factors_(self) -> dict[str, float]:
        """The Bayes factors now; infinite where they are beyond the largest number."""
        rows = self._history.row
        now = rows[-1] if rows else np.zeros(len(self._changed) + 1)
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
        self._documents += 1
        if self._impossible is None and (label.sign * label.log_odds).min() >= FARTHEST:
            self._impossible = self._documents
        each = [changed.log_bayes_factor for changed in self._changed.values()]
        of_any = float(special.logsumexp(each)) - math.log(len(each))
        of_any = of_any if self._impossible is None else math.inf
        self._history.append(self._documents, [*each, of_any])
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

"""DriftMonitor: an alarm when labels no longer follow a calibrator's probabilities."""

from __future__ import annotations

import copy
import math
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from bayescal.monitoring.running_evidence import CHANGES, Change, Changed, Label
from bayescal.support import validation
from bayescal.support.labels import match_labels, negative_and_positive
from bayescal.support.numerics import blocks_of
from bayescal.support.validation import Floats

if TYPE_CHECKING:
    import pandas as pd

    from bayescal.calibrators.calibrated_classifier import CalibratedClassifier
    from bayescal.calibrators.score_calibrator import ScoreCalibrator


FARTHEST = 36.0  # log-odds are clipped: one label must not rule out a curve
ANY, IMPOSSIBLE = "any", "impossible"
BLOCK = 256  # documents at a time
History = list[tuple[int, list[float]]]  # documents with their rows
ADVICE = {
    "base rate": (
        "If only the shares of the classes changed (label shift), predict with prior=, the new"
        " share; if the case mix changed in what the scores do not show, which looks the same, fit"
        " again."
    ),
    "slope": "Scores have become more or less informative: fit again to labels since then.",
    IMPOSSIBLE: "A label occurred whose probability was 0.",
}
LATEST = 2000  # documents that all have a row; of earlier ones ever fewer have


@dataclass(frozen=True)
class Alarm:
    """An alarm, with the posterior of the change given all documents so far.

    Attributes
    ----------
    change : str
        The kind of change with the largest Bayes factor, a key of `bayescal.monitoring.CHANGES`; or
        "impossible" after a label of probability 0 by every curve.
    document : int
        The document of the alarm, counted from 1.
    since, since_sd : float
        The first document after the change, posterior mean and standard deviation; or the first
        impossible label, and 0.
    slope, shift : float
        Posterior means of the slope a and of the shift b of the log-odds.
    """

    change: str
    document: int
    since: float
    since_sd: float
    slope: float
    shift: float

    @property
    def text(self) -> str:
        """Return the alarm in words, with what its kind of change assumes and what to do."""
        start = (
            f"Alarm at document {self.document:,}: labels have not followed the probabilities since"
            f" document {self.since:,.0f} or so (standard deviation {self.since_sd:.0f}). Likeliest"
            f" change: {self.change}, slope {self.slope:.2f}, shift {self.shift:+.2f} log-odds."
        )
        return f"{start} {ADVICE.get(self.change, '')}".rstrip()


class DriftMonitor:
    r"""Watch whether labels follow a calibrator's probabilities, and raise an alarm if not.

    Labels "as before" have probabilities P_k(+|s) by curves k of the calibrator's posterior; others
    had their log-odds changed at some document, by a shift ("base rate") or another slope
    (`bayescal.monitoring.running_evidence`). The Bayes factor of a change, integrated over curves,
    size and time of the change, is a martingale with mean 1 without a change. By Ville's inequality

        P(alarm, ever | as before) <= alpha,

    whenever one looks, however long the stream is, where the probability includes the uncertainty
    of the curve.

    Memory is bounded: the Bayes factors of the latest 2,000 documents and of ever fewer earlier
    ones are kept. Save a monitor by pickle or joblib.

    Parameters
    ----------
    calibrator : ScoreCalibrator, CalibratedClassifier, TextCalibrator or CombinedClassifier
        Fitted to two classes, with a posterior, and copied. An ensemble has no single posterior;
        topics, or several classes or labels, need one monitor each.
    alpha : float
        Probability of ever raising a false alarm.
    draws : int
        Largest number of posterior curves, evenly chosen, that a change is integrated over; "as
        before" is integrated over all.
    changes : mapping of str to Change, optional
        Kinds of change, equally likely a priori; by default `bayescal.monitoring.CHANGES`.

    Attributes
    ----------
    documents_ : int
        Number of labels.
    log_bayes_factors_ : pandas.DataFrame
        The natural logarithm of the Bayes factor of each kind of change, and of "any", against "as
        before"; index `document`. Infinite for "any" after an impossible label.
    bayes_factors_ : dict of str to float
        The current Bayes factors.
    alarm_ : Alarm or None
        None until an alarm is raised; then the change, by all documents so far.

    References
    ----------
    J. Ville, *Etude critique de la notion de collectif*, 1939. G. Shafer, A. Shen, N. Vereshchagin
    and V. Vovk, *Test martingales, Bayes factors and p-values*, Statistical Science 2011.

    Examples
    --------
    >>> import numpy as np
    >>> from bayescal import ScoreCalibrator
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
        calibrator: ScoreCalibrator | CalibratedClassifier,
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
        curves, prior = _curves_and_prior(calibrator)
        self._few = np.unique(np.linspace(0, curves - 1, min(draws, curves)).astype(np.intp))
        self._weight = np.full(curves, 1.0 / curves)
        asked = CHANGES if changes is None else changes
        if not asked:
            raise ValueError("changes must hold at least one kind of change, got none.")
        base = float(special.logit(prior))
        self._changed = {name: Changed(kind, base, self._few.size) for name, kind in asked.items()}
        self._history: History = []
        self._documents = 0
        self._raised: int | None = None
        self._impossible: int | None = None

    def update(self, scores: Any, labels: ArrayLike) -> Self:
        """Add documents in the order of their arrival; an error leaves the monitor unchanged.

        Parameters
        ----------
        scores : array-like of shape (n,) or (n, 1)
            Raw scores; of a classifier the documents, as `predict_proba` takes them.
        labels : array-like of shape (n,)
            Their labels, of the calibrator's classes.
        """
        of_classifier = hasattr(self.calibrator, "problem_scores")
        values = validation.as_documents(scores) if of_classifier else validation.as_scores(scores)
        classes = negative_and_positive(self.calibrator)
        positive = match_labels(labels, classes, "labels")
        n = values.shape[0] if hasattr(values, "shape") else len(values)
        validation.check_same_length("scores", n, "labels", positive.size)
        # Raise errors of scores, such as probabilities above 1, before anything changes.
        if of_classifier:
            self.calibrator.predict_proba(values)
        else:
            self.calibrator.sample_proba([values.min(), values.max()])
        sign = np.where(positive, -1.0, 1.0)
        for rows in blocks_of(BLOCK, n):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # given above, for all documents
                curves = self._curves(values[rows])
            for own, each in zip(curves, sign[rows], strict=True):
                self._learn(Label(own, float(each), self._weight, self._few))
        return self

    @property
    def documents_(self) -> int:
        """The number of labels observed."""
        return self._documents

    @property
    def alarm_(self) -> Alarm | None:
        """None, or the alarm with the posterior of the change so far."""
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

        index = pd.Index([each for each, _ in self._history], dtype=np.int64, name="document")
        columns = [*self._changed, ANY]
        values = np.reshape([row for _, row in self._history], (index.size, len(columns)))
        return pd.DataFrame(values, index=index, columns=columns)

    @property
    def bayes_factors_(self) -> dict[str, float]:
        """The current Bayes factors; infinite above the largest floating-point number."""
        now = self._history[-1][1] if self._history else [0.0] * (len(self._changed) + 1)
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
        self._weight = label.weight * label.of_curves / label.predicted
        self._documents += 1
        if self._impossible is None and (label.sign * label.log_odds).min() >= FARTHEST:
            self._impossible = self._documents
        each = [changed.log_bayes_factor for changed in self._changed.values()]
        of_any = float(special.logsumexp(each)) - math.log(len(each))
        of_any = of_any if self._impossible is None else math.inf
        remember(self._history, self._documents, [*each, of_any])
        if self._raised is None and of_any >= -math.log(self.alpha):
            self._raised = self.documents_


def remember(history: History, document: int, row: list[float]) -> None:
    """Append a document's row, and forget rows of earlier documents when there are many."""
    history.append((document, row))
    if len(history) >= 2 * LATEST:
        del history[1:-LATEST:2]


def _curves_and_prior(calibrator: Any) -> tuple[int, float]:
    """Return the number of posterior curves of a calibrator, and the base rate fitted."""
    no_posterior = ValueError(
        "a monitor needs a posterior and its calibrator has none: fit that with inference='exact'."
    )
    if hasattr(calibrator, "mle_"):
        try:
            curves = calibrator.sample_proba([0.0])  # of any score
        except ValueError as err:
            raise no_posterior from err
        return int(curves.shape[0]), float(calibrator.mle_.prior)
    if not hasattr(calibrator, "problem_scores") or calibrator.several_classes:
        _refuse(calibrator)
    problems = calibrator.fitted_problems()
    if list(problems) != [""]:
        _refuse(calibrator)
    calibration = problems[""].calibration
    if calibration.draws is None:
        raise no_posterior
    return calibration.draws.size, float(calibration.fits.prior)


def _refuse(calibrator: Any) -> NoReturn:
    """Raise NotFittedError for unfitted estimators, else ValueError."""
    if hasattr(calibrator, "fit"):
        from sklearn.utils.validation import check_is_fitted

        check_is_fitted(calibrator)
    raise ValueError(
        "calibrator must be a fitted ScoreCalibrator, or a classifier of two classes without"
        f" ensemble, got {type(calibrator).__name__}: make a monitor for each topic, class or"
        " label."
    )

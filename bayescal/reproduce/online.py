"""Online combiners of five classifiers on Reuters-21578 (dissertation, chapter 9)."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.preprocessing import MinMaxScaler

from bayescal.experts.online_combiner import OnlineCombiner
from bayescal.experts.rules import RULES
from bayescal.reproduce.published_online import PUBLISHED
from bayescal.reproduce.strive import BASE, Combination
from bayescal.reproduce.strive import COMBINATIONS as COMBINATIONS_OF_STRIVE
from bayescal.reproduce.strive_table import GROUPS as GROUPS_OF_STRIVE
from bayescal.score_calibrator import ScoreCalibrator
from bayescal.validation import Floats

PASSES = 10
NAMES = {
    "wma": "WMA",
    "winnow": "Winnow",
    "bmx": "BMX",
    "bmxmod": "BMXmod",
    "winbmx": "WinBMX",
    "winbmxmod": "WinBMXmod",
    "eg": "EG",
}
COMPARED = ("Best By Class", "Majority", "Stack-S (norm)", "STRIVE-S (norm)", "logistic", "bayes")


class ExpertsOfInputs(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """
    An online combiner of what combiners see: scores of the base classifiers, then indicators.

    Experts are the base classifiers, with probabilities by taking their scores for log-odds, or by
    calibrating them on the training documents, on which classifiers were not trained.
    Indicators are brought to [0, 1] by the range that they have in training, and P(+) of each base
    classifier is one more (section 9.4.1).

    Parameters
    ----------
    rule : str
        See `OnlineCombiner`.
    passes : int
        Through the training documents.
    indicators : bool
        Whether the rule is given any; else it sees the scores alone.
    calibrated : bool
        Whether scores are calibrated, by maximum likelihood (section 3.2.3).
    """

    def __init__(
        self, rule: str, passes: int = 1, *, indicators: bool = False, calibrated: bool = False
    ) -> None:
        self.rule = rule
        self.passes = passes
        self.indicators = indicators
        self.calibrated = calibrated

    def fit(self, X: Floats, y: ArrayLike) -> Self:  # noqa: N803
        """Go through documents in their order."""
        self.range_ = MinMaxScaler(clip=True).fit(X[:, len(BASE) :]) if self.indicators else None
        self.calibrators_ = [
            ScoreCalibrator(inference="mle", scores_are="scores").fit(scores, y)
            for scores in X[:, : len(BASE) * self.calibrated].T
        ]
        self.combiner_ = OnlineCombiner(self.rule, passes=self.passes)
        said, on = self._seen(X)
        self.combiner_.fit(said, y, classes=[0, 1], indicators=on)
        self.classes_ = self.combiner_.classes_
        return self

    def predict_proba(self, X: Floats) -> Floats:  # noqa: N803
        """Return the mixture's probabilities of both classes."""
        said, on = self._seen(X)
        return self.combiner_.predict_proba(said, indicators=on)

    def _seen(self, columns: Floats) -> tuple[Floats, Floats | None]:
        log_odds = columns[:, : len(BASE)]
        if self.calibrated:
            pairs = zip(self.calibrators_, log_odds.T, strict=True)
            log_odds = np.stack([each.decision_function(own) for each, own in pairs], axis=1)
        said = probabilities(log_odds)
        if self.range_ is None:
            return said, None
        ranged = self.range_.transform(columns[:, len(BASE) :])
        return said, np.concatenate([ranged, said[:, :, 1]], axis=1)


def probabilities(log_odds: Floats) -> Floats:
    """
    Return probabilities of both classes, shape (n, experts, 2).

    Each by its own: 1 - P(+) would round P(-) of sure experts to 0.

    Examples
    --------
    >>> probabilities(np.array([[0.0, 40.0]]))[0]
    array([[5.00000000e-01, 5.00000000e-01],
           [4.24835426e-18, 1.00000000e+00]])
    """
    return np.stack([expit(-log_odds), expit(log_odds)], axis=2)


def _rows() -> dict[str, Combination]:
    """
    Return every rule, once and with ten passes; those that take indicators are given them.

    Some are also given calibrated experts, which the dissertation's have not been.
    """
    rows: dict[str, Combination] = {}
    for rule, name in NAMES.items():
        given = {"EG": False, "EG, indicators": True} if rule == "eg" else {name: _takes(rule)}
        for label, indicators in given.items():
            for passes, suffix in ((1, ""), (PASSES, f" (R = {PASSES})")):
                combiner: Any = ExpertsOfInputs(rule, passes, indicators=indicators)
                rows[label + suffix] = Combination(combiner, indicators, normalise=False)
    for name in ("WMA", "WinBMXmod", "EG", "EG, indicators"):
        calibrated = clone(rows[name].combiner).set_params(calibrated=True)
        rows[f"{name}, calibrated"] = rows[name]._replace(combiner=calibrated)
    return rows


def _takes(rule: str) -> bool:
    return RULES[rule].takes_indicators


ONLINE = _rows()
COMBINATIONS = {name: COMBINATIONS_OF_STRIVE[name] for name in COMPARED} | ONLINE
GROUPS = {
    "B": GROUPS_OF_STRIVE["B"],
    "D": GROUPS_OF_STRIVE["D"],
    "S": ("Stack-S (norm)",),
    "R": ("STRIVE-S (norm)",),
    "O": tuple(name for name in PUBLISHED if name.startswith(("WMA", "Winnow"))),
    "I": tuple(name for name in PUBLISHED if "BMX" in name),
}

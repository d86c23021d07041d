"""Online combiners of five classifiers on Reuters-21578 (dissertation, chapter 9, Table 9.2).

Decisions on the test documents, and losses on the training documents, where the combiner predicts
each document before it learns the label.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.preprocessing import MinMaxScaler

from bayescal.calibrators.score_calibrator import ScoreCalibrator
from bayescal.combining.online.online_combiner import OnlineCombiner
from bayescal.combining.online.rules import RULES, squared_error
from bayescal.support.validation import Floats
from studies.papers.command import markdown_table, show
from studies.papers.online.bounds import (
    best_mixture,
    exponentiated_gradient_loss,
    weighted_majority_loss,
)
from studies.papers.strive.experiment import GROUPS as GROUPS_OF_STRIVE
from studies.papers.strive.experiment import PUBLISHED as PUBLISHED_STRIVE
from studies.papers.strive.experiment import combine, read_inputs
from studies.papers.strive.methods import BASE, Combination, TopicInputs
from studies.papers.strive.methods import COMBINATIONS as COMBINATIONS_OF_STRIVE

if TYPE_CHECKING:
    import pandas as pd


# Rows that both tables have, and are the same in both.
SHARED = (
    "decision tree",
    "unigram",
    "naive Bayes",
    "SVM",
    "kNN",
    "Best By Class",
    "Majority",
    "Stack-S (norm)",
    "STRIVE-S (norm)",
    "BestSelect",
)

PUBLISHED_RULES: dict[str, tuple[float | None, ...]] = {
    "WMA": (0.8432, 0.9064, 0.0155, 0.0595, 0.0376, 0.9890, 0.9370),
    "WMA (R = 10)": (0.8443, 0.9056, 0.0154, 0.0618, 0.0365, 0.9846, 0.9235),
    "Winnow": (0.8398, 0.9074, 0.0158, 0.0698, 0.0405, 0.9946, 0.9549),
    "Winnow (R = 10)": (0.8727, 0.9208, 0.0141, 0.0439, 0.0339, 0.9937, 0.9537),
    "BMX": (0.8640, 0.9132, 0.0144, 0.0553, 0.0365, 0.9941, 0.9487),
    "BMX (R = 10)": (0.8581, 0.9109, 0.0146, 0.0576, 0.0403, 0.9928, 0.9408),
    "BMXmod": (0.8616, 0.9166, 0.0141, 0.0402, 0.0334, 0.9952, 0.9562),
    "BMXmod (R = 10)": (0.8643, 0.9166, 0.0140, 0.0403, 0.0324, 0.9951, 0.9565),
    "WinBMX": (0.8843, 0.9232, 0.0134, 0.0426, 0.0363, 0.9933, 0.9545),
    "WinBMX (R = 10)": (0.8606, 0.9122, 0.0147, 0.0467, 0.0379, 0.9896, 0.9453),
    "WinBMXmod": (0.8691, 0.9225, 0.0132, 0.0386, 0.0318, 0.9955, 0.9598),
    "WinBMXmod (R = 10)": (0.8747, 0.9232, 0.0125, 0.0388, 0.0332, 0.9955, 0.9612),
}
PUBLISHED = {name: PUBLISHED_STRIVE[name] for name in SHARED} | PUBLISHED_RULES
"""By the columns `studies.papers.strive.experiment.MEASURES`."""


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
    """An online combiner of the scores of base classifiers, then indicators.

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
    """Return probabilities of both classes, shape (n, experts, 2).

    Each by its own: 1 - P(+) would round P(-) of sure experts to 0.

    Examples
    --------
    >>> probabilities(np.array([[0.0, 40.0]]))[0]
    array([[5.00000000e-01, 5.00000000e-01],
           [4.24835426e-18, 1.00000000e+00]])
    """
    return np.stack([expit(-log_odds), expit(log_odds)], axis=2)


def _rows() -> dict[str, Combination]:
    """Return every rule, once and with ten passes; those that take indicators are given them.

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


def rounds_table(inputs: Sequence[TopicInputs]) -> pd.DataFrame:
    """Return the losses of each rule in one pass, sums over the training documents of all topics.

    Parameters
    ----------
    inputs : sequence of TopicInputs
        Of every topic; its documents are rounds in their order.

    Returns
    -------
    pandas.DataFrame
        Columns method, squared error, mistakes, bound. First the best classifier and the best
        mixture of each topic, told in hindsight; then the rules. The bound is on the squared error,
        of those rules for which it is over all rounds.
    """
    import pandas as pd

    rows = pd.concat([_of_topic(each) for each in inputs])
    totals = rows.groupby("method", sort=False).sum(min_count=len(inputs))
    return totals.reset_index()


def _of_topic(inputs: TopicInputs) -> pd.DataFrame:
    import pandas as pd

    columns, y = inputs.labelled.inputs.matrix, inputs.labelled.positive.astype(np.int64)
    said = probabilities(columns[:, : len(BASE)])
    best = best_mixture(said, y)
    losses = squared_error(said[np.arange(y.size), :, y]).sum(axis=0)
    wrong = (said.argmax(axis=2) != y[:, None]).sum(axis=0)
    told = [
        ("best classifier", losses.min(), wrong[losses.argmin()], np.nan),
        ("best mixture", best.loss, np.nan, np.nan),
    ]
    for name, row in ONLINE.items():
        if row.combiner.passes == 1 and not row.combiner.calibrated:
            combiner = row.combiner.fit(columns, y).combiner_
            bound = _bound(name, combiner, best.loss)
            told.append((name, combiner.loss_, combiner.mistakes_, bound))
    return pd.DataFrame(told, columns=["method", "squared error", "mistakes", "bound"])


def _bound(name: str, combiner: OnlineCombiner, of_mixture: float) -> float:
    if name == "WMA":
        return weighted_majority_loss(combiner.expert_losses_, combiner.beta)
    if name == "EG":
        n_experts = combiner.expert_losses_.size
        return exponentiated_gradient_loss(of_mixture, n_experts, combiner.beta)
    return np.nan


def run(*, out: Path, jobs: int, seed: int, data: Path | None, topics: int) -> None:
    """Write the measures of every combiner on test documents, and its losses in training."""
    inputs = read_inputs(data, topics, jobs=jobs, seed=seed)
    table = combine(inputs, COMBINATIONS, published=PUBLISHED, groups=GROUPS, jobs=jobs, seed=seed)
    rounds = rounds_table(inputs)
    shown = rounds.set_index("method").map(lambda value: f"{value:.0f}".replace("nan", "-"))
    title = f"Online: totals over the training documents of {len(inputs)} topics, one pass"
    show(title, shown.reset_index(), "First the best of each topic in hindsight, then the rules.")
    out.mkdir(parents=True, exist_ok=True)
    rounds.to_csv(out / "online_rounds.csv", index=False, float_format="%.6g")
    table.to_csv(out / "online.csv", index=False)
    (out / "online.md").write_text(markdown_table(table) + "\n", encoding="utf-8")
    print(f"The table with published figures is in {out}.")

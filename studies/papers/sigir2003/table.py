"""The Reuters half of the paper's table 1: totals, sign tests and the published figures."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from bayescal.metrics import losses
from studies.papers.command import sign_test
from studies.papers.sigir2003.scores import RAW, Decisions

if TYPE_CHECKING:
    import pandas as pd


class Totals(NamedTuple):
    """A row of the table.

    Attributes
    ----------
    log_loss : float or None
        In bits; the paper prints it with a minus sign. None where scores are not log-odds.
    squared_error : float or None
        Sum of squared errors.
    errors : int
        At probability 1/2; of raw scores at 0.
    """

    log_loss: float | None
    squared_error: float | None
    errors: int


PUBLISHED: dict[str, dict[str, Totals]] = {
    "naive_bayes": {
        "Gauss": Totals(5523.14, 1124.17, 1654),
        "A.Gauss": Totals(4929.12, 652.67, 888),
        "Laplace": Totals(5677.68, 1157.33, 1416),
        "A.Laplace": Totals(3106.95, 554.37, 726),
        "LogReg": Totals(3375.63, 603.20, 786),
        "LR+Noise": Totals(3374.15, 604.80, 785),
        "raw": Totals(52184.52, 1969.41, 2121),
    },
    "linear_svm": {
        "Gauss": Totals(3955.33, 589.25, 735),
        "A.Gauss": Totals(4580.46, 428.21, 532),
        "Laplace": Totals(3569.36, 640.19, 770),
        "A.Laplace": Totals(2599.28, 412.75, 505),
        "LogReg": Totals(2575.85, 407.48, 509),
        "LR+Noise": Totals(2567.68, 408.82, 516),
        "raw": Totals(None, None, 516),
    },
}

# Naive Bayes: A.Laplace has a double dagger in log-loss and squared error. SVM: none has a mark.
PUBLISHED_MARKS: dict[tuple[str, str, str], str] = {
    ("naive_bayes", "A.Laplace", "log_loss"): "‡",
    ("naive_bayes", "A.Laplace", "squared_error"): "‡",
}


MEASURES = ("log_loss", "squared_error", "errors")
SIGNIFICANT = 0.01
# Scores that are no log-odds have no probabilities: only their sign can be wrong.
LOG_ODDS_CLASSIFIERS = ("naive_bayes", "bernoulli_naive_bayes")
# The paper's marks of the best entry of a column, by the methods that it does not beat with
# significance.
ALL_BEATEN, DAGGER, DOUBLE_DAGGER = "*", "†", "‡"


def totals_table(decisions: Decisions) -> pd.DataFrame:
    """Return totals over all decisions, a row a method.

    Parameters
    ----------
    decisions : Decisions
        Of one classifier.

    Returns
    -------
    pandas.DataFrame
        Columns classifier, method, log_loss (bits), squared_error, errors, and the same three of
        the paper with the prefix published_; nan where there is no figure.
    """
    import pandas as pd

    rows = []
    for method, log_odds in decisions.log_odds.items():
        total = losses(log_odds, decisions.truth)
        known = method != RAW or decisions.classifier in LOG_ODDS_CLASSIFIERS
        paper = PUBLISHED.get(decisions.classifier, {}).get(method)
        rows.append(
            {
                "classifier": decisions.classifier,
                "method": method,
                "log_loss": total.log_loss if known else np.nan,
                "squared_error": total.squared_error if known else np.nan,
                "errors": total.errors,
            }
            | {f"published_{m}": getattr(paper, m, None) for m in MEASURES}
        )
    table = pd.DataFrame(rows)
    published = [f"published_{measure}" for measure in MEASURES]
    return table.astype(dict.fromkeys(published, float))


def sign_tests(decisions: Decisions) -> pd.DataFrame:
    """Return the paired micro sign test of all pairs of methods, two-sided.

    A method wins a decision in log-loss and in squared error if it gives what is so the larger
    probability: the test is the same for both. It wins in errors if it alone is right.

    Parameters
    ----------
    decisions : Decisions
        Of one classifier.

    Returns
    -------
    pandas.DataFrame
        Columns classifier, measure, a, b, a_wins, b_wins, p; every pair once.
    """
    import pandas as pd

    rows = []
    for measure in MEASURES:
        for a, b in combinations(_comparable(decisions, measure), 2):
            values = [
                decisions.right(m) if measure == "errors" else decisions.support(m) for m in (a, b)
            ]
            wins = int((values[0] > values[1]).sum()), int((values[0] < values[1]).sum())
            rows.append((decisions.classifier, measure, a, b, *wins, sign_test(*wins)))
    columns = ["classifier", "measure", "a", "b", "a_wins", "b_wins", "p"]
    return pd.DataFrame(rows, columns=columns)


def marks(table: pd.DataFrame, tests: pd.DataFrame) -> dict[tuple[str, str], str]:
    """Return the paper's marks of the best entry of each measure, by (method, measure).

    "*" if it is better than every other entry with significance (the paper underlines it); a
    dagger if only naive Bayes as it is, "raw", is left; a double dagger if only A.Gauss, or both,
    are left; else "", which still says that the entry is the best. Significant is p < .01, and
    more wins.

    Parameters
    ----------
    table : pandas.DataFrame
        Of one classifier, from `totals_table`; only these methods count.
    tests : pandas.DataFrame
        From `sign_tests`, of at least these methods.
    """
    found = {}
    for measure in MEASURES:
        entries = table.dropna(subset=[measure])
        best = str(entries["method"].iloc[int(entries[measure].to_numpy().argmin())])
        others = set(entries["method"]) - {best}
        left = {other for other in others if not _beats(tests, measure, best, other)}
        found[best, measure] = _mark(left)
    return found


def _mark(left: set[str]) -> str:
    if not left:
        return ALL_BEATEN
    if left <= {RAW}:
        return DAGGER
    return DOUBLE_DAGGER if left <= {RAW, "A.Gauss"} else ""


def _beats(tests: pd.DataFrame, measure: str, better: str, worse: str) -> bool:
    rows = tests[tests["measure"] == measure]
    pair = rows[rows["a"].isin([better, worse]) & rows["b"].isin([better, worse])].iloc[0]
    wins, losses_ = (pair["a_wins"], pair["b_wins"])
    if pair["a"] == worse:
        wins, losses_ = losses_, wins
    return bool(wins > losses_ and pair["p"] < SIGNIFICANT)


def _comparable(decisions: Decisions, measure: str) -> list[str]:
    """Return the methods that a measure knows."""
    probabilities = decisions.classifier in LOG_ODDS_CLASSIFIERS
    return [m for m in decisions.log_odds if m != RAW or probabilities or measure == "errors"]

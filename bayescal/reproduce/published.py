"""The Reuters half of the paper's table: totals over 32,990 decisions (SIGIR 2003, table 1)."""

from __future__ import annotations

from typing import NamedTuple


class Totals(NamedTuple):
    """
    A row of the table.

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

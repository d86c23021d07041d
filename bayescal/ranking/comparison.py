"""Two rankers on the same queries: wins, losses and the signed-rank test of the paper's tables."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from bayescal.validation import Floats

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class RankingComparison:
    """
    How often one ranker is better than another, and whether by chance.

    Attributes
    ----------
    wins, losses, draws : int
        On how many queries the first is better, worse, the same.
    mean_difference : float
        Mean over queries of the first's measure minus the second's.
    p_value : float
        Of the two-sided Wilcoxon signed-rank test; 1 if they never differ.
    """

    wins: int
    losses: int
    draws: int
    mean_difference: float
    p_value: float


def compare_rankings(first: pd.Series, second: pd.Series) -> RankingComparison:
    """
    Compare two rankers by a measure of each query.

    Queries with the same value for both take no part in the test (Wilcoxon's own rule).

    Parameters
    ----------
    first, second : pandas.Series
        A measure of each query, such as `average_precision` returns, of the same queries in any
        order.

    Raises
    ------
    ValueError
        If the queries are not the same.

    References
    ----------
    Yue, Finley, Radlinski and Joachims, SIGIR 2007, section 5 and tables 6 to 11.

    Examples
    --------
    >>> import pandas as pd
    >>> first = pd.Series([1.0, 0.75, 0.625, 0.5], index=list("abcd"))
    >>> second = pd.Series([0.5, 0.5, 0.5, 0.5], index=list("abcd"))
    >>> compare_rankings(first, second)
    RankingComparison(wins=3, losses=0, draws=1, mean_difference=0.21875, p_value=0.25)
    """
    if len(first) != len(second) or set(first.index) != set(second.index):
        unlike = set(first.index) ^ set(second.index)
        raise ValueError(
            f"both rankers must be measured on the same queries, got {len(first)} and"
            f" {len(second)} of which {len(unlike)} are in one of them only."
        )
    difference = (first - second.loc[list(first.index)].set_axis(first.index)).to_numpy()
    return RankingComparison(
        wins=int((difference > 0.0).sum()),
        losses=int((difference < 0.0).sum()),
        draws=int((difference == 0.0).sum()),
        mean_difference=float(difference.mean()),
        p_value=_signed_rank_test(difference),
    )


def _signed_rank_test(difference: Floats) -> float:
    unlike = difference[difference != 0.0]
    if unlike.size == 0:
        return 1.0
    from scipy.stats import wilcoxon

    return float(wilcoxon(unlike, alternative="two-sided").pvalue)

"""The paired micro sign test: whether one method wins more decisions than another."""

from bayescal.support.validation import check_choice

ALTERNATIVES = ("two-sided", "greater", "less")


def sign_test(a_wins: int, b_wins: int, *, alternative: str = "two-sided") -> float:
    """
    Return the p-value of the exact sign test on paired decisions.

    Of the n = a_wins + b_wins decisions on which two methods differ, A wins Binomial(n, 1/2) many
    if neither is better; decisions on which they tie are left out.
    """
    check_choice("alternative", alternative, ALTERNATIVES)
    for name, wins in (("a_wins", a_wins), ("b_wins", b_wins)):
        if wins < 0 or wins != int(wins):
            raise ValueError(f"{name} must be a count of decisions, 0, 1, 2, ..., got {wins}.")
    if a_wins + b_wins == 0:
        return 1.0
    from scipy.stats import binomtest

    n = int(a_wins + b_wins)
    if alternative == "two-sided":
        return float(binomtest(int(a_wins), n).pvalue)
    # From the side that should win less: then the methods' names do not matter to the last digit.
    fewer = b_wins if alternative == "greater" else a_wins
    return float(binomtest(int(fewer), n, alternative="less").pvalue)

"""What SVMMAPRanker is held to: the paper's baselines, and two that are common today.

`BASELINES` maps names to records: what is done to the scores of retrieval functions, without
labels, and the ranker of the result for a given C. The best single functions have no C, and are
`BestFunctionRanker`.
"""

from bayescal.ranking.baselines.baseline import BASELINES, Baseline

__all__ = ["BASELINES", "Baseline"]

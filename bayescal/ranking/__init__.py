"""Ranking for average precision: linear rankers, measures, and the baselines they are held to."""

from bayescal.ranking.comparison import RankingComparison, compare_rankings
from bayescal.ranking.measures import (
    average_precision,
    mean_average_precision,
    ndcg,
    precision_at,
)
from bayescal.ranking.problem import QueriesLeftOutWarning
from bayescal.ranking.queries import qid_from_group_sizes
from bayescal.ranking.ranker import SVMMAPRanker

__all__ = [
    "QueriesLeftOutWarning",
    "RankingComparison",
    "SVMMAPRanker",
    "average_precision",
    "compare_rankings",
    "mean_average_precision",
    "ndcg",
    "precision_at",
    "qid_from_group_sizes",
]

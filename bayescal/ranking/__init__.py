"""Ranking for average precision: linear rankers and measures."""

from bayescal.ranking.drawn_relevance import RankingSummary
from bayescal.ranking.features import (
    BinnedFunctions,
    StepFunctions,
    min_max_within_queries,
    percentiles_within_queries,
    standardise_within_queries,
)
from bayescal.ranking.measures import (
    RankingComparison,
    average_precision,
    compare_rankings,
    mean_average_precision,
    ndcg,
    precision_at,
)
from bayescal.ranking.problem import QueriesLeftOutWarning
from bayescal.ranking.queries import RankingData, load_ranking, qid_from_group_sizes
from bayescal.ranking.ranker import SVMMAPRanker
from bayescal.ranking.relevance import RelevanceCalibrator

__all__ = [
    "BinnedFunctions",
    "QueriesLeftOutWarning",
    "RankingComparison",
    "RankingData",
    "RankingSummary",
    "RelevanceCalibrator",
    "SVMMAPRanker",
    "StepFunctions",
    "average_precision",
    "compare_rankings",
    "load_ranking",
    "mean_average_precision",
    "min_max_within_queries",
    "ndcg",
    "percentiles_within_queries",
    "precision_at",
    "qid_from_group_sizes",
    "standardise_within_queries",
]

"""Ranking for average precision: linear rankers, measures, and the baselines they are held to."""

from bayescal.ranking.baselines.best_function import BestFunctionRanker
from bayescal.ranking.baselines.classifier_ranker import ClassifierRanker
from bayescal.ranking.baselines.lambda_ranker import LambdaRanker
from bayescal.ranking.binned_functions import BinnedFunctions, StepFunctions
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
from bayescal.ranking.reading import Estimate, Reading
from bayescal.ranking.relevance import RelevanceCalibrator
from bayescal.ranking.svmlight import RankingData, load_ranking
from bayescal.ranking.within_query import (
    min_max_within_queries,
    percentiles_within_queries,
    standardise_within_queries,
)

__all__ = [
    "BestFunctionRanker",
    "BinnedFunctions",
    "ClassifierRanker",
    "Estimate",
    "LambdaRanker",
    "QueriesLeftOutWarning",
    "RankingComparison",
    "RankingData",
    "Reading",
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

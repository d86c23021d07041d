"""Ranking for average precision: linear rankers, measures and TREC files."""

from bayescal.ranking.drawn_relevance import RankingSummary as RankingSummary
from bayescal.ranking.measures import average_precision as average_precision
from bayescal.ranking.problem import QueriesLeftOutWarning as QueriesLeftOutWarning
from bayescal.ranking.ranker import SVMMAPRanker as SVMMAPRanker
from bayescal.ranking.relevance import RelevanceCalibrator as RelevanceCalibrator
from bayescal.ranking.trec import evaluate as evaluate
from bayescal.ranking.trec import judge_run as judge_run
from bayescal.ranking.trec import read_qrels as read_qrels
from bayescal.ranking.trec import read_run as read_run
from bayescal.ranking.trec import write_qrels as write_qrels
from bayescal.ranking.trec import write_run as write_run

"""Samples of documents to label, and statements of recall and of rates from their labels.

`plan_sample` draws documents, `estimate_recall` and `estimate_rate` read their labels, `elusion`
bounds the positives missed, and `stop_review` says when to stop. Scores only have to rank: no
calibrator is fitted. Every function raises a ValueError if an argument is not as described, or a
plan is of other scores.
"""

from bayescal.sampling.estimates import ReviewEstimate as ReviewEstimate
from bayescal.sampling.estimates import estimate_precision as estimate_precision
from bayescal.sampling.estimates import estimate_prevalence as estimate_prevalence
from bayescal.sampling.estimates import estimate_recall as estimate_recall
from bayescal.sampling.exact import Elusion as Elusion
from bayescal.sampling.exact import ElusionSize as ElusionSize
from bayescal.sampling.exact import count_limits as count_limits
from bayescal.sampling.exact import elusion as elusion
from bayescal.sampling.exact import elusion_size as elusion_size
from bayescal.sampling.exact import share_limits as share_limits
from bayescal.sampling.exact import sum_limits as sum_limits
from bayescal.sampling.hidden import learn_hidden as learn_hidden
from bayescal.sampling.planning import plan_sample as plan_sample
from bayescal.sampling.plans import SamplePlan as SamplePlan
from bayescal.sampling.plans import Stratum as Stratum
from bayescal.sampling.plans import inclusion_of as inclusion_of
from bayescal.sampling.plans import read_plan as read_plan
from bayescal.sampling.rate_comparisons import RateDifference as RateDifference
from bayescal.sampling.rate_comparisons import RateRanking as RateRanking
from bayescal.sampling.rate_comparisons import compare_rates as compare_rates
from bayescal.sampling.rate_comparisons import rank_rates as rank_rates
from bayescal.sampling.rate_comparisons import rates_by_slice as rates_by_slice
from bayescal.sampling.rates import Rate as Rate
from bayescal.sampling.rates import RateCurve as RateCurve
from bayescal.sampling.rates import estimate_rate as estimate_rate
from bayescal.sampling.rates import labels_needed_for_rate as labels_needed_for_rate
from bayescal.sampling.reviewers import JudgeAgreement as JudgeAgreement
from bayescal.sampling.reviewers import ReviewerAgreement as ReviewerAgreement
from bayescal.sampling.reviewers import compare_reviewers as compare_reviewers
from bayescal.sampling.reviewers import judge_agreement as judge_agreement
from bayescal.sampling.stopping import RULES as RULES
from bayescal.sampling.stopping import StopDecision as StopDecision
from bayescal.sampling.stopping import stop_review as stop_review

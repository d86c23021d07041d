"""Samples of documents to label, and statements of recall from their labels.

`plan_sample` draws documents, `estimate_recall` reads their labels, `elusion` bounds the positives
missed, and `stop_review` says when to stop. Scores only have to rank: no calibrator is fitted.
Every function raises a ValueError if an argument is not as described, or a plan is of other scores.
"""

from bayescal.sampling.estimates import estimate_precision, estimate_prevalence, estimate_recall
from bayescal.sampling.exact import (
    Elusion,
    ElusionSize,
    count_limits,
    elusion,
    elusion_size,
    share_limits,
    sum_limits,
)
from bayescal.sampling.four_intervals import ReviewEstimate
from bayescal.sampling.hidden import learn_hidden
from bayescal.sampling.planning import plan_sample
from bayescal.sampling.plans import SamplePlan, Stratum, inclusion_of, read_plan
from bayescal.sampling.stopping import RULES, StopDecision, stop_review

__all__ = [
    "RULES",
    "Elusion",
    "ElusionSize",
    "ReviewEstimate",
    "SamplePlan",
    "StopDecision",
    "Stratum",
    "count_limits",
    "elusion",
    "elusion_size",
    "estimate_precision",
    "estimate_prevalence",
    "estimate_recall",
    "inclusion_of",
    "learn_hidden",
    "plan_sample",
    "read_plan",
    "share_limits",
    "stop_review",
    "sum_limits",
]

"""Decisions from posterior draws of probabilities.

Draws have shape (draws, documents) for P(+), as from `ScoreCalibrator.sample_proba`, or (draws,
documents, classes). Costs have shape (decisions, classes) or (documents, decisions, classes):
costs[d, c] is the cost of decision d if the class is c. The first decisions are the classes, in
their order, and no wrong one costs less than the right one. Parameters `level` are probabilities of
intervals, and `rng` is an int, Generator, RandomState or None that seeds drawn labels. Every
function raises a ValueError if an argument is not as described.
"""

from bayescal.decisions.by_topic import rates_by_topic as rates_by_topic
from bayescal.decisions.by_topic import thresholds_by_topic as thresholds_by_topic
from bayescal.decisions.draws import PositiveCount as PositiveCount
from bayescal.decisions.draws import count_positives as count_positives
from bayescal.decisions.expected_cost import ABSTAIN as ABSTAIN
from bayescal.decisions.expected_cost import Decisions as Decisions
from bayescal.decisions.expected_cost import decide as decide
from bayescal.decisions.expected_cost import expected_costs as expected_costs
from bayescal.decisions.expected_cost import information_gain as information_gain
from bayescal.decisions.expected_cost import value_of_label as value_of_label
from bayescal.decisions.expected_cost import with_abstention as with_abstention
from bayescal.decisions.selective import RiskCoverage as RiskCoverage
from bayescal.decisions.selective import SetCoverage as SetCoverage
from bayescal.decisions.selective import conformal_sets as conformal_sets
from bayescal.decisions.selective import expected_sets as expected_sets
from bayescal.decisions.selective import risk_coverage as risk_coverage
from bayescal.decisions.selective import set_coverage as set_coverage
from bayescal.decisions.thresholds import AtThreshold as AtThreshold
from bayescal.decisions.thresholds import Threshold as Threshold
from bayescal.decisions.thresholds import precision_at as precision_at
from bayescal.decisions.thresholds import recall_at as recall_at
from bayescal.decisions.thresholds import threshold_for_precision as threshold_for_precision
from bayescal.decisions.thresholds import threshold_for_recall as threshold_for_recall

"""Metrics of probabilities: scores and their decompositions, calibration, tests, intervals.

Every metric takes ``(y_true, y_prob, *, sample_weight)`` as in scikit-learn; a weight of 2 equals
repeating the document. For documents sampled with unequal probabilities pass `inclusion` instead.
Parameters `level` are probabilities of intervals. Every function raises a ValueError if an argument
is not as described.
"""

from bayescal.metrics.calibration_error import calibration_error as calibration_error
from bayescal.metrics.calibration_error import smooth_calibration_error as smooth_calibration_error
from bayescal.metrics.classes import ClassVerdict as ClassVerdict
from bayescal.metrics.classes import class_verdict as class_verdict
from bayescal.metrics.evidence import SpiegelhalterTest as SpiegelhalterTest
from bayescal.metrics.evidence import Verdict as Verdict
from bayescal.metrics.evidence import spiegelhalter_test as spiegelhalter_test
from bayescal.metrics.intervals import bootstrap_interval as bootstrap_interval
from bayescal.metrics.intervals import posterior_interval as posterior_interval
from bayescal.metrics.reliability import Decomposition as Decomposition
from bayescal.metrics.reliability import ReliabilityCurve as ReliabilityCurve
from bayescal.metrics.reliability import reliability_curve as reliability_curve
from bayescal.metrics.reliability import score_decomposition as score_decomposition
from bayescal.metrics.scores import Losses as Losses
from bayescal.metrics.scores import brier_score as brier_score
from bayescal.metrics.scores import log_loss as log_loss
from bayescal.metrics.scores import losses as losses
from bayescal.metrics.scores import pointwise_losses as pointwise_losses
from bayescal.metrics.scores import ranked_probability_score as ranked_probability_score
from bayescal.metrics.scores import top_label as top_label
from bayescal.metrics.verdict import CalibrationVerdict as CalibrationVerdict
from bayescal.metrics.verdict import calibration_verdict as calibration_verdict
from bayescal.support.intervals import Interval as Interval

"""How good probabilities are: scores and their parts, calibration, tests, intervals.

Every metric takes ``(y_true, y_prob, *, sample_weight)`` as scikit-learn's do; a weight of 2 equals
repeating the document.
"""

from bayescal.metrics.calibration_error import calibration_error as calibration_error
from bayescal.metrics.calibration_tests import CalibrationEvidence as CalibrationEvidence
from bayescal.metrics.calibration_tests import SpiegelhalterTest as SpiegelhalterTest
from bayescal.metrics.calibration_tests import calibration_evidence as calibration_evidence
from bayescal.metrics.calibration_tests import spiegelhalter_test as spiegelhalter_test
from bayescal.metrics.decomposition import Decomposition as Decomposition
from bayescal.metrics.decomposition import score_decomposition as score_decomposition
from bayescal.metrics.intervals import Interval as Interval
from bayescal.metrics.intervals import bootstrap_interval as bootstrap_interval
from bayescal.metrics.intervals import posterior_interval as posterior_interval
from bayescal.metrics.losses import Losses as Losses
from bayescal.metrics.losses import losses as losses
from bayescal.metrics.reliability import ReliabilityCurve as ReliabilityCurve
from bayescal.metrics.reliability import reliability_curve as reliability_curve
from bayescal.metrics.scores import brier_score as brier_score
from bayescal.metrics.scores import log_loss as log_loss
from bayescal.metrics.scores import pointwise_losses as pointwise_losses
from bayescal.metrics.scores import top_label as top_label
from bayescal.metrics.smooth_calibration_error import (
    smooth_calibration_error as smooth_calibration_error,
)
from bayescal.metrics.verdict import CalibrationVerdict as CalibrationVerdict
from bayescal.metrics.verdict import calibration_verdict as calibration_verdict

"""Monitoring of probabilities in use: audits, drift, and recalibration.

`audit` judges somebody else's probabilities by outcomes, `labels_needed` plans such an audit, and
`Recalibrator` corrects them as far as the labels require. `foresee` judges them by unlabelled
scores. `DriftMonitor` watches labels that follow the probabilities, by a running Bayes factor;
Ville's inequality bounds its false alarms. `estimate_prior` estimates the class prior of a new
collection from its unlabelled scores, and `estimate_shares` the shares of several classes. Every
function raises a ValueError if an argument is not as described or a calibrator has no posterior.
Parameters `level` are posterior probabilities of intervals.
"""

from bayescal.calibrators.recalibrator import Recalibrator as Recalibrator
from bayescal.monitoring.auditing import Audit as Audit
from bayescal.monitoring.auditing import audit as audit
from bayescal.monitoring.class_shares import SharesPosterior as SharesPosterior
from bayescal.monitoring.class_shares import estimate_shares as estimate_shares
from bayescal.monitoring.drift import Alarm as Alarm
from bayescal.monitoring.drift import DriftMonitor as DriftMonitor
from bayescal.monitoring.foresight import Foresight as Foresight
from bayescal.monitoring.foresight import foresee as foresee
from bayescal.monitoring.heart_disease import load_heart_disease as load_heart_disease
from bayescal.monitoring.prior_shift import PriorPosterior as PriorPosterior
from bayescal.monitoring.prior_shift import estimate_prior as estimate_prior
from bayescal.monitoring.running_evidence import CHANGES as CHANGES
from bayescal.monitoring.running_evidence import Change as Change
from bayescal.monitoring.sample_size import labels_needed as labels_needed

"""Whether probabilities in use are still right, as labels arrive or from unlabelled scores.

`DriftMonitor` compares labels that follow the probabilities with labels whose base rate or slope
changed at some document, by a running Bayes factor; Ville's inequality bounds its false alarms.
`prior_posterior` and `prior_by_em` estimate the class prior of a new collection from its unlabelled
scores, whose distribution is prior p(s|+) + (1 - prior) p(s|-).
"""

from bayescal.monitoring.changes import CHANGES as CHANGES
from bayescal.monitoring.changes import Change as Change
from bayescal.monitoring.drift import Alarm as Alarm
from bayescal.monitoring.drift import DriftMonitor as DriftMonitor
from bayescal.monitoring.prior_shift import PriorByEM as PriorByEM
from bayescal.monitoring.prior_shift import PriorPosterior as PriorPosterior
from bayescal.monitoring.prior_shift import estimate_prior as estimate_prior
from bayescal.monitoring.prior_shift import prior_by_em as prior_by_em
from bayescal.monitoring.prior_shift import prior_posterior as prior_posterior

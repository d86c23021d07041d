"""The class prior of a new collection, from its unlabelled scores.

Where only the share of positives differs from the collection fitted, scores still follow
prior p(s|+) + (1 - prior) p(s|-): their distribution tells the new prior, and from it follows
P(+|s) (`prior=` of `ScoreCalibrator.predict_proba`).
"""

from bayescal.prior_shift.expectation_maximisation import PriorByEM as PriorByEM
from bayescal.prior_shift.expectation_maximisation import prior_by_em as prior_by_em
from bayescal.prior_shift.posterior import PriorPosterior as PriorPosterior
from bayescal.prior_shift.posterior import estimate_prior as estimate_prior
from bayescal.prior_shift.posterior import prior_posterior as prior_posterior

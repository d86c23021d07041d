"""Online combiners: experts' weights are updated after every label, with bounds on the loss.

`online_combiner` is the estimator, `rules` has the updates, `reading` checks arguments, and
`bounds` has the guarantees and the best mixture in hindsight.
"""

from bayescal.combining.online.bounds import Mixture as Mixture
from bayescal.combining.online.bounds import best_mixture as best_mixture
from bayescal.combining.online.bounds import (
    exponentiated_gradient_loss as exponentiated_gradient_loss,
)
from bayescal.combining.online.bounds import weighted_majority_loss as weighted_majority_loss

"""Online combiners: experts' weights are updated after every label, with bounds on the loss.

`online_combiner` is the estimator, `rules` has the updates, `reading` checks arguments, and
`bounds` has the guarantees and the best mixture in hindsight.
"""

from bayescal.combining.online.bounds import Mixture as Mixture
from bayescal.combining.online.bounds import best_mixture as best_mixture
from bayescal.combining.online.bounds import blum_mansour_loss as blum_mansour_loss
from bayescal.combining.online.bounds import (
    exponentiated_gradient_loss as exponentiated_gradient_loss,
)
from bayescal.combining.online.bounds import specialists_mistakes as specialists_mistakes
from bayescal.combining.online.bounds import weighted_majority_loss as weighted_majority_loss
from bayescal.combining.online.bounds import (
    weighted_majority_mistakes as weighted_majority_mistakes,
)
from bayescal.combining.online.bounds import winnow_mistakes as winnow_mistakes

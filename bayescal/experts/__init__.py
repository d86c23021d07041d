"""Online combiners: experts weighed anew after every label, with bounds on what that can lose.

`online_combiner` is the estimator; `advice` and `shares` are what experts say and how much each
counts; `rules` are the updates, one file each; `bounds` are what they promise, and `hindsight` what
would have been best.
"""

from bayescal.experts.bounds import blum_mansour_loss as blum_mansour_loss
from bayescal.experts.bounds import exponentiated_gradient_loss as exponentiated_gradient_loss
from bayescal.experts.bounds import specialists_mistakes as specialists_mistakes
from bayescal.experts.bounds import weighted_majority_loss as weighted_majority_loss
from bayescal.experts.bounds import weighted_majority_mistakes as weighted_majority_mistakes
from bayescal.experts.bounds import winnow_mistakes as winnow_mistakes
from bayescal.experts.hindsight import Mixture as Mixture
from bayescal.experts.hindsight import best_mixture as best_mixture

"""Weight of evidence: likelihood ratios with bands, how good they are, and how far they reach.

Every function raises a ValueError if an argument is not as described, or a class is missing.
Parameters `level` are probabilities of intervals, `rng` is an int, Generator, RandomState or None.
"""

from bayescal.likelihood_ratio.bounds import LikelihoodRatioBounds as LikelihoodRatioBounds
from bayescal.likelihood_ratio.bounds import elub as elub
from bayescal.likelihood_ratio.bounds import invariance_bounds as invariance_bounds
from bayescal.likelihood_ratio.bounds import source_bounds as source_bounds
from bayescal.likelihood_ratio.comparisons import load_comparisons as load_comparisons
from bayescal.likelihood_ratio.diagnostic import DiagnosticRatios as DiagnosticRatios
from bayescal.likelihood_ratio.diagnostic import diagnostic_ratios as diagnostic_ratios
from bayescal.likelihood_ratio.measures import cllr as cllr
from bayescal.likelihood_ratio.measures import devpav as devpav
from bayescal.likelihood_ratio.measures import empirical_cross_entropy as empirical_cross_entropy
from bayescal.likelihood_ratio.measures import min_cllr as min_cllr
from bayescal.likelihood_ratio.ratios import LikelihoodRatios as LikelihoodRatios
from bayescal.likelihood_ratio.ratios import likelihood_ratios as likelihood_ratios
from bayescal.likelihood_ratio.sources import source_weights as source_weights
from bayescal.likelihood_ratio.validation import (
    LikelihoodRatioValidation as LikelihoodRatioValidation,
)
from bayescal.likelihood_ratio.validation import cross_validated as cross_validated
from bayescal.likelihood_ratio.validation import validate as validate

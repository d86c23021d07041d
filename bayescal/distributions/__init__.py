"""PyMC distributions of scores: one mode, and a scale of its own on either side of it."""

from bayescal.distributions.anchored import Anchored, NormalMode
from bayescal.distributions.asymmetric_gaussian import AsymmetricGaussian
from bayescal.distributions.asymmetric_laplace import AsymmetricLaplace
from bayescal.distributions.grouped import GroupedScores
from bayescal.distributions.hybrid import Hybrid
from bayescal.distributions.logit_beta import LogitBeta
from bayescal.distributions.relative import Relative, of_beta, of_inverse_gamma
from bayescal.distributions.transforms import Standardised

__all__ = [
    "Anchored",
    "AsymmetricGaussian",
    "AsymmetricLaplace",
    "GroupedScores",
    "Hybrid",
    "LogitBeta",
    "NormalMode",
    "Relative",
    "Standardised",
    "of_beta",
    "of_inverse_gamma",
]

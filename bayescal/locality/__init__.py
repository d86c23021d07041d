"""What a classifier's estimates are worth in a neighbourhood, and against another classifier's.

Functions of samples, after chapters 3 and 4 of Bennett's dissertation. "Truth" is P(+|x) itself or
its log-odds, which are known where data are made and are approximated elsewhere.
"""

from bayescal.locality.forecasts import Forecasts as Forecasts
from bayescal.locality.forecasts import forecasts as forecasts
from bayescal.locality.linear_correction import LinearCorrection as LinearCorrection
from bayescal.locality.linear_correction import linear_correction as linear_correction
from bayescal.locality.neighbourhoods import nearest_points as nearest_points
from bayescal.locality.quantities import covariance_with_truth as covariance_with_truth
from bayescal.locality.quantities import dependence as dependence
from bayescal.locality.quantities import error_variance as error_variance
from bayescal.locality.quantities import noise_sensitivity as noise_sensitivity
from bayescal.locality.quantities import reliability_deviance as reliability_deviance
from bayescal.locality.sufficiency import is_at_least_as_refined as is_at_least_as_refined
from bayescal.locality.sufficiency import is_sufficient as is_sufficient
from bayescal.locality.sufficiency import stochastic_map as stochastic_map

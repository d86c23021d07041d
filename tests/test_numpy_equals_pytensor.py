"""The two implementations of each density are each other's oracle."""

import numpy as np
import pytensor
import pytensor.tensor as pt
import pytest

from bayescal.distributions import asymmetric_gaussian, asymmetric_laplace, hybrid
from tests.references import RECORDS

PYTENSOR = {
    "asymmetric_laplace": (asymmetric_laplace,),
    "asymmetric_gaussian": (asymmetric_gaussian,),
    "hybrid": (hybrid, 1.0),
    "mirrored hybrid": (hybrid, -1.0),
}
FORMULAS = {
    "logpdf": lambda module: module.log_density,
    "logcdf": lambda module: module.log_below,
    "logsf": lambda module: module.log_above,
    "ppf": lambda module: {
        asymmetric_laplace: asymmetric_laplace.AsymmetricLaplaceRV.ppf,
        asymmetric_gaussian: asymmetric_gaussian.AsymmetricGaussianRV.ppf,
        hybrid: hybrid.HybridRV.ppf,
    }[module],
}
PARAMETERS = [
    (0.0, 1.0, 1.0),
    (3.0, 0.2, 5.0),
    (-2.0, 40.0, 0.01),
    (1e6, 1e-3, 1e3),
    (0.0, 1e-8, 1e-8),
]
DEVIATIONS = np.r_[-1e3, -30.0, -np.logspace(1, -12, 27), 0.0, np.logspace(-12, 1, 27), 30.0, 1e3]


def compiled(name, function):
    value, *parameters = pt.dvector("value"), *(pt.dscalar(p) for p in "tab")
    module, *facing = PYTENSOR[name]
    graph = FORMULAS[function](module)(value, *parameters, *map(pt.constant, facing))
    # Python operations: what is compared is the formula, not a compiler.
    return pytensor.function([value, *parameters], graph, mode="FAST_COMPILE")


@pytest.mark.parametrize("name", PYTENSOR)
@pytest.mark.parametrize("function", ["logpdf", "logcdf", "logsf"])
def test_functions_of_scores(name, function):
    compiled_function = compiled(name, function)
    for parameters in PARAMETERS:
        x = parameters[0] + DEVIATIONS
        expected = getattr(RECORDS[name], function)(x, *parameters)
        assert compiled_function(x, *parameters) == pytest.approx(expected, rel=1e-12, abs=1e-15)


@pytest.mark.parametrize("name", PYTENSOR)
def test_quantiles(name):
    q = np.r_[1e-300, 1e-20, np.linspace(0.001, 0.999, 99), 1 - 1e-12]
    compiled_function = compiled(name, "ppf")
    for parameters in PARAMETERS:
        expected = RECORDS[name].ppf(q, *parameters)
        off = np.abs(compiled_function(q, *parameters) - expected)
        # 1e-12 of the distances to the mode and to 0, and of the median distance: at the mode
        # both sides round.
        scale = np.abs(expected - parameters[0]) + np.abs(expected)
        assert (off <= 1e-12 * np.maximum(scale, np.median(scale))).all()

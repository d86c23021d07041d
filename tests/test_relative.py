"""Members of a population seen relative to it: exact maps, and tails that leave no walls."""

import numpy as np
import pymc as pm
import pytensor
import pytensor.tensor as pt
import pytest
from scipy import special

from bayescal.distributions import LogitBeta, Relative, of_beta, of_inverse_gamma
from bayescal.distributions.transforms import Units, bend, slope, unbend
from tests.uncompiled import UNCOMPILED, value_of

UNITS = [
    Units(1.0, 0.0, 0.0),
    Units(2.0, 0.0, 300.0),
    Units(1e-3, 1e9, 0.0),
    Units(1e-9, 0.0, 1e3),
    Units(0.7, 20.0, 0.1, start=3.0),
    Units(1.0, 50.0, 300.0, start=9.0),
    Units(1e-3, 4.0, 1000.0, start=12.0),  # a flat middle, where Newton's method needs its start
]


@pytest.mark.parametrize("units", UNITS)
def test_a_bent_line_goes_there_and_back(units):
    y = np.array([-500.0, -30.0, -3.0, 0.0, 0.3, 5.0, 40.0, 500.0])
    bent = value_of(bend(y, units))
    # Digits that the larger unit takes are gone.
    lost = 1e-15 * max(units[:3]) / value_of(slope(y, units))
    assert np.all(
        np.abs(value_of(unbend(bent, units)) - y) < 1e-12 * (1.0 + np.abs(y)) + 4.0 * lost
    )


@pytest.mark.parametrize("units", UNITS)
def test_its_slope_is_one_unit_far_below_and_the_other_far_above(units):
    y = pt.dvector("y")
    points = np.array([-800.0, -1.0, 0.0, 2.0, 800.0])
    found = value_of(slope(points, units))
    gradient = pytensor.grad(bend(y, units).sum(), y)
    gradient = pytensor.function([y], gradient, mode=UNCOMPILED)(points)
    assert found == pytest.approx(gradient, rel=1e-12)
    assert found[[-1, 0]] - units.middle == pytest.approx(units[1:3])


@pytest.mark.parametrize(
    ("frame", "variable", "value"),
    [
        (of_beta, LogitBeta.dist(2.0, 0.7), -1.2),
        (of_inverse_gamma, pm.InverseGamma.dist(3.0, 2.0), 0.9),
    ],
)
@pytest.mark.parametrize("n", [0, 8, 10**9])
def test_relative_values_go_there_and_back(frame, variable, value, n):
    transform, inputs = Relative(frame, n), variable.owner.inputs
    seen = value_of(transform.forward(value, *inputs))
    assert value_of(transform.backward(seen, *inputs)) == pytest.approx(value, rel=1e-12)
    step = 1e-4
    rise = transform.backward(seen + step, *inputs) - transform.backward(seen - step, *inputs)
    slope = np.log(value_of(rise) / (2 * step))
    assert value_of(transform.log_jac_det(seen, *inputs)) == pytest.approx(
        slope, rel=1e-6, abs=1e-6
    )
    if n > 10**6:
        assert seen == pytest.approx(value)


@pytest.mark.parametrize("shape", [0.05, 0.7, 3.0, 200.0])
def test_frames_are_means_and_standard_deviations(shape):
    frames = [
        (of_beta(shape, 2.0), special.digamma([shape, 2.0]), special.polygamma(1, [shape, 2.0])),
        (of_inverse_gamma(shape, 1.0), [0.0, special.digamma(shape)], special.polygamma(1, shape)),
    ]
    for frame, (one, other), variances in frames:
        location, *lengths = (np.asarray(value_of(pt.as_tensor(each))) for each in frame)
        spread = np.sqrt(np.sum(variances))
        # Of independent parts: the core, and an exponential tail on either side.
        assert np.linalg.norm(lengths) == pytest.approx(spread, rel=0.01)
        mean = location + lengths[1] - lengths[2]
        assert mean == pytest.approx(one - other, abs=0.1 * spread)


@pytest.mark.parametrize("n", [0, 3])
@pytest.mark.parametrize("alpha", [0.003, 0.03, 0.3, 3.0])
def test_long_tails_of_shares_leave_no_walls(alpha, n):
    z = np.linspace(-30.0, 30.0, 6001)
    transform, inputs = Relative(of_beta, n), LogitBeta.dist(alpha, 1.0).owner.inputs
    v = transform.backward(z, *inputs)
    # Three scores at the mode, one and two right of it, say that left shares are not large.
    log_density = pm.logp(LogitBeta.dist(alpha, 1.0), v) - 3.0 * (1.0 + pt.exp(v))
    log_density += transform.log_jac_det(z, *inputs)
    log_density, v = value_of(log_density), value_of(v)
    near = log_density > log_density.max() - 8.0

    def steepest(unit):
        return np.abs(np.diff(log_density) / np.diff(unit))[near[1:] & near[:-1]].max()

    # It is 8 steep in v where it ends, and the longer the tail the further that is off.
    assert steepest(z) < 80.0
    if alpha < 0.1:
        # The negative: in units of its standard deviation it has one.
        log_density = log_density - value_of(transform.log_jac_det(z, *inputs))
        assert steepest(v / np.sqrt(special.polygamma(1, alpha))) > 150.0

"""Mode and widths on the raw scale, against each density evaluated score by score."""

import numpy as np
import pytest

from bayescal.families import FAMILIES
from bayescal.families.draws import density_draws, raw_shapes

DRAWS = 100
ASINH_SCALES = [np.inf, 3.0, 1.0, 0.3]
CENTRE = 0.5


def draws_of(name, unit=1.0):
    rng = np.random.default_rng(0)
    family = FAMILIES[name]
    left, right = np.exp(rng.normal(size=(2, DRAWS)))
    sides = unit * np.stack(
        [rng.normal(0.0, 3.0, DRAWS), left, left if family.symmetric else right]
    )
    asinh_scale = unit * rng.choice(ASINH_SCALES, DRAWS)
    return density_draws((family,), np.zeros(DRAWS, dtype=int), sides, asinh_scale, unit * CENTRE)


@pytest.mark.parametrize("name", sorted(FAMILIES))
def test_the_mode_is_where_the_density_is_largest(name):
    density = draws_of(name)
    mode, left, right = raw_shapes(density)
    # From the finest differences that show to the far tails, on both sides.
    steps = np.geomspace(1e-5, 1e3, 200)
    for k in range(DRAWS):
        one = density.take(np.array([k]))
        around = one.logpdf(np.r_[mode[k] - left[k] * steps, mode[k] + right[k] * steps])
        assert one.logpdf(mode[[k]])[0, 0] >= around.max() - 1e-12


@pytest.mark.parametrize("name", sorted(FAMILIES))
def test_a_share_of_1_over_e_of_each_side_lies_beyond_its_width(name):
    density = draws_of(name)
    mode, left, right = raw_shapes(density)
    for k in range(DRAWS):
        lower, below, upper = density.take(np.array([k])).cdf(
            np.array([mode[k] - left[k], mode[k], mode[k] + right[k]])
        )[0]
        assert lower == pytest.approx(below / np.e, rel=1e-9)
        assert 1.0 - upper == pytest.approx((1.0 - below) / np.e, rel=1e-9)


def test_widths_of_unwarped_sides_are_their_scales():
    density = draws_of("asymmetric_laplace")
    mode, left, right = raw_shapes(density)
    plain = np.isinf(np.array(density.asinh_scales)[density.warp])
    theta, left_rate, right_rate = density.coefficients[:3]
    np.testing.assert_array_equal(mode[plain], theta[plain])
    np.testing.assert_allclose(left[plain], 1.0 / left_rate[plain])
    np.testing.assert_allclose(right[plain], 1.0 / right_rate[plain])
    # Negative: the parameters of a warped density are something else.
    assert (np.abs(mode - theta) > 0.1)[~plain].mean() > 0.5


@pytest.mark.parametrize("unit", [1e-12, 1e15])
@pytest.mark.parametrize("name", ["gaussian", "asymmetric_laplace"])
def test_units_of_any_size(name, unit):
    shapes = raw_shapes(draws_of(name))
    np.testing.assert_allclose(raw_shapes(draws_of(name, unit)), unit * shapes, rtol=1e-9, atol=0.0)


def test_extreme_draws_stay_finite():
    # Sides thousands of asinh scales wide, as draws of a prior may be.
    family = FAMILIES["asymmetric_gaussian"], FAMILIES["asymmetric_laplace"]
    theta, side = np.array([-1e4, 0.0, 1e4, 1e4]), np.array([1e-6, 1e3, 1e5, 1.0])
    which, asinh_scale = np.array([0, 1, 0, 1]), np.full(4, 0.1)
    shapes = raw_shapes(
        density_draws(family, which, np.stack([theta, side, side]), asinh_scale, 0.0)
    )
    assert np.isfinite(shapes**2).all()
    assert (shapes[1:] >= 0.0).all()

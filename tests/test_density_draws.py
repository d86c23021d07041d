"""Draws of densities against the families' own log densities, and their modes and widths."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from scipy import stats

from bayescal.families import FAMILIES
from bayescal.families.draws import density_draws, raw_shapes
from bayescal.fitting.posterior import ClassDraws

SCORES = np.linspace(-6.0, 7.0, 41)
CENTRE, ASINH_SCALES = 0.5, np.array([np.inf, 2.0])
EVERY = tuple(FAMILIES.values())


def draws_of(families, size=12, seed=0):
    """Return draws of some families on two warps, with their families and parameters."""
    rng = np.random.default_rng(seed)
    which = rng.integers(len(families), size=size)
    asinh_scale = rng.choice(ASINH_SCALES, size)
    sides = np.stack([rng.normal(0, 2, size), *rng.uniform(0.3, 3.0, (2, size))])
    # A symmetric family has one side.
    symmetric = np.array([family.symmetric for family in families])[which]
    sides[2] = np.where(symmetric, sides[1], sides[2])
    return density_draws(families, which, sides, asinh_scale, CENTRE), which, sides, asinh_scale


@pytest.mark.parametrize("families", [*((f,) for f in EVERY), EVERY])
def test_each_draw_has_its_familys_log_density(families):
    draws, which, sides, asinh_scale = draws_of(families)
    for k, row in enumerate(draws.logpdf(SCORES)):
        parameters = families[which[k]].from_sides(*sides[:, k])
        d = SCORES - CENTRE
        x, slope = SCORES, 1.0
        if np.isfinite(asinh_scale[k]):
            x = CENTRE + asinh_scale[k] * np.arcsinh(d / asinh_scale[k])
            slope = 1.0 / np.sqrt(1.0 + (d / asinh_scale[k]) ** 2)
        np.testing.assert_allclose(row, families[which[k]].logpdf(x, *parameters) + np.log(slope))


@dataclass(frozen=True)
class Pair(ClassDraws):
    """Draws of two densities."""

    pair: tuple[Any, Any]
    prior: np.ndarray

    def of_class(self, klass):
        return self.pair[klass]


def test_log_odds_need_no_jacobian():
    negative, *_, asinh_scale = draws_of(EVERY, seed=1)
    positive, which, sides, _ = draws_of(EVERY, seed=2)
    positive = density_draws(EVERY, which, sides, asinh_scale, CENTRE)
    prior = np.linspace(0.1, 0.9, negative.size)
    curves = Pair((negative, positive), prior).log_odds(SCORES)
    whole = positive.logpdf(SCORES) - negative.logpdf(SCORES)
    np.testing.assert_allclose(curves, whole + np.log(prior / (1 - prior))[:, None])


@pytest.mark.parametrize("family", EVERY)
def test_far_scores_are_hopeless_without_a_warning(family):
    draws, _, _, asinh_scale = draws_of((family,))
    raw = draws.take(np.flatnonzero(np.isinf(asinh_scale)))
    assert (raw.logpdf(np.array([1e170, -1e170])) < -1e100).all()


@pytest.mark.parametrize("family", EVERY)
def test_samples_follow_the_distribution_function(family):
    draws, *_ = draws_of((family,), size=6)
    samples = draws.sample(2000, np.random.default_rng(0))
    levels = np.array([draws.take(np.array([k])).cdf(row)[0] for k, row in enumerate(samples)])
    assert min(stats.kstest(row, "uniform").pvalue for row in levels) > 1e-3
    # Negative: of another draw's density they do not.
    wrong = draws.take(np.array([1])).cdf(samples[0])[0]
    assert stats.kstest(wrong, "uniform").pvalue < 1e-6


# Mode and widths on the raw scale, against each density evaluated score by score

DRAWS = 100
WARPS = [np.inf, 3.0, 1.0, 0.3]


def densities_of(name, unit=1.0):
    rng = np.random.default_rng(0)
    family = FAMILIES[name]
    left, right = np.exp(rng.normal(size=(2, DRAWS)))
    sides = unit * np.stack(
        [rng.normal(0.0, 3.0, DRAWS), left, left if family.symmetric else right]
    )
    asinh_scale = unit * rng.choice(WARPS, DRAWS)
    return density_draws((family,), np.zeros(DRAWS, dtype=int), sides, asinh_scale, unit * CENTRE)


@pytest.mark.parametrize("name", sorted(FAMILIES))
def test_the_mode_is_where_the_density_is_largest(name):
    density = densities_of(name)
    mode, left, right = raw_shapes(density)
    # From the finest differences that show to the far tails, on both sides.
    steps = np.geomspace(1e-5, 1e3, 200)
    for k in range(DRAWS):
        one = density.take(np.array([k]))
        around = one.logpdf(np.r_[mode[k] - left[k] * steps, mode[k] + right[k] * steps])
        assert one.logpdf(mode[[k]])[0, 0] >= around.max() - 1e-12


@pytest.mark.parametrize("name", sorted(FAMILIES))
def test_a_share_of_1_over_e_of_each_side_lies_beyond_its_width(name):
    density = densities_of(name)
    mode, left, right = raw_shapes(density)
    for k in range(DRAWS):
        lower, below, upper = density.take(np.array([k])).cdf(
            np.array([mode[k] - left[k], mode[k], mode[k] + right[k]])
        )[0]
        assert lower == pytest.approx(below / np.e, rel=1e-9)
        assert 1.0 - upper == pytest.approx((1.0 - below) / np.e, rel=1e-9)


def test_widths_of_unwarped_sides_are_their_scales():
    density = densities_of("asymmetric_laplace")
    mode, left, right = raw_shapes(density)
    plain = np.isinf(np.array(density.asinh_scales)[density.warp])
    theta, left_rate, right_rate = density.coefficients[:3]
    np.testing.assert_array_equal(mode[plain], theta[plain])
    kinks = density.take(np.flatnonzero(plain)).kinks(5)
    np.testing.assert_allclose(kinks, np.quantile(theta[plain], np.linspace(0.0, 1.0, 5)))
    np.testing.assert_allclose(left[plain], 1.0 / left_rate[plain])
    np.testing.assert_allclose(right[plain], 1.0 / right_rate[plain])
    # Negative: the parameters of a warped density are something else.
    assert (np.abs(mode - theta) > 0.1)[~plain].mean() > 0.5


@pytest.mark.parametrize("unit", [1e-12, 1e15])
@pytest.mark.parametrize("name", ["gaussian", "asymmetric_laplace"])
def test_units_of_any_size(name, unit):
    shapes = raw_shapes(densities_of(name))
    np.testing.assert_allclose(
        raw_shapes(densities_of(name, unit)), unit * shapes, rtol=1e-9, atol=0.0
    )


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

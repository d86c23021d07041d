"""The variables: draws, shapes, models, and the distributions that are built on others."""

import functools
from dataclasses import dataclass
from functools import partial
from typing import Any

import cloudpickle
import numpy as np
import pymc as pm
import pytensor
import pytensor.tensor as pt
import pytest
from pymc.distributions.shape_utils import change_dist_size
from pymc.testing import (
    BaseTestDistributionRandom,
    Domain,
    Rplusbig,
    assert_support_point_is_expected,
    continuous_random_tester,
)
from scipy import special, stats

from bayescal.distributions import AsymmetricGaussian, AsymmetricLaplace, two_sided
from bayescal.distributions.two_sided import drawn
from bayescal.families import FAMILIES


@pytest.fixture(autouse=True)
def _nothing_is_compiled():
    """Run graphs in numpy: C takes a second or two a graph, which draws a few numbers once."""
    with pytensor.config.change_flags(mode="FAST_COMPILE"):
        yield


# With unequal sides, and a parameter that is slightly wrong.
DISTRIBUTIONS = {
    "asymmetric_laplace": (AsymmetricLaplace, {"beta": 2.0, "gamma": 0.5}, {"beta": 1.8}),
    "asymmetric_gaussian": (
        AsymmetricGaussian,
        {"sigma_left": 0.5, "sigma_right": 2.0},
        {"sigma_left": 0.55},
    ),
}


@dataclass(frozen=True)
class Family:
    """A distribution with its parameters, and the record of `bayescal.families` as its oracle."""

    name: str
    distribution: Any
    parameters: dict[str, float]
    slightly_wrong: dict[str, float]

    def dist(self, **kwargs):
        return self.distribution.dist(**self.parameters, **kwargs)

    def oracle(self, function, *x):
        return getattr(FAMILIES[self.name], function)(*x, **self.parameters)

    def cdf(self, x):
        return self.oracle("cdf", x)


LAPLACE, GAUSSIAN = EVERY = [
    Family(name, distribution, {"theta": 1.0, **parameters}, wrong)
    for name, (distribution, parameters, wrong) in DISTRIBUTIONS.items()
]
every_family = pytest.mark.parametrize("family", EVERY, ids=lambda family: family.name)


class ChecksThatRan(BaseTestDistributionRandom):
    """The checks of PyMC, which pass if none is named; here both have to have run."""

    checks_to_run = ("check_pymc_params_match_rv_op", "check_rv_size")

    def test_distribution(self):
        ran = []

        def recorded(check):
            @functools.wraps(check)
            def run():
                check()
                ran.append(check.__name__)

            return run

        for name in ChecksThatRan.checks_to_run:
            setattr(self, name, recorded(getattr(self, name)))
        super().test_distribution()
        assert ran == ["check_pymc_params_match_rv_op", "check_rv_size"]


@pytest.mark.slow
@every_family
def test_checks_of_pymc(family):
    own = {"pymc_dist": family.distribution, "pymc_dist_params": family.parameters}
    own["expected_rv_op_params"] = family.parameters
    type("Checks", (ChecksThatRan,), own)().test_distribution()


@pytest.mark.slow
@every_family
def test_draws_look_like_draws_from_elsewhere(family):
    _, *scales = family.parameters
    domains = {"theta": Domain([-2.0, 3.0], edges=(None, None))} | dict.fromkeys(scales, Rplusbig)
    # So many draws take longer in numpy than C takes to compile.
    with pytensor.config.change_flags(mode="Mode"):
        rng = np.random.default_rng(2003)
        draw = partial(FAMILIES[family.name].rvs, rng=rng)
        continuous_random_tester(family.distribution, domains, draw)


@every_family
def test_draws_follow_the_distribution_and_a_wrong_one_is_rejected(family):
    draws = pm.draw(family.dist(size=20_000), random_seed=1)
    assert stats.kstest(draws, family.cdf).pvalue > 0.01
    wrong = family.distribution.dist(**family.parameters | family.slightly_wrong, size=20_000)
    assert stats.kstest(pm.draw(wrong, random_seed=1), family.cdf).pvalue < 1e-3


@every_family
@pytest.mark.parametrize("extreme", [0.0, 1.0])
def test_no_draw_is_infinite(family, extreme, monkeypatch):
    def at_the_end(*arguments):
        next_rng, draws = drawn(*arguments)
        return next_rng, pt.full_like(draws, extreme)

    monkeypatch.setattr(two_sided, "drawn", at_the_end)
    draw = pm.draw(family.dist())
    assert np.isfinite(draw)
    assert (draw > family.oracle("mean")) == (extreme == 1.0)


@pytest.mark.slow
@every_family
@pytest.mark.parametrize(
    ("shapes", "size", "expected"),
    [
        (((3, 1), (4,), ()), None, (3, 4)),
        (((), (), (2,)), None, (2,)),
        (((4,), (), (4,)), (3, 4), (3, 4)),
        (((0,), (), ()), None, (0,)),
    ],
)
def test_shapes_broadcast(family, shapes, size, expected):
    arrays = [
        value + np.arange(np.prod(shape, dtype=int)).reshape(shape)
        for value, shape in zip(family.parameters.values(), shapes, strict=True)
    ]
    variable = family.distribution.dist(*arrays, size=size)
    draws = pm.draw(variable, random_seed=3)
    assert draws.shape == expected == tuple(variable.shape.eval())
    assert np.unique(draws).size == draws.size
    one_by_one = [
        pm.logp(family.distribution.dist(*parameters), draw).eval()
        for draw, *parameters in np.broadcast(draws, *arrays)
    ]
    np.testing.assert_allclose(pm.logp(variable, draws).eval(), np.reshape(one_by_one, expected))
    assert pm.draw(change_dist_size(variable, (5,), expand=True)).shape == (5, *expected)


@every_family
def test_every_parameter_moves_its_own_draws(family):
    theta = np.array([[0.0], [1e6]])
    draws = pm.draw(family.distribution.dist(theta, 1.0, 1.0, size=(2, 500)), random_seed=4)
    np.testing.assert_allclose(draws.mean(axis=1), theta[:, 0], atol=0.3)
    _, first, second = family.parameters
    left, right = np.array([0.01, 1.0]), np.array([1.0, 0.01])
    if family is LAPLACE:
        left, right = 1 / left, 1 / right
    skewed = {first: left, second: right}
    draws = pm.draw(family.distribution.dist(theta=0.0, **skewed, size=(500, 2)), random_seed=4)
    assert (np.mean(draws < 0, axis=0) > 0.9).tolist() == [False, True]


@every_family
def test_support_point_is_the_mode(family):
    for theta, first, size, expected in (
        (1.5, [1.0, 2.0], None, [1.5, 1.5]),
        (np.arange(3.0), 1.0, (2, 3), np.tile(np.arange(3.0), (2, 1))),
    ):
        with pm.Model() as model:
            family.distribution("x", theta, first, 0.25, size=size)
        assert_support_point_is_expected(model, expected)


@every_family
def test_mixture_is_the_sum_of_its_parts(family):
    weights, values = np.array([0.3, 0.7]), np.array([-40.0, 0.0, 1.0, 60.0])
    parts = [family.dist(), pm.Normal.dist(0.0, 2.0)]
    by_hand = [pm.logp(part, values).eval() for part in parts]
    mixture = pm.logp(pm.Mixture.dist(weights, parts), values).eval()
    expected = special.logsumexp(by_hand, axis=0, b=weights[:, None])
    np.testing.assert_allclose(mixture, expected, rtol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("family", "bounds"), [(LAPLACE, (0.5, None)), (GAUSSIAN, (None, 2.0)), (GAUSSIAN, (0.5, 2.0))]
)
def test_truncated_is_divided_by_the_mass_left(family, bounds):
    lower = -np.inf if bounds[0] is None else bounds[0]
    upper = np.inf if bounds[1] is None else bounds[1]
    mass = family.cdf(upper) - family.cdf(lower)
    truncated = pm.Truncated.dist(family.dist(), *bounds, size=1000)
    draws = pm.draw(truncated, random_seed=5)
    assert lower <= draws.min() < draws.max() <= upper
    conditional = (family.cdf(draws) - family.cdf(lower)) / mass
    assert stats.kstest(conditional, "uniform").pvalue > 0.01
    expected = pm.logp(family.dist(), draws).eval() - np.log(mass)
    np.testing.assert_allclose(pm.logp(truncated, draws).eval(), expected, rtol=1e-9)
    outside = np.full(1000, lower - 1 if upper == np.inf else upper + 1)
    assert np.all(pm.logp(truncated, outside).eval() == -np.inf)


@every_family
def test_truncated_keeps_a_tail_that_is_too_small_for_one_minus_cdf(family):
    truncated = pm.Truncated.dist(family.dist(), lower=31.0)
    expected = pm.logp(family.dist(), 32.0).eval() - family.oracle("logsf", 31.0)
    assert pm.logp(truncated, 32.0).eval() == pytest.approx(expected, rel=1e-12)


@every_family
def test_censored_collects_the_tails_at_its_bounds(family):
    censored = pm.Censored.dist(family.dist(), -2.0, 31.0)
    logp = pm.logp(censored, np.array([-2.5, -2.0, 1.0, 31.0, 31.5])).eval()
    below, above = family.oracle("logcdf", -2.0), family.oracle("logsf", 31.0)
    inside = pm.logp(family.dist(), 1.0).eval()
    np.testing.assert_allclose(logp, [-np.inf, below, inside, above, -np.inf], rtol=1e-9)


def latent_model(family):
    with pm.Model(coords={"klass": ["-", "+"], "topic": ["a", "b", "c"]}) as model:
        family.distribution("x", **family.parameters, dims=("topic", "klass"))
    return model


@pytest.mark.slow
@every_family
def test_latent_variable_has_dims_and_prior_draws(family):
    with latent_model(family):
        prior = pm.sample_prior_predictive(draws=2000, random_seed=6)["prior"]["x"]
    assert prior.dims == ("chain", "draw", "topic", "klass")
    assert prior.shape == (1, 2000, 3, 2)
    assert stats.kstest(prior.to_numpy().ravel(), family.cdf).pvalue > 0.01


@every_family
def test_model_survives_pickling(family):
    model = latent_model(family)
    assert cloudpickle.loads(cloudpickle.dumps(model)).point_logps() == model.point_logps()
    expected = 6 * pm.logp(family.dist(), 1.0).eval()
    assert model.point_logps() == {"x": pytest.approx(expected, abs=0.005)}


@pytest.mark.slow
@every_family
def test_nuts_finds_the_known_mean(family):
    with pm.Model():
        family.distribution("x", **family.parameters)
        trace = pm.sample(
            draws=2000, tune=1000, chains=2, cores=1, random_seed=7, progressbar=False
        )
    draws = trace["posterior"]["x"].to_numpy()
    batches = draws.reshape(40, -1).mean(axis=1)
    error = batches.std(ddof=1) / np.sqrt(batches.size)
    assert error < 0.15
    assert abs(draws.mean() - family.oracle("mean")) < 4 * error

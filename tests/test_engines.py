"""Engines on data small enough to check by other means."""

from dataclasses import replace

import numpy as np
import pymc as pm
import pytest
from scipy import integrate, special
from scipy import stats as st

from bayescal.distributions import programs
from bayescal.families import FAMILIES
from bayescal.fitting.covariates import Covariates
from bayescal.fitting.engines.point_estimates import ParameterSpace, find_mode, minimise_from
from bayescal.fitting.engines.program import build_model, draw_posterior
from bayescal.fitting.scores import BinaryScores
from tests.uncompiled import UNCOMPILED, value_of

SCORE = np.array([-3.0, -1.5, -1.0, -0.2, 0.1, 0.8, 2.5, 4.0])
POSITIVE = np.array([0, 0, 0, 0, 1, 0, 1, 1], dtype=bool)
HYPER = {"centre": 0.0, "spread": 1.0}


def minimise(function, start, **options):
    """Search from one start; the objective is that of one point."""

    def objective(points):
        values, gradients = zip(*map(function, points), strict=True)
        return np.array(values), np.stack(gradients)

    (found,) = minimise_from(objective, start[None], **options)
    return found


class TestBfgs:
    def test_searches_side_by_side_are_those_from_each_start(self):
        def objective(points):
            return (points**4).sum(axis=1) - points.sum(axis=1), 4 * points**3 - 1

        starts = np.random.default_rng(0).normal(size=(5, 3))
        together = minimise_from(objective, starts)
        for start, found in zip(starts, together, strict=True):
            (alone,) = minimise_from(objective, start[None])
            assert np.array_equal(found[0], alone[0])

    def test_smooth(self):
        def rosenbrock(p):
            x, y = p
            gradient = np.array([-2 * (1 - x) - 400 * x * (y - x * x), 200 * (y - x * x)])
            return (1 - x) ** 2 + 100 * (y - x * x) ** 2, gradient

        point, value, converged = minimise(rosenbrock, np.array([-1.2, 1.0]))
        assert converged
        assert point == pytest.approx([1.0, 1.0], abs=1e-5)
        assert value < 1e-10

    def test_kinks(self):
        # Steep across a kink, flat along it: where steepest descent and strong Wolfe steps stop.
        def kinked(p):
            x, y = p
            value = 10 * abs(y - x * x) + (1 - x) ** 2
            sign = np.sign(y - x * x)
            return value, np.array([-20 * x * sign - 2 * (1 - x), 10 * sign])

        point, _, _ = minimise(kinked, np.array([-1.2, 1.0]))
        assert point == pytest.approx([1.0, 1.0], abs=1e-4)

    def test_says_when_steps_ran_out(self):
        _, _, converged = minimise(
            lambda p: (float(p @ p), 2 * p), np.array([3.0, 4.0]), iterations=1
        )
        assert not converged


LOADED = [programs.load(name) for name in programs.available()]
# Programs of one score and no topics.
SINGLE = [each.name for each in LOADED if each.log_density or each.log_odds]
# What a program computes from the rows it gets, whose weights it does not know.
GIVEN = {"noisy_logistic": {"missed": 0.1, "false": 0.05}, "length": {"typical": 1.5}}
COLUMNS = {"sites": {"site": np.repeat(["A", "B"], 4)}, "length": {"length": np.arange(1.0, 9.0)}}


class TestWeights:
    @pytest.mark.slow
    @pytest.mark.parametrize("name", SINGLE)
    def test_a_weight_is_a_number_of_repetitions(self, name):
        weight = np.array([1.0, 2.0, 0.0, 3.0, 1.0, 1.0, 2.0, 1.0])
        repeat = np.repeat(np.arange(SCORE.size), weight.astype(int))
        program, given = programs.load(name), HYPER | GIVEN.get(name, {})
        columns = COLUMNS.get(name)
        columns = None if columns is None else Covariates.read(columns, SCORE.size)
        data = BinaryScores(SCORE, POSITIVE, covariates=columns)
        weighted = build_model(program, replace(data, weight=weight), given)
        repeated = build_model(program, data.take(repeat), given)
        # Uncompiled: three evaluations are not worth a compiler run.
        densities = [model.compile_logp(mode=UNCOMPILED) for model in (weighted, repeated)]
        rng = np.random.default_rng(2)
        for _ in range(3):
            point = {
                key: value + rng.normal(size=np.shape(value))
                for key, value in weighted.initial_point().items()
            }
            left, right = (float(density(point)) for density in densities)
            assert left == pytest.approx(right, rel=1e-10)


class TestBuildModel:
    def test_centre_and_spread_come_from_the_data(self):
        data = BinaryScores(SCORE * 10 + 100, POSITIVE)
        model = build_model(programs.load("laplace"), data)
        centre, spread = data.centre_and_spread
        theta = model["theta"].owner.inputs
        assert [value_of(v).item() for v in theta[-2:]] == pytest.approx([centre, 2 * spread])

    def test_unknown_hyperparameter(self):
        with pytest.raises(ValueError, match=r"hyperparameters of program 'laplace'.*'slope'"):
            build_model(programs.load("laplace"), BinaryScores(SCORE, POSITIVE), {"slope": 1.0})

    def test_models_that_are_none(self, tmp_path):
        path = tmp_path / "mine.py"
        path.write_text("import pymc as pm\ndef model(score, label):\n    return 3\n")
        with pytest.raises(ValueError, match=r"must return a pymc.Model, got int"):
            build_model(programs.load(path), BinaryScores(SCORE, POSITIVE))


@pytest.mark.slow
def test_mode_is_found_class_by_class_and_reproducibly():
    model = build_model(programs.load("asymmetric_laplace"), BinaryScores(SCORE, POSITIVE))
    space = ParameterSpace(model)
    first, again = (find_mode(space, np.random.default_rng(1)) for _ in range(2))
    assert first.log_density == again.log_density
    other = find_mode(space, np.random.default_rng(2))
    assert other.log_density == pytest.approx(first.log_density, abs=1e-6)
    # No random point is better.
    rng = np.random.default_rng(0)
    points = space.initial + rng.normal(size=(2000, space.size))
    assert (-space.objective(points)[0]).max() < first.log_density


def test_a_model_without_finite_density_is_an_error():
    with pm.Model() as model:
        x = pm.Normal("x")
        pm.Potential("impossible", pm.math.log(-(x**2) - 1.0))
    with pytest.raises(ValueError, match="not finite at any start"):
        find_mode(ParameterSpace(model), np.random.default_rng(0))


def laplace_posterior_of_mode(x):
    """Mean and sd of theta by quadrature: the scale integrates out (an independent formula)."""

    def density(theta):
        # width s: likelihood s^-n exp(-A/s), A = 2 sum|x - theta|; prior InverseGamma(2, 1).
        a = 2.0 * np.abs(x - theta).sum()
        log = special.gammaln(2 + x.size) - (2 + x.size) * np.log(1.0 + a)
        return np.exp(log + st.norm(0.0, 2.0).logpdf(theta) + 10.0)

    moments = [
        integrate.quad(lambda t, k=k: t**k * density(t), -15, 15, points=np.sort(x), limit=400)[0]
        for k in (0, 1, 2)
    ]
    mean = moments[1] / moments[0]
    return mean, np.sqrt(moments[2] / moments[0] - mean**2)


@pytest.mark.slow
def test_nuts_agrees_with_quadrature_and_never_beats_the_closed_form():
    data = BinaryScores(SCORE, POSITIVE)
    model = build_model(programs.load("laplace"), data, HYPER)
    groups = draw_posterior(model, np.random.default_rng(4), draws=1500, chains=2)
    posterior = groups["posterior"].stack(sample=("chain", "draw"))
    for k, which in enumerate((~POSITIVE, POSITIVE)):
        mean, sd = laplace_posterior_of_mode(SCORE[which])
        draws = posterior["theta"].values[k]
        # ESS is near 2,000: the mean is known to sd / 45; four of those.
        assert draws.mean() == pytest.approx(mean, abs=4 * sd / 45)
        assert draws.std() == pytest.approx(sd, rel=0.12)
        # The negative: the other class's posterior is another.
        wrong, _ = laplace_posterior_of_mode(SCORE[~which])
        assert abs(draws.mean() - wrong) > 8 * sd / 45

        family = FAMILIES["laplace"]
        best = family.fit(SCORE[which], scale_floor=None).log_likelihood
        beta = posterior["beta"].values[k]
        reached = family.logpdf(SCORE[which][:, None], draws, beta).sum(axis=0)
        assert reached.max() <= best


@pytest.mark.slow
def test_same_seed_same_draws():
    model = build_model(programs.load("gaussian"), BinaryScores(SCORE, POSITIVE))
    options = {"tune": 50}
    runs = [
        draw_posterior(model, np.random.default_rng(s), draws=20, chains=2, options=options)
        for s in (1, 1, 2)
    ]
    first, again, other = (run["posterior"]["mu"].values for run in runs)
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)


@pytest.mark.parametrize("sampler", ["pymc", "numpyro"])
def test_who_waits_hears_of_the_first_draw(sampler, monkeypatch):
    """At the first draw where PyMC samples; before other samplers, which take no callback."""
    heard = []

    class Begun(Exception):
        pass

    def sample(callback=None, **_):
        heard.append("sampling")
        if callback is not None:
            callback(trace=None, draw=None)
        raise Begun

    monkeypatch.setattr(pm, "sample", sample)
    options = {} if sampler == "pymc" else {"nuts_sampler": sampler}
    with pytest.raises(Begun):
        draw_posterior(pm.Model(), np.random.default_rng(0), draws=1, chains=1, options=options,
                       started=lambda: heard.append("started"))  # fmt: skip
    order = ["sampling", "started"]
    assert heard == (order if sampler == "pymc" else order[::-1])

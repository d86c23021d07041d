"""The engine of programs, in pieces: weights, simulated scores, base rates, priors, modes."""

import signal
import threading
from dataclasses import replace

import numpy as np
import pymc as pm
import pytensor
import pytest
import xarray as xr

from bayescal import Density
from bayescal.distributions import programs
from bayescal.fitting.engines import program as engine
from bayescal.fitting.engines.point_estimates import Mode
from bayescal.fitting.engines.program import build_model, draw_prior
from bayescal.fitting.engines.program_functions import ProgramFunctions, ProgramRecord
from bayescal.fitting.parts import program
from bayescal.fitting.parts.program import ProgramClassDraws
from bayescal.fitting.scores import BinaryScores
from bayescal.inference.chains import INDEPENDENT
from tests.uncompiled import UNCOMPILED

SCORE = np.array([0.3, -1.2, 2.5, 0.8])
LABEL = np.array([False, False, True, True])
UNITS = (0.5, 2.0)
RECORDS = {
    "gaussian": ProgramRecord("shipped", "gaussian"),  # of raw scores
    "Normal": replace(Density("Normal").record(), units=UNITS),  # of standardised ones
}
# Both programs have a mean for each class; the other variable is a square or a scale.
POINT = {
    "mu": np.array([-30.0, 40.0]),
    "squared_width": np.full(2, 1e-8),
    "sigma": np.full(2, 1e-4),
}


def log_density_of(model):
    """Return the model's log density where it starts."""
    compute = pytensor.function(model.value_vars, model.logp(), mode=UNCOMPILED)
    start = model.initial_point()
    return float(compute(*(start[each.name] for each in model.value_vars)))


def test_weights_count_documents():
    program, weight = RECORDS["gaussian"].program(), np.array([2, 0, 1, 3])
    rows = np.repeat(np.arange(4), weight)
    weighted = BinaryScores(SCORE, LABEL, weight.astype(float), units=UNITS)
    repeated = BinaryScores(SCORE[rows], LABEL[rows], units=UNITS)
    of_weights, of_repeats = (log_density_of(build_model(program, d)) for d in (weighted, repeated))
    assert of_weights == pytest.approx(of_repeats)
    # A weight of 1 is none.
    assert not build_model(program, replace(repeated, weight=np.ones(6))).potentials


def test_scores_are_standardised_where_the_program_asks_for_it():
    program = RECORDS["Normal"].program()
    raw = BinaryScores(SCORE, LABEL, units=UNITS)
    standard = BinaryScores((SCORE - 0.5) / 2.0, LABEL, units=(0.0, 1.0))
    ours, theirs = (log_density_of(build_model(program, each)) for each in (raw, standard))
    assert ours == pytest.approx(theirs)
    other = log_density_of(build_model(program, replace(raw, units=(0.0, 1.0))))
    assert abs(ours - other) > 0.1


@pytest.mark.parametrize("name", RECORDS)
def test_simulated_scores_are_of_each_draw_and_class(name, monkeypatch):
    monkeypatch.setattr(program, "REPLICATES", 5)
    record = replace(RECORDS[name], arguments={"centre": 0.5} if name == "gaussian" else {})
    values = {key: np.stack([each, 2.0 * each]) for key, each in POINT.items()}
    values["prior"] = np.array([0.2, 0.3])
    centre, spread = record.units
    with pytensor.config.change_flags(mode="FAST_COMPILE"):
        for klass in (0, 1):
            curves = ProgramClassDraws(
                ProgramFunctions(record, {}), values, values["prior"], np.zeros(2)
            )
            density = curves.of_class(klass)
            mean = centre + spread * values["mu"][:, klass]
            found = density.sample(3, np.random.default_rng(1))
            np.testing.assert_allclose(found, np.repeat(mean[:, None], 3, axis=1), atol=0.01)
            assert np.unique(found).size == 6
            again = density.sample(3, np.random.default_rng(1))
            np.testing.assert_array_equal(again, found)
            (share,) = (
                curves.take(np.array([1])).of_class(klass).cdf(mean[1] + np.array([-1.0, 1.0]))
            )
            assert share.tolist() == [0.0, 1.0]


def test_labels_given_scores_say_nothing_of_the_base_rate():
    data = BinaryScores(SCORE, LABEL, np.array([2.0, 1.0, 4.0, 1.0]))
    mode = {engine.MODE: xr.Dataset({"slope": 2.0})}
    found = engine._with_base_rate(mode, data, np.random.default_rng(0))
    assert float(found[engine.MODE]["prior"]) == (1 + 5) / (2 + 8)
    assert float(found[engine.MODE]["slope"]) == 2.0
    slope = (("chain", "draw"), np.zeros((2, 400)))
    groups = {"posterior": xr.Dataset({"slope": slope}), "sample_stats": xr.Dataset()}
    found = engine._with_base_rate(groups, data, np.random.default_rng(3))
    assert found.keys() == groups.keys()
    prior = found["posterior"]["prior"]
    expected = np.random.default_rng(3).beta(1 + 5, 1 + 3, (2, 400))
    np.testing.assert_array_equal(prior.values, expected)
    assert prior.attrs == {INDEPENDENT: 1}
    assert prior.dims == ("chain", "draw")


@pytest.mark.parametrize("draws", [1, 3])
def test_draws_of_the_prior_have_the_shape_of_the_posterior(draws):
    with pm.Model(coords={"site": ["oslo", "paris", "rome"]}) as model:
        pm.Normal("slope", [5.0, -5.0, 50.0], 1e-3, dims="site")
        level = pm.Normal("level", 7.0, 1e-3)
        pm.Deterministic("twice", 2.0 * level)
    shape = (2, 4)
    posterior = xr.Dataset(
        {
            "slope": (("chain", "draw", "site"), np.zeros((*shape, 3))),
            "twice": (("chain", "draw"), np.zeros(shape)),
            "prior": (("chain", "draw"), np.zeros(shape)),
        },
        {"site": ["oslo", "paris", "rome"], "chain": [0, 1], "draw": np.arange(4)},
    )
    rng = np.random.default_rng(5)
    with pytensor.config.change_flags(mode="FAST_COMPILE"):
        found = draw_prior(model, posterior, draws, rng)
    assert set(found.data_vars) == {"slope", "twice", "prior"}  # and not the level, which is none
    assert found.sizes == {"chain": 1, "draw": draws, "site": 3}
    assert found["draw"].values.tolist() == list(range(draws))
    assert found["site"].values.tolist() == ["oslo", "paris", "rome"]
    np.testing.assert_allclose(found["slope"][0], np.tile([5.0, -5.0, 50.0], (draws, 1)), atol=0.01)
    np.testing.assert_allclose(found["twice"][0], 14.0, atol=0.02)
    # P(+) that is no variable of the model is uniform, and drawn after the model's own.
    again = np.random.default_rng(5)
    again.integers(2**31)
    np.testing.assert_array_equal(found["prior"], again.beta(1.0, 1.0, (1, draws)))


def test_a_mode_is_a_group_with_its_search():
    with pm.Model(coords={"site": ["oslo", "rome"], "unused": [1]}) as model:
        pm.Normal("slope", dims="site")
        pm.Normal("free", shape=(2, 1))
        pm.Normal("level")
    values = {"slope": np.array([1.0, 2.0]), "free": np.ones((2, 1)), "level": np.array(3.0)}
    mode = Mode(values, -12.5, 30, 32, True)
    (name, group), *others = engine._mode_group(mode, model).items()
    assert (name, others) == ("mode", [])
    assert {n: each.dims for n, each in group.data_vars.items()} == {
        "slope": ("site",), "free": ("free_dim_0", "free_dim_1"), "level": (),
    }  # fmt: skip
    assert {str(n): each.values.tolist() for n, each in group.coords.items()} == {
        "site": ["oslo", "rome"]
    }
    assert group.attrs == {
        "log_density": -12.5, "agreeing_starts": 30, "starts": 32, "converged": 1,
    }  # fmt: skip
    with pytest.warns(UserWarning, match="reached its limit of steps; use inference='nuts'"):
        unfinished = engine._mode_group(replace(mode, converged=False), model)
    assert unfinished["mode"].attrs["converged"] == 0


def test_another_thread_has_no_deadline_and_leaves_no_alarm(monkeypatch):
    program = programs.load("gaussian")
    before = signal.getsignal(signal.SIGALRM)
    left = []

    def within():
        with engine._deadline(program) as started:
            left.append(signal.getitimer(signal.ITIMER_REAL)[0])
            started()

    thread = threading.Thread(target=within)
    thread.start()
    thread.join()
    assert left == [0.0]
    within()
    assert 500.0 < left[1] <= 600.0
    with engine._deadline(program) as started:
        assert signal.getsignal(signal.SIGALRM) is not before
        started()
        assert signal.getitimer(signal.ITIMER_REAL)[0] == 0.0
    assert signal.getsignal(signal.SIGALRM) is before
    monkeypatch.setattr(engine, "COMPILE_LIMIT", 0.01)
    with pytest.raises(TimeoutError, match="has no draw"), engine._deadline(program):
        threading.Event().wait(5.0)
    assert signal.getitimer(signal.ITIMER_REAL)[0] == 0.0

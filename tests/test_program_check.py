"""Simulation-based calibration of a program in one call: right ones pass, wrong ones do not."""

import textwrap

import numpy as np
import pandas as pd
import pymc as pm
import pytest
import xarray as xr

from bayescal import Program, check_program
from bayescal.fitting.engines import program as engine
from bayescal.fitting.program_check import DRAWS, ProgramCheck
from tests.uncompiled import UNCOMPILED

# One free variable, so that a grid has the posterior.
SLOPE = """
    import pymc as pm

    def model(score, label, *, width=1.0):
        with pm.Model() as program:
            slope = pm.Normal("slope", 0, width)
            pm.Bernoulli("label", logit_p=log_odds(score, slope), observed=label)
        return program

    def log_odds(score, slope):
        return slope * score
"""
GRID = np.linspace(-4.0, 4.0, 400)


@pytest.fixture
def write(tmp_path):
    def write(text):
        path = tmp_path / "mine.py"
        path.write_text(textwrap.dedent(text))
        return Program(path)

    return write


@pytest.fixture
def grid(monkeypatch):
    """Replace NUTS by exact draws of the variable "slope"; `narrow` is a fault put in."""
    narrow = [1.0]

    def draw(model, rng, *, draws, chains, started=None, **_):
        started()
        log_density = model.compile_logp(mode=UNCOMPILED)
        values = np.array([log_density({"slope": each}) for each in GRID])
        p = np.exp(values - values.max())
        slope = rng.choice(GRID, (chains, draws), p=p / p.sum())
        slope += rng.uniform(-0.5, 0.5, slope.shape) * (GRID[1] - GRID[0])
        slope = slope.mean() + narrow[0] * (slope - slope.mean())
        diverging = np.zeros((chains, draws), dtype=bool)
        return {
            "posterior": xr.Dataset({"slope": (("chain", "draw"), slope)}),
            "sample_stats": xr.Dataset({"diverging": (("chain", "draw"), diverging)}),
        }

    monkeypatch.setattr(engine, "draw_posterior", draw)
    return narrow


def check(program, **options):
    return check_program(program, documents=20, data_sets=25, random_state=3, **options)


WITH_SCORES = SLOPE.replace(
    "        pm.Bern",
    "        score = pm.Normal('score', 5, 0.1, observed=score)\n            pm.Bern",
)


@pytest.mark.slow
def test_a_model_of_labels_may_draw_its_scores(write, grid):
    """Its labels belong to the scores drawn with them: all near 5 here, not around 0."""
    found = check(write(WITH_SCORES))
    assert found.passed
    low, high = (f"P(+ | {end} score)" for end in ("lowest", "highest"))
    assert found.prior_predictive.loc[low].to_numpy() == pytest.approx(
        found.prior_predictive.loc[high].to_numpy(), abs=0.1
    )


@pytest.mark.slow
def test_exact_draws_pass(write, grid):
    found = check(write(SLOPE))
    assert found.passed
    assert list(found.ranks) == ["slope", "log likelihood", "log-odds"]
    assert len(found.ranks) == 25
    assert found.ranks.to_numpy().max() <= DRAWS
    # The prior of the share of positives is symmetric; that of P(+) at the ends is wide.
    assert found.prior_predictive.loc["share of positives", 0.5] == pytest.approx(0.5, abs=0.15)
    assert str(found).startswith("Passed: in 25 data sets of 20 documents")


@pytest.mark.slow
def test_draws_too_narrow_fail(write, grid):
    grid[0] = 0.3
    found = check(write(SLOPE))
    assert not found.passed
    assert "Failed: in 25 data sets" in str(found)


@pytest.mark.parametrize(
    ("model", "difference"),
    [("log_odds(score, slope)", 0.0), ("slope", 0.5), ("log_odds(score, slope) + 0.01", 0.001)],
)
def test_predictions_are_what_the_model_says(model, difference, write, grid):
    """Ranks cannot tell: they are uniform for every function of parameters and data."""
    program = write(SLOPE.replace("logit_p=log_odds(score, slope)", f"logit_p={model}"))
    found = check_program(program, documents=20, data_sets=2, random_state=3)
    assert found.passed == (difference == 0.0)
    assert found.difference >= difference
    assert ("is not what the model says" in str(found)) == (difference > 0.0)


@pytest.mark.slow
def test_hyperparameters_are_those_given(write, grid):
    own = write(SLOPE).record().path
    found = check(Program(own, prior_knowledge={"width": 0.01}))
    assert found.prior_predictive.loc["P(+ | highest score)"].to_numpy() == pytest.approx(
        0.5, abs=0.02
    )


@pytest.mark.slow
def test_programs_of_the_package_pass():
    rng = np.random.default_rng(0)
    site = rng.choice(["oslo", "paris", "rome"], 40)
    check = check_program("sites", rng.normal(size=40), {"site": site}, data_sets=5, random_state=0)
    assert check.passed
    assert "intercept 2" in check.ranks


def result(**ranks):
    return ProgramCheck(pd.DataFrame(ranks), DRAWS, 20, pd.DataFrame(), 0.0)


def test_the_verdict_is_of_the_least_uniform_quantity():
    uniform = np.repeat(np.arange(DRAWS + 1), 2)
    low = np.zeros(40, dtype=int)
    found = result(right=uniform, low=low)
    assert found.quantities["mean_rank"].tolist() == pytest.approx([0.5, 0.025])
    assert not found.passed
    assert "'low'" in str(found)
    assert "above the truth" in str(found)
    assert "below the truth" in str(result(high=low + DRAWS))
    assert result(right=uniform).passed


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"documents": 0}, "documents must be a positive whole number"),
        ({"data_sets": 1.5}, "data_sets must be a positive whole number"),
        ({"covariates": {"site": ["oslo"]}}, "pass their scores, too"),
        ({"scores": [0.0, np.nan]}, "nan"),
    ],
)
def test_bad_arguments(options, message, write):
    with pytest.raises(ValueError, match=message):
        check_program(write(SLOPE), **options)


@pytest.mark.slow
def test_a_prior_of_one_class_is_refused(write):
    text = SLOPE.replace("slope * score", "50 + slope * score")
    with pytest.raises(ValueError, match="must draw data sets with both classes"):
        check_program(write(text), documents=10, data_sets=2, random_state=0)


@pytest.mark.slow
def test_a_density_is_checked_too(monkeypatch):
    """Draws of the prior are no posterior: only the likelihood tells."""

    def draw(model, rng, *, draws, chains, started=None, **_):
        started()
        free = [each.name for each in (*model.free_RVs, *model.deterministics)]
        seed = int(rng.integers(2**31))
        values = pm.draw([model[name] for name in free], draws, random_seed=seed)
        variables = {
            name: (("chain", "draw", *(model.named_vars_to_dims.get(name) or ())), value[None])
            for name, value in zip(free, values, strict=True)
        }
        return {"posterior": xr.Dataset(variables), "sample_stats": xr.Dataset()}

    monkeypatch.setattr(engine, "draw_posterior", draw)
    found = check_program("gaussian", documents=30, data_sets=15, random_state=0)
    assert not found.passed
    assert found.quantities["p_value"].idxmin() == "log likelihood"

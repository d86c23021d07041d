"""Estimates side by side: curves in one picture, and modes beside closed forms."""

import textwrap

import numpy as np
import pymc as pm
import pytest

from bayescal import Density, Program, ScoreCalibrator, load
from bayescal.calibrators import compare_estimates, compare_with_closed_form
from bayescal.families import FAMILIES
from bayescal.support.numerics import centre_and_spread

RNG = np.random.default_rng(3)
LABEL = np.repeat([False, True], [35, 25])  # odd numbers have one median
SCORE = 10.0 + 3.0 * RNG.normal(1.5 * LABEL)
# A normal density by its precision, with priors far from these scores.
OWN = """
    import pymc as pm

    def model(score, label):
        with pm.Model(coords={"klass": ["negative", "positive"]}) as program:
            prior = pm.Beta("prior", 50, 1)
            middle = pm.Normal("middle", -5, 2, dims="klass")
            precision = pm.Gamma("precision", 20, 2, dims="klass")
            k = pm.Bernoulli("label", prior, observed=label)
            pm.Normal("score", middle[k], tau=precision[k], observed=score)
        return program

    def log_density(score, klass, middle, precision):
        return pm.logp(pm.Normal.dist(middle[klass], tau=precision[klass]), score)
"""


@pytest.fixture
def own(tmp_path):
    path = tmp_path / "mine.py"
    path.write_text(textwrap.dedent(OWN))
    return Program(path)


def by_precision(x):
    return {"middle": x.mean(), "precision": 1.0 / x.var()}


@pytest.mark.slow
def test_the_mode_of_an_own_program_under_flat_priors_is_its_closed_form(own):
    table = compare_with_closed_form(own, by_precision, SCORE, np.where(LABEL, "spam", "ham"))
    assert list(table) == ["map", "closed_form", "difference"]
    assert list(table.index) == [
        (label, name) for label in ("ham", "spam") for name in ("middle", "precision")
    ]
    assert table["difference"].abs().max() < 1e-4
    assert table.loc[("ham", "middle"), "map"] == pytest.approx(SCORE[~LABEL].mean(), abs=1e-4)


@pytest.mark.slow
def test_own_priors_move_the_mode(own):
    mode = ScoreCalibrator(own, "map", random_state=0).fit(SCORE, LABEL).summary()["map"]
    assert abs(mode[("False", "middle")] - SCORE[~LABEL].mean()) > 0.5


def test_a_wrong_closed_form_differs(own):
    def unbiased(x):
        return {"middle": x.mean(), "precision": 1.0 / x.var(ddof=1)}

    difference = compare_with_closed_form(own, unbiased, SCORE, LABEL)["difference"]
    expected = 1 / SCORE[LABEL].var() - 1 / SCORE[LABEL].var(ddof=1)
    assert difference[("True", "precision")] == pytest.approx(expected, rel=1e-2)


@pytest.mark.slow
def test_a_density_is_compared_in_its_units():
    def laplace(x):
        return {"mu": np.median(x), "b": np.abs(x - np.median(x)).mean()}

    density = Density(pm.Laplace, priors={"b": Density(pm.HalfNormal, sigma=1.0)})
    table = compare_with_closed_form(density, laplace, SCORE, LABEL)
    assert table["difference"].abs().max() < 1e-3
    centre, spread = centre_and_spread(SCORE)
    median = (np.median(SCORE[LABEL]) - centre) / spread
    assert table.loc[("True", "mu"), "closed_form"] == pytest.approx(median)


@pytest.mark.slow
def test_parameters_of_a_density_are_in_score_units(tmp_path):
    raw = 1000.0 + 50.0 * SCORE
    fits = {
        "t": ScoreCalibrator(Density("StudentT", nu=30.0), "map", random_state=0).fit(raw, LABEL),
        "gaussian": ScoreCalibrator("gaussian", "mle").fit(raw, LABEL),
    }
    fits["t"].save(tmp_path / "t.nc")
    assert load(tmp_path / "t.nc").summary().equals(fits["t"].summary())
    table = compare_estimates(fits)
    for label in ("False", "True"):
        own, closed = table.loc[(label, "mu")].xs("estimate", level=1)
        assert own == pytest.approx(closed, abs=25.0)
        own, closed = table.loc[(label, "sigma")].xs("estimate", level=1)
        assert own == pytest.approx(closed, rel=0.25)


@pytest.mark.slow
def test_other_parameters_of_a_density_name_their_units():
    raw = 1000.0 + 50.0 * SCORE
    of_mu = Density("Normal", mu=0.0, sigma=2.0)
    density = Density("AsymmetricLaplace", kappa=1.0, b=1.0, priors={"mu": of_mu})
    fitted = ScoreCalibrator(density, "map", random_state=0).fit(raw, LABEL)
    centre, spread = centre_and_spread(raw)
    names = set(fitted.summary().index.get_level_values("parameter"))
    assert names == {f"mu of (s - {centre:.6g})/{spread:.6g}", "prior"}


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(FAMILIES))
def test_shipped_programs_have_the_closed_form_of_their_family(name):
    def closed_form(x):
        return FAMILIES[name].fit(x, scale_floor=None).parameters

    table = compare_with_closed_form(Program(name), closed_form, SCORE, LABEL)
    # Precise to the spread of the scores, about 4.
    assert table["difference"].abs().max() < 1e-3


@pytest.mark.parametrize(
    ("program", "closed_form", "message"),
    [
        ("gaussian", by_precision, "program must be a Program or a Density, got 'gaussian'"),
        (Program("logistic"), by_precision, "must define log_density, which Program"),
        (Program("gaussian"), by_precision, "'middle', which .* not have by class; it has mu, "),
    ],
)
def test_what_has_no_closed_form(program, closed_form, message):
    with pytest.raises(ValueError, match=message):
        compare_with_closed_form(program, closed_form, SCORE, LABEL)


def test_estimates_of_something_else_are_refused():
    with pytest.raises(TypeError, match=r"must be a fitted calibrator .* got .* type int"):
        compare_estimates({"three": 3})

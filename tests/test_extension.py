"""A part, a family, a density and a kind of calibrator: everything takes them as they are.

They would not be fitted, saved, loaded, summarised, drawn, reported, compared and chosen on the
command line if a list somewhere else had to name them.
"""

from dataclasses import replace
from functools import cache

import numpy as np
import pandas as pd
import pytest
from scipy import optimize, stats

from bayescal import NUTS, Densities, Density, ScoreCalibrator, TopicCalibrator, load
from bayescal.calibrators import leave_one_out, loading
from bayescal.families import FAMILIES
from bayescal.fitting.parts.combination import PARTS
from bayescal.fitting.parts.part import all_paths, flat
from bayescal.fitting.results.diagnostics import ConvergenceWarning
from bayescal.plots import ClassDensityDisplay, LogOddsDisplay
from bayescal.support.numerics import centre_and_spread
from tests.cli_tools import run
from tests.report_data import data_of
from tests.spoiling import all_the_same, reread, with_spoilt_draws
from tests.toys.base_rate import BaseRatePart
from tests.toys.by_language import NAME as BY_LANGUAGE
from tests.toys.by_language import ByLanguage
from tests.toys.family import FAMILY

# arviz-stats warns of documents that sway much, and of pandas.
pytestmark = pytest.mark.filterwarnings("ignore:Estimated shape parameter:UserWarning")
LABELS = np.repeat([0, 1], [45, 15])
SCORES = np.random.default_rng(0).normal(2.0 * LABELS)
TOY = "base_rate"
MODELS = {
    "part alone": {"parts": TOY},
    "part of several": {"parts": ["densities", TOY]},
    "family": {"parts": FAMILY.name},
    "family in the combination": {"parts": ["combined", Densities(FAMILY.name)]},
}


@pytest.fixture(autouse=True)
def registered(monkeypatch):
    monkeypatch.setitem(PARTS, TOY, BaseRatePart())
    monkeypatch.setitem(FAMILIES, FAMILY.name, FAMILY)
    monkeypatch.setitem(loading.CALIBRATORS, BY_LANGUAGE, ByLanguage)


@cache
def fit(model, **more):
    settings = {"draws": 100, "chains": 2, "random_state": 0} | more
    return ScoreCalibrator(**settings, **MODELS[model]).fit(SCORES, LABELS)


# Shapes that no family has: the density, and its logarithm by scipy.
POSITIVE = Density("InverseGamma", alpha=2.0, beta=0.5)
SHAPES = {
    "logistic": (Density("Logistic", priors={"s": POSITIVE}), stats.logistic.logpdf),
    "ex-Gaussian": (
        Density("ExGaussian", priors={"nu": POSITIVE}),
        lambda x, mu, s, nu: stats.exponnorm.logpdf(x, nu / s, mu, s),
    ),
}
CENTRE, SPREAD = centre_and_spread(SCORES)
AT = np.array([-1.5, 0.5, 1.0, 2.5])


def log_posterior(of, positive, mode, *scales):
    """Return a class's log posterior up to a constant, of scores in units of the spread."""
    prior = stats.norm.logpdf(mode, 0.0, 2.0)
    prior = prior + sum(stats.invgamma.logpdf(scale, 2.0, scale=0.5) for scale in scales)
    own = (SCORES[positive == LABELS, None] - CENTRE) / SPREAD
    return prior + of(own, mode, *scales).sum(axis=0)


@pytest.mark.slow
def test_a_density_of_another_shape_has_the_mode_that_a_search_finds():
    density, of = SHAPES["ex-Gaussian"]
    fitted = ScoreCalibrator(density, "map", random_state=0).fit(SCORES, LABELS)
    found = []
    for positive in (0, 1):
        best = optimize.minimize(
            lambda p, k=positive: -log_posterior(of, k, p[0], *np.exp(p[1:])).item(),
            np.zeros(3),
            method="Nelder-Mead",
            options={"xatol": 1e-7, "fatol": 1e-9, "maxiter": 2000},
        ).x
        found.append(np.exp(of((AT - CENTRE) / SPREAD, best[0], *np.exp(best[1:]))))
    expected = 15 * found[1] / (15 * found[1] + 45 * found[0])
    assert fitted.predict_proba(AT)[:, 1] == pytest.approx(expected, abs=1e-4)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:the posterior draws are not to be trusted")
def test_a_density_of_another_shape_has_the_posterior_that_sums_give():
    density, of = SHAPES["logistic"]
    nuts = NUTS(sampler_options={"tune": 500})
    settings = {"draws": 4000, "chains": 2, "random_state": 0}
    fitted = ScoreCalibrator(density, nuts, **settings).fit(SCORES, LABELS)
    drawn = fitted.class_densities(AT)["predictive"].values
    grid = np.meshgrid(np.linspace(-2.0, 2.0, 200), np.linspace(-4.0, 1.0, 200))
    mode, log_scale = (each.ravel() for each in grid)
    for positive in (0, 1):
        log = log_posterior(of, positive, mode, np.exp(log_scale)) + log_scale
        weight = np.exp(log - log.max())
        density_at = np.exp(of((AT[:, None] - CENTRE) / SPREAD, mode, np.exp(log_scale))) / SPREAD
        expected = density_at @ weight / weight.sum()
        assert drawn[positive] == pytest.approx(expected, rel=0.05)


def test_a_density_of_another_shape_is_refused_where_no_engine_fits_it():
    density = Density("StudentT", nu=4.0)
    with pytest.raises(ValueError, match=r"inference='exact' has no engine for Density\('Student"):
        ScoreCalibrator(density, "exact").fit(SCORES, LABELS)
    with pytest.raises(ValueError, match=r"inference='mle' would ignore Density\('Student"):
        ScoreCalibrator(density, "mle").fit(SCORES, LABELS)
    with pytest.raises(ValueError, match=r"has no engine for many topics.* ScoreCalibrator"):
        TopicCalibrator(parts=density).fit(SCORES, LABELS, LABELS)


@pytest.mark.parametrize("pooling", ["none", "partial"])
def test_a_family_is_fitted_to_topics(pooling):
    topics = np.arange(LABELS.size) % 3

    def log_odds(family):
        quick = TopicCalibrator(pooling, family, draws=50, chains=2, random_state=0)
        return quick.fit(SCORES, LABELS, topics).decision_function(AT, np.full(AT.size, 2))

    np.testing.assert_array_equal(log_odds(FAMILY.name), log_odds("laplace"))


def test_nuts_samples_a_family_by_its_own_program_alone(monkeypatch):
    with pytest.raises(ValueError, match="there is no program 'tent'"):
        ScoreCalibrator(FAMILY.name, "nuts").fit(SCORES, LABELS)
    # The program of this name is another model.
    monkeypatch.setitem(FAMILIES, "noisy_logistic", replace(FAMILY, name="noisy_logistic"))
    with pytest.raises(ValueError, match=r"log_density\(score, klass, peak, steepness\) to sample"):
        ScoreCalibrator("noisy_logistic", "nuts").fit(SCORES, LABELS)


def test_the_part_says_what_it_should():
    alone = fit("part alone", draws=2000)
    assert alone.predict_proba([-5.0, 5.0])[:, 1] == pytest.approx(16 / 62, abs=0.005)
    medians = alone.summary().loc["log-odds", "median"].to_numpy()
    assert medians == pytest.approx(np.log(16 / 46), abs=0.05)


def test_a_part_that_is_worth_little_gets_little_weight():
    weights = fit("part of several").combination_["weight"]
    assert weights.index.tolist() == ["densities", TOY]
    assert weights[TOY] < 0.1


def test_it_joins_the_combination_only_if_it_says_so(monkeypatch):
    assert TOY not in fit("family in the combination").combination_.index
    monkeypatch.setattr(BaseRatePart, "joins", lambda self, data, options: True)
    assert fit.__wrapped__("family in the combination").combination_.index[-1] == TOY


@pytest.mark.parametrize("model", MODELS)
def test_saved_and_loaded_it_is_the_same(model, tmp_path):
    fitted = fit(model)
    again = load(fitted.save(tmp_path / "toy.nc"))
    for method in ("predict_proba", "predict_interval"):
        np.testing.assert_array_equal(
            getattr(again, method)(SCORES), getattr(fitted, method)(SCORES)
        )
    assert again.summary().equals(fitted.summary())
    rare, common = (again.predict_interval([0.0], prior=prior)[0] for prior in (0.01, 0.9))
    assert (rare < common).all()


def test_a_file_of_a_part_that_is_not_registered_says_so(monkeypatch, tmp_path):
    path = fit("part of several").save(tmp_path / "toy.nc")
    monkeypatch.delitem(PARTS, TOY)
    with pytest.raises(ValueError, match="part of kind 'base_rate', which is not among densities"):
        load(path)


@pytest.mark.parametrize("model", MODELS)
def test_it_is_drawn_reported_and_summarised(model, tmp_path):
    fitted = fit(model)
    drawn = LogOddsDisplay.from_estimator(fitted).data
    assert (drawn["lower"] <= drawn["upper"]).all()
    if model != "part alone":
        ClassDensityDisplay.from_estimator(fitted)
    page = fitted.report(tmp_path / "report.html")
    (topic,) = data_of(page)["topics"]
    assert len(topic["lower"]) == len(topic["x"])
    text = page.read_text(encoding="utf-8")
    told = {"part": "The share of positives, whatever the score.", "family": "<h3>Tent</h3>"}
    assert told[model.split()[0]] in text
    assert "ScoreCalibrator" in fitted._repr_html_()


@pytest.mark.parametrize("model", MODELS)
def test_it_is_compared(model):
    plain = ScoreCalibrator("gaussian", draws=100, chains=2, random_state=0).fit(SCORES, LABELS)
    own = leave_one_out(fit(model, draws=1000)).elpd
    assert np.isfinite(own)
    if model == "part alone":
        assert own < leave_one_out(plain).elpd
        expected = 15 * np.log(15 / 61) + 45 * np.log(45 / 61)
        assert own == pytest.approx(expected, abs=0.3)


def test_faults_of_its_draws_are_reported():
    fitted = fit("part of several")
    paths = all_paths(flat(fitted.results_))[1]
    tree = with_spoilt_draws(fitted.results_, paths.draws[0], all_the_same)
    with pytest.warns(ConvergenceWarning, match="the part 'base_rate' are all the same"):
        reread(fitted, tree).summary()


@pytest.mark.slow
@pytest.mark.parametrize(
    "options", [("--parts", f"densities,{TOY}"), ("--family", FAMILY.name)], ids=["part", "family"]
)
def test_it_is_chosen_on_the_command_line(options, tmp_path):
    scores = tmp_path / "scores.csv"
    pd.DataFrame({"score": SCORES, "label": LABELS}).to_csv(scores, index=False)
    out = tmp_path / "out"
    run("fit", scores, *options, "--draws", 50, "--out", out)
    fitted = load(out)
    assert fitted.parts == (Densities(FAMILY.name) if "--family" in options else ["densities", TOY])
    run("predict", out, scores, "--out", tmp_path / "predicted.csv")
    predicted = pd.read_csv(tmp_path / "predicted.csv")
    assert predicted["probability"].to_numpy() == pytest.approx(fitted.predict_proba(SCORES)[:, 1])
    run("report", out, "--out", tmp_path / "report.html")


@pytest.mark.slow
def test_a_kind_of_calibrator_is_saved_loaded_drawn_and_reported(tmp_path, monkeypatch):
    language = np.tile(["en", "fr"], 30)
    fitted = ByLanguage().fit(SCORES, LABELS, language)
    path = fitted.save(tmp_path / "toy.nc")
    again = load(path)
    drawn, expected = (
        LogOddsDisplay.from_estimator(each, topic="fr").data for each in (again, fitted)
    )
    np.testing.assert_array_equal(drawn["lower"], expected["lower"])
    run("report", path, "--out", tmp_path / "report.html")
    assert [topic["name"] for topic in data_of(tmp_path / "report.html")["topics"]] == ["en", "fr"]
    monkeypatch.delitem(loading.CALIBRATORS, BY_LANGUAGE)
    with pytest.raises(ValueError, match="holds a 'ByLanguage', which is not among ScoreCal"):
        load(path)

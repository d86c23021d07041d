"""A part, a family and a kind of calibrator of one file each: everything takes them as they are.

They would not be fitted, saved, loaded, summarised, drawn, reported, compared and chosen on the
command line if a list somewhere else had to name them.
"""

import numpy as np
import pandas as pd
import pytest

from bayescal import Densities, ScoreCalibrator, load
from bayescal.calibrators import compare_calibrators, leave_one_out, loading
from bayescal.families import FAMILIES
from bayescal.fitting.parts.combination import PARTS
from bayescal.fitting.parts.part import all_paths, flat
from bayescal.fitting.results.diagnostics import ConvergenceWarning
from bayescal.plots import ClassDensityDisplay, LogOddsDisplay
from tests.cli_tools import run
from tests.report_data import data_of
from tests.spoiling import all_the_same, reread, with_spoilt_draws
from tests.toys.base_rate import BaseRatePart
from tests.toys.by_language import NAME as BY_LANGUAGE
from tests.toys.by_language import ByLanguage
from tests.toys.family import FAMILY

pytestmark = [
    pytest.mark.one_era,
    # arviz-stats warns of documents that sway much, and of pandas.
    pytest.mark.filterwarnings("ignore:Estimated shape parameter:UserWarning"),
    pytest.mark.filterwarnings("ignore:The inplace keyword"),
]
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


def fit(model, **more):
    settings = {"draws": 100, "chains": 2, "random_state": 0} | more
    return ScoreCalibrator(**settings, **MODELS[model]).fit(SCORES, LABELS)


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
    assert fit("family in the combination").combination_.index[-1] == TOY


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
    table = compare_calibrators({"toy": fit(model), "gaussian": plain})
    assert set(table.index) == {"toy", "gaussian"}
    if model == "part alone":
        assert table.index[-1] == "toy"
        expected = 15 * np.log(15 / 61) + 45 * np.log(45 / 61)
        assert leave_one_out(fit(model, draws=1000)).elpd == pytest.approx(expected, abs=0.3)


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

"""OrdinalCalibrator: P(grade >= k) by continuation ratios, inputs, answers and files."""

import pickle

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from scipy import special
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import cross_val_score

import bayescal
from bayescal import OrdinalCalibrator, ScoreCalibrator
from bayescal.decisions import decide
from bayescal.fitting.fitted_grades import GainDraws
from bayescal.plots import ProbabilityDisplay, ReliabilityDisplay
from bayescal.support.score_checks import ScoresWarning
from tests import small_fits

RNG = np.random.default_rng(5)
SCORES = RNG.normal(size=90)
grade = np.digitize(SCORES + 0.5 * RNG.logistic(size=90), [-0.4, 0.6, 1.5])
NEW = np.linspace(-3.0, 3.0, 11)
WORDS = np.array(["none", "poor", "good", "best"])
SMALL = {"parts": "gaussian", "draws": 30, "chains": 2, "random_state": 3}
TWO = {**SMALL, "parts": ["gaussian", "logistic"], "draws": 200}


@pytest.fixture(scope="module")
def fitted():
    return OrdinalCalibrator(**SMALL).fit(SCORES, grade)


def test_two_grades_equal_score_calibrator():
    high = grade >= 2
    both = OrdinalCalibrator(**TWO).fit(SCORES, high), ScoreCalibrator(**TWO).fit(SCORES, high)
    for new in (NEW, np.linspace(-3.0, 3.0, 900)):
        graded, plain = ([each.predict_proba(new), each.predict(new)] for each in both)
        np.testing.assert_array_equal(graded[0], plain[0])
        np.testing.assert_array_equal(graded[1], plain[1])
    graded, plain = both
    np.testing.assert_array_equal(graded.sample_proba(NEW)[:, :, 1], plain.sample_proba(NEW))
    for kind in ("pointwise", "hdi", "simultaneous"):
        expected = plain.predict_interval(NEW, 0.8, kind)
        np.testing.assert_array_equal(graded.predict_interval(NEW, 0.8, kind)[:, 0], expected)
        np.testing.assert_array_equal(graded.gain_interval(NEW, 0.8, kind), expected)


def test_probabilities_are_products_of_stages_fitted_by_themselves(fitted):
    rng, reached = np.random.default_rng(3), np.ones(NEW.size)
    for k in (1, 2, 3):
        some = grade >= k - 1
        stage = ScoreCalibrator(**SMALL | {"random_state": rng, "scores_are": "scores"})
        reached *= stage.fit(SCORES[some], grade[some] >= k).predict_proba(NEW)[:, 1]
        np.testing.assert_allclose(fitted.exceedance(NEW)[:, k - 1], reached, rtol=1e-12)
        kept = fitted.stages_[f">= {k}"]
        np.testing.assert_array_equal(kept.predict_proba(NEW), stage.predict_proba(NEW))
    p = fitted.predict_proba(NEW)
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    np.testing.assert_allclose(p[:, 1:] @ np.tri(3), fitted.exceedance(NEW))


def test_draws_never_cross_and_agree_with_intervals(fitted):
    draws = fitted.sample_proba(NEW)
    assert draws.shape == (60, 11, 4)
    np.testing.assert_allclose(draws.sum(axis=2), 1.0)
    reached = draws[:, :, 1:] @ np.tri(3)
    assert (np.diff(reached, axis=2) <= 0.0).all()
    expected = np.moveaxis(np.quantile(special.logit(reached), [0.1, 0.9], axis=0), 0, 2)
    interval = fitted.predict_interval(NEW, 0.8)
    np.testing.assert_allclose(interval, special.expit(expected), rtol=1e-6)
    assert (np.diff(interval, axis=1) <= 0.0).all()
    assert fitted.sample_proba(NEW, 7, random_state=0).shape == (7, 11, 4)


def test_gains_of_extreme_curves_stay_finite():
    curve = Constant(np.array([800.0, -800.0, 2.0]))
    gain = np.array([0.0, 0.25, 1.0])
    zeros = np.zeros(3)
    found = GainDraws((curve, curve), gain, zeros, zeros).log_odds(np.zeros(1))[:, 0]
    p = special.expit(2.0)
    share = 0.25 * p * (1.0 - p) + p * p
    np.testing.assert_allclose(found[[0, 2]], [800.0 - np.log(1.75), special.logit(share)])
    assert found[1] == pytest.approx(np.log(0.25) - 800.0)


class Constant:
    """Draws of log-odds that do not depend on the score."""

    def __init__(self, value):
        self.value = value

    def log_odds(self, scores):
        return np.repeat(self.value[:, None], scores.size, axis=1)


def test_expected_gains_are_those_of_draws(fitted):
    p, draws = fitted.predict_proba(NEW), fitted.sample_proba(NEW)
    np.testing.assert_allclose(fitted.expected_gain(NEW), p @ [0.0, 1.0, 2.0, 3.0])
    gain = np.array([-1.0, 3.0, 0.5, 7.0])
    np.testing.assert_allclose(fitted.expected_gain(NEW, gain), p @ gain)
    by_name = {3: 7.0, 0: -1.0, 2: 0.5, 1: 3.0}
    np.testing.assert_array_equal(
        fitted.expected_gain(NEW, by_name), fitted.expected_gain(NEW, gain)
    )
    lower, upper = fitted.gain_interval(NEW, 0.8, gain=gain).T
    expected = np.sort(draws @ gain, axis=0)
    # The 7th and 54th of 60 draws are the ends up to interpolation between neighbours.
    assert ((expected[5] - 1e-9 <= lower) & (lower <= expected[6] + 1e-9)).all()
    assert ((expected[53] - 1e-9 <= upper) & (upper <= expected[54] + 1e-9)).all()
    for bad, words in (
        ([1.0, 2.0], "gain must hold 4 numbers, one a grade, got 2"),
        ({0: 1.0}, r"gain must have the grades \[0, 1, 2, 3\], got \[0\]"),
        ([1.0] * 4, "gain must differ between grades, got 1 for all"),
        ([0.0, 1.0, 2.0, np.nan], "gain"),
    ):
        with pytest.raises(ValueError, match=words):
            fitted.expected_gain(NEW, bad)


def test_names_order_and_units_change_nothing(fitted):
    p, band = fitted.predict_proba(NEW), fitted.predict_interval(NEW)
    words = OrdinalCalibrator(**SMALL, grades=WORDS).fit(SCORES, WORDS[grade])
    assert words.classes_.tolist() == WORDS.tolist()
    np.testing.assert_array_equal(words.predict_proba(NEW), p)
    np.testing.assert_array_equal(words.expected_gain(NEW), fitted.expected_gain(NEW))
    assert words.predict(NEW).tolist() == WORDS[fitted.predict(NEW)].tolist()
    spread = OrdinalCalibrator(**SMALL).fit(8.0 * SCORES, 0.5 * grade + 1.0)
    assert spread.classes_.tolist() == [1.0, 1.5, 2.0, 2.5]
    np.testing.assert_allclose(spread.predict_interval(8.0 * NEW), band, rtol=1e-9)
    order = np.random.default_rng(0).permutation(90)
    moved = OrdinalCalibrator(**SMALL).fit(SCORES[order] + 16.0, grade[order])
    np.testing.assert_allclose(moved.predict_proba(NEW + 16.0), p, rtol=1e-6)


@pytest.mark.slow
def test_files_pickles_and_clones_keep_the_fit(fitted, tmp_path):
    words = OrdinalCalibrator(**SMALL, grades=tuple(WORDS.tolist())).fit(SCORES, WORDS[grade])
    for read in (bayescal.load(words.save(tmp_path / "o.nc")), pickle.loads(pickle.dumps(words))):
        assert isinstance(read, OrdinalCalibrator)
        np.testing.assert_array_equal(read.sample_proba(NEW), words.sample_proba(NEW))
        np.testing.assert_array_equal(read.predict_interval(NEW), words.predict_interval(NEW))
        assert read.classes_.tolist() == WORDS.tolist() == list(read.grades)
    assert list(fitted.posterior_.children) == ["observed_data", "stage_1", "stage_2", "stage_3"]
    assert "posterior" in fitted.posterior_["stage_2"].children
    again = clone(words).fit(SCORES, WORDS[grade])
    np.testing.assert_array_equal(again.predict_proba(NEW), words.predict_proba(NEW))


@pytest.mark.slow
def test_population_is_prior_knowledge_of_every_stage(tmp_path):
    history = small_fits.topics()
    calibrator = OrdinalCalibrator(prior_knowledge=history).fit(SCORES, np.minimum(grade, 2))
    read = bayescal.load(calibrator.save(tmp_path / "o.nc"))
    np.testing.assert_array_equal(read.sample_proba(NEW), calibrator.sample_proba(NEW))
    assert clone(calibrator).prior_knowledge is history


def test_weights_and_clusters_reach_their_stages():
    once = OrdinalCalibrator(**SMALL).fit(SCORES, grade, np.where(grade == 3, 3.0, 1.0))
    for k, (name, stage) in enumerate(once.stages_.items()):
        weight = stage.results_["constant_data"]["weight"].values
        assert weight.sum() == (grade >= k).sum() + 2.0 * (grade == 3).sum(), name
    cluster = np.arange(90) // 2
    by = OrdinalCalibrator(**SMALL).fit(SCORES, grade, clusters=cluster)
    counted = [stage.design_effect_ for stage in by.stages_.values()]
    assert by.design_effect_ == counted[0]
    assert [each.documents for each in counted] == [(grade >= k).sum() for k in range(3)]
    sampled = OrdinalCalibrator(**SMALL).fit(SCORES, grade, inclusion=np.where(grade > 0, 1, 0.5))
    plain = OrdinalCalibrator(**SMALL).fit(SCORES, grade)
    low, own = sampled.exceedance(NEW)[:, 0], plain.exceedance(NEW)[:, 0]
    assert (special.logit(low) < special.logit(own) - 0.3).all()


def test_all_stages_read_scores_as_the_first_does():
    with pytest.warns(ScoresWarning, match="^>= 1: all scores lie in"):
        calibrator = OrdinalCalibrator(**SMALL).fit(special.expit(2.0 * SCORES), grade)
    first, *others = (each.scores_are for each in calibrator.stages_.values())
    assert (first, *others) == ("auto", "probabilities", "probabilities")
    assert not any(each.calibration.guessed for each in calibrator._fit.stages[1:])
    assert calibrator.predict_proba([0.0, 0.5, 1.0]).shape == (3, 4)


@pytest.mark.parametrize(
    ("y", "options", "words"),
    [
        (None, {}, "y must hold the grade of every score"),
        (WORDS[grade], {}, r"grades must list the labels of y from the lowest to the highest"),
        (WORDS[grade], {"grades": WORDS[:3]}, "y must hold .*, got 'best': grades must name all"),
        (grade, {"grades": [0, 1, 2, 3, 4]}, "each with a document in y, got none of 4: leave"),
        (grade, {"grades": [0, 1, 2, 3, 3]}, "grades must differ, .*, got none of 3"),
        (np.zeros(90), {}, "y must hold 2 to 20 grades, got 1"),
        (np.arange(90), {}, "y must hold 2 to 20 grades, got 90: .*pandas.cut"),
        (np.where(grade == 3, np.nan, grade), {}, "y must not hold nan or infinity, got nan"),
        (grade[:80], {}, "90.*80|80.*90"),
        (grade[:, None] * [1, 1], {}, "y must have shape"),
        (grade, {"inference": "mle"}, "inference must be 'exact' or 'nuts', with draws, got 'mle'"),
    ],
)
def test_wrong_grades_are_named(y, options, words):
    with pytest.raises(ValueError, match=words):
        OrdinalCalibrator(**SMALL | options).fit(SCORES, y)


def test_errors_of_a_stage_name_it():
    with pytest.raises(ValueError, match="some weight") as caught:
        OrdinalCalibrator(**SMALL).fit(SCORES, grade, (grade != 3).astype(float))
    assert caught.value.__notes__ == ["This was the fit of grades from 3 on."]
    with pytest.raises(NotFittedError):
        OrdinalCalibrator().predict([0.0])


def test_a_grade_with_one_document_has_a_wide_band():
    y = np.where(np.arange(90) == SCORES.argmax(), 3, np.minimum(grade, 2))
    calibrator = OrdinalCalibrator(**SMALL).fit(SCORES, y)
    (lower, upper) = calibrator.predict_interval([SCORES.max()])[0, 2]
    assert upper - lower > 0.4


def test_problems_serve_plots_and_tables(fitted):
    problems = fitted.fitted_problems()
    assert list(problems) == [">= 1", ">= 2", ">= 3"]
    for k, problem in enumerate(problems.values(), 1):
        assert problem.counts == ((grade < k).sum(), (grade >= k).sum())
        p = special.expit(problem.log_odds(NEW))
        np.testing.assert_allclose(p, fitted.exceedance(NEW)[:, k - 1], rtol=1e-9)
    display = ProbabilityDisplay.from_estimator(fitted, topic=">= 2")
    assert display.ax_.get_ylabel() == "P(>= 2 | score)"
    assert list(fitted.summary().index.get_level_values(0).unique()) == list(problems)


@pytest.mark.slow
def test_reports_exports_and_notebooks_show_the_grades(fitted, tmp_path):
    events = list(fitted.fitted_problems())
    test = pd.DataFrame({"score": np.tile(SCORES, 3), "topic": np.repeat(events, 90)})
    test["label"] = np.concatenate([grade >= k for k in (1, 2, 3)]).astype(int)
    text = fitted.report(tmp_path / "report.html", test).read_text(encoding="utf-8")
    assert all(event.replace(">", "&gt;") in text for event in events)
    space = {}
    exec(fitted.export(tmp_path / "o.py", ">= 2").read_text(encoding="utf-8"), space)
    p = [space["predict"](score)[0] for score in NEW.tolist()]
    np.testing.assert_allclose(p, fitted.exceedance(NEW)[:, 1], atol=1e-3)
    held_out = ReliabilityDisplay.from_estimator(fitted, SCORES, grade >= 2, topic=">= 2")
    assert held_out.data["weight"].sum() == 90
    assert "OrdinalCalibrator fitted to 90 documents" in fitted._repr_html_()


def test_answers_are_in_the_form_of_the_scores(fitted):
    rows = xr.DataArray(NEW, {"page": np.arange(11)}, ["page"])
    assert fitted.exceedance(rows).dims == ("page", "grade")
    assert fitted.predict_interval(rows).dims == ("page", "grade", "band")
    assert fitted.predict_proba(rows)["klass"].values.tolist() == [0, 1, 2, 3]
    da = pytest.importorskip("dask.array")
    lazy = fitted.predict_interval(da.from_array(NEW, chunks=4))
    np.testing.assert_array_equal(lazy.compute(), fitted.predict_interval(NEW))
    table = pd.DataFrame({"score": NEW})
    np.testing.assert_array_equal(fitted.predict(table), fitted.predict(NEW))


def test_draws_decide_at_costs(fitted):
    distance = np.abs(np.subtract.outer(np.arange(4), np.arange(4)))
    found = decide(fitted.sample_proba(NEW), distance)
    # The least absolute distance is that of the median grade.
    median = (fitted.sample_proba(NEW).mean(axis=0).cumsum(axis=1) < 0.5).sum(axis=1)
    assert found.decision.tolist() == median.tolist()


def test_scikit_learn_scores_grades():
    found = cross_val_score(
        OrdinalCalibrator(**SMALL | {"parts": "logistic"}),
        SCORES,
        np.minimum(grade, 2),
        cv=2,
        scoring="neg_log_loss",
    )
    assert (found > -np.log(3.0)).all()

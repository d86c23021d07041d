"""Plots, summaries and reports take a CalibratedClassifier like any fit."""

import runpy

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression

from bayescal import CalibratedClassifier, MulticlassCalibrator, ScoreCalibrator, TopicCalibrator
from bayescal.plots import LogOddsDisplay
from tests.report_data import data_of

pytestmark = pytest.mark.filterwarnings(
    "ignore::bayescal.fitting.results.diagnostics.ConvergenceWarning"
)
FAST = ScoreCalibrator(draws=50, chains=2)
LETTERS = np.array(["a", "b", "c"])


def problem(classes):
    X, y = make_classification(
        160, 5, n_informative=4, n_redundant=0, n_classes=classes, random_state=0
    )
    return X, LETTERS[y]


def fit(classes=2, calibrator=FAST, **options):
    X, y = problem(classes)
    options |= {"cv": 3, "random_state": 0}
    return CalibratedClassifier(LogisticRegression(), calibrator, **options).fit(X[:120], y[:120])


def test_of_two_classes_there_is_one_problem(tmp_path):
    fitted, (X, y) = fit(), problem(2)
    (only,) = fitted.fitted_problems().values()
    assert only.labels.tolist() == ["a", "b"]
    scores = np.linspace(-2.0, 2.0, 5)
    (own,) = fitted.calibrated_classifiers_[0].calibrators
    np.testing.assert_array_equal(only.log_odds(scores), own.decision_function(scores))
    assert fitted.summary().loc["b", "median"].notna().all()
    page = fitted.report(tmp_path / "report.html", X[120:], y[120:])
    (topic,) = data_of(page)["topics"]
    assert topic["test"]["point"]["n"] == 40
    assert data_of(page)["classes"] == ["a", "b"]
    scores = fitted.problem_scores(X[120:])[:, 0]
    for given in ((X[120:], y[120:]), (scores, y[120:])):
        again = data_of(fitted.report(tmp_path / "again.html", given))
        assert again["topics"][0]["test"] == topic["test"]
    written = runpy.run_path(str(fitted.export(tmp_path / "map.py")))["predict"](scores)
    np.testing.assert_allclose(written[0], fitted.predict_proba(X[120:])[:, 1], atol=1e-3)
    with pytest.raises(ValueError, match="have several: fit with ensemble=False"):
        fit(ensemble=True).export(tmp_path / "map.py")


@pytest.mark.slow
@pytest.mark.parametrize("calibrator", [FAST, TopicCalibrator(draws=50, chains=2)])
def test_of_several_there_is_one_for_each(calibrator, tmp_path):
    fitted, (X, y) = fit(3, calibrator), problem(3)
    assert list(fitted.fitted_problems()) == ["a", "b", "c"]
    drawn = LogOddsDisplay.from_estimator(fitted, topic="b").data
    assert (drawn["lower"] <= drawn["upper"]).all()
    assert set(fitted.summary().index.get_level_values("problem")) == {"a", "b", "c"}
    data = data_of(fitted.report(tmp_path / "report.html", X[120:], y[120:]))
    # The page judges what predict_proba returns, and counts each document once.
    p = fitted.predict_proba(X[120:])
    first, *each = data["figures"]
    assert (first["n"], first["positives"]) == (40, int((fitted.predict(X[120:]) == y[120:]).sum()))
    assert [one["positives"] for one in each] == [int((y[120:] == name).sum()) for name in LETTERS]
    np.testing.assert_allclose([one["expected"] for one in each], p.sum(axis=0), rtol=1e-3)


@pytest.mark.slow
def test_classes_need_no_score_of_their_own(tmp_path):
    fitted, (X, y) = fit(3, MulticlassCalibrator(draws=8, chains=2), ensemble=True), problem(3)
    text = fitted.report(tmp_path / "report.html", X[120:], y[120:]).read_text()
    assert "against 40 held-out labels" in text
    assert data_of(fitted.report(tmp_path / "without.html"))["figures"] == []
    with pytest.raises(ValueError, match="they are for one score"):
        fitted.report(tmp_path / "other.html", threshold=0.0)
    with pytest.raises(ValueError, match="y_true must hold classes"):
        fitted.report(tmp_path / "other.html", X[120:], ["z"] * 40)
    assert not (tmp_path / "other.html").exists()


@pytest.mark.slow
def test_of_folds_there_is_one_for_each(tmp_path):
    fitted, (X, y) = fit(ensemble=True), problem(2)
    assert list(fitted.fitted_problems()) == ["fold 1", "fold 2", "fold 3"]
    fitted.report(tmp_path / "report.html")
    with pytest.raises(ValueError, match="an ensemble gives no single score of held-out documents"):
        fitted.report(tmp_path / "other.html", X, y)


@pytest.mark.parametrize(
    ("calibrator", "arguments", "error", "message"),
    [
        ("isotonic", {}, AttributeError, "no posterior"),
        (FAST, {"X": np.zeros((2, 5))}, ValueError, "X and y must be given together"),
        (FAST, {"X": np.zeros((2, 5)), "y": ["a", "d"]}, ValueError, "y must hold 'a', 'b' only"),
    ],
)
def test_what_cannot_be_reported(calibrator, arguments, error, message, tmp_path):
    with pytest.raises(error, match=message):
        fit(calibrator=calibrator).report(tmp_path / "report.html", **arguments)
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_findings_are_those_of_the_one_map_in_words():
    joint = MulticlassCalibrator(draws=20, chains=2)
    fitted = fit(3, joint)
    (own,) = fitted.calibrated_classifiers_[0].calibrators
    assert fitted.findings(0.8) == own.findings(0.8)
    assert len(fitted.findings()) == 2
    of_folds = fit(3, joint, ensemble=True).findings()
    assert len(of_folds) == 6
    assert len({text.split(":")[0] for text in of_folds}) == 3
    assert fit(3).findings() == ()
    with pytest.raises(ValueError, match="level"):
        fitted.findings(1.5)


def test_positions_of_options_are_no_classes(tmp_path):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 60)
    scores = rng.normal(size=(60, 3)) + 2.0 * np.eye(3)[y]
    options = MulticlassCalibrator(exchangeable=True, draws=8, chains=2).fit(scores, y)
    text = options.report(tmp_path / "report.html", (scores, y)).read_text()
    assert [figure["name"] for figure in data_of(tmp_path / "report.html")["figures"]] == [
        "the likeliest class"
    ]
    assert "Probabilities of 3 exclusive options" in text
    assert 'id="confusions"' not in text
    assert "Documents of every class" not in text
    # Of two thirds of the documents, the right option comes first.
    turn = np.where(np.arange(60) < 20, 0, y)
    turned = np.array([np.roll(row, -k) for row, k in zip(scores, turn, strict=True)])
    text = options.report(tmp_path / "turned.html", (turned, y - turn)).read_text()
    assert "fit with position_bias=True" in text
    assert "predict with prior=" not in text

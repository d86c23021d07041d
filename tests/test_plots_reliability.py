"""Reliability diagrams: the curve, the band and the counts are those of the documents."""

import numpy as np
import pytest
from sklearn.calibration import calibration_curve
from sklearn.exceptions import NotFittedError
from sklearn.isotonic import IsotonicRegression

from bayescal import ScoreCalibrator, TopicCalibrator
from bayescal.plots import ReliabilityDisplay


def outcomes(seed, size=400):
    rng = np.random.default_rng(seed)
    p = rng.beta(1.0, 3.0, size)
    return rng.random(size) < p, p


def test_curve_is_the_isotonic_regression(ax):
    y, p = outcomes(0)
    display = ReliabilityDisplay.from_predictions(y, p, ax=ax)
    x, drawn = display.line_.get_data()
    np.testing.assert_allclose(drawn, IsotonicRegression().fit(p, y).predict(x), atol=1e-12)


def test_bins_are_scikit_learn_s(ax):
    y, p = outcomes(1)
    bins = {"method": "uniform", "n_bins": 7, "band": None}
    display = ReliabilityDisplay.from_predictions(y, p, **bins, ax=ax)
    true, predicted = calibration_curve(y, p, n_bins=7)
    np.testing.assert_allclose(display.line_.get_data(), (predicted, true))
    assert display.band_ is None


def test_counts_are_those_of_the_documents(ax):
    y, p = outcomes(2)
    display = ReliabilityDisplay.from_predictions(y, p, ax=ax)
    assert float(display.data["count"].sum()) == p.size
    assert float(display.data["count"][0]) == (p < display.data["bin_high"].values[0]).sum()
    np.testing.assert_array_equal(display.bars_.get_data().values, display.data["count"])


def test_a_calibrator_is_judged_by_what_it_predicts(ax):
    rng = np.random.default_rng(0)
    labels = np.repeat(["ham", "spam"], [60, 30])
    scores = rng.normal(2.0 * (labels == "spam"), 1.0)
    calibrator = ScoreCalibrator("gaussian", draws=100, random_state=0).fit(scores, labels)
    display = ReliabilityDisplay.from_estimator(calibrator, scores, labels, ax=ax)
    p = calibrator.predict_proba(scores)[:, 1]
    np.testing.assert_allclose(display.data["prob_pred"], np.unique(p), atol=1e-9)
    assert ax.get_xlabel() == "P(spam), predicted"


def test_inclusion_probabilities_keep_the_size_of_the_sample(ax):
    y, p = outcomes(4)
    weight = np.where(np.arange(y.size) % 2, 99.0, 1.0)
    calibrator = ScoreCalibrator(inference="mle", scores_are="scores").fit(p, y)
    bins = {"method": "quantile", "n_bins": 2, "band": "confidence", "ax": ax}
    plain = ReliabilityDisplay.from_estimator(calibrator, p, y, **bins).data
    alike = np.full(y.size, 0.02)
    even = ReliabilityDisplay.from_estimator(calibrator, p, y, inclusion=alike, **bins).data
    np.testing.assert_allclose(even["upper"], plain["upper"])
    sampled = ReliabilityDisplay.from_predictions(y, p, inclusion=1.0 / weight, **bins).data
    with pytest.warns(UserWarning, match="pass inclusion"):
        counted = ReliabilityDisplay.from_predictions(y, p, sample_weight=weight + 0.5, **bins).data
    width = [float((each["upper"] - each["lower"]).mean()) for each in (sampled, counted)]
    assert width[0] > 3 * width[1]
    with pytest.raises(ValueError, match="either sample_weight or inclusion"):
        ReliabilityDisplay.from_estimator(calibrator, p, y, sample_weight=p, inclusion=p, ax=ax)


def test_a_topic_without_test_documents_is_refused(ax):
    rng = np.random.default_rng(0)
    labels, topics = np.tile([0, 0, 1, 1], 2), np.repeat(["corn", "ship"], 4)
    calibrator = TopicCalibrator(parts="gaussian", draws=50, random_state=0)
    calibrator.fit(rng.normal(labels), labels, topics)
    with pytest.raises(ValueError, match="scores must hold at least one score, got none"):
        ReliabilityDisplay.from_estimator(calibrator, [], [], topic="corn", ax=ax)
    ReliabilityDisplay.from_estimator(calibrator, [0.0, 1.0], [0, 0], topic="corn", ax=ax)


def test_wrong_input(ax):
    with pytest.raises(NotFittedError):
        ReliabilityDisplay.from_estimator(ScoreCalibrator(), [0.0], [1], ax=ax)
    with pytest.raises(ValueError, match="y_true must not hold nan"):
        ReliabilityDisplay.from_predictions([0.0, np.nan], [0.1, 0.2], ax=ax)
    with pytest.raises(ValueError, match="y_prob must lie between 0 and 1"):
        ReliabilityDisplay.from_predictions([0, 1], [0.1, 1.2], ax=ax)

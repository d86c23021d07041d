"""Reliability diagrams, and bins of documents, against counts of the documents."""

import numpy as np
import pytest
from scipy import integrate, special, stats
from sklearn.calibration import calibration_curve
from sklearn.exceptions import NotFittedError
from sklearn.isotonic import IsotonicRegression

from bayescal import ScoreCalibrator, TopicCalibrator
from bayescal.fitting.scores import BinaryScores
from bayescal.plots import ReliabilityDisplay
from bayescal.plots.curve import balanced_edges, empirical_log_odds
from bayescal.report import held_out


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


# Bins of documents: empirical log-odds


def binned(score, positive, weight=None, *, level=0.9, bins=None, curve=np.zeros_like):
    return empirical_log_odds(BinaryScores(score, positive, weight), curve, level, bins)


@pytest.fixture
def documents():
    rng = np.random.default_rng(0)
    positive = rng.random(500) < 0.1
    return rng.normal(2.0 * positive), positive


def test_bins_hold_their_shares_and_counts(documents):
    score, positive = documents
    edges = balanced_edges(score, positive, np.ones(500), 5)
    place = np.searchsorted(edges, score)
    share = sum(np.bincount(place[which]) / which.sum() for which in (positive, ~positive)) / 2.0
    np.testing.assert_allclose(share, 0.2, atol=0.5 / positive.sum())
    data = binned(score, positive)
    assert float(data["positives"].sum()) == positive.sum()
    assert float(data["negatives"].sum()) == (~positive).sum()
    k, m = data["positives"].values, data["negatives"].values
    middle = special.logit(stats.beta.median(k + 0.5, m + 0.5))
    np.testing.assert_allclose(data["bin_log_odds"], middle)


def test_intervals_hold_their_share_of_jeffreys_posterior(documents):
    score, positive = documents
    data = binned(score, positive, level=0.8)
    inside = np.isfinite(data["bin_lower"]) & np.isfinite(data["bin_upper"])
    one = data.isel(bin=np.flatnonzero(inside.values)[0])
    k, m = float(one["positives"]), float(one["negatives"])

    def density(x):
        # Of log-odds, up to a constant: p^(k + 1/2) (1 - p)^(m + 1/2).
        return np.exp((k + 0.5) * x - (k + m + 1.0) * np.log1p(np.exp(x)) + 40.0)

    total, _ = integrate.quad(density, -30.0, 30.0, limit=500)
    held, _ = integrate.quad(density, float(one["bin_lower"]), float(one["bin_upper"]))
    assert held / total == pytest.approx(0.8, abs=1e-6)


def test_weights_equal_repetition_and_zero_is_removal(documents):
    score, positive = documents
    weight = np.random.default_rng(2).integers(0, 4, score.size)
    weighted = binned(score, positive, weight.astype(float), bins=6)
    repeated = binned(np.repeat(score, weight), np.repeat(positive, weight), bins=6)
    for name in weighted:
        np.testing.assert_allclose(weighted[name], repeated[name])


def test_bins_of_one_class_of_ties_and_of_nothing():
    score, positive = np.arange(12.0), np.repeat([False, True], 6)
    data = binned(score, positive, bins=6)
    np.testing.assert_array_equal(data["positives"], [0.0, 6.0])
    assert np.isneginf(data["bin_lower"][0])
    assert np.isposinf(data["bin_upper"][1])
    expected = stats.beta.ppf(0.95, 0.5, 6.5)
    assert float(data["bin_upper"][0]) == pytest.approx(np.log(expected / (1.0 - expected)))
    score, positive = np.repeat([0.0, 1.0], 10), np.tile([False, True], 10)
    data = binned(score, positive, bins=10)
    np.testing.assert_array_equal(data["bin_score"], [0.0, 1.0])
    data = binned(np.empty(0), np.empty(0, dtype=bool))
    assert data.sizes["bin"] == 0


@pytest.mark.parametrize("which", ["plot", "page"])
def test_dots_of_a_right_curve_lie_around_it(which):
    """The outermost bins of 200 data sets of a fixed seed: standard errors are .02 and .035."""
    rng, above, held = np.random.default_rng(0), [], []

    def curve(score):
        return 3.0 * score - 3.0

    for _ in range(200):
        score = rng.normal(size=1000)
        positive = rng.random(1000) < special.expit(curve(score))
        if which == "plot":
            found = binned(score, positive, curve=curve).rename(bin_score="score")
            found = {name.removeprefix("bin_"): found[name].values for name in found}
        else:
            documents = BinaryScores(score, positive)
            found = held_out.empirical_log_odds(documents, curve, 0.9)
            found = {name: np.array(values, dtype=float) for name, values in found.items()}
        truth = curve(found["score"])
        ends = [
            np.nan_to_num(found["lower"], nan=-np.inf),
            np.nan_to_num(found["upper"], nan=np.inf),
        ]
        held.append(((ends[0] <= truth) & (truth <= ends[1]))[[0, -1]])
        above.append((found["log_odds"] > truth)[[0, -1]])
    assert (np.mean(held, axis=0) > 0.83).all()
    assert 0.35 < np.mean(above, axis=0)[-1] < 0.65

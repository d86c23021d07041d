"""Displays of densities and learning curves: the numbers behind them."""

import numpy as np
import pytest
import xarray as xr
from matplotlib.figure import Figure

from bayescal import Densities, ScoreCalibrator
from bayescal.plots import ClassDensityDisplay, LearningCurveDisplay
from bayescal.support.numerics import probability

pytestmark = pytest.mark.one_era

FAST = {"draws": 250, "random_state": 0}


def scores_and_labels(seed, size=200):
    rng = np.random.default_rng(seed)
    labels = (rng.random(size) < 0.3).astype(int)
    return rng.normal(2.0 * labels, 1.0), labels


@pytest.fixture(scope="module")
def data():
    return scores_and_labels(0)


@pytest.fixture(scope="module")
def gaussian(data):
    return ScoreCalibrator("gaussian", **FAST).fit(*data)


def test_densities_are_the_calibrator_s(gaussian, ax):
    display = ClassDensityDisplay.from_estimator(gaussian, draws=7, ax=ax)
    data = display.data
    expected = gaussian.class_densities(data["score"].values)
    for k in range(2):
        np.testing.assert_array_equal(display.lines_[k].get_ydata(), expected["predictive"][k])
        np.testing.assert_array_equal(display.mle_lines_[k].get_ydata(), expected["mle"][k])
        assert len(display.draws_[k].get_segments()) == 7
    # A Gaussian's mode is its mean, to a step of the grid.
    posterior = gaussian.posterior_["posterior"]["mu"]
    step = float(data["score"][1] - data["score"][0])
    for k, klass in enumerate(("negative", "positive")):
        median = float(posterior.sel(klass=klass).median())
        assert float(data["mode"][k, 1]) == pytest.approx(median, abs=step)


def test_histograms_have_area_one_and_count_held_out_documents(gaussian, ax):
    scores, labels = scores_and_labels(5, 50)
    data = ClassDensityDisplay.from_estimator(gaussian, scores, labels, ax=ax).data
    for k in range(2):
        area = ((data["bin_high"] - data["bin_low"]) * data["height"])[k].sum()
        assert float(area) == pytest.approx(1.0)
        assert float(data["bin_low"][k].min()) == scores[labels == k].min()


def test_densities_of_maximum_likelihood_alone(data, ax):
    calibrator = ScoreCalibrator(inference="mle").fit(*data)
    display = ClassDensityDisplay.from_estimator(calibrator, ax=ax)
    assert (display.lines_, display.draws_) == ([], [])
    texts = [text.get_text() for text in ax.get_legend().get_texts()]
    assert texts == ["class 0", "class 1", "maximum likelihood"]


@pytest.mark.parametrize("parts", ["monotone", "logistic"])
def test_models_without_densities_say_so(parts, data, ax):
    calibrator = ScoreCalibrator(parts=parts, draws=50, random_state=0).fit(*data)
    with pytest.raises(ValueError, match="class densities need a family of densities"):
        ClassDensityDisplay.from_estimator(calibrator, ax=ax)


def test_learning_curve_is_the_loss_of_its_fits(ax):
    scores, labels = scores_and_labels(3, 600)
    test = scores_and_labels(4, 400)
    calibrators = {
        "maximum likelihood": ScoreCalibrator("gaussian", "mle"),
        "wrong": ScoreCalibrator(Densities("laplace", scale_floor=None), "mle"),
    }
    display = LearningCurveDisplay.from_estimator(
        calibrators, scores, labels, test=test, sizes=[5, 100], repeats=6, ax=ax
    )
    mean = display.data["log_loss"].mean("repeat")
    assert float(mean.sel(calibrator="maximum likelihood", positives=5)) > float(
        mean.sel(calibrator="maximum likelihood", positives=100)
    )
    # All but all documents: what the whole fit loses.
    whole = ScoreCalibrator("gaussian", "mle").fit(scores, labels)
    p = probability(np.where(test[1] == 1, 1, -1) * whole.decision_function(test[0]))
    best = float(-np.log2(p).mean())
    assert float(mean[0, 1]) == pytest.approx(best, abs=0.02)
    assert [text.get_text() for text in ax.get_legend().get_texts()] == list(calibrators)


def test_same_seed_same_learning_curve():
    scores, labels = scores_and_labels(3, 120)
    calibrator = ScoreCalibrator("gaussian", "mle")
    first, second = (
        LearningCurveDisplay.from_estimator(
            calibrator, scores, labels, sizes=[3, 9], repeats=2, ax=Figure().subplots()
        ).data
        for _ in range(2)
    )
    assert first.identical(second)


def test_error_bars_of_learning_curves_are_explained():
    loss = (("calibrator", "positives", "repeat"), np.arange(4.0).reshape(1, 2, 2))
    data = xr.Dataset({"log_loss": loss}, {"calibrator": [""], "positives": [3, 5]})
    data = data.assign_attrs(positive_class="spam")
    shown = LearningCurveDisplay(data).plot(ax=Figure().subplots())
    assert "mean of 2 subsets; bars: ± 2 standard errors" in shown.ax_.get_ylabel()
    single = LearningCurveDisplay(data.isel(repeat=[0])).plot(ax=Figure().subplots())
    assert "bars" not in single.ax_.get_ylabel()

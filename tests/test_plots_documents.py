"""Displays of densities and learning curves: the numbers behind them."""

import numpy as np
import pytest

from bayescal import ScoreCalibrator
from bayescal.plots import ClassDensityDisplay

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

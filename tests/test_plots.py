"""Displays of curves and densities: those drawn are the calibrator's."""

import matplotlib as mpl
import numpy as np
import pytest
import xarray as xr
from matplotlib import pyplot as plt
from matplotlib.figure import Figure

from bayescal import ScoreCalibrator
from bayescal.plots import ClassDensityDisplay, DecisionDisplay, LogOddsDisplay, ProbabilityDisplay
from bayescal.support.numerics import probability
from tests.cli_tools import replace_sampler

SCORES = np.array([-3.0, -2.0, -1.5, -1.0, 0.0, 0.5, 1.0, 2.0])
LABELS = np.array(["no", "no", "no", "yes", "no", "yes", "yes", "yes"])


@pytest.fixture(scope="module")
def mle():
    return ScoreCalibrator(inference="mle").fit(SCORES, LABELS)


@pytest.fixture(scope="module")
def nuts():
    with pytest.MonkeyPatch.context() as patch:
        replace_sampler(patch)
        return ScoreCalibrator(draws=200, random_state=0).fit(SCORES, LABELS)


def points(line):
    return np.asarray(line.get_xdata()), np.asarray(line.get_ydata())


def band_at(band, x):
    vertices = band.get_paths()[0].vertices
    return np.sort(vertices[np.isclose(vertices[:, 0], x)][:, 1])


def mle_curve(calibrator, x):
    return probability(calibrator.mle_.log_odds(x))


def test_curves_and_band_are_the_calibrator_s(nuts, ax):
    display = ProbabilityDisplay.from_estimator(nuts, level=0.8, ax=ax)
    assert display.ax_ is ax
    assert display.figure_ is ax.figure
    x, y = points(display.line_)
    np.testing.assert_array_equal(y, nuts.predict_proba(x)[:, 1])
    np.testing.assert_array_equal(y, display.data["probability"])
    np.testing.assert_array_equal(points(display.mle_line_)[1], mle_curve(nuts, x))
    assert display.band_.get_label() == "80 % band"
    k = np.searchsorted(x, 0.3)
    # Bands of many scores are read off a table.
    expected = nuts.predict_interval(x[[k]], 0.8)[0]
    np.testing.assert_allclose(band_at(display.band_, x[k]), expected, atol=1e-3)
    np.testing.assert_allclose(
        display.data[["lower", "upper"]].isel(score=k).to_array(), expected, atol=1e-3
    )


def test_log_odds_are_the_calibrator_s(nuts, ax):
    display = LogOddsDisplay.from_estimator(nuts, band="simultaneous", ax=ax)
    x, y = points(display.line_)
    np.testing.assert_array_equal(y, nuts.decision_function(x))
    assert display.band_.get_label() == "90 % band of the whole curve"
    k = np.searchsorted(x, 0.3)
    expected = nuts.predict_interval(x[[k]], kind="simultaneous")[0]
    np.testing.assert_allclose(probability(band_at(display.band_, x[k])), expected, atol=1e-3)


def test_prior_moves_the_curve(mle, ax):
    display = LogOddsDisplay.from_estimator(mle, prior=0.01, ax=ax)
    x, y = points(display.mle_line_)
    np.testing.assert_allclose(y, mle.decision_function(x, prior=0.01))


def test_maximum_likelihood_alone_has_one_curve(mle, ax):
    display = ProbabilityDisplay.from_estimator(mle, mle=False, ticks=False, ax=ax)
    assert (display.line_, display.band_, display.rugs_) == (None, None, [])
    x, y = points(display.mle_line_)
    np.testing.assert_array_equal(y, mle_curve(mle, x))
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["maximum likelihood"]


@pytest.mark.slow
def test_posterior_mode_is_named_so(ax):
    calibrator = ScoreCalibrator("gaussian", "map").fit(SCORES, LABELS)
    display = ProbabilityDisplay.from_estimator(calibrator, ax=ax)
    assert display.line_.get_label() == "posterior mode"
    assert display.band_ is None
    densities = ClassDensityDisplay.from_estimator(calibrator)
    assert len(densities.lines_) == 2
    assert densities.draws_ == densities.modes_ == []


def test_default_range_covers_the_scores(mle, ax):
    x, _ = points(ProbabilityDisplay.from_estimator(mle, ax=ax).mle_line_)
    assert x[0] < SCORES.min() < SCORES.max() < x[-1]
    assert ax.get_xlim() == (x[0], x[-1])
    assert (np.diff(x) > 0.0).all()
    display = ProbabilityDisplay.from_estimator(mle, grid=[0.0, -1.0, 4.0], ax=ax)
    np.testing.assert_array_equal(points(display.mle_line_)[0], [-1.0, 0.0, 4.0])


def test_ticks_mark_the_scores_of_each_class_apart(mle, ax):
    negatives, positives = ProbabilityDisplay.from_estimator(mle, ax=ax).rugs_
    np.testing.assert_array_equal(np.sort(points(negatives)[0]), [-3.0, -2.0, -1.5, 0.0])
    assert (points(negatives)[1] < 0.0).all()
    np.testing.assert_array_equal(np.sort(points(positives)[0]), [-1.0, 0.5, 1.0, 2.0])
    assert (points(positives)[1] > 1.0).all()
    texts = [text.get_text() for text in ax.texts]
    assert texts == ["4 scores of class no", "4 scores of class yes"]


def test_held_out_documents_take_the_place_of_those_fitted(mle, ax):
    display = ProbabilityDisplay.from_estimator(mle, [5.0, 6.0], ["yes", "yes"], ax=ax)
    (positives,) = display.rugs_
    np.testing.assert_array_equal(points(positives)[0], [5.0, 6.0])
    assert display.data["score"][-1] > 6.0


def test_axes_are_labelled_in_the_score_s_own_name_after_a_file_too(mle, ax, tmp_path):
    import pandas as pd

    from bayescal import load

    ProbabilityDisplay.from_estimator(mle, ax=ax)
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("score", "P(yes | score)")
    named = ScoreCalibrator(inference="mle").fit(pd.Series(SCORES, name="margin"), LABELS)
    assert ProbabilityDisplay.from_estimator(named, ax=ax).ax_.get_xlabel() == "margin"
    named.fit(pd.DataFrame({"margin": SCORES}), LABELS).save(tmp_path / "a.nc")
    display = LogOddsDisplay.from_estimator(load(tmp_path / "a.nc"), ax=ax)
    assert display.ax_.get_xlabel() == "margin"


def test_probabilities_are_shown_as_probabilities(ax):
    p = probability(SCORES)
    calibrator = ScoreCalibrator("gaussian", random_state=0, scores_are="probabilities")
    calibrator.fit(p, LABELS)
    display = ProbabilityDisplay.from_estimator(calibrator, ax=ax)
    x, y = points(display.line_)
    assert 0.0 < x[0] < p.min() < p.max() < x[-1] < 1.0
    np.testing.assert_allclose(y, calibrator.predict_proba(x)[:, 1], rtol=1e-9)
    assert ax.get_xscale() == "logit"
    np.testing.assert_allclose(np.sort(display.data["document_score"]), np.sort(p))


@pytest.mark.filterwarnings("ignore::bayescal.support.score_checks.ScoresWarning")
def test_equal_scores_still_have_a_range(ax):
    calibrator = ScoreCalibrator(inference="mle").fit(np.full(4, 2.0), [0, 1, 0, 1])
    low, high = ProbabilityDisplay.from_estimator(calibrator, ax=ax).ax_.get_xlim()
    assert low < 2.0 < high


def test_new_axes_are_of_a_figure_of_their_own(mle):
    before, figures = dict(mpl.rcParams), plt.get_fignums()
    display = ProbabilityDisplay.from_estimator(mle)
    assert display.figure_.number not in figures
    plt.close(display.figure_)
    assert dict(mpl.rcParams) == before


def test_a_display_draws_again_from_its_data_alone(nuts, ax, tmp_path):
    first = LogOddsDisplay.from_estimator(nuts, ax=ax)
    first.data.to_netcdf(tmp_path / "curve.nc", engine="h5netcdf")
    with xr.open_dataset(tmp_path / "curve.nc", engine="h5netcdf") as kept:
        again = LogOddsDisplay(kept.load()).plot(ax=Figure().subplots())
    np.testing.assert_array_equal(points(first.line_), points(again.line_))
    assert again.ax_.get_ylabel() == ax.get_ylabel() == "log-odds of yes"


def test_bins_of_one_class_have_no_point(mle, ax):
    scores, labels = [-3.0, -2.0, 0.0, 0.1, 4.0], ["no", "yes", "no", "no", "yes"]
    display = LogOddsDisplay.from_estimator(mle, scores, labels, bins=20, ax=ax)
    closed = points(display.bins_[0])[0] if display.bins_ else []
    # Every score a bin of its own, and neighbours of one class merged.
    np.testing.assert_allclose(display.data["bin_score"], [-3.0, -2.0, 0.05, 4.0])
    assert len(closed) == 0
    assert len(display.open_bins_) == 4  # bars and triangles, downward and upward


def test_decisions_are_those_of_least_expected_cost(nuts, ax):
    data = DecisionDisplay.from_estimator(nuts, grid=[-2.0, 0.3], ax=ax).data
    curves = nuts.sample_proba([-2.0, 0.3])
    for ratio in (0.1, 1.0, 7.0):
        some = data.sel(cost_ratio=ratio, method="nearest")
        threshold = float(some["cost_ratio"]) / (1.0 + float(some["cost_ratio"]))
        np.testing.assert_allclose(some["agreement"], (curves > threshold).mean(axis=0), atol=1e-12)


def test_decisions_without_posterior_are_all_sure(mle, ax):
    display = DecisionDisplay.from_estimator(mle, ax=ax)
    assert set(np.unique(display.data["agreement"])) == {0.0, 1.0}
    assert display.boundary_.get_label() == "boundary by maximum likelihood"
    x, y = points(display.boundary_)
    np.testing.assert_allclose(np.log(y), mle.decision_function(x))


def test_figure_of_the_demo_shows_both_classifiers(tmp_path):
    from bayescal.cli.commands import demo
    from bayescal.cli.fitting import calibrate_one
    from bayescal.cli.scores import split_by_topic
    from bayescal.fitting.settings import ScoreParameters

    problems = split_by_topic(demo.demo_table(0))
    calibrated = [calibrate_one(each, ScoreParameters(inference="mle"), 0.9) for each in problems]
    demo.draw(calibrated, tmp_path / "demo.png")
    image = plt.imread(tmp_path / "demo.png")
    height, width = image.shape[:2]
    assert (height, width) == (760, 1600)
    # Both panels hold vermilion curves and dark ticks.
    vermilion = np.abs(image[..., :3] - np.array([0xD5, 0x5E, 0x00]) / 255).max(axis=2) < 0.1
    assert vermilion[:, : width // 2].sum() > 500
    assert vermilion[:, width // 2 :].sum() > 500


# Displays of densities and learning curves: the numbers behind them


def scores_and_labels(seed, size=200):
    rng = np.random.default_rng(seed)
    labels = (rng.random(size) < 0.3).astype(int)
    return rng.normal(2.0 * labels, 1.0), labels


@pytest.fixture(scope="module")
def data():
    return scores_and_labels(0)


@pytest.fixture(scope="module")
def gaussian(data):
    return ScoreCalibrator("gaussian", draws=250, random_state=0).fit(*data)


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

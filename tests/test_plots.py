"""Plots: what is drawn is what the calibrator says."""

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib import pyplot as plt
from matplotlib.collections import PolyCollection
from matplotlib.figure import Figure

from bayescal import ScoreCalibrator
from bayescal.bayes import probability
from bayescal.plots import plot_probability_curve
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


@pytest.fixture
def ax():
    return Figure().subplots()


def line(ax, label):
    (found,) = (line for line in ax.lines if str(line.get_label()).startswith(label))
    return np.asarray(found.get_xdata()), np.asarray(found.get_ydata())


def mle_curve(calibrator, x):
    return probability(calibrator.mle_.log_odds(x))


def test_curves_and_band_are_the_calibrator_s(nuts, ax):
    assert plot_probability_curve(nuts, level=0.8, ax=ax) is ax
    x, y = line(ax, "posterior")
    np.testing.assert_array_equal(y, nuts.predict_proba(x)[:, 1])
    np.testing.assert_array_equal(line(ax, "maximum likelihood")[1], mle_curve(nuts, x))
    (band,) = (c for c in ax.collections if isinstance(c, PolyCollection))
    assert band.get_label() == "80 % band"
    vertices = band.get_paths()[0].vertices
    lower, upper = nuts.predict_interval(x, 0.8).T
    k = np.searchsorted(x, 0.3)
    drawn = np.sort(vertices[np.isclose(vertices[:, 0], x[k])][:, 1])
    np.testing.assert_allclose(drawn, [lower[k], upper[k]])


def test_maximum_likelihood_alone_has_one_curve(mle, ax):
    plot_probability_curve(mle, mle=False, ticks=False, ax=ax)
    assert [line.get_label() for line in ax.lines] == ["maximum likelihood"]
    assert not ax.collections
    x, y = line(ax, "maximum likelihood")
    np.testing.assert_array_equal(y, mle_curve(mle, x))


def test_default_range_covers_the_scores(mle, ax):
    plot_probability_curve(mle, ax=ax)
    x, _ = line(ax, "maximum likelihood")
    assert x[0] < SCORES.min() < SCORES.max() < x[-1]
    assert ax.get_xlim() == (x[0], x[-1])
    assert (np.diff(x) > 0.0).all()


def test_scores_choose_the_grid(mle, ax):
    plot_probability_curve(mle, scores=[-1.0, 0.0, 4.0], ax=ax)
    np.testing.assert_array_equal(line(ax, "maximum likelihood")[0], [-1.0, 0.0, 4.0])


def test_ticks_mark_the_scores_of_each_class_apart(mle, ax):
    plot_probability_curve(mle, ax=ax)
    x, y = line(ax, "class no: 4 scores (bottom)")
    np.testing.assert_array_equal(np.sort(x), [-3.0, -2.0, -1.5, 0.0])
    assert (y < 0.0).all()
    x, y = line(ax, "class yes: 4 scores (top)")
    np.testing.assert_array_equal(np.sort(x), [-1.0, 0.5, 1.0, 2.0])
    assert (y > 1.0).all()


def test_axes_are_labelled(mle, ax):
    plot_probability_curve(mle, ax=ax)
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("score", "P(yes | score)")


def test_equal_scores_still_have_a_range(ax):
    plot_probability_curve(
        ScoreCalibrator(inference="mle").fit(np.full(4, 2.0), [0, 1, 0, 1]), ax=ax
    )
    low, high = ax.get_xlim()
    assert low < 2.0 < high


def test_new_axes_are_of_a_figure_of_their_own(mle):
    before, figures = dict(mpl.rcParams), plt.get_fignums()
    ax = plot_probability_curve(mle)
    assert ax.figure.number not in figures
    plt.close(ax.figure)
    assert dict(mpl.rcParams) == before


@pytest.mark.parametrize("options", [{"level": 0.0}, {"scores": [0.0, np.nan]}, {"scores": []}])
def test_wrong_arguments_are_refused(options, mle, ax):
    with pytest.raises(ValueError, match=f"{next(iter(options))} must"):
        plot_probability_curve(mle, ax=ax, **options)


def test_figure_of_the_demo_shows_both_classifiers(tmp_path):
    from bayescal.cli import demo
    from bayescal.cli.fitting import calibrate_one
    from bayescal.cli.problems import split_by_topic
    from bayescal.cli.settings import Settings

    problems = split_by_topic(demo.demo_table(0))
    calibrated = [calibrate_one(problem, Settings(inference="mle")) for problem in problems]
    demo.draw(calibrated, tmp_path / "demo.png")
    image = plt.imread(tmp_path / "demo.png")
    height, width = image.shape[:2]
    assert (height, width) == (760, 1600)
    # Both panels hold vermilion curves and dark ticks.
    vermilion = np.abs(image[..., :3] - np.array([0xD5, 0x5E, 0x00]) / 255).max(axis=2) < 0.1
    assert vermilion[:, : width // 2].sum() > 500
    assert vermilion[:, width // 2 :].sum() > 500

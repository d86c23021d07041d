"""Displays of many topics, of one among them, and of a ranking."""

import numpy as np
import pytest
from matplotlib.figure import Figure

from bayescal import TopicCalibrator
from bayescal.plots import (
    ClassDensityDisplay,
    DecisionDisplay,
    LogOddsDisplay,
    ProbabilityDisplay,
    RankingDisplay,
    TopicForestDisplay,
)
from bayescal.ranking import RelevanceCalibrator

NAMES = ["acq", "corn", "earn", "ship", "wheat"]
POSITIVES = [20, 3, 0, 6, 9]


@pytest.fixture(scope="module")
def topics():
    rng = np.random.default_rng(0)
    labels = np.concatenate([np.repeat([0, 1], [30, count]) for count in POSITIVES])
    names = np.repeat(NAMES, [30 + count for count in POSITIVES])
    return TopicCalibrator(draws=250, random_state=0).fit(
        rng.normal(2.0 * labels, 1.0), labels, names
    )


@pytest.mark.slow
def test_forest_shows_what_the_summary_says(topics, ax):
    display = TopicForestDisplay.from_estimator(topics, level=0.8, ax=ax)
    table = topics.summary(0.8).xs(("1", "theta"), level=("class", "parameter"))
    data = display.data
    table = table.loc[data["topic"].values]
    for shown, column in (("mean", "pooled"), ("lower", "lower"), ("unpooled", "unpooled")):
        np.testing.assert_allclose(data[shown], table[column])
    assert float(data["population"][1]) == pytest.approx(table["population"].iloc[0])
    names = [label.get_text() for label in ax.get_yticklabels()]
    assert names == ["acq (20)", "wheat (9)", "ship (6)", "corn (3)", "earn (0)"]
    np.testing.assert_allclose(np.sort(display.points_.get_xdata()), np.sort(table["pooled"]))


def test_population_draws_small_topics_most(topics, ax):
    data = TopicForestDisplay.from_estimator(topics, parameter="width", ax=ax).data
    length = np.log(data["upper"]) - np.log(data["lower"])
    assert float(length.sel(topic="earn")) > float(length.sel(topic="acq"))
    # Topics without documents have no maximum likelihood to show.
    assert np.isnan(data["unpooled"].sel(topic="earn"))


def test_rates_are_shares_of_documents(topics, ax):
    data = TopicForestDisplay.from_estimator(topics, parameter="prior", ax=ax).data
    np.testing.assert_allclose(data["unpooled"].sel(topic="corn"), 3 / 33)
    assert ax.get_xlabel() == "P(1)"
    rate = topics.posterior_["posterior"]["prior"].sel(topic="corn")
    assert float(data["mean"].sel(topic="corn")) == pytest.approx(float(rate.mean()))


def test_forest_of_some_topics(topics, ax):
    display = TopicForestDisplay.from_estimator(topics, topics=["ship", "acq"], ax=ax)
    assert len(display.points_.get_xdata()) == 2
    with pytest.raises(ValueError, match="topics must be some of those fitted"):
        TopicForestDisplay.from_estimator(topics, topics=["tin"], ax=ax)


def test_far_maximum_likelihood_stands_at_the_end_of_the_axis(topics):
    display = TopicForestDisplay.from_estimator(topics, ax=Figure().subplots())
    display.data["unpooled"][{"topic": 0}] = 1e6
    again = TopicForestDisplay(display.data).plot(ax=Figure().subplots())
    _, high = again.ax_.get_xlim()
    assert high < 100.0
    (arrow,) = (
        each for each in again.ax_.lines if each.get_marker() == ">" and any(each.get_xdata())
    )
    assert arrow.get_xdata()[0] == pytest.approx(high)


def test_curves_of_a_topic_are_the_calibrator_s(topics, ax):
    display = ProbabilityDisplay.from_estimator(topics, topic="corn", ax=ax)
    x, y = (np.asarray(each) for each in display.line_.get_data())
    np.testing.assert_allclose(y, topics.predict_proba(x, ["corn"] * x.size)[:, 1], atol=1e-4)
    band = topics.predict_interval(x, ["corn"] * x.size)
    np.testing.assert_allclose(display.data["lower"], band[:, 0], atol=1e-4)
    assert ax.get_ylabel() == "P(corn | score)"
    assert display.mle_line_ is not None
    assert display.rugs_ == []


def test_topics_without_positives_have_no_maximum_likelihood(topics, ax):
    display = LogOddsDisplay.from_estimator(topics, topic="earn", ax=ax)
    assert display.mle_line_ is None
    assert np.isfinite(display.line_.get_ydata()).all()
    ClassDensityDisplay.from_estimator(topics, topic="earn", ax=Figure().subplots())
    DecisionDisplay.from_estimator(topics, topic="earn", ax=Figure().subplots())


def test_held_out_documents_of_one_class_are_enough(topics, ax):
    display = LogOddsDisplay.from_estimator(topics, [0.0, 1.0], [0, 0], topic="corn", ax=ax)
    assert display.bins_ is None


# The display of a ranking shows the calibrator's answers in the order of the scores

RNG = np.random.default_rng(0)
QID = np.repeat(np.arange(8), 30)
RELEVANT = RNG.random(240) < 0.25
SCORES = 1.5 * RELEVANT + RNG.normal(size=240) + QID
NEW, ONE = RNG.normal(size=25), np.zeros(25)


@pytest.fixture(scope="module")
def calibrator():
    quick = TopicCalibrator(draws=50, random_state=0)
    return RelevanceCalibrator(quick, random_state=0).fit(SCORES, RELEVANT, QID)


@pytest.mark.slow
def test_it_shows_what_the_calibrator_says(calibrator, ax):
    known = NEW > 0.5
    display = RankingDisplay.from_estimator(calibrator, NEW, y=known, recall=0.5, ax=ax)
    order = np.argsort(-NEW)
    np.testing.assert_allclose(
        display.line_.get_ydata(), calibrator.predict_proba(NEW, ONE)[order, 1]
    )
    low = calibrator.predict_interval(NEW, ONE)[order, 0]
    np.testing.assert_allclose(display.data["lower"], low)
    stop = calibrator.when_to_stop(NEW, ONE, recall=0.5)["stop"].item()
    assert display.stop_.get_xdata()[0] == stop + 0.5
    assert list(display.rug_.get_xdata()) == list(np.flatnonzero(known[order]) + 1)
    shown = [text.get_text() for text in ax.get_legend().get_texts()]
    assert shown == ["90 % band", "P(relevant)", "50 % read, with probability 0.9"]


def test_without_relevance_and_legend(calibrator, ax):
    assert RankingDisplay.from_estimator(calibrator, NEW, ax=ax, legend=False).rug_ is None
    assert ax.get_legend() is None


@pytest.mark.parametrize(
    ("asked", "match"),
    [({"y": [True]}, "y"), ({"recall": 2.0}, "recall"), ({"level": 1.0}, "level")],
)
def test_wrong_wishes_are_named(calibrator, ax, asked, match):
    with pytest.raises(ValueError, match=match):
        RankingDisplay.from_estimator(calibrator, NEW, ax=ax, **asked)

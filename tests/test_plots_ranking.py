"""The display of a ranking shows the calibrator's answers in the order of the scores."""

import numpy as np
import pytest

from bayescal import TopicCalibrator
from bayescal.plots import RankingDisplay
from bayescal.ranking import RelevanceCalibrator

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

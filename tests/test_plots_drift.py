"""The display of a monitor shows its Bayes factors, its limit and its alarm."""

import numpy as np
import pytest

from bayescal import ScoreCalibrator
from bayescal.monitoring import DriftMonitor
from bayescal.plots import DriftDisplay
from tests.drift_tools import stream

pytestmark = pytest.mark.one_era


@pytest.fixture(scope="module")
def monitor():
    rng = np.random.default_rng(0)
    fitted = ScoreCalibrator("gaussian", draws=100, random_state=0).fit(*stream(rng, 300))
    quiet = DriftMonitor(fitted, 0.01, draws=50).update(*stream(rng, 50))
    return quiet.update(*stream(rng, 150, rate=0.8))


def test_it_shows_what_the_monitor_found(monitor, ax):
    display = DriftDisplay.from_estimator(monitor, ax=ax)
    table = monitor.log_bayes_factors_
    for line, name in zip(display.lines_, table.columns, strict=True):
        np.testing.assert_array_equal(line.get_xdata(), np.arange(1, 201))
        np.testing.assert_array_equal(line.get_ydata(), table[name])
    assert display.limit_.get_ydata()[0] == pytest.approx(np.log(100.0))
    assert display.alarm_.get_xdata()[0] == monitor.alarm_.document
    left, right = display.since_.get_x(), display.since_.get_x() + display.since_.get_width()
    assert left < monitor.alarm_.since < right
    shown = [text.get_text() for text in ax.get_legend().get_texts()]
    assert shown == ["base rate", "slope", "any", "limit of the alarm", "alarm", "change"]


def test_without_alarm_there_is_none(monitor, ax):
    quiet = DriftMonitor(monitor.calibrator, draws=20).update([0.0, 1.0], [0, 1])
    display = DriftDisplay.from_estimator(quiet, ax=ax, legend=False)
    assert display.alarm_ is None
    assert display.since_ is None
    assert ax.get_xlim() == (1.0, 2.0)
    assert ax.get_legend() is None


def test_monitors_without_documents_and_calibrators_are_refused(monitor, ax):
    with pytest.raises(ValueError, match="has seen no document yet"):
        DriftDisplay.from_estimator(DriftMonitor(monitor.calibrator), ax=ax)
    with pytest.raises(ValueError, match="must be a DriftMonitor, got ScoreCalibrator: make one"):
        DriftDisplay.from_estimator(monitor.calibrator, ax=ax)

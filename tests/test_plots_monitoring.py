"""Displays of an audit and of a monitor show their numbers."""

import numpy as np
import pytest
import xarray as xr
from matplotlib.figure import Figure

from bayescal import ScoreCalibrator
from bayescal.monitoring import DriftMonitor, audit, load_heart_disease
from bayescal.plots import CalibrationCurveDisplay, DriftDisplay, NetBenefitDisplay, SitesDisplay
from tests.drift_tools import stream

DISPLAYS = [CalibrationCurveDisplay, NetBenefitDisplay, SitesDisplay]


@pytest.fixture(scope="module")
def found():
    patients = load_heart_disease()
    return audit(patients["y"], patients["p"], patients["site"], threshold=0.1, random_state=0)


def test_the_curve_and_its_bands(found, ax):
    display = CalibrationCurveDisplay.from_audit(found, ax=ax)
    np.testing.assert_array_equal(display.line_.get_ydata(), found.curve["mean"])
    for band, kind in zip(display.bands_, ("simultaneous", "pointwise"), strict=True):
        height = band.get_paths()[0].vertices[:, 1]
        own = found.curve.sel(kind=kind)
        assert height.max() == pytest.approx(float(own["upper"].max()))
        assert height.min() == pytest.approx(float(own["lower"].min()))
    assert ax.get_xlabel() == "given probability"
    texts = [text.get_text() for text in ax.get_legend().get_texts()]
    whole = "90 % band of the whole curve"
    assert texts == ["right probabilities", whole, "90 % band", "true probability"]


def test_net_benefit(found, ax):
    display = NetBenefitDisplay.from_audit(found, ax=ax)
    for strategy, line in display.lines_.items():
        own = found.net_benefit["mean"].sel(strategy=strategy)
        np.testing.assert_array_equal(line.get_ydata(), own)
    counted = found.net_benefit["counted"].sel(strategy="as is")
    np.testing.assert_array_equal(display.counted_.get_ydata(), counted)
    assert display.asked_.get_xdata()[0] == 0.1
    # Treating all has no lower bound: its line leaves the axes, which the others fill.
    most = float(found.net_benefit["upper"].sel(strategy=["as is", "recalibrated"]).max())
    assert -most < ax.get_ylim()[0] < 0.0 < most < ax.get_ylim()[1] < 1.5 * most
    assert ax.get_ylabel() == "net benefit (true positives per document)"
    plain = audit([0, 1] * 20, np.linspace(0.1, 0.8, 40), noun="patient", random_state=0)
    shown = NetBenefitDisplay.from_audit(plain, ax=Figure().subplots())
    assert shown.asked_ is None
    assert "per patient" in shown.ax_.get_ylabel()


def test_sites(found, ax):
    display = SitesDisplay.from_audit(found, ax=ax)
    shift = found.sites["mean"].sel(number="shift")
    np.testing.assert_allclose(display.points_[0].get_xdata(), shift)
    (bar,) = display.new_[2]
    ends = bar.get_segments()[0][:, 0]
    own = found.sites.sel(number="shift")
    np.testing.assert_allclose(ends, [own["new_lower"], own["new_upper"]])
    slope = SitesDisplay(display.data).plot(ax=Figure().subplots(), number="slope")
    assert slope.ax_.get_xlabel() == "slope of the log-odds"


@pytest.mark.parametrize("kind", DISPLAYS)
def test_what_is_written_is_drawn_again(kind, found, tmp_path):
    first = kind.from_audit(found, ax=Figure().subplots(), legend=False)
    assert first.ax_.get_legend() is None
    first.data.to_netcdf(tmp_path / "data.nc", engine="h5netcdf")
    again = kind(xr.load_dataset(tmp_path / "data.nc", engine="h5netcdf"))
    again.plot(ax=Figure().subplots())
    assert again.save(tmp_path / "figure.png").stat().st_size > 0


@pytest.mark.parametrize("kind", DISPLAYS)
def test_other_things_are_refused(kind):
    with pytest.raises(ValueError, match="audit must be an Audit, got int"):
        kind.from_audit(3)


def test_an_audit_without_sites_has_none_to_show():
    found = audit([0, 1] * 20, np.linspace(0.1, 0.8, 40), random_state=0)
    with pytest.raises(ValueError, match="audit has no sites"):
        SitesDisplay.from_audit(found)


# The display of a monitor shows its Bayes factors, its limit and its alarm


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

"""Displays of an audit show its numbers."""

import numpy as np
import pytest
import xarray as xr
from matplotlib.figure import Figure

from bayescal.monitoring import audit, load_heart_disease
from bayescal.plots import CalibrationCurveDisplay, NetBenefitDisplay, SitesDisplay

pytestmark = pytest.mark.one_era

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

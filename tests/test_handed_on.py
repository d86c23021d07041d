"""Methods that hand everything on to a function: what it is given, of every estimator."""

import inspect

import matplotlib.image
import numpy as np
import pytest
from matplotlib import pyplot as plt

from bayescal import MulticlassCalibrator, ScoreCalibrator, TopicCalibrator, report
from bayescal.calibrators.recalibrator import Recalibrator
from bayescal.plots import LogOddsDisplay
from bayescal.report.export import writing
from tests import small_fits

METHODS = {"report": (report, "write_report"), "export": (writing, "export")}
GIVEN = [
    pytest.param(estimator, method, id=f"{estimator.__name__}.{method}")
    for estimator in (ScoreCalibrator, TopicCalibrator, MulticlassCalibrator, Recalibrator)
    for method in METHODS
]


@pytest.mark.parametrize(("estimator", "method"), GIVEN)
def test_files_are_written_by_functions_with_the_same_arguments(estimator, method, monkeypatch):
    home, name = METHODS[method]
    function, received = inspect.signature(getattr(home, name)), []

    def write(*args, **options):
        received.append(function.bind(*args, **options).arguments)
        return "written"

    monkeypatch.setattr(home, name, write)
    unfitted = estimator()
    asked = inspect.signature(getattr(unfitted, method)).parameters
    options = {each: object() for each in asked if each != "options"}
    further = {"title": object()} if method == "report" else {"level": object()}
    options |= further if "options" in asked else {}
    assert getattr(unfitted, method)(**options) == "written"
    (found,) = received
    assert found.pop(next(iter(function.parameters))) is unfitted
    further = found.pop("options", {})
    assert found | further == options


def recalibrated():
    """Return a recalibrator of few outcomes."""
    p = np.linspace(0.05, 0.95, 30)
    fitted = Recalibrator(draws=10, refit="never", random_state=0)
    return fitted.fit(p, np.arange(30) % 3 == 0)


FITTED = {
    ScoreCalibrator: small_fits.one,
    MulticlassCalibrator: small_fits.classes,
    Recalibrator: recalibrated,
}


def test_files_of_other_estimators_are_refused(tmp_path):
    files = {each: make().save(tmp_path / f"{each.__name__}.nc") for each, make in FITTED.items()}
    for estimator in (*files, TopicCalibrator):
        for other, path in files.items():
            if other is estimator:
                assert type(estimator.load(path)) is estimator
            else:
                with pytest.raises(ValueError, match=f"{other.__name__}"):
                    estimator.load(path)


# Pictures


def test_figures_are_saved_with_options_of_matplotlib(tmp_path):
    display = LogOddsDisplay.from_estimator(small_fits.one())
    size = display.figure_.get_size_inches()
    for options, dpi in (({}, 200), ({"dpi": 40}, 40)):
        path = display.save(str(tmp_path / f"{dpi}.png"), **options)
        assert path == tmp_path / f"{dpi}.png"
        height, width = matplotlib.image.imread(path).shape[:2]
        assert (width, height) == pytest.approx(size * dpi, abs=1)
    plt.close("all")
    with pytest.raises(AttributeError, match="there is no figure yet: call plot first"):
        LogOddsDisplay(display.data).save(tmp_path / "none.png")
    with pytest.raises(FileNotFoundError):
        display.save(tmp_path / "no" / "folder.png")
    with pytest.raises(ValueError, match="xyz"):
        display.save(tmp_path / "a.xyz")
    assert sorted(each.name for each in tmp_path.iterdir()) == ["200.png", "40.png"]

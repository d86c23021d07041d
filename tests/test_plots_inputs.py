"""Displays refuse what they cannot draw, and say what to do."""

import inspect
import re
import subprocess
import sys

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from bayescal import ScoreCalibrator, TopicCalibrator
from bayescal import plots as all_plots
from bayescal.plots import (
    ClassDensityDisplay,
    DecisionDisplay,
    LikelihoodRatioDisplay,
    LogOddsDisplay,
    ProbabilityDisplay,
    TopicForestDisplay,
)
from bayescal.plots.display import Display, require
from bayescal.report import write_report

NAMED, KEYWORD = inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY
SCORES, LABELS = [-3.0, -2.0, -1.0, 0.5, 1.0, 2.0], [0, 0, 0, 1, 0, 1]
OF_SCORES = [ClassDensityDisplay, LogOddsDisplay, ProbabilityDisplay, DecisionDisplay]


@pytest.fixture(scope="module")
def calibrator():
    return ScoreCalibrator("gaussian", draws=50, random_state=0).fit(SCORES, LABELS)


def test_not_fitted(ax):
    with pytest.raises(NotFittedError):
        ProbabilityDisplay.from_estimator(ScoreCalibrator(), ax=ax)
    with pytest.raises(NotFittedError):
        TopicForestDisplay.from_estimator(TopicCalibrator(), ax=ax)


@pytest.mark.parametrize(
    ("documents", "message"),
    [
        (([0.0, 1.0], [0.0, np.nan]), "y must not hold nan or infinity"),
        (([0.0, 1.0], [0, 2]), "y must hold 0, 1 only, got 2"),
        (([0.0, np.nan], [0, 1]), "scores must be finite"),
        (([0.0, 1.0], [0]), "scores and y must have the same length"),
        (([0.0, 1.0], None), "scores and y must be given together"),
        (([], []), "scores must hold at least one score"),
    ],
)
def test_wrong_documents(documents, message, calibrator, ax):
    with pytest.raises(ValueError, match=message):
        ProbabilityDisplay.from_estimator(calibrator, *documents, ax=ax)


@pytest.mark.parametrize(
    ("display", "options"),
    [
        *((display, {"level": 0.0}) for display in (*OF_SCORES, LikelihoodRatioDisplay)),
        (ProbabilityDisplay, {"band": "hdi"}),
        (ProbabilityDisplay, {"topic": "corn"}),
        (ClassDensityDisplay, {"draws": 0}),
        (ClassDensityDisplay, {"bins": 0}),
        (LogOddsDisplay, {"bins": 1.5}),
        (DecisionDisplay, {"cost_ratio": (0.0, 1.0)}),
        (DecisionDisplay, {"cost_ratio": (2.0, 1.0)}),
    ],
)
def test_wrong_arguments(display, options, calibrator, ax):
    with pytest.raises(ValueError, match=f"{next(iter(options))} must"):
        display.from_estimator(calibrator, ax=ax, **options)


def test_what_is_no_calibrator_is_named():
    pipeline = make_pipeline(LogisticRegression())
    with pytest.raises(
        TypeError, match=r"got .* type Pipeline. Pass its last step, pipeline\[-1\]"
    ):
        ProbabilityDisplay.from_estimator(pipeline)
    with pytest.raises(TypeError, match="got an object of type list"):
        write_report([], "page.html")


ALL_DISPLAYS = [getattr(all_plots, name) for name in all_plots.__all__]


@pytest.mark.parametrize("display", ALL_DISPLAYS)
def test_constructors_show_and_document_what_they_take(display):
    makers = [name for name in dir(display) if name.startswith("from_")]
    assert makers
    drawn, computed = (
        inspect.signature(each).parameters for each in (display.plot, display.compute)
    )
    for name in makers:
        function = getattr(display, name)
        shown = inspect.signature(function).parameters
        assert {each.kind for each in shown.values()} <= {NAMED, KEYWORD}
        own = {key: each for key, each in (drawn | computed).items() if each.kind == KEYWORD}
        filled = {"classes", "draws", "positive_class"} if "calibrator" in shown else set()
        assert own.keys() - filled <= shown.keys()
        assert all(shown[key].default is own[key].default for key in own if key in shown)
        documented = re.findall(r"^(\w[^:\n]*?)(?: :.*)?$", function.__doc__, re.MULTILINE)
        assert shown.keys() <= {each for line in documented for each in line.split(", ")}


@pytest.mark.parametrize("display", OF_SCORES)
def test_options_have_their_defaults_and_no_others_are_taken(display, calibrator, ax):
    plain = display.from_estimator(calibrator, ax=ax)
    options = inspect.signature(display.from_estimator).parameters.values()
    defaults = {each.name: each.default for each in options if each.kind == KEYWORD}
    drawn = display.from_estimator(calibrator, **defaults | {"ax": ax})
    assert drawn.data.identical(plain.data)
    with pytest.raises(TypeError, match="strange"):
        display.from_estimator(calibrator, ax=ax, strange=1)


@pytest.mark.parametrize("grid", [[0.0, np.nan], []])
def test_wrong_grid(grid, calibrator, ax):
    with pytest.raises(ValueError, match="grid must"):
        ProbabilityDisplay.from_estimator(calibrator, grid=grid, ax=ax)


@pytest.mark.slow
def test_missing_matplotlib_is_told_with_the_extra():
    code = (
        "import sys; sys.modules['matplotlib'] = None\n"
        "from bayescal import ScoreCalibrator, plots\n"
        f"c = ScoreCalibrator('gaussian', draws=20).fit({SCORES}, {LABELS})\n"
        "try: plots.ProbabilityDisplay.from_estimator(c)\n"
        "except ImportError as err: print(err)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == [
        "plots need matplotlib, which is not installed: pip install bayescal[plots]."
    ]


def test_what_an_installed_library_lacks_is_not_blamed_on_the_extra(tmp_path, monkeypatch):
    (tmp_path / "broken_library.py").write_text("import no_such_library")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ModuleNotFoundError, match="No module named 'no_such_library'"):
        require("broken_library")


def test_files_are_written_whole_or_not_at_all(calibrator, ax, tmp_path):
    display = ProbabilityDisplay.from_estimator(calibrator, ax=ax)
    assert display.save(tmp_path / "curve.png", dpi=40).read_bytes().startswith(b"\x89PNG")
    with pytest.raises(FileNotFoundError, match="make it first"):
        display.save(tmp_path / "no" / "curve.png")
    with pytest.raises(ValueError, match="xyz"):
        display.save(tmp_path / "curve.xyz")
    (tmp_path / "folder.png").mkdir()
    with pytest.raises(OSError, match=r"folder\.png"):
        display.save(tmp_path / "folder.png")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["curve.png", "folder.png"]
    with pytest.raises(AttributeError, match="call plot first"):
        ProbabilityDisplay(display.data).save(tmp_path / "curve.png")


def test_a_write_that_fails_midway_keeps_the_old_file(calibrator, ax, tmp_path, monkeypatch):
    display = ProbabilityDisplay.from_estimator(calibrator, ax=ax)
    target = tmp_path / "curve.png"
    target.write_text("old")

    def half(path, **_):
        path.write_text("half")
        raise OSError("no space left on device")

    monkeypatch.setattr(display.figure_, "savefig", half)
    with pytest.raises(OSError, match="no space"):
        display.save(target)
    assert [path.name for path in tmp_path.iterdir()] == ["curve.png"]
    assert target.read_text() == "old"


def test_every_display_is_public_and_derives_from_the_same_class():
    assert all(issubclass(each, Display) for each in ALL_DISPLAYS)
    assert sorted(all_plots.__all__) == all_plots.__all__

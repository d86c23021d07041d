"""The interface that plots and reports read, and what methods hand on, of every calibrator."""

import inspect
import pickle

import matplotlib.image
import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot as plt
from sklearn.exceptions import NotFittedError

from bayescal import MulticlassCalibrator, ScoreCalibrator, TopicCalibrator, report
from bayescal.calibrators.recalibrator import Recalibrator
from bayescal.plots import LogOddsDisplay
from bayescal.report import write_report
from bayescal.report.export import writing
from tests import small_fits
from tests.report_data import data_of
from tests.toys.by_language import ByLanguage

RNG = np.random.default_rng(0)
LABELS = np.tile([0, 0, 0, 1], 15)
SCORES = RNG.normal(2.0 * LABELS)
LANGUAGE = np.repeat(["en", "fr"], 30)
NAMES = ["en", "fr"]


@pytest.fixture(scope="module")
def by_language():
    return ByLanguage().fit(SCORES, LABELS, LANGUAGE)


def test_another_kind_of_calibrator_is_drawn(by_language):
    drawn = LogOddsDisplay.from_estimator(by_language, topic="fr").data
    expected = LogOddsDisplay.from_estimator(by_language.calibrators_["fr"]).data
    assert drawn.attrs["topic"] == "fr"
    np.testing.assert_array_equal(drawn["lower"], expected["lower"])
    with pytest.raises(ValueError, match="topic must be one of those fitted, 'en', 'fr'"):
        LogOddsDisplay.from_estimator(by_language, topic="de")


@pytest.mark.slow
def test_another_kind_of_calibrator_is_reported(by_language, tmp_path):
    test = pd.DataFrame({"score": SCORES, "label": LABELS, "topic": LANGUAGE})
    own, plain = tmp_path / "own.html", tmp_path / "plain.html"
    write_report(by_language, own, test=test)
    write_report(by_language.calibrators_, plain, test=test)
    assert [topic["name"] for topic in data_of(own)["topics"]] == NAMES
    assert data_of(own)["topics"] == data_of(plain)["topics"]


@pytest.mark.parametrize("calibrator", [ScoreCalibrator(), TopicCalibrator()])
def test_before_a_fit_there_are_none(calibrator):
    with pytest.raises(NotFittedError):
        calibrator.fitted_problems()


def test_problems_of_topics_are_read_by_name():
    fitted = TopicCalibrator(parts="gaussian", draws=100, random_state=0)
    problems = fitted.fit(SCORES, LABELS, LANGUAGE).fitted_problems()
    assert list(problems) == NAMES
    x = np.linspace(-2.0, 4.0, 5)
    for name in NAMES:
        found = problems[name].log_odds(x)
        assert found == pytest.approx(fitted.decision_function(x, [name] * 5), abs=1e-12)
        draws = problems[name].draws.log_odds(x)
        sampled = fitted.sample_proba(x, [name] * 5)
        assert draws == pytest.approx(np.log(sampled) - np.log1p(-sampled), rel=1e-6)
    assert problems["en"].counts == (23.0, 7.0)
    with pytest.raises(KeyError):
        problems["de"]


def test_the_population_answers_for_topics_that_were_not_fitted():
    fitted = TopicCalibrator("none", "laplace", draws=100, random_state=0)
    problems = fitted.fit(SCORES, LABELS, LANGUAGE).fitted_problems()
    new = problems.answering("de")
    topics = np.full(SCORES.size, "de")
    np.testing.assert_array_equal(new.log_odds(SCORES), fitted.decision_function(SCORES, topics))
    assert new.counts == (0.0, 0.0)
    assert new.problems == ()
    assert set(new.diagnostics) == set(problems["en"].diagnostics)
    assert list(new.parameters(0.9)) == ["population"]
    assert problems.answering("en").name == "en"
    strict = fitted.set_params(new_topics="error").fitted_problems()
    assert not strict.answers("de")
    with pytest.raises(KeyError):
        strict.answering("de")


def test_problems_are_sent_to_other_processes():
    fitted = ScoreCalibrator(inference="mle").fit(SCORES, LABELS)
    (problem,) = fitted.fitted_problems().values()
    assert pickle.loads(pickle.dumps(problem)).problems == problem.problems


# Methods that hand everything on to a function: what it is given, of every estimator

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

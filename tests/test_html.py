"""What fitted calibrators show in Jupyter: correct, escaped, without matplotlib."""

import re
import subprocess
import sys
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest
from sklearn import config_context
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from bayescal import ScoreCalibrator, TopicCalibrator
from bayescal.html.svg import curve_picture, interval_picture

pytestmark = pytest.mark.one_era

EVIL = "<script>alert(1)</script>"
SCORES = np.array([-3.0, -2.0, -1.5, -1.0, 0.0, 0.5, 1.0, 2.0])
LABELS = np.array([0, 0, 0, 1, 0, 1, 1, 1])


class Reader(HTMLParser):
    """The cells of tables, and whether every tag that opens closes."""

    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.rows = [], set(), []
        self.feed(text)
        assert not self.open

    def handle_starttag(self, tag, attrs):
        self.open.append(tag)
        self.tags.add(tag)
        if tag == "tr":
            self.rows.append([])

    def handle_startendtag(self, tag, attrs):
        self.tags.add(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] in ("td", "th"):
            self.rows[-1].append(data)


def shown(calibrator):
    return calibrator._repr_mimebundle_()["text/html"]


@pytest.fixture(scope="module")
def topics():
    rng = np.random.default_rng(0)
    labels = np.tile(np.repeat([0, 1], [20, 4]), 15)
    names = [EVIL, *(f"topic {k}" for k in range(14))]
    return TopicCalibrator(family="asymmetric_laplace", random_state=0, draws=100).fit(
        rng.normal(3.0 * labels, 1.0), labels, np.repeat(names, 24)
    )


@pytest.mark.parametrize("options", [{}, {"family": "gaussian"}, {"parts": "monotone"}])
def test_table_says_what_the_calibrator_says(options):
    calibrator = ScoreCalibrator(draws=100, random_state=0, **options).fit(SCORES, LABELS)
    head, *rows = Reader(shown(calibrator)).rows
    assert head == ["score", "maximum likelihood", "posterior", "90 % interval"]
    for row in rows:
        x = float(row[0])
        p, (lower, upper) = calibrator.predict_proba([x])[0, 1], calibrator.predict_interval([x])[0]
        # Scores are shown to four digits.
        assert float(row[2]) == pytest.approx(p, abs=2e-3)
        assert list(map(float, row[3].split(" to "))) == pytest.approx([lower, upper], abs=2e-3)


def test_maximum_likelihood_has_no_interval():
    calibrator = ScoreCalibrator(inference="mle").fit(SCORES, LABELS)
    head, *rows = Reader(shown(calibrator)).rows
    assert head == ["score", "maximum likelihood"]
    p = calibrator.predict_proba([float(rows[0][0])])[0, 1]
    assert float(rows[0][1]) == pytest.approx(p, abs=2e-3)


def test_probabilities_stay_probabilities():
    p = 1.0 / (1.0 + np.exp(-SCORES))
    calibrator = ScoreCalibrator("gaussian", scores_are="probabilities", draws=50).fit(p, LABELS)
    _, *rows = Reader(shown(calibrator)).rows
    assert all(0.0 < float(row[0]) < 1.0 for row in rows)
    mle = calibrator.mle_.log_odds(np.log(float(rows[0][0]) / (1.0 - float(rows[0][0]))))
    assert float(rows[0][1]) == pytest.approx(1.0 / (1.0 + np.exp(-mle)), abs=2e-3)


@pytest.mark.filterwarnings("ignore::bayescal.score_checks.ScoresWarning")
def test_equal_scores_can_be_shown():
    calibrator = ScoreCalibrator(inference="mle").fit(np.full(4, 2.0), [0, 1, 0, 1])
    assert len(Reader(shown(calibrator)).rows) == 2


def test_text_of_data_is_escaped(topics):
    calibrator = ScoreCalibrator(inference="mle").fit(
        pd.Series(SCORES, name=EVIL), np.where(LABELS, EVIL, "<b>")
    )
    for text in (shown(calibrator), shown(topics)):
        assert "script" not in Reader(text).tags
        assert "b" not in Reader(text).tags
        assert "&lt;script&gt;" in text


def test_topics_with_fewest_positives_are_shown(topics):
    text = shown(topics)
    head, *rows = Reader(text).rows
    assert head == ["topic", "of class 0", "of class 1", "mode", "90 % interval"]
    assert len(rows) == 12
    assert "15 topics, 360 documents" in text
    mean = topics.posterior_["posterior"]["theta"].sel(klass="positive", topic=rows[3][0]).mean()
    assert float(rows[3][3]) == pytest.approx(float(mean), rel=6e-3)


def test_unfitted_estimators_show_what_scikit_learn_shows():
    for estimator in (ScoreCalibrator(), TopicCalibrator()):
        text = shown(estimator)
        assert "sk-container" in text
        assert estimator._repr_html_().count("sk-container") == text.count("sk-container")
    pipeline = make_pipeline(FunctionTransformer(), ScoreCalibrator())
    assert "ScoreCalibrator" in shown(pipeline)


def test_fitted_estimators_within_others_show_a_box():
    calibrator = ScoreCalibrator(inference="mle").fit(SCORES, LABELS)
    text = shown(make_pipeline(FunctionTransformer(), calibrator))
    assert "sk-container" in text
    assert (
        "<svg" not in re.sub(r"<style>.*?</style>", "", text, flags=re.S) or "polyline" not in text
    )


def test_display_as_text_is_respected():
    calibrator = ScoreCalibrator(inference="mle").fit(SCORES, LABELS)
    with config_context(display="text"):
        assert "text/html" not in calibrator._repr_mimebundle_()
        assert not hasattr(calibrator, "_repr_html_")
    assert calibrator._repr_html_() == shown(calibrator)


def test_picture_needs_no_matplotlib():
    code = (
        "import sys; sys.modules['matplotlib'] = None\n"
        "from bayescal import ScoreCalibrator\n"
        "c = ScoreCalibrator(inference='mle').fit([0., 1., 2., 3.], [0, 1, 0, 1])\n"
        "assert '<svg' in c._repr_mimebundle_()['text/html']"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def coordinates(text):
    return np.array([list(map(float, pair.split(","))) for pair in text.split()])


def test_curve_is_where_its_values_are():
    x, p = np.array([0.0, 1.0, 4.0]), np.array([0.0, 0.5, 1.0])
    band = np.stack([p - 0.0, p], axis=1)
    text = curve_picture(x, p, band, None, ("score", "P"))
    (line,) = re.findall(r"<polyline points='([^']*)'", text)
    across, down = coordinates(line).T
    np.testing.assert_allclose((across - across[0]) / (across[-1] - across[0]), x / 4.0, atol=1e-3)
    np.testing.assert_allclose((down - down[0]) / (down[-1] - down[0]), p, atol=1e-3)
    (outline,) = re.findall(r"<polygon points='([^']*)'", text)
    assert coordinates(outline).shape == (6, 2)


def test_intervals_are_where_their_ends_are():
    text = interval_picture(
        ["a", "b"], np.array([1.0, 3.0]), np.array([[0.0, 2.0], [2.0, 4.0]]), ("", "")
    )
    ends = np.array(re.findall(r"x1='([\d.]+)' x2='([\d.]+)'", text), dtype=float)
    dots = np.array(re.findall(r"cx='([\d.]+)'", text), dtype=float)
    np.testing.assert_allclose(dots, ends.mean(axis=1), atol=0.1)
    assert ends[0, 1] == ends[1, 0]

"""HTML of fitted calibrators in Jupyter: correct, escaped, with or without matplotlib."""

import subprocess
import sys
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure
from scipy import special
from sklearn import config_context
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from bayescal import CalibratedClassifier, CombinedClassifier, ScoreCalibrator, TopicCalibrator
from bayescal.calibrators.estimator import draw_curves
from bayescal.monitoring import Recalibrator
from tests import small_fits

pytestmark = pytest.mark.one_era

EVIL = "<script>alert(1)</script>"
SCORES = np.array([-3.0, -2.0, -1.5, -1.0, 0.0, 0.5, 1.0, 2.0])
LABELS = np.array([0, 0, 0, 1, 0, 1, 1, 1])
POSITIVES = 4 + np.arange(15) % 3  # of each topic


class Reader(HTMLParser):
    """The cells of tables, and whether every tag that opens closes."""

    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.rows = [], set(), []
        self.feed(text)
        assert not self.open

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        if tag != "img":
            self.open.append(tag)
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
    labels = [np.repeat([0, 1], [20, positives]) for positives in POSITIVES]
    names = [EVIL, *(f"topic {k}" for k in range(14))]
    topic = np.repeat(names, [each.size for each in labels])
    labels = np.concatenate(labels)
    return TopicCalibrator(parts="asymmetric_laplace", random_state=0, draws=100).fit(
        rng.normal(3.0 * labels, 1.0), labels, topic
    )


@pytest.mark.parametrize("options", [{}, {"parts": "gaussian"}, {"parts": "monotone"}])
def test_table_says_what_the_calibrator_says(options):
    calibrator = ScoreCalibrator(draws=100, random_state=0, **options).fit(SCORES, LABELS)
    head, *rows = Reader(shown(calibrator)).rows
    assert head == ["score", "maximum likelihood", "posterior", "90 % interval"]
    # From the median of the negatives to that of the positives.
    assert [float(row[0]) for row in rows] == pytest.approx(np.linspace(-1.75, 0.75, 5), abs=2e-3)
    assert "ScoreCalibrator fitted to 8 scores: 4 of class 0 and 4 of class 1" in shown(calibrator)
    for row in rows:
        x = float(row[0])
        mle = 1.0 / (1.0 + np.exp(-calibrator.mle_.log_odds(x)))
        assert float(row[1]) == pytest.approx(float(mle), abs=2e-3)
        p, (lower, upper) = calibrator.predict_proba([x])[0, 1], calibrator.predict_interval([x])[0]
        # Scores are shown to four digits.
        assert float(row[2]) == pytest.approx(p, abs=2e-3)
        assert list(map(float, row[3].split(" to "))) == pytest.approx([lower, upper], abs=2e-3)


def test_calibrators_of_other_kinds_are_shown():
    calibrator = ScoreCalibrator(inference="mle").fit(SCORES, LABELS)
    head, *rows = Reader(shown(calibrator)).rows
    assert head == ["score", "maximum likelihood"]
    p = calibrator.predict_proba([float(rows[0][0])])[0, 1]
    assert float(rows[0][1]) == pytest.approx(p, abs=2e-3)
    p = 1.0 / (1.0 + np.exp(-SCORES))
    calibrator = ScoreCalibrator("gaussian", scores_are="probabilities", draws=50).fit(p, LABELS)
    _, *rows = Reader(shown(calibrator)).rows
    assert all(0.0 < float(row[0]) < 1.0 for row in rows)
    mle = calibrator.mle_.log_odds(np.log(float(rows[0][0]) / (1.0 - float(rows[0][0]))))
    assert float(rows[0][1]) == pytest.approx(1.0 / (1.0 + np.exp(-mle)), abs=2e-3)
    labels = np.where(LABELS, "$x_$", "$\\no$")
    assert "<img" in shown(ScoreCalibrator(inference="mle").fit(SCORES, labels))


@pytest.mark.filterwarnings("ignore::bayescal.support.score_checks.ScoresWarning")
def test_equal_scores_can_be_shown():
    calibrator = ScoreCalibrator(inference="mle").fit(np.full(4, 2.0), [0, 1, 0, 1])
    assert len(Reader(shown(calibrator)).rows) == 2


@pytest.mark.slow
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
    assert "TopicCalibrator fitted to 375 documents of 15 topics" in text
    assert "<p style='margin:0.2em 0'>Pooling: partial.</p>" in text
    assert "Shown: the 12 with fewest of class 1." in text
    names = [EVIL, *(f"topic {k}" for k in range(14))]
    fewest = sorted(zip(POSITIVES.tolist(), names, strict=True))[:12]
    assert [[row[0], *map(float, row[1:3])] for row in rows] == [
        [name, 20.0, positives] for positives, name in fewest
    ]
    modes = topics.posterior_["posterior"]["theta"].sel(klass="positive")
    for row in rows:
        mode = modes.sel(topic=row[0]).values
        assert row[3] == f"{mode.mean():.3g}"
        assert row[4] == "{:.3g} to {:.3g}".format(*np.quantile(mode, [0.05, 0.95]))


def test_boxes_of_scikit_learn_stand_where_it_shows_them():
    for estimator in (ScoreCalibrator(), TopicCalibrator()):
        text = shown(estimator)
        assert "sk-container" in text
        assert estimator._repr_html_().count("sk-container") == text.count("sk-container")
    pipeline = make_pipeline(FunctionTransformer(), ScoreCalibrator())
    assert "ScoreCalibrator" in shown(pipeline)
    calibrator = ScoreCalibrator(inference="mle").fit(SCORES, LABELS)
    text = shown(make_pipeline(FunctionTransformer(), calibrator))
    assert "sk-container" in text
    assert "<img" not in text
    with config_context(display="text"):
        assert "text/html" not in calibrator._repr_mimebundle_()
        assert not hasattr(calibrator, "_repr_html_")
    assert calibrator._repr_html_() == shown(calibrator)


def test_recalibrators_and_combinations_show_their_curves():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    y = X[:, 0] + rng.normal(size=60) > 0.5
    combined = CombinedClassifier([("a", GaussianNB()), ("b", LogisticRegression())])
    recalibrator, p, sites = Recalibrator(draws=100), special.expit(X[:, 0]), np.arange(60) % 2
    assert "sk-container" in shown(recalibrator)
    for fitted in (combined, recalibrator):
        assert "<img" not in shown(fitted)
    for fitted in (
        combined.fit(X, y),
        recalibrator.fit(p, y),
        Recalibrator(pooling="partial", draws=100).fit(p, y, sites),
    ):
        text = shown(fitted)
        assert f"{type(fitted).__name__} fitted to 60 documents" in text
        assert text.count("<img") == 1
    assert "sk-container" in shown(combined.set_params(combiner="logistic").fit(X, y))


def test_curves_of_several_problems_are_of_no_one_class():
    p, sites = np.linspace(0.05, 0.95, 40), np.array(list("AB") * 20)
    fitted = Recalibrator(pooling="partial", draws=100).fit(p, np.arange(40) % 3 == 0, sites)
    ax = Figure().subplots()
    draw_curves(fitted, ax)
    assert ax.get_ylabel() == "probability"
    names = [text.get_text() for text in ax.get_legend().get_texts()]
    assert [name for name in names if "posterior" in name] == ["A, posterior", "B, posterior"]


def test_pictures_have_a_title_and_a_legend(topics, monkeypatch):
    figures = []
    save = Figure.savefig

    def savefig(figure, *args, **options):
        figures.append(figure)
        return save(figure, *args, **options)

    monkeypatch.setattr(Figure, "savefig", savefig)
    calibrator = ScoreCalibrator(draws=100, random_state=0).fit(SCORES, LABELS)
    for text in (shown(calibrator), shown(topics)):
        assert "<img alt=" in text
        assert "data:image/png;base64," in text
    curve, forest = (figure.axes[0] for figure in figures)
    assert curve.get_title() == "Probability of class 1 given the score"
    assert forest.get_title() == "Mode of the scores of class 1 in each topic"
    for ax in (curve, forest):
        assert len(ax.get_legend().get_texts()) >= 2


@pytest.mark.parametrize("pooling", ["none", "complete"])
def test_topics_that_are_not_pooled_partially_are_shown(pooling):
    calibrator = TopicCalibrator(pooling=pooling, draws=50, random_state=0)
    names = np.repeat(["a", "b"], SCORES.size)
    calibrator.fit(np.tile(SCORES, 2), np.tile(LABELS, 2), names)
    assert "<img" in shown(calibrator)
    assert len(Reader(shown(calibrator)).rows) == 3


@pytest.mark.slow
def test_without_matplotlib_a_line_says_how_to_see_the_picture():
    code = (
        "import sys; sys.modules['matplotlib'] = None\n"
        "from bayescal import ScoreCalibrator\n"
        "c = ScoreCalibrator(inference='mle').fit([0., 1., 2., 3.], [0, 1, 0, 1])\n"
        "text = c._repr_mimebundle_()['text/html']\n"
        "assert 'pip install bayescal[plots] shows the picture.' in text\n"
        "assert '<table' in text and '<img' not in text"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_classifiers_and_maps_of_classes_have_pictures():
    y = np.array(["ham", "spam"])[LABELS]
    classifier = CalibratedClassifier(cv=2, calibrator=ScoreCalibrator(draws=50, random_state=0))
    for fitted in (classifier.fit(SCORES[:, None], y), small_fits.classes()):
        html = shown(fitted)
        assert "img" in Reader(html).tags
        assert type(fitted).__name__ in html
    assert "8 documents" in shown(classifier)

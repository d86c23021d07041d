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

EVIL = "<script>alert(1)</script>"
SCORES = np.array([-3.0, -2.0, -1.5, -1.0, 0.0, 0.5, 1.0, 2.0])
LABELS = np.array([0, 0, 0, 1, 0, 1, 1, 1])
POSITIVES = 4 + np.arange(15) % 3  # of each topic


class Reader(HTMLParser):
    """The tags of a page, each of which must close."""

    def __init__(self, text):
        super().__init__()
        self.open, self.tags = [], set()
        self.feed(text)
        assert not self.open

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        if tag != "img":
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.add(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


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


def test_notes_say_what_was_fitted():
    calibrator = ScoreCalibrator("gaussian", draws=50, random_state=0).fit(SCORES, LABELS)
    text = shown(calibrator)
    assert "ScoreCalibrator fitted to 8 documents" in text
    assert "4 of class 0 and 4 of class 1" in text
    assert "Model: gaussian; exact." in text
    labels = np.where(LABELS, "$x_$", "$\\no$")
    assert "<img" in shown(ScoreCalibrator(inference="mle").fit(SCORES, labels))


@pytest.mark.filterwarnings("ignore::bayescal.support.score_checks.ScoresWarning")
def test_equal_scores_can_be_shown():
    calibrator = ScoreCalibrator(inference="mle").fit(np.full(4, 2.0), [0, 1, 0, 1])
    assert "<img" in shown(calibrator)


@pytest.mark.slow
def test_text_of_data_is_escaped(topics):
    calibrator = ScoreCalibrator(inference="mle").fit(
        pd.Series(SCORES, name=EVIL), np.where(LABELS, EVIL, "<b>")
    )
    for text in (shown(calibrator), shown(topics)):
        assert "script" not in Reader(text).tags
        assert "b" not in Reader(text).tags
    assert "&lt;script&gt;" in shown(calibrator)


def test_topics_with_fewest_positives_are_shown(topics, monkeypatch):
    drawn = []
    monkeypatch.setattr(TopicCalibrator, "_draw", lambda self, ax, topics: drawn.extend(topics))
    text = shown(topics)
    assert Reader(text).tags
    assert "TopicCalibrator fitted to 375 documents of 15 topics" in text
    assert "<p style='margin:0.2em 0'>Pooling: partial.</p>" in text
    assert "Shown: the 12 with fewest of class 1." in text
    names = [EVIL, *(f"topic {k}" for k in range(14))]
    fewest = sorted(zip(POSITIVES.tolist(), names, strict=True))[:12]
    assert drawn == [name for _, name in fewest]
    assert "<img" not in shown(topics.population_)


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
    assert curve.get_title() == "Probability given the score"
    assert forest.get_title() == "Mode of the scores of class 1 in each topic"
    for ax in (curve, forest):
        assert len(ax.get_legend().get_texts()) >= 2


@pytest.mark.parametrize("pooling", ["none", "complete"])
def test_topics_that_are_not_pooled_partially_are_shown(pooling):
    calibrator = TopicCalibrator(pooling=pooling, draws=50, random_state=0)
    names = np.repeat(["a", "b"], SCORES.size)
    calibrator.fit(np.tile(SCORES, 2), np.tile(LABELS, 2), names)
    assert "<img" in shown(calibrator)


@pytest.mark.slow
def test_without_matplotlib_a_line_says_how_to_see_the_picture():
    code = (
        "import sys; sys.modules['matplotlib'] = None\n"
        "from bayescal import ScoreCalibrator\n"
        "c = ScoreCalibrator(inference='mle').fit([0., 1., 2., 3.], [0, 1, 0, 1])\n"
        "text = c._repr_mimebundle_()['text/html']\n"
        "assert 'pip install bayescal[plots] shows the picture.' in text\n"
        "assert '<img' not in text"
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

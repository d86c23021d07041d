"""Displays and tables of classifiers: X in place of scores, `pos_label`, several models."""

import numpy as np
import pytest
from matplotlib.figure import Figure
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from bayescal import CalibratedClassifier, CombinedClassifier, ScoreCalibrator
from bayescal.decisions import rates_by_topic, thresholds_by_topic
from bayescal.plots import (
    ClassDensityDisplay,
    DecisionDisplay,
    LogOddsDisplay,
    ProbabilityDisplay,
    ReliabilityDisplay,
)

FAST = ScoreCalibrator("gaussian", draws=50)
OF_DOCUMENTS = [ClassDensityDisplay, DecisionDisplay, LogOddsDisplay, ProbabilityDisplay]
CURVES = [LogOddsDisplay, ProbabilityDisplay]


def data(classes=2, names=("ham", "spam", "zebra")):
    X, y = make_classification(
        300, 5, n_informative=4, n_redundant=0, n_classes=classes, random_state=0
    )
    return X, np.array(names)[y]


def fit(classes=2):
    X, y = data(classes)
    return CalibratedClassifier(LogisticRegression(), FAST, cv=3, random_state=0).fit(X, y)


@pytest.fixture(scope="module")
def two():
    return fit()


@pytest.fixture(scope="module")
def three():
    return fit(3)


@pytest.mark.parametrize("display", OF_DOCUMENTS)
def test_documents_of_a_classifier_are_its_scores(display, two, ax):
    X, y = data()
    of_scores = display.from_estimator(two, two.problem_scores(X)[:, 0], y, ax=ax)
    of_documents = display.from_estimator(two, X, y, ax=Figure().subplots())
    assert of_documents.data.identical(of_scores.data)
    if display is not DecisionDisplay:  # which draws no documents
        assert not of_documents.data.equals(display.from_estimator(two, X[:9], y[:9], ax=ax).data)


def test_a_legend_tells_held_out_documents_from_those_fitted(two, ax):
    X, y = data()
    for given, whose in (((), "fitted"), ((X, y), "held-out")):
        shown = LogOddsDisplay.from_estimator(two, *given, ax=Figure().subplots())
        legend = [text.get_text() for text in shown.ax_.get_legend().get_texts()]
        assert f"{whose} documents, 90 % interval" in legend
        assert shown.data.attrs["held_out"] == (whose == "held-out")


@pytest.mark.parametrize("display", CURVES)
def test_of_several_classes_one_is_shown(display, three, ax):
    X, y = data(3)
    shown = display.from_estimator(three, X, y, topic="spam", ax=ax).data
    assert int(shown["label"].sum()) == (y == "spam").sum()
    same = display.from_estimator(three, X, y, pos_label="spam", ax=ax)
    assert same.data.identical(shown)
    assert "spam" in same.ax_.get_ylabel()


def test_numbers_name_their_classes(ax):
    X, y = data(3, names=(1, 5, 7))
    fitted = CalibratedClassifier(LogisticRegression(), FAST, cv=3, random_state=0).fit(X, y)
    shown = ProbabilityDisplay.from_estimator(fitted, X, y, topic=5, ax=ax).data
    assert int(shown["label"].sum()) == (y == 5).sum()


@pytest.mark.parametrize("display", CURVES)
def test_the_other_class_has_the_opposite_curve(display, two, ax):
    X, y = data()
    own = display.from_estimator(two, X, y, pos_label="spam", ax=ax).data
    other = display.from_estimator(two, X, y, pos_label="ham", ax=Figure().subplots())
    assert own.identical(display.from_estimator(two, X, y, ax=ax).data)
    swaps = {"lower": "upper", "log_odds": "log_odds", "probability": "probability", "mle": "mle"}
    swaps |= {"bin_upper": "bin_lower", "bin_log_odds": "bin_log_odds"}
    for name, opposite in swaps.items():
        if name in own and display is LogOddsDisplay:
            np.testing.assert_array_equal(other.data[name], -own[opposite])
        elif name in own:
            np.testing.assert_allclose(other.data[name], 1.0 - own[opposite], rtol=1e-9)
    np.testing.assert_array_equal(other.data["label"], y == "ham")
    if display is LogOddsDisplay:
        np.testing.assert_array_equal(other.data["positives"], own["negatives"])
    assert "ham" in other.ax_.get_ylabel()


@pytest.mark.parametrize("pos_label", ["ham", "spam", None])
def test_reliability_is_that_of_predict_proba(two, pos_label, ax):
    X, y = data()
    shown = ReliabilityDisplay.from_estimator(two, X, y, pos_label=pos_label, ax=ax)
    name = pos_label or "spam"
    p = two.predict_proba(X)[:, two.classes_.tolist().index(name)]
    own = ReliabilityDisplay.from_predictions(
        y, p, pos_label=name, positive_class=name, ax=Figure().subplots()
    )
    assert shown.data.equals(own.data)
    assert shown.ax_.get_xlabel() == f"P({name}), predicted"
    of_scores = ReliabilityDisplay.from_estimator(
        two, two.problem_scores(X)[:, 0], y, pos_label=pos_label, ax=Figure().subplots()
    )
    np.testing.assert_allclose(of_scores.data["prob_pred"], own.data["prob_pred"], atol=1e-9)
    np.testing.assert_allclose(of_scores.data["prob_true"], own.data["prob_true"], atol=1e-9)


@pytest.mark.parametrize("ensemble", [True, False])
def test_reliability_takes_any_classifier(ensemble, ax):
    X, y = data(3)
    members = [("a", LogisticRegression()), ("b", GaussianNB())]
    for model in (
        make_pipeline(StandardScaler(), GaussianNB()),
        CalibratedClassifier(GaussianNB(), FAST, cv=3, ensemble=ensemble, random_state=0),
        CombinedClassifier(members, combiner="logistic", cv=3, random_state=0),
    ):
        fitted = model.fit(X, y)
        shown = ReliabilityDisplay.from_estimator(fitted, X, y, pos_label="zebra", ax=ax).data
        assert float(shown["weight"] @ shown["prob_true"]) == pytest.approx((y == "zebra").sum())
        p = fitted.predict_proba(X)[:, 2]
        assert float(shown["weight"] @ shown["prob_pred"]) == pytest.approx(p.sum())


def test_labels_of_documents_are_columns(ax):
    X, _ = data()
    y = np.stack([X[:, 0] > 0, X[:, 1] > 1], axis=1).astype(int)
    fitted = CombinedClassifier([("a", LogisticRegression())], combiner="logistic", cv=3).fit(X, y)
    shown = ReliabilityDisplay.from_estimator(fitted, X, y, pos_label=fitted.labels_[1], ax=ax)
    assert float(shown.data["weight"] @ shown.data["prob_true"]) == pytest.approx(y[:, 1].sum())


@pytest.mark.parametrize(
    ("options", "message"),
    [({}, "pos_label must be one of .*'ham', 'spam'"), ({"pos_label": "x"}, "got 'x'")],
)
def test_an_unknown_class_is_refused(options, message, three, ax):
    X, y = data(3)
    with pytest.raises(ValueError, match=message):
        ReliabilityDisplay.from_estimator(three, X, y, ax=ax, **options)
    with pytest.raises(ValueError, match="topic must be one of those fitted"):
        ProbabilityDisplay.from_estimator(three, X, y, ax=ax, **options)


def test_of_two_classes_no_third_is_shown(two, ax):
    X, y = data()
    for display in (*CURVES, ReliabilityDisplay):
        with pytest.raises(ValueError, match=r"pos_label must be .*'ham'.*'spam'.* got 'x'"):
            display.from_estimator(two, X, y, pos_label="x", ax=ax)
    with pytest.raises(ValueError, match="y must hold 'ham', 'spam' only, got 'x'"):
        ReliabilityDisplay.from_estimator(two, X, np.where(y == "ham", "x", y), ax=ax)
    with pytest.raises(TypeError, match="with predict_proba, got an object of type StandardScaler"):
        ReliabilityDisplay.from_estimator(StandardScaler(), X, y, ax=ax)


@pytest.mark.parametrize("display", [*CURVES, ReliabilityDisplay])
def test_several_models_share_a_picture(display, two):
    X, y = data()
    first = display.from_estimator(two, X, y, name="first", ax=Figure().subplots())
    axes = len(first.figure_.axes)
    second = display.from_estimator(two, X + 0.5, y, name="second", ax=first.ax_)
    third = display.from_estimator(two, X - 0.5, y, name="third", ax=second.ax_)
    drawn = [each.line_ for each in (first, second, third)]
    assert len({line.get_color() for line in drawn}) == 3
    assert len({each.band_.get_facecolor().tobytes() for each in (first, second, third)}) == 3
    legend = [text.get_text() for text in third.ax_.get_legend().get_texts()]
    for name in ("first", "second", "third"):
        assert sum(text.startswith(name) for text in legend) >= 2
    assert len(first.figure_.axes) == axes  # one histogram of documents
    for each in (first, second, third):
        low, high = third.ax_.get_xlim()
        x = each.line_.get_xdata()
        assert low <= x.min() <= x.max() <= high


@pytest.mark.parametrize("shift", [3.5, -3.5])
def test_reliability_of_a_rare_class_fills_its_axes(shift, ax):
    rng = np.random.default_rng(0)
    p = 1.0 / (1.0 + np.exp(rng.normal(shift, 0.5, 3000)))
    shown = ReliabilityDisplay.from_predictions(rng.random(3000) < p, p, ax=ax)
    low, high = ax.get_xlim()
    assert np.ptp(p) > 0.8 * (high - low)
    assert (shown.data["count"].values > 0).sum() > 12
    assert ax.get_ylim()[0] < shown.data["prob_true"].min()
    assert ax.get_ylim()[1] > shown.data["prob_true"].max()


def test_tables_take_documents(two, three):
    X, _ = data()
    scores = two.problem_scores(X)[:, 0]
    for table, asked in (
        (thresholds_by_topic, {"recall": 0.9}),
        (rates_by_topic, {"threshold": 0.0}),
    ):
        of_documents = table(two, X, random_state=0, **asked)
        assert of_documents.equals(table(two, scores, random_state=0, **asked))
        every = table(three, X, random_state=0, **asked)
        assert set(every.index) == {"ham", "spam", "zebra"}
        names = np.tile(["ham", "spam", "zebra"], 100)
        some = table(three, X, names, random_state=0, **asked)
        assert (some["documents"] == 100).all()
        raw = three.problem_scores(X)[np.arange(300), np.tile([0, 1, 2], 100)]
        assert some.equals(table(three, raw, names, random_state=0, **asked))

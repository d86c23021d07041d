"""Plots, summaries, decisions and reports of a CombinedClassifier, like those of any fit."""

import json
from copy import deepcopy
from dataclasses import replace

import numpy as np
import pytest
from scipy import special
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.datasets import make_classification
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from bayescal import CombinedClassifier
from bayescal.combining.nested import Members
from bayescal.decisions import rates_by_topic, thresholds_by_topic
from bayescal.monitoring import DriftMonitor
from bayescal.plots import DecisionDisplay, LogOddsDisplay, ProbabilityDisplay
from bayescal.report.export.writing import export
from tests.report_data import data_of

PAIR = [("logistic", LogisticRegression()), ("nb", GaussianNB())]
LETTERS = np.array(["a", "b", "c"])


def problem(classes=2):
    X, y = make_classification(
        300, 5, n_informative=4, n_redundant=0, n_classes=classes, random_state=0
    )
    return X, LETTERS[y]


class Sums(TransformerMixin, BaseEstimator):
    """Two indicators of made documents."""

    def fit(self, X, y):
        self.fitted_ = True
        return self

    def transform(self, X):
        return np.c_[X.sum(axis=1), np.abs(X[:, 0])]

    def get_feature_names_out(self, input_features=None):
        return np.array(["sum", "size"], dtype=object)


@pytest.fixture(scope="module")
def binary():
    X, y = problem()
    combined = CombinedClassifier(PAIR, indicators=Sums(), cv=3, random_state=0)
    return combined.fit(X[:200], y[:200])


@pytest.fixture(scope="module")
def several():
    X, y = problem(3)
    return CombinedClassifier(PAIR, cv=3, random_state=0).fit(X[:200], y[:200])


class TestProblem:
    @pytest.mark.slow
    def test_its_curve_is_what_predicts_say(self, binary):
        X, _ = problem()
        (only,) = binary.fitted_problems().values()
        assert only.labels.tolist() == ["a", "b"]
        assert only.counts == (only.documents.total(False), only.documents.total(True))
        np.testing.assert_array_equal(only.documents.score, binary.scores_)
        scores = binary.decision_function(X[200:])
        np.testing.assert_allclose(only.log_odds(scores), scores)
        assert (only.model, only.problems, only.parts, only.has_mle) == ("bayes", (), None, False)

    @pytest.mark.slow
    def test_its_band_is_that_of_documents_of_a_score_together(self, binary):
        """In each draw the curve's mean over documents is that of their own probabilities."""
        # Of few documents a kernel has to reach far: all are fitted.
        X, y = problem()
        binary = clone(binary).fit(X, y)
        (only,) = binary.fitted_problems().values()
        scores = binary.decision_function(X)
        by_document, by_score = binary.sample_proba(X), only.calibration.sample(scores)
        for low, high in ((-9.0, -1.0), (-1.0, 1.0), (1.0, 9.0)):
            near = (scores > low) & (scores < high)
            own, curve = by_document[:, near].mean(axis=1), by_score[:, near].mean(axis=1)
            assert np.corrcoef(own, curve)[0, 1] > 0.9
            assert np.abs(own - curve).mean() < 0.03
        # One document is less certain than the share among all of its score.
        widths = np.ptp(binary.predict_interval(X), axis=1)
        narrower = np.ptp(only.calibration.interval(scores, 0.9, "pointwise"), axis=1)
        assert np.median(narrower) < np.median(widths)

    def test_coefficients_are_listed_by_name(self, binary):
        table = binary.summary()
        assert table.index.names == ["class", "parameter"]
        names = table.loc["b"].index.tolist()
        assert names == ["bias", "logistic", "nb", "sum", "size"]
        np.testing.assert_array_equal(table.to_numpy(), binary.weights().to_numpy())
        assert (table["lower"] < table["upper"]).all()
        posterior = binary.posterior_["posterior"]
        assert posterior["shift"].shape == (1, 1000, 2)
        np.testing.assert_allclose(posterior["weight"].mean(("chain", "draw")), table["mean"][1:3])
        assert posterior["shift"]["indicator"].to_numpy().tolist() == ["sum", "size"]
        np.testing.assert_allclose(posterior["shift"].mean(("chain", "draw")), table["mean"][3:])

    def test_a_draw_weighs_its_own_curves(self, binary):
        """By hand: base rate, and the draw's coefficients of its curves and of the indicators."""
        X, _ = problem()
        (found,) = binary._combined
        inputs = binary._members[0].inputs(X[200:205])
        base, sample = found.calibrated.base, found.sample(inputs)
        curves = found.calibrated.draws(inputs.scores) - base
        r = found.scale.apply(inputs.indicators)
        for k, i in ((0, 0), (7, 3), (531, 4)):
            at = k % len(curves)
            coefficients = found.weights.draws[k] + found.moves[at]
            expected = base + coefficients @ np.r_[1.0, curves[at, i], r[i]]
            assert sample[k, i] == pytest.approx(expected)

    def test_its_labels_are_watched(self, binary):
        X, y = problem()
        quiet, swapped = (DriftMonitor(binary, draws=50) for _ in range(2))
        assert quiet.update(X[200:], y[200:]).alarm_ is None
        assert swapped.update(X[200:], LETTERS[1 - (y[200:] == "b")]).alarm_ is not None

    def test_indicators_without_names_are_numbered(self):
        nameless = make_pipeline(FunctionTransformer(np.abs), StandardScaler())
        for indicators, names in ((nameless, ["indicator 0"]), (None, []), (Sums(), ["sum"])):
            members = Members({}, indicators, None)
            assert members.indicator_names(len(names))[:1] == names

    @pytest.mark.slow
    def test_of_several_classes_there_is_one_for_each(self, several, tmp_path):
        X, y = problem(3)
        assert list(several.fitted_problems()) == ["a", "b", "c"]
        assert set(several.diagnostics_) == set(several.posterior_.children) == {"a", "b", "c"}
        assert set(several.summary().index.get_level_values("problem")) == {"a", "b", "c"}
        drawn = LogOddsDisplay.from_estimator(several, topic="b").data
        assert (drawn["lower"] <= drawn["upper"]).all()
        # The page judges what predict_proba returns: the likeliest class, then each class.
        _, *each = data_of(several.report(tmp_path / "report.html", X[200:], y[200:]))["figures"]
        assert [one["positives"] for one in each] == [
            int((y[200:] == name).sum()) for name in LETTERS
        ]


class TestReaders:
    @pytest.mark.parametrize("display", [LogOddsDisplay, ProbabilityDisplay, DecisionDisplay])
    def test_displays(self, binary, display):
        X, y = problem()
        assert display.from_estimator(binary).data.attrs["score_name"] == "combined log-odds"
        scores = binary.decision_function(X[200:])
        held_out = display.from_estimator(binary, scores, y[200:])
        assert held_out.figure_ is not None

    def test_decisions(self, binary):
        X, _ = problem()
        scores = binary.decision_function(X[200:])
        (rates,) = rates_by_topic(binary, scores, probability=0.5, random_state=0).itertuples()
        assert rates.selected == (scores >= 0.0).sum()
        expected = special.expit(scores[scores >= 0.0]).mean()
        assert rates.precision == pytest.approx(expected, abs=0.05)
        (row,) = thresholds_by_topic(binary, scores, recall=0.9, random_state=0).itertuples()
        assert row.recall >= 0.9
        assert row.probability == pytest.approx(special.expit(row.threshold))

    def test_report(self, binary, tmp_path):
        X, y = problem()
        page = binary.report(tmp_path / "report.html", X[200:], y[200:])
        (topic,) = data_of(page)["topics"]
        assert data_of(page)["classes"] == ["a", "b"]
        assert topic["test"]["point"]["n"] == 100
        np.testing.assert_allclose(topic["point"], topic["x"], atol=1e-3)
        assert [row[1] for row in topic["parameters"]["rows"]][:3] == ["bias", "logistic", "nb"]
        text = page.read_text(encoding="utf-8")
        for said in ("No problem was found", "The 2 indicators r", "combined log-odds", "bayes"):
            assert said in text

    def test_export(self, binary, tmp_path):
        path = export(binary, tmp_path / "curve.json", format="json", level=0.9)
        curves = json.loads(path.read_text(encoding="utf-8"))["curves"]
        scores = np.sort(binary.scores_)
        point, lower, upper = (
            np.interp(scores, each["score"], each["log_odds"]) for each in curves.values()
        )
        np.testing.assert_allclose(point, scores, atol=1e-3)
        assert ((lower < point) & (point < upper)).mean() > 0.95

    @pytest.mark.slow
    def test_faults_of_draws_are_reported(self, several, tmp_path):
        spoilt = deepcopy(several)
        first = spoilt._combined[0]
        bad = replace(first.weights, pareto_k=0.93)
        spoilt._combined = [replace(first, weights=bad), *spoilt._combined[1:]]
        assert not spoilt.diagnostics_["a"].ok
        assert spoilt.diagnostics_["b"].ok
        page = spoilt.report(tmp_path / "report.html").read_text(encoding="utf-8")
        assert "weights are uneven (Pareto k 0.93)" in page


class TestWithoutPosterior:
    def test_combiners_without_one_say_so(self, tmp_path):
        X, y = problem()
        other = CombinedClassifier(PAIR, combiner="logistic", cv=3).fit(X, y)
        page = tmp_path / "report.html"
        for ask in (other.fitted_problems, other.summary, lambda: other.report(page)):
            with pytest.raises(AttributeError, match=r"'logistic' has no posterior.*use 'bayes'"):
                ask()
        assert not page.exists()
        for name in ("posterior_", "diagnostics_"):
            assert not hasattr(other, name)

    @pytest.mark.parametrize(
        "ask",
        [
            lambda combined: combined.weights(),
            lambda combined: combined.posterior_,
            lambda combined: combined.diagnostics_,
            lambda combined: combined.fitted_problems(),
            lambda combined: combined.summary(),
            lambda combined: combined.predict_interval([[0.0]]),
        ],
    )
    def test_neither_is_there_one_before_the_fit(self, ask):
        with pytest.raises(NotFittedError, match="CombinedClassifier instance is not fitted"):
            ask(CombinedClassifier(PAIR))


class TestFiles:
    @pytest.mark.slow
    def test_what_was_saved_predicts_alike(self, several, tmp_path):
        X, _ = problem(3)
        again = CombinedClassifier.load(several.save(tmp_path / "combined.joblib"))
        np.testing.assert_array_equal(again.predict_proba(X), several.predict_proba(X))
        np.testing.assert_array_equal(again.sample_proba(X[:5]), several.sample_proba(X[:5]))

    def test_another_file_is_refused(self, tmp_path):
        with pytest.raises(FileNotFoundError, match="there is no file"):
            CombinedClassifier.load(tmp_path / "none.joblib")
        (tmp_path / "other.joblib").write_text("text")
        with pytest.raises(ValueError, match=r"a file that CombinedClassifier\.save wrote"):
            CombinedClassifier.load(tmp_path / "other.joblib")

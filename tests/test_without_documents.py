"""Columns that documents say nothing of, and probabilities whose classifier is not at hand."""

import numpy as np
import pandas as pd
import pytest
from scipy import special, stats
from sklearn.datasets import make_classification, make_multilabel_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier
from sklearn.multioutput import MultiOutputClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import LinearSVC

from bayescal import CalibratedClassifier, MulticlassCalibrator, ScoreCalibrator, TopicCalibrator

QUICK = ScoreCalibrator("gaussian", draws=100, random_state=4)
X, CODES = make_classification(300, n_informative=5, n_classes=3, random_state=3)
Y = np.array(["corn", "gold", "oil"])[CODES]
XL, YL = make_multilabel_classification(160, n_classes=3, random_state=3)
CALIBRATORS = [QUICK, "sigmoid", "isotonic", "temperature", LogisticRegression()]


def answers(classifier, features, posterior):
    """Ask every question; return the probabilities."""
    p = classifier.predict_proba(features)
    assert ((p >= 0) & (p <= 1)).all()
    np.testing.assert_allclose(np.exp(classifier.predict_log_proba(features)), p)
    assert not np.isnan(classifier.decision_function(features)).any()
    assert len(classifier.predict(features)) == len(features)
    if posterior:
        for kind in ("pointwise", "hdi"):
            lower, upper = np.moveaxis(classifier.predict_interval(features, kind=kind), -1, 0)
            assert (lower < upper).all()
        assert classifier.sample_proba(features, 7, 0).shape[:2] == (7, len(features))
        assert len(classifier.fitted_problems()) > 0
        assert not classifier.summary().empty
        _ = classifier.posterior_, classifier.diagnostics_
    return p


class TestAbsentClasses:
    @pytest.mark.parametrize("calibrator", CALIBRATORS, ids=str)
    def test_of_a_fitted_classifier_have_the_base_rate(self, calibrator):
        base = FrozenEstimator(LinearSVC(random_state=0).fit(X, Y))
        some = CODES != 1
        n = some.sum()
        with pytest.warns(UserWarning, match=r"classes without documents \('gold'\).*1\)/\(n \+ 2"):
            classifier = CalibratedClassifier(base, calibrator).fit(X[some], Y[some])
        assert classifier.classes_.tolist() == ["corn", "gold", "oil"]
        p = answers(classifier, X, calibrator is QUICK)
        np.testing.assert_allclose(p.sum(axis=1), 1.0)
        # 1/(n + 2) before it is divided by the sum, which is near 1 for documents like these.
        assert 0.4 < p[some, 1].mean() * (n + 2) < 2.5
        assert np.isnan(classifier.scores_[:, 1]).all()
        if calibrator is QUICK:
            p = classifier.predict_proba(X, prior={"corn": 0.3, "gold": 0.4, "oil": 0.3})
            assert 0.3 < p[:, 1].mean() < 0.5

    @pytest.mark.parametrize("positive", [None, 0, 1])
    @pytest.mark.parametrize("calibrator", [QUICK, "sigmoid"], ids=str)
    def test_one_class_alone(self, positive, calibrator):
        base = FrozenEstimator(LinearSVC(random_state=0).fit(X, CODES == 1))
        rows = np.flatnonzero(CODES == 1)[:18]
        with pytest.warns(UserWarning, match="one class only"):
            one = CalibratedClassifier(base, calibrator, positive=positive).fit(
                X[rows], np.ones(18, dtype=bool)
            )
        np.testing.assert_allclose(one.predict_proba(X), [[1 / 20, 19 / 20]] * 300)
        assert one.predict(X).all()
        ends = (
            stats.beta(19, 1).ppf([0.05, 0.95])
            if positive != 0
            else stats.beta(1, 19).ppf([0.05, 0.95])
        )
        np.testing.assert_allclose(one.predict_interval(X), [ends] * 300, atol=2e-3)
        assert one.sample_proba(X, 5).shape == (5, 300)

    def test_of_topics_the_population_answers_for(self):
        base, some = FrozenEstimator(LinearSVC(random_state=0).fit(X, Y)), CODES != 1
        topics = TopicCalibrator(parts="gaussian", draws=50, random_state=0)
        pooled = CalibratedClassifier(base, topics).fit(X[some], Y[some])
        assert np.ptp(pooled.predict_proba(X)[:, 1]) > 0.01

    def test_others_are_still_refused(self):
        with pytest.raises(ValueError, match="at least two classes, got one class only"):
            CalibratedClassifier(LinearSVC(), QUICK).fit(X, np.ones(300))
        base = FrozenEstimator(LinearSVC(random_state=0).fit(X, Y))
        with pytest.raises(ValueError, match=r"labels that the estimator was fitted on.*got 'tin'"):
            CalibratedClassifier(base, QUICK).fit(X, np.where(CODES == 1, "tin", Y))


class TestConstantLabels:
    @pytest.mark.parametrize(("always", "constant"), [(0, [1]), (1, [0, 2])], ids=str)
    @pytest.mark.parametrize(
        "base",
        [
            OneVsRestClassifier(LinearSVC(random_state=0)),
            OneVsRestClassifier(GaussianNB()),
            MultiOutputClassifier(LogisticRegression()),
            MultiOutputClassifier(LinearSVC(random_state=0)),
            RandomForestClassifier(20, random_state=0),
            KNeighborsClassifier(),
        ],
        ids=str,
    )
    def test_have_the_base_rate(self, base, always, constant):
        y = YL.copy()
        y[:, constant] = always
        with pytest.warns(UserWarning, match="labels that never vary"):
            classifier = CalibratedClassifier(base, "sigmoid", cv=2).fit(XL, y)
        p = classifier.predict_proba(XL)
        np.testing.assert_allclose(p[:, constant], 161 / 162 if always else 1 / 162)
        rest = [k for k in range(3) if k not in constant]
        assert ((p[:, rest] > 0.5) == y[:, rest]).mean() > 0.7
        assert (classifier.predict(XL)[:, constant] == always).all()

    @pytest.mark.parametrize("calibrator", [*CALIBRATORS, "topics"], ids=str)
    @pytest.mark.parametrize("ensemble", [False, True])
    def test_whatever_calibrates(self, calibrator, ensemble):
        y = YL.copy()
        y[:, 1] = 0
        ours = calibrator is QUICK or calibrator == "topics"
        if calibrator == "topics":
            calibrator = TopicCalibrator(parts="gaussian", draws=50, random_state=0)
        base = OneVsRestClassifier(LinearSVC(random_state=0))
        names = pd.DataFrame(y, columns=["corn", "gold", "oil"])
        classifier = CalibratedClassifier(base, calibrator, cv=2, ensemble=ensemble)
        with pytest.warns(UserWarning, match=r"never vary .'gold'."):
            classifier.fit(XL, names)
        assert classifier.labels_.tolist() == ["corn", "gold", "oil"]
        np.testing.assert_allclose(answers(classifier, XL, ours)[:, 1], 1 / 162)
        if ours:
            p = classifier.predict_proba(XL, prior=[0.5, 0.25, 0.5])
            np.testing.assert_allclose(p[:, 1], 0.25)

    def test_a_fitted_classifier_and_its_report(self, tmp_path):
        base = FrozenEstimator(OneVsRestClassifier(LinearSVC(random_state=0)).fit(XL, YL))
        y = YL.copy()
        y[:, 2] = 1
        weight = np.full(160, 0.5)
        with pytest.warns(UserWarning, match="never vary"):
            classifier = CalibratedClassifier(base, QUICK).fit(XL, y, weight)
        np.testing.assert_allclose(classifier.predict_proba(XL)[:, 2], 81 / 82)
        classifier.report(tmp_path / "report.html", XL, y)
        again = CalibratedClassifier.load(classifier.save(tmp_path / "model.joblib"))
        np.testing.assert_array_equal(again.predict_proba(XL), classifier.predict_proba(XL))


class TestSingleDocuments:
    """A class or label of one document cannot be trained on and held out: the base rate answers."""

    @pytest.mark.filterwarnings("ignore:the posterior draws are not to be trusted")
    @pytest.mark.parametrize(
        ("calibrator", "ensemble"),
        [(each, True) for each in (QUICK, "temperature")]
        + [(each, False) for each in (QUICK, "isotonic", MulticlassCalibrator(draws=25))],
        ids=str,
    )
    def test_of_a_class(self, calibrator, ensemble, tmp_path):
        y = Y.copy().astype("U4")
        y[7] = "zinc"
        base = LogisticRegression()
        classifier = CalibratedClassifier(base, calibrator, cv=3, ensemble=ensemble)
        with pytest.warns(UserWarning, match=r"classes of a single document \('zinc'\)"):
            classifier.fit(X, y)
        assert classifier.classes_.tolist() == ["corn", "gold", "oil", "zinc"]
        p = answers(classifier, X, calibrator is QUICK)
        np.testing.assert_allclose(p.sum(axis=1), 1.0)
        odds = p[:, 3] / (1.0 - p[:, 3])  # 2/302 to what one map of the others sums to
        joint = isinstance(calibrator, MulticlassCalibrator)
        np.testing.assert_allclose(odds, 2 / 302, rtol=1e-9 if joint else 1.0)
        # The document is neither trained on nor calibrated on.
        assert np.isnan(classifier.scores_[7]).all()
        assert np.isnan(classifier.scores_[:, 3]).all()
        others = np.arange(300) != 7
        assert not np.isnan(classifier.scores_[others, :3]).any()
        if not ensemble:
            (pair,) = classifier.calibrated_classifiers_
            expected = base.fit(X[others], y[others])
            np.testing.assert_array_equal(pair.estimator.coef_, expected.coef_)
        if joint:
            shares = {"corn": 0.1, "gold": 0.1, "oil": 0.3, "zinc": 0.5}
            assert classifier.predict_proba(X, prior=shares)[:, 3].mean() > 0.3
            assert not classifier.summary().empty
            classifier.report(tmp_path / "report.html", X, y)

    @pytest.mark.parametrize(("calibrator", "side"), [(QUICK, 0), ("topics", 1)], ids=str)
    def test_of_a_label(self, calibrator, side, tmp_path):
        y = YL.copy()
        y[:, 1], y[5, 1] = 1 - side, side
        if calibrator == "topics":
            calibrator = TopicCalibrator(parts="gaussian", draws=50, random_state=0)
        base = OneVsRestClassifier(LinearSVC(random_state=0))
        classifier = CalibratedClassifier(base, calibrator, cv=2)
        with pytest.warns(UserWarning, match=r"single document on one side \(1\)"):
            classifier.fit(XL, y)
        p = answers(classifier, XL, posterior=True)
        np.testing.assert_allclose(p[:, 1], 2 / 162 if side else 160 / 162)
        assert ((p[:, [0, 2]] > 0.5) == y[:, [0, 2]]).mean() > 0.7
        classifier.report(tmp_path / "report.html", XL, y)

    def test_with_too_few_others_are_refused(self):
        y = np.where(np.arange(300) == 7, 2, CODES == 1)
        for labels, alone in ((y, "2"), (np.arange(300) == 3, "True")):
            with pytest.raises(ValueError, match=f"one to hold out, got one of {alone}: add"):
                CalibratedClassifier(LinearSVC(), QUICK, cv=2).fit(X, labels)


class TestProbabilities:
    P = GaussianNB().fit(X[::2], Y[::2]).predict_proba(X)

    @pytest.mark.parametrize("calibrator", CALIBRATORS, ids=str)
    def test_are_those_of_a_fitted_classifier(self, calibrator):
        base = FrozenEstimator(GaussianNB().fit(X[::2], Y[::2]))
        with_classifier = CalibratedClassifier(base, calibrator).fit(X, Y)
        without = CalibratedClassifier("probabilities", calibrator).fit(self.P, Y)
        assert without.classes_.tolist() == with_classifier.classes_.tolist()
        np.testing.assert_allclose(
            without.predict_proba(self.P), with_classifier.predict_proba(X), atol=1e-6
        )
        answers(without, self.P, calibrator is QUICK)

    def test_columns_by_name_in_another_order_than_when_fitted(self):
        names = ["corn", "gold", "oil"]
        frame = pd.DataFrame(self.P, columns=names)
        classifier = CalibratedClassifier("probabilities", QUICK).fit(frame, Y)
        expected = classifier.predict_proba(frame)
        np.testing.assert_array_equal(classifier.predict_proba(frame[names[::-1]]), expected)
        np.testing.assert_array_equal(classifier.predict_proba(self.P), expected)
        with pytest.raises(ValueError, match=r"called oil, as when fitted; got corn, gold, rye"):
            classifier.predict_proba(frame.rename(columns={"oil": "rye"}))
        plain = CalibratedClassifier("probabilities", QUICK).fit(self.P, Y)
        np.testing.assert_array_equal(plain.predict_proba(frame[names[::-1]]), expected)

    def test_columns_of_which_some_are_classes(self):
        frame = pd.DataFrame(self.P, columns=["corn", "gold", "rye"])
        with pytest.raises(ValueError, match=r"called oil, as for (corn|gold); got corn, gold"):
            CalibratedClassifier("probabilities", QUICK).fit(frame, Y)

    def test_the_one_column_of_two_classes_is_the_second(self):
        y = np.where(Y == "corn", "yes", "no")
        for name in ("yes", "p"):
            frame = pd.DataFrame({name: self.P[:, 0]})
            fitted = CalibratedClassifier("probabilities", QUICK).fit(frame, y)
            assert fitted.classes_.tolist() == ["no", "yes"]
        with pytest.raises(ValueError, match=r"second class, 'yes', .* got those of 'no'"):
            CalibratedClassifier("probabilities", QUICK).fit(frame.set_axis(["no"], axis=1), y)

    def test_columns_of_labels_by_name(self):
        labels = pd.DataFrame({"a": Y == "corn", "b": Y == "gold"}).astype(int)
        frame = pd.DataFrame(self.P[:, :2], columns=["a", "b"])
        expected = CalibratedClassifier("probabilities", QUICK).fit(frame, labels)
        turned = CalibratedClassifier("probabilities", QUICK).fit(frame[["b", "a"]], labels)
        for own in (frame, frame[["b", "a"]]):
            np.testing.assert_array_equal(turned.predict_proba(own), expected.predict_proba(own))

    @pytest.mark.parametrize("positive", [None, 0])
    def test_two_classes_in_one_column_or_two(self, positive):
        p, y = self.P[:, 0], (Y == "corn").astype(int)
        both = np.column_stack([1.0 - p, p])
        classifier = CalibratedClassifier("probabilities", QUICK, positive=positive)
        expected = classifier.fit(both, y).predict_proba(both)
        assert expected[y == 1, 1].mean() > expected[y == 0, 1].mean()
        for one in (p, p[:, None], p.tolist(), pd.DataFrame({"p": p})):
            found = classifier.fit(one, y).predict_proba(one)
            np.testing.assert_allclose(found, expected, atol=1e-9)

    def test_several_labels(self):
        p = special.expit(
            OneVsRestClassifier(LinearSVC(random_state=0)).fit(XL, YL).decision_function(XL)
        )
        classifier = CalibratedClassifier("probabilities", QUICK).fit(p, YL)
        assert answers(classifier, p, True).shape == (160, 3)

    def test_a_class_without_documents(self):
        some = CODES != 2
        with pytest.warns(UserWarning, match=r"classes without documents \(2\)"):
            numbers = CalibratedClassifier("probabilities", QUICK).fit(self.P[some], CODES[some])
        assert numbers.classes_.tolist() == [0, 1, 2]
        frame = pd.DataFrame(self.P, columns=["corn", "gold", "oil"])
        with pytest.warns(UserWarning, match=r"classes without documents \('oil'\)"):
            named = CalibratedClassifier("probabilities", QUICK).fit(frame[some], Y[some])
        assert named.classes_.tolist() == ["corn", "gold", "oil"]
        with pytest.raises(ValueError, match="got 3 columns and 2 classes: name the columns"):
            CalibratedClassifier("probabilities", QUICK).fit(self.P[some], Y[some])

    @pytest.mark.parametrize("spoiled", [1.5, -0.1, np.nan])
    def test_that_are_none(self, spoiled):
        p = self.P.copy()
        p[3, 1] = spoiled
        with pytest.raises(ValueError, match="X must hold probabilities from 0 to 1"):
            CalibratedClassifier("probabilities", QUICK).fit(p, Y)
        fitted = CalibratedClassifier("probabilities", QUICK).fit(self.P, Y)
        with pytest.raises(ValueError, match="X must hold probabilities from 0 to 1"):
            fitted.predict_proba(p)
        with pytest.raises(ValueError, match=r"X must have 3 columns of probabilities, .* got 2"):
            fitted.predict_proba(self.P[:, :2])

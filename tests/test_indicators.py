"""ReliabilityIndicators as a whole: names, votes, forms of data, and bad input."""

import pickle
import re
from operator import itemgetter

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import BernoulliNB, GaussianNB, MultinomialNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

from bayescal.combining.indicators import ReliabilityIndicators, transformer
from bayescal.combining.indicators import words as document
from bayescal.combining.indicators.models import ModelIndicators
from bayescal.text import make_classifier
from bayescal.text.classifiers import CLASSIFIERS
from tests.indicator_data import COUNTS, LABELS, NEW, fitted, make_counts, values_of

# As they stand in the dissertation's Tables 7.5 and 7.6, by kind.
TABLES = re.findall(
    r"\S+",
    """
DocumentLength EffectiveDocumentLength NumUniqueWords EffectiveUniqueWords PercentUnique
PercentOOV PercentUniqueOOV PercentInPosBeforeFS PercentInNegativeBeforeFS UPercentInPosBeforeFS
UpercentInNegativeBeforeFS %FavoringPosBeforeFS %FavoringNegBeforeFS U%FavoringPosBeforeFS
U%FavoringNegBeforeFS
DocumentLengthAfterFS UniqueAfterFS PercentRemoved UniquePercentRemoved PercentInPosAfterFS
PercentInNegAfterFS UPercentInPosAfterFS UPercentInNegAfterFS %FavoringPosAfterFS
%FavoringNegAfterFS U%FavoringPosAfterFS U%FavoringNegAfterFS NumWordsDiscarded
NumTrainingWordsDiscarded NumFeaturesDiscarded NumTrainingFeaturesDiscarded WordsSeenInPosDelta
WordsSeenInNegDelta FeaturesSeenInPosDelta FeaturesSeenInNegDelta PercentWordsPointingToPosDelta
PercentWordsPointingToNegDelta UPercentWordsPointingToPosDelta UPercentWordsPointingToNegDelta
UnigramMeanShift UnigramStdDeviation UniMeanLogOfStrengthGivenPos UniMeanLogOfStrengthGivenNeg
UniStdDevLogOfStrengthGivenPos UniStdDevLogOfStrengthGivenNeg NB_MeanShift NB_StdDeviation
NB_MeanLogOfStrengthGivenPos NB_MeanLogOfStrengthGivenNeg NB_StdDevLogOfStrengthGivenPos
NB_StdDevLogOfStrengthGivenNeg
NeighborhoodRadius MeanNeighborDistance MeanPositiveNeighborDistance
MeanNegativeNeighborDistance SigmaNeighborDistance SigmaPositiveNeighborDistance
SigmaNegativeNeighborDistance kNNShiftMeanPred kNNShiftMeanConfDiff kNNShiftStdDevConfDiff
SVMShiftMeanConfDiff SVMShiftStdDevConfDiff meanGoodSVProximity stdDevGoodSVProximity signedNNSV
DtreeShiftMeanConfDiff DtreeShiftStdDevConfDiff PercentPredictingPositive PercentAgreeWBest
""",
)


def as_in_the_text(name):
    """Return a name of the tables as the dissertation's section 5.2 spells it."""
    for short, long in (
        (r"^NB_", "NaiveBayes"),
        (r"^Uni(?=Mean|Std)", "Unigram"),
        (r"StdDev(?=LogOf)", "StdDeviation"),
        (r"^Dtree", "DTree"),
        (r"^UPercentIn", "UpercentIn"),
        (r"Pos(?=BeforeFS|AfterFS|Delta|$)", "Positive"),
        (r"Neg(?=BeforeFS|AfterFS|Delta|$)", "Negative"),
    ):
        name = re.sub(short, long, name)
    return name


class TestNames:
    def test_are_the_seventy_of_the_dissertation(self):
        names = fitted().get_feature_names_out().tolist()
        assert len(TABLES) == len(set(names)) == 70
        assert sorted(names) == sorted(map(as_in_the_text, TABLES))

    def test_only_of_the_classifiers_that_there_are(self):
        one = ReliabilityIndicators([("svm", LinearSVC(random_state=0))], text=False)
        names = one.fit(COUNTS, LABELS).get_feature_names_out().tolist()
        assert len(names) == 7
        assert names[-3:] == ["signedNNSV", "PercentPredictingPositive", "PercentAgreeWBest"]
        other = ReliabilityIndicators([("logistic", LogisticRegression())], text=False)
        assert len(other.fit(COUNTS, LABELS).get_feature_names_out()) == 2

    def test_two_of_a_kind_are_distinguished(self):
        classifiers = [
            ("ours", make_classifier("nearest_neighbours", words=4)),
            ("peer", KNeighborsClassifier(5, metric="cosine")),
            ("tree", DecisionTreeClassifier(max_depth=2, random_state=0)),
        ]
        both = ReliabilityIndicators(classifiers, text=False).fit(COUNTS, LABELS)
        names = both.get_feature_names_out().tolist()
        assert len(set(names)) == len(names) == 10 + 10 + 2 + 2
        assert {"ours__kNNShiftMeanPred", "peer__kNNShiftMeanPred"} < set(names)
        assert "DTreeShiftMeanConfDiff" in names

    def test_neighbours_by_other_distances_or_weights_have_none(self):
        for settings in ({"metric": "manhattan"}, {"p": 1}, {"weights": "distance"}):
            knn = KNeighborsClassifier(**settings)
            model = ReliabilityIndicators([("knn", knn)], text=False).fit(COUNTS, LABELS)
            assert len(model.get_feature_names_out()) == 2


class TestTexts:
    """Pipelines that read texts have the indicators of their classifiers on the counts."""

    WORDS = tuple(f"word{k}" for k in range(COUNTS.shape[1]))

    def texts(self, counts):
        return [" ".join(np.repeat(self.WORDS, row.astype(int))) for row in counts]

    def test_equal_those_of_the_counts(self):
        alone = [("nb", MultinomialNB()), ("svm", LinearSVC(random_state=0))]
        reading = [
            (name, make_pipeline(CountVectorizer(vocabulary=self.WORDS), each))
            for name, each in alone
        ]
        expected = ReliabilityIndicators(alone, text=False).fit(sparse.csr_matrix(COUNTS), LABELS)
        found = ReliabilityIndicators(reading, text=False).fit(self.texts(COUNTS), LABELS)
        assert found.get_feature_names_out().tolist() == expected.get_feature_names_out().tolist()
        for documents in (self.texts(NEW), np.array(self.texts(NEW), dtype=object)):
            np.testing.assert_allclose(found.transform(documents), expected.transform(NEW))
        with pytest.raises(ValueError, match="X and y must have the same length, got 160 and 3"):
            found.fit(self.texts(COUNTS), [0, 1, 1])

    def test_have_none_of_words(self):
        frozen = FrozenEstimator(make_pipeline(TfidfVectorizer(), LinearSVC(random_state=0)))
        for each in (frozen, frozen.estimator):
            with pytest.raises(ValueError, match=r"got some that read texts: .* text=False, or"):
                ReliabilityIndicators([("svm", each)]).fit(self.texts(COUNTS), LABELS)


class TestExtension:
    """An indicator is an entry in a table, and a kind of classifiers one in another."""

    def test_an_indicator_of_words(self, monkeypatch):
        monkeypatch.setitem(document.DOCUMENT_INDICATORS, "Repeated", itemgetter((0, 0, 1)))
        model = ReliabilityIndicators([("gauss", GaussianNB())]).fit(COUNTS, LABELS)
        assert values_of(model, NEW)["Repeated"].tolist() == NEW.sum(axis=1).tolist()

    def test_a_kind_of_classifiers(self, monkeypatch):
        margin = ModelIndicators(
            recognises=lambda model: isinstance(model, LogisticRegression),
            learn=lambda model, features, positive: (model, positive.sum()),
            around=lambda learnt, features: learnt[0].decision_function(features),
            indicators={"Margin": np.abs},
        )
        monkeypatch.setitem(transformer.KINDS, "logistic", margin)
        model = ReliabilityIndicators([("it", LogisticRegression())], text=False)
        found = values_of(model.fit(COUNTS, LABELS), NEW)["Margin"]
        assert found == pytest.approx(np.abs(model.classifier_scores(NEW)[:, 0]))


class TestVotes:
    def test_are_the_classifiers_decisions(self):
        taken = np.stack(
            [model.predict(NEW) == True for _, model in fitted().classifiers_],  # noqa: E712
            axis=1,
        )
        found = values_of(fitted(), NEW)
        assert found["PercentPredictingPositive"] == pytest.approx(taken.mean(axis=1))
        best = [name for name, _ in fitted().classifiers_].index(fitted().best_)
        agreeing = (taken == taken[:, [best]]).mean(axis=1)
        assert found["PercentAgreeWBest"] == pytest.approx(agreeing)
        assert found["PercentAgreeWBest"].min() >= 0.2  # the best agrees with itself

    def test_the_best_has_fewest_errors_in_training(self):
        right = {
            name: (model.predict(COUNTS) == LABELS).mean() for name, model in fitted().classifiers_
        }
        assert right[fitted().best_] == max(right.values())

    def test_the_best_is_judged_on_some_documents_where_there_are_many(self, monkeypatch):
        monkeypatch.setattr("bayescal.combining.indicators.transformer.JUDGED_ON", 4)
        rows = [0, 53, 106, 159]  # evenly chosen of 160
        always, never = (DummyClassifier(strategy="constant", constant=c) for c in (True, False))
        pairs = [("always", always), ("never", never)]
        labels = np.ones(160, dtype=bool)
        labels[rows] = False
        found = ReliabilityIndicators(pairs, text=False).fit(COUNTS, labels)
        assert found.best_ == "never"

    def test_the_best_can_be_said(self):
        from bayescal.text import NearestNeighbours

        classifiers = [(str(end), NearestNeighbours(threshold=end)) for end in (-1e9, 1e9)]
        said = ReliabilityIndicators(classifiers, text=False, best="1000000000.0")
        found = values_of(said.fit(COUNTS, LABELS), NEW)
        assert (found["PercentPredictingPositive"] == 0.5).all()
        assert (found["PercentAgreeWBest"] == 0.5).all()
        assert said.best_ == "1000000000.0"

    def test_neighbours_vote_by_their_own_threshold(self):
        from bayescal.text import NearestNeighbours

        model = ReliabilityIndicators([("knn", NearestNeighbours(threshold=0.25))], text=False)
        model.fit(COUNTS, LABELS)
        assert model.thresholds_.tolist() == [0.25]


class TestScores:
    def test_are_decision_functions_or_log_odds(self):
        classifiers = [("svm", LinearSVC(random_state=0)), ("nb", MultinomialNB())]
        model = ReliabilityIndicators(classifiers, text=False).fit(COUNTS, LABELS)
        found = model.classifier_scores(NEW)
        assert found[:, 0].tolist() == model.classifiers_[0][1].decision_function(NEW).tolist()
        joint = model.classifiers_[1][1].predict_joint_log_proba(NEW)
        assert found[:, 1] == pytest.approx(joint[:, 1] - joint[:, 0])

    def test_come_with_the_indicators_too(self):
        scores, indicators = fitted().scores_and_indicators(NEW)
        assert scores == pytest.approx(fitted().classifier_scores(NEW), abs=1e-12)
        assert indicators.tolist() == fitted().transform(NEW).tolist()

    def test_of_pure_leaves_are_finite(self):
        tree = ReliabilityIndicators([("tree", DecisionTreeClassifier(random_state=0))], text=False)
        found = tree.fit(COUNTS, LABELS).classifier_scores(COUNTS)[:, 0]
        assert set(np.abs(found).tolist()) == {np.log(len(LABELS) + 1.0)}
        assert ((found > 0) == LABELS).all()

    def test_of_probabilities_are_the_same_whatever_else_is_scored(self):
        """Log-odds that are infinite, and far ones, are as far from 0 as one number says."""
        forest = RandomForestClassifier(20, max_depth=3, random_state=0)
        model = ReliabilityIndicators([("forest", forest)], text=False).fit(COUNTS, LABELS)
        found = model.classifier_scores(COUNTS)[:, 0]
        alone = [model.classifier_scores(row[None])[0, 0] for row in COUNTS[:30]]
        assert found[:30].tolist() == alone
        p = model.classifiers_[0][1].predict_proba(COUNTS)[:, 1]
        assert (np.diff(found[np.argsort(p)]) >= 0.0).all()
        assert np.isfinite(found).all()

    def test_blocks_of_documents_change_nothing(self):
        many = np.tile(NEW, (80, 1))  # more than a block
        found = fitted().transform(many)
        assert found[-len(NEW) :] == pytest.approx(fitted().transform(NEW), abs=1e-12)


class TestForms:
    def test_fitted_classifiers_are_taken_as_they_are(self):
        pairs = [(name, clone(model).fit(COUNTS, LABELS)) for name, model in fitted().classifiers]
        prefit = ReliabilityIndicators(pairs, prefit=True).fit(COUNTS, LABELS)
        assert prefit.transform(NEW) == pytest.approx(fitted().transform(NEW), abs=1e-12)
        assert prefit.classifiers_[0][1] is pairs[0][1]
        frozen = [(name, FrozenEstimator(model)) for name, model in pairs]
        copied = clone(ReliabilityIndicators(frozen, prefit=True)).fit(COUNTS, LABELS)
        assert copied.transform(NEW) == pytest.approx(fitted().transform(NEW), abs=1e-12)

    def test_what_is_fitted_can_be_kept(self):
        again = pickle.loads(pickle.dumps(fitted()))
        assert again.transform(NEW).tolist() == fitted().transform(NEW).tolist()
        assert again.get_feature_names_out().tolist() == fitted().get_feature_names_out().tolist()

    def test_classifiers_given_are_not_changed(self):
        classifier = MultinomialNB()
        ReliabilityIndicators([("nb", classifier)]).fit(COUNTS, LABELS)
        assert not hasattr(classifier, "classes_")

    def test_the_positive_class_is_the_second(self):
        names = np.where(LABELS, "in", "not in")
        found = clone(fitted()).fit(COUNTS, names)
        turned = values_of(found, NEW)
        own = values_of(fitted(), NEW)
        # "in" < "not in": the classes have changed places.
        for which, other in (("Positive", "Negative"), ("Negative", "Positive")):
            for name in (f"%Favoring{which}BeforeFS", f"Mean{which}NeighborDistance"):
                swapped = name.replace(which, other)
                assert turned[name] == pytest.approx(own[swapped], abs=1e-12)
        assert turned["UnigramMeanShift"] == pytest.approx(-own["UnigramMeanShift"], abs=1e-12)
        assert turned["signedNNSV"] == pytest.approx(-own["signedNNSV"], abs=1e-3)

    def test_features_need_not_be_words(self):
        rng = np.random.default_rng(0)
        features, new = rng.normal(0.0, 1.0, (60, 4)), rng.normal(0.0, 1.0, (40, 4))
        labels = features[:, 0] + rng.normal(0.0, 0.5, 60) > 0.3
        classifiers = [
            ("svm", make_pipeline(StandardScaler(), LinearSVC(random_state=0))),
            ("tree", DecisionTreeClassifier(max_depth=3, random_state=0)),
            ("knn", KNeighborsClassifier(5, metric="cosine")),
            ("bits", BernoulliNB()),
            ("gauss", GaussianNB()),
        ]
        model = ReliabilityIndicators(classifiers, text=False).fit(features, labels)
        found = model.transform(new)
        assert found.shape == (40, 5 + 2 + 10 + 6 + 2)
        assert np.isfinite(found).all()
        assert np.ptp(found, axis=0).all()

    def test_everything_is_finite_whatever_the_documents(self):
        for seed in range(8):
            rng = np.random.default_rng(seed)
            counts, labels = make_counts(int(rng.integers(8, 60)), seed)
            if seed % 2:
                labels[:] = False
                labels[rng.integers(labels.size)] = True  # one positive
            labels[:2] = True, False
            counts[rng.integers(len(counts), size=2)] = 0.0
            new, _ = make_counts(20, seed + 100)
            new[:, -3:] += rng.poisson(0.5, (20, 3))  # words that were not seen
            new[rng.integers(20, size=4)] = 0.0
            classifiers = [(name, make_classifier(name, words=5)) for name in CLASSIFIERS]
            found = ReliabilityIndicators(classifiers).fit(counts, labels)
            assert np.isfinite(found.transform(sparse.csr_matrix(new))).all(), seed


class TestRedundancy:
    """For two classes, the dissertation's indicators of several classes come in equal pairs."""

    def test_bernoulli_shifts_are_the_scores_on_another_scale(self):
        values = values_of(fitted(), NEW)
        name = [name for name, _ in fitted().classifiers_].index("bernoulli_naive_bayes")
        scores = fitted().classifier_scores(NEW)[:, name]
        shift = values["NaiveBayesMeanShift"]
        slope, bias = np.polyfit(scores, shift, 1)
        assert shift == pytest.approx(slope * scores + bias, abs=1e-9)
        for of_class in ("LogOfStrengthGivenPositive", "LogOfStrengthGivenNegative"):
            squares = (
                values[f"NaiveBayesMean{of_class}"] ** 2
                + values[f"NaiveBayesStdDeviation{of_class}"] ** 2
            )
            assert np.ptp(squares) < 1e-9

    @pytest.mark.parametrize("model", ["Unigram", "NaiveBayes"])
    def test_mean_shifts_are_differences_of_both_classes(self, model):
        values = values_of(fitted(), NEW)
        positive, negative = (
            values[f"{model}MeanLogOfStrengthGiven{name}"] for name in ("Positive", "Negative")
        )
        assert values[f"{model}MeanShift"] == pytest.approx(positive - negative, abs=1e-12)

    def test_at_most_56_are_linearly_independent(self):
        counts, _ = make_counts(400, 5)
        values = fitted().transform(counts)
        values = (values - values.mean(axis=0)) / np.where(values.std(axis=0) > 0, values.std(0), 1)
        assert np.linalg.matrix_rank(values, tol=1e-6) <= 56


class Nan(ClassifierMixin, BaseEstimator):
    """A classifier that has no score for documents without the first word."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def decision_function(self, X):
        return np.where(X[:, 0] > 0, 1.0, np.nan)


class TestBadInput:
    @pytest.mark.parametrize(
        ("classifiers", "message"),
        [
            ([], "classifiers must hold at least one .name, classifier., got none"),
            ([MultinomialNB()], "classifiers must be a list of .name, classifier."),
            ([("a", MultinomialNB()), ("a", GaussianNB())], "names of their own, got 'a' more"),
            ([(1, MultinomialNB())], "names of classifiers must be text, got 1"),
            ([("scaler", StandardScaler())], "'scaler': .* decision_function or"),
            ([("nan", Nan())], "'nan' must give a finite score to every .* got nan for document 2"),
        ],
    )
    def test_of_classifiers(self, classifiers, message):
        with pytest.raises(ValueError, match=message):
            ReliabilityIndicators(classifiers, text=False).fit([[1], [2], [0], [3]], [0, 1, 0, 1])

    @pytest.mark.parametrize(
        ("counts", "labels", "message"),
        [
            (-COUNTS, LABELS, "Negative values in data passed to ReliabilityIndicators with text"),
            (COUNTS, np.zeros(len(COUNTS)), "only one class"),
            (COUNTS, LABELS[:-1], "inconsistent numbers of samples"),
            (COUNTS, np.arange(len(COUNTS)) % 3, "Only binary classification is supported"),
            (np.where(COUNTS > 3, np.nan, COUNTS), LABELS, "contains NaN"),
        ],
    )
    def test_of_documents(self, counts, labels, message):
        with pytest.raises(ValueError, match=message):
            ReliabilityIndicators([("nb", MultinomialNB())]).fit(counts, labels)

    def test_of_settings(self):
        with pytest.raises(ValueError, match="best must be one of 'nb', got 'svm'"):
            ReliabilityIndicators([("nb", MultinomialNB())], best="svm").fit(COUNTS, LABELS)

    def test_of_fitted_classifiers(self):
        other = MultinomialNB().fit(COUNTS, np.where(LABELS, "a", "b"))
        with pytest.raises(ValueError, match="'nb' must have been fitted to the classes"):
            ReliabilityIndicators([("nb", other)], prefit=True).fit(COUNTS, LABELS)
        with pytest.raises(ValueError, match="not fitted yet"):
            ReliabilityIndicators([("nb", MultinomialNB())], prefit=True).fit(COUNTS, LABELS)

    def test_of_new_documents(self):
        with pytest.raises(ValueError, match="Negative values in data"):
            fitted().transform(-COUNTS)


@parametrize_with_checks([ReliabilityIndicators([("logistic", LogisticRegression())], text=False)])
def test_scikit_learns_checks(estimator, check):
    check(estimator)

"""Calibrated classifiers: two and several classes, labels, folds, calibrators of every kind."""

import tempfile
from functools import cache, partial
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import ShuffleSplit
from sklearn.multiclass import OneVsRestClassifier
from sklearn.naive_bayes import GaussianNB

from bayescal import CalibratedClassifier, MulticlassCalibrator, ScoreCalibrator, TopicCalibrator
from bayescal.calibrators.classifier.score_maps import ProbabilityMatrix
from tests.same_numbers.plain import every_group, outcome

RNG = np.random.default_rng(55)
CODES = RNG.choice(3, 60, p=[0.5, 0.3, 0.2])
X = (np.eye(3)[CODES] * 1.4 + RNG.normal(size=(60, 3))).round(2)
Y = np.array(["no", "yes"])[(CODES == 1).astype(int)]
Y3 = np.array(["corn", "gold", "oil"])[CODES]
YL = np.c_[CODES == 0, CODES > 0, RNG.random(60) < 0.4].astype(int)
LABELLED = pd.DataFrame(YL, columns=["grain", "metal", "noise"])
WEIGHTS = RNG.integers(1, 4, 60) / 2.0
INCLUSION = np.where(X[:, 0] > 0.5, 1.0, 0.5)
NEW = np.array([[0.0, 0.0, 0.0], [2.0, -1.0, 0.3], [-0.5, 3.0, 0.0], [0.2, 0.1, 40.0]])
FEW = {"draws": 12, "chains": 2}
QUICK = ScoreCalibrator("gaussian", **FEW, random_state=4)


class Margins(ClassifierMixin, BaseEstimator):
    """Scores are differences of distances from the classes' means, times a factor."""

    def __init__(self, factor=1.0):
        self.factor = factor

    def fit(self, X, y, sample_weight=None):
        self.classes_ = np.unique(y)
        weight = np.ones(len(y)) if sample_weight is None else np.asarray(sample_weight)
        rows = [np.asarray(y) == each for each in self.classes_]
        self.means_ = np.stack([np.average(X[row], axis=0, weights=weight[row]) for row in rows])
        return self

    def decision_function(self, X):
        distance = np.square(X[:, None] - self.means_).sum(axis=2)
        scores = self.factor * (distance.mean(axis=1, keepdims=True) - distance)
        return scores[:, 1] if len(self.classes_) == 2 else scores

    def predict(self, X):
        scores = self.decision_function(X)
        which = (scores > 0.0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)
        return self.classes_[which]


JOINT = MulticlassCalibrator(**FEW)
TOPICS = TopicCalibrator(parts="laplace", **FEW)
# By name: the classifier and its calibrator, options, and what `fit` takes.
FITS = {
    "two": ((Margins(), QUICK), {}, {}),
    "combined": ((Margins(), None), {"calibrator": ScoreCalibrator(**FEW)}, {}),
    "probabilities": ((GaussianNB(), QUICK), {"cv": 3}, {"sample_weight": WEIGHTS}),
    "positive": ((Margins(), QUICK), {"positive": "no"}, {"inclusion": INCLUSION}),
    "folds": ((Margins(), QUICK), {"ensemble": True, "cv": 3}, {}),
    "auto": ((GaussianNB(), "sigmoid"), {"ensemble": "auto", "cv": 3}, {}),
    "shuffled": ((Margins(), QUICK), {"ensemble": True, "cv": ShuffleSplit(2, random_state=1)}, {}),
    "isotonic": ((GaussianNB(), "isotonic"), {}, {"sample_weight": WEIGHTS}),
    "temperature": ((GaussianNB(), "temperature"), {"cv": 3}, {"y": Y3}),
    "own": ((Margins(), LogisticRegression()), {}, {}),
    "classes": ((Margins(), QUICK), {"cv": 3}, {"y": Y3}),
    "joint": ((Margins(0.5), JOINT), {"cv": 3}, {"y": Y3}),
    "joint, folds": ((GaussianNB(), JOINT), {"cv": 3, "ensemble": True}, {"y": Y3}),
    "topics": ((Margins(), TOPICS), {"cv": 3}, {"y": Y3}),
    "topics of two": ((Margins(), TOPICS), {"cv": 3, "ensemble": True}, {}),
    "labels": ((OneVsRestClassifier(GaussianNB()), QUICK), {"cv": 3}, {"y": LABELLED}),
    "labels, topics": ((OneVsRestClassifier(Margins()), TOPICS), {"cv": 3}, {"y": YL}),
}
TABLES = ("classes", "labels")
REFUSED = {
    "lengths": ((Margins(), QUICK), {}, {"y": Y[1:]}),
    "one class": ((Margins(), QUICK), {}, {"y": np.repeat("no", 60)}),
    "positive": ((Margins(), QUICK), {"positive": "maybe"}, {}),
    "positive of three": ((Margins(), QUICK), {"positive": "oil"}, {"y": Y3}),
    "calibrator": ((Margins(), "platt"), {}, {}),
    "no calibrator": ((Margins(), Margins()), {}, {}),
    "ensemble": ((Margins(), QUICK), {"ensemble": "all"}, {}),
    "folds": ((Margins(), QUICK), {"cv": 1}, {}),
    "many folds": ((Margins(), QUICK), {"cv": 40}, {}),
    "shuffled": ((Margins(), QUICK), {"cv": ShuffleSplit(2, random_state=1)}, {}),
    "joint of two": ((Margins(), JOINT), {}, {}),
    "joint of labels": ((OneVsRestClassifier(Margins()), JOINT), {}, {"y": YL}),
    "both": ((Margins(), QUICK), {}, {"sample_weight": WEIGHTS, "inclusion": INCLUSION}),
    "constant label": (
        (OneVsRestClassifier(GaussianNB()), QUICK),
        {"cv": 3},
        {"y": YL * [1, 1, 0]},
    ),
    "weights": ((Margins(), QUICK), {}, {"sample_weight": -WEIGHTS}),
    "unknown": ((Margins(), QUICK), {}, {"groups": WEIGHTS}),
    "frozen": ((FrozenEstimator(Margins().fit(X, Y)), QUICK), {}, {}),
}


def fit(which, options, data):
    """Return a fitted classifier."""
    estimator, calibrator = which
    given = {"estimator": estimator, "calibrator": calibrator, "random_state": 2, "cv": 4} | options
    return CalibratedClassifier(**given).fit(**{"X": X, "y": Y} | data)


@cache
def fitted(name):
    """Return the classifier of one of the fits."""
    return fit(*FITS[name])


def results_of(name):
    """Return the fitted attributes of a calibrated classifier, and its predictions."""
    said = fitted(name)
    prior = {"two": 0.2, "classes": [0.2, 0.2, 0.6], "joint": [0.5, 0.3, 0.2]}.get(name)
    return {
        "classes": said.classes_,
        "scores": said.scores_,
        "labels": getattr(said, "labels_", None),
        "pairs": [len(pair.calibrators) for pair in said.calibrated_classifiers_],
        "groups": outcome(lambda: every_group(said.posterior_)),
        "proba": said.predict_proba(NEW),
        "decision": outcome(said.decision_function, NEW),
        "predict": said.predict(NEW),
        "prior": prior
        and [said.predict_proba(NEW, prior), said.predict_interval(NEW, prior=prior)],
        "interval": outcome(said.predict_interval, NEW, 0.7),
        "hdi": outcome(said.predict_interval, NEW[1:3], kind="hdi"),
        "band": outcome(said.predict_interval, NEW[1:3], 0.8, "simultaneous"),
        "sample": outcome(said.sample_proba, NEW[2:], 2, 1),
        "all": outcome(lambda: np.mean(said.sample_proba(NEW) ** 2, axis=0)),
        "diagnostics": outcome(lambda: said.diagnostics_),
        "summary": said.summary(0.8).round(6) if name in TABLES else None,
        "problems": outcome(lambda: [str(each) for each in said.fitted_problems()]),
        "scored": outcome(said.problem_scores, NEW),
    }


def saved():
    """Return the predictions of classifiers that were saved and loaded."""
    said = {}
    with tempfile.TemporaryDirectory() as folder:
        for name in ("auto", "labels"):
            path = Path(folder) / f"{name}.joblib"
            fitted(name).save(path)
            said[name] = CalibratedClassifier.load(path).predict_proba(NEW)
    return said


def refusals():
    """Return the errors and warnings of fits and of questions."""
    said = {}
    for name, given in REFUSED.items():
        answer = outcome(fit, *given)
        said[name] = {each: text for each, text in answer.items() if each != "answer"}
    return said | {
        "prior": outcome(fitted("two").predict_proba, NEW, [0.2, 0.8]),
        "prior of classes": outcome(fitted("classes").predict_proba, NEW, 0.2),
        "prior of labels": outcome(fitted("labels").predict_proba, NEW, [0.2, 0.3, 0.4]),
        "prior of own": outcome(fitted("own").predict_proba, NEW, 0.3),
        "level": outcome(fitted("folds").predict_interval, NEW, 1.5),
        "draws": outcome(fitted("two").sample_proba, NEW, 25),
        "not fitted": outcome(CalibratedClassifier().predict, NEW),
    }


SHARE = np.array([[0.1, 0.2, 0.7], [0.5, 0.3, 0.2], [0.25, 0.25, 0.5]])
COLUMNS = ["oil", "corn", "gold"]
NAMED = pd.DataFrame(SHARE, columns=COLUMNS)
LABELS = pd.DataFrame([[1, 0, 1], [0, 1, 1], [0, 0, 1]], columns=["gold", "oil", "corn"])
WORDS = ["oil", "corn", "gold"]
# Probabilities and labels that a matrix is fitted to, and further probabilities.
MATRICES = {
    "classes": (SHARE, [0, 1, 2], SHARE[::-1]),
    "a class absent": (SHARE, [0, 2, 2], SHARE),
    "two": (SHARE[:, :1], [0, 1, 1], SHARE[:, 1:2]),
    "two of an array": (SHARE[:, 0], ["a", "b", "b"], SHARE[:, 1]),
    "one class of two": (SHARE[:, 0], [1, 1, 1], SHARE[:, 0]),
    "named": (NAMED, WORDS, NAMED[["gold", "oil", "corn"]]),
    "named, a class absent": (NAMED, ["oil", "oil", "gold"], NAMED),
    "named, then not": (NAMED, WORDS, SHARE),
    "not named, then named": (SHARE, WORDS, NAMED),
    "names of none": (NAMED.set_axis(list("xyz"), axis=1), WORDS, SHARE),
    "names of some": (NAMED.set_axis(["oil", "corn", "z"], axis=1), WORDS, SHARE),
    "another name": (NAMED, WORDS, NAMED.rename(columns={"oil": "gas"})),
    "numbers as names": (NAMED.set_axis([2, 0, 1], axis=1), [0, 1, 2], SHARE),
    "second class": (NAMED[["oil"]], ["corn", "oil", "oil"], NAMED[["oil"]]),
    "first class": (NAMED[["corn"]], ["corn", "oil", "oil"], SHARE[:, 0]),
    "labels": (SHARE, LABELS, SHARE),
    "labels, named": (NAMED, LABELS, NAMED[["gold", "oil", "corn"]]),
    "labels, of an array": (NAMED, LABELS.to_numpy(), SHARE),
    "labels, others": (NAMED, LABELS.rename(columns={"oil": "gas"}), SHARE),
    "labels, one": (SHARE[:, 0], LABELS[["oil"]].to_numpy(), SHARE[:, 1]),
    "labels, no sums": (SHARE / 2.0, LABELS.to_numpy(), SHARE / 3.0),
    "unknown classes": (SHARE, ["a", "b", "b"], SHARE),
    "more classes": (SHARE[:, :2] / SHARE[:, :2].sum(axis=1, keepdims=True), WORDS, SHARE),
    "sums": (np.add(SHARE, [[0.0], [0.02], [0.0]]), [0, 1, 2], SHARE),
    "sums, later": (SHARE, [0, 1, 2], SHARE - [[0.0], [0.0], [0.05]]),
    "nearly": (np.add(SHARE, [[0.0], [2e-5], [0.0]]), [0, 1, 2], SHARE + 1e-6),
    "outside": (SHARE - [0.2, 0.0, 0.0], [0, 1, 2], SHARE),
    "outside, above": (np.add(SHARE, [0.0, 0.0, 0.4]), [0, 1, 2], SHARE),
    "columns, later": (SHARE, [0, 1, 2], SHARE[:, :2]),
    "cube": (SHARE[None], [0, 1, 2], SHARE),
}


def matrix(p, y, new):
    """Return a probability matrix's predictions for further documents, and its attributes."""

    def answer():
        fitted = ProbabilityMatrix().fit(p, y)
        classes = getattr(fitted, "classes_", None)
        return [fitted.n_features_in_, classes, fitted.predict_proba(new)]

    return outcome(answer)


def matrices():
    """Return the answers of matrices of probabilities."""
    return {name: matrix(*given) for name, given in MATRICES.items()}


CASES = {
    **{name: partial(results_of, name) for name in FITS},
    "saved": saved,
    "refusals": refusals,
    "matrices": matrices,
}

"""Combined classifiers by every combiner, many tasks, and indicators of reliability."""

from functools import cache, partial

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from bayescal import CombinedClassifier, ScoreCalibrator
from bayescal.combining.combiners import COMBINERS
from bayescal.combining.indicators import (
    ReliabilityIndicators,
    ScorePosterior,
    conflicts,
    posterior_indicators,
)
from bayescal.combining.tasks import PooledCombiner
from tests import indicator_data
from tests.same_numbers.plain import answer_of, attributes_of
from tests.task_scores import made_tasks

N = 70
RNG = np.random.default_rng(21)
LABELS = (RNG.random(N) < 0.35).astype(int)
X = RNG.normal(size=(N, 4)) + LABELS[:, None] * [1.2, 0.5, -0.4, 0.0]
NEW = RNG.normal(0.3, 1.2, (9, 4))
SEVERAL = np.where(X[:, 0] + RNG.normal(size=N) > 1.0, "b", np.where(LABELS, "c", "a"))
BOTH = np.column_stack([LABELS, X[:, 1] + RNG.normal(size=N) > 0.8])
WEIGHTS = RNG.integers(1, 4, N)
INCLUSION = np.where(LABELS, 1.0, 0.4)
PAIR = [("line", LogisticRegression(C=0.5)), ("bayes", GaussianNB())]
PLAIN = "classifiers_", "feature_names_in_", "labels_"
MEASURES = "error", "f1", "cost_1_10", "cost_10_1"


class Squares(TransformerMixin, BaseEstimator):
    """Two indicators, so that combiners have some."""

    def fit(self, X, y):
        return self

    def transform(self, X):
        return np.column_stack([X[:, 0] ** 2, np.abs(X[:, 1])])


def said(model, new=NEW):
    """Return all results of a combined classifier for new documents."""
    found = {name: value for name, value in attributes_of(model).items() if name not in PLAIN}
    found["decision"] = model.decision_function(new)
    found["class"] = model.predict(new)
    if hasattr(model, "predict_proba"):
        found["proba"] = model.predict_proba(new)
    if hasattr(model, "posterior_"):
        found |= {
            "interval": model.predict_interval(new),
            "hdi": model.predict_interval(new, level=0.5, kind="hdi"),
            "draws": model.sample_proba(new, 5, 1),
            "weights": model.weights(),
            "weights at half": model.weights(level=0.5),
            "summary": model.summary(level=0.6),
            "findings": [str(each) for each in model.findings()],
            "diagnostics": model.diagnostics_,
        }
    return found


def of_combiner(combiner, y=LABELS, weights=None, inclusion=None, **options):
    """Return a combiner's answers, and its decisions by every measure of binary problems."""
    options = {"cv": 3, "random_state": 2} | options
    model = CombinedClassifier(PAIR, combiner=combiner, **options)
    model.fit(X, y, sample_weight=weights, inclusion=inclusion)
    found = said(model)
    if np.asarray(y).dtype.kind != "U":
        found["decided"] = {name: model.decide(NEW, name) for name in MEASURES}
    return found


def of_many_tasks(metaclassifier="weights", **options):
    """Return the fit of many tasks, and predictions that include an added task."""
    inputs, y, task = made_tasks(tasks=3, n=40, seed=1, differ=0.5, rare=0.3)
    options = {"cv": 3, "random_state": 3} | options
    model = PooledCombiner(metaclassifier, **options).fit(inputs, y, task)
    model.add_tasks(inputs[:30] + 0.5, ["added"] * 30)
    where = inputs[::11], np.where(np.arange(120) < 20, "added", task)[::11]
    found = attributes_of(model) | {
        "decision": model.decision_function(*where),
        "class": model.predict(*where),
        "decided": {name: model.decide(*where, name) for name in MEASURES},
    }
    if options.get("specialise", "pooled") == "pooled" and isinstance(metaclassifier, str):
        found |= {
            "interval": model.predict_interval(*where),
            "hdi": model.predict_interval(*where, level=0.5, kind="hdi"),
            "draws": model.sample_proba(*where),
            "population": [model.population(), model.population(level=0.5)],
        }
    return found


def indicators_of_text():
    """Return all indicators of the five classifiers of texts."""
    indicators = indicator_data.fitted()
    names = indicators.get_feature_names_out()
    new = sparse.csr_matrix(indicator_data.NEW)
    scores, values = indicators.scores_and_indicators(new)
    return {
        "names": names,
        "scores": scores,
        "values": dict(zip(names, values.T, strict=True)),
        "thresholds": indicators.thresholds_,
        "best": indicators.best_,
    }


def indicators_of_vectors():
    """Return indicators of classifiers that are not of texts, with those of the task."""
    classifiers = [
        ("svm", LinearSVC(C=0.5, random_state=0)),
        ("tree", DecisionTreeClassifier(max_depth=3, random_state=0)),
        ("near", KNeighborsClassifier(5)),
        ("line", LogisticRegression()),
    ]
    options = {"text": False, "task": True}
    indicators = ReliabilityIndicators(classifiers, **options).fit(X, LABELS)
    own = ReliabilityIndicators(
        classifiers, **options, thresholds=[0.2, -0.1, 0.0, 0.4], best="near"
    )
    own.fit(X, LABELS)
    names = indicators.get_feature_names_out()
    return {
        "names": names,
        "values": dict(zip(names, indicators.transform(NEW).T, strict=True)),
        "own": dict(zip(names, own.transform(NEW).T, strict=True)),
        "scores": indicators.classifier_scores(NEW),
        "best": [indicators.best_, own.best_],
    }


@cache
def calibrators():
    """Return calibrators of two columns."""
    quick = {"draws": 40, "chains": 2, "random_state": 0}
    return [ScoreCalibrator("gaussian", **quick).fit(X[:, k], LABELS) for k in (0, 1)]


def indicators_of_posteriors():
    """Return indicators of two posteriors, and their conflicts."""
    posteriors = [ScorePosterior.of(each, NEW[:, k]) for k, each in enumerate(calibrators())]
    values = posterior_indicators(calibrators()[0], NEW[:, 0])
    return [*posteriors, values, conflicts(posteriors)]


def refusals():
    """Return the errors that wrong arguments raise."""
    fitted = CombinedClassifier(PAIR, combiner="logistic", cv=2).fit(X, LABELS)
    inputs, y, task = made_tasks(tasks=2, n=20)
    tasks = PooledCombiner("tree", specialise="general", cv=2).fit(inputs, y, task)
    vectors = ReliabilityIndicators(PAIR, text=False).fit(X, LABELS)
    options = [
        {"combiner": "best"},
        {"normalise": 1},
        {"measure": "accuracy"},
        {"cv": 1},
        {"classifiers": []},
        {"classifiers": [PAIR[0], PAIR[0]]},
        {"classifiers": PAIR[0][1]},
    ]
    wrong = [
        *(
            (CombinedClassifier(**{"classifiers": PAIR} | each).fit, [X, LABELS])
            for each in options
        ),
        (CombinedClassifier(PAIR, combiner="tree").fit, [X, LABELS, WEIGHTS]),
        (CombinedClassifier(PAIR).fit, [X, LABELS, WEIGHTS, INCLUSION]),
        (CombinedClassifier(PAIR).fit, [X, LABELS, -WEIGHTS]),
        (CombinedClassifier(PAIR).fit, [X, LABELS[:9]]),
        (CombinedClassifier(PAIR).fit, [X, np.arange(N) == 0]),
        (CombinedClassifier(PAIR).fit, [X, np.zeros(N)]),
        (CombinedClassifier(PAIR).predict, [X]),
        (fitted.decide, [X, "accuracy"]),
        (fitted.predict_interval, [X]),
        (fitted.sample_proba, [X]),
        (fitted.weights, []),
        (PooledCombiner("forest").fit, [inputs, y, task]),
        (PooledCombiner("tree", specialise="all").fit, [inputs, y, task]),
        (PooledCombiner("tree", specialise=-1.0).fit, [inputs, y, task]),
        (PooledCombiner("weights", specialise=2.0).fit, [inputs, y, task]),
        (PooledCombiner(GaussianNB()).fit, [inputs, y, task]),
        (PooledCombiner(cv=1).fit, [inputs, y, task]),
        (PooledCombiner(cv=2.5).fit, [inputs, y, task]),
        (PooledCombiner().fit, [inputs, y, task[:9]]),
        (PooledCombiner().fit, [inputs, np.arange(40) < 20, task]),
        (PooledCombiner().predict, [inputs, task]),
        (tasks.predict, [inputs, ["none"] * 40]),
        (tasks.add_tasks, [inputs, task]),
        (tasks.add_tasks, [inputs[:1], ["one"]]),
        (tasks.decide, [inputs, task, "accuracy"]),
        (tasks.sample_proba, [inputs, task]),
        (tasks.population, []),
        (ReliabilityIndicators(PAIR, text="yes").fit, [X, LABELS]),
        (ReliabilityIndicators(PAIR).fit, [X, LABELS]),
        (ReliabilityIndicators(PAIR, text=False, best="svm").fit, [X, LABELS]),
        (ReliabilityIndicators(PAIR, text=False, thresholds=[0.0]).fit, [X, LABELS]),
        (ReliabilityIndicators(PAIR, text=False, prefit=True).fit, [X, LABELS]),
        (vectors.transform, [X[:, :2]]),
        (ScorePosterior.of, [ScoreCalibrator(inference="mle").fit(X[:, 0], LABELS), X[:, 0]]),
    ]
    return [answer_of(function, *args) for function, args in wrong]


CASES = (
    {f"by {name}": partial(of_combiner, name) for name in COMBINERS}
    | {
        f"by {name}, with indicators": partial(of_combiner, name, indicators=Squares())
        for name in ("bayes", "local_bayes", "logistic", "local_kernel", "selected_kernel", "tree")
    }
    | {
        f"by {name}, weighted": partial(of_combiner, name, weights=WEIGHTS)
        for name in sorted(set(COMBINERS) - {"tree"})
    }
    | {
        "several classes": partial(of_combiner, "bayes", SEVERAL),
        "several classes, stacked": partial(of_combiner, "logistic", SEVERAL),
        "several labels": partial(of_combiner, "bayes", pd.DataFrame(BOTH, columns=["x", "y"])),
        "first class positive, by inclusion and cost": partial(
            of_combiner, "bayes", inclusion=INCLUSION, positive=0, measure="cost_1_10"
        ),
        "not normalised": partial(of_combiner, "logistic", normalise=False),
        "own": partial(of_combiner, KNeighborsClassifier(7)),
        "tasks": of_many_tasks,
        "tasks, tree": partial(of_many_tasks, "tree"),
        "tasks, m": partial(of_many_tasks, "tree", specialise=2.5),
        "tasks, general": partial(of_many_tasks, "tree", specialise="general"),
        "tasks, repopulated": partial(of_many_tasks, "tree", specialise="repop"),
        "tasks, own": partial(of_many_tasks, GaussianNB(), specialise="general"),
        "indicators of text": indicators_of_text,
        "indicators of vectors": indicators_of_vectors,
        "indicators of posteriors": indicators_of_posteriors,
        "refusals": refusals,
    }
)

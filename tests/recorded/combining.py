"""Combinations of classifiers: stacking, indicators, pooled tasks, online rules."""

import numpy as np

from bayescal import CombinedClassifier
from bayescal.combining.combiners.measures import MEASURES
from bayescal.combining.online.online_combiner import OnlineCombiner
from bayescal.combining.online.rules import RULES
from bayescal.combining.tasks import PooledCombiner
from tests.combining_tools import columns, views
from tests.indicator_data import COUNTS, LABELS, NEW, fitted
from tests.task_scores import made_tasks

X, Y, _ = views(90, np.random.default_rng(2))
GAPS = np.where([[True, False, False]] & (np.arange(90) % 4 == 0)[:, None], np.nan, X)
WEIGHT = 1.0 + np.arange(90) % 3
TASKS = made_tasks(tasks=4, n=50)


def _of(combination, new):
    return {
        "log-odds": combination.decision_function(new),
        "decisions": combination.predict(new),
        "bands": combination.predict_interval(new, level=0.8),
        "draws": combination.sample_proba(new, 7, random_state=1),
        "summary": combination.summary(0.8),
        "findings": combination.findings(0.8),
        "weights": combination.weights(),
    }


def bayes():
    found = CombinedClassifier(columns(2), cv=2, allow_missing=True, random_state=0)
    return _of(found.fit(GAPS, Y, sample_weight=WEIGHT), GAPS[:20])


def stacked():
    found = CombinedClassifier(columns(), combiner="logistic", cv=3, random_state=0).fit(X, Y)
    gaps = CombinedClassifier(columns(), combiner="logistic", allow_missing=True, random_state=0)
    return {
        "log-odds": found.decision_function(X[:20]),
        "p": found.predict_proba(X[:20]),
        "gaps": gaps.fit(GAPS, Y).decision_function(GAPS[:20]),
    }


def decided():
    return {
        measure: CombinedClassifier(
            columns(), combiner="logistic", measure=measure, normalise=False, random_state=0
        )
        .fit(X, Y, inclusion=np.where(Y == 1, 1.0, 0.5))
        .predict(X)
        for measure in MEASURES
    }


def indicators():
    found = fitted()
    scores, values = found.scores_and_indicators(NEW)
    return {
        "names": found.get_feature_names_out(),
        "scores": scores,
        **dict(zip(found.get_feature_names_out(), values.T, strict=True)),
        "of the documents fitted": found.transform(COUNTS[:9]),
        "labels": LABELS,
    }


def online():
    rng = np.random.default_rng(4)
    y = rng.integers(3, size=60)
    P = rng.dirichlet(np.ones(3), size=(60, 4)) * 0.5 + 0.5 * np.eye(3)[y][:, None, :]
    P[::9, 2] = np.nan
    on = rng.random((60, 2)) * (rng.random((60, 2)) < 0.8) + 0.01
    results = {}
    for rule in RULES:
        found = OnlineCombiner(rule, beta=0.7, passes=2, allow_missing=True).fit(P, y)
        results[rule] = [found.weights_, found.loss_, found.predict_proba(P[:9])]
    for rule in ("winbmx", "eg"):
        found = OnlineCombiner(rule, constant_experts=False, allow_missing=True)
        found.partial_fit(P, y, classes=np.arange(3), indicators=on)
        new = found.predict_proba(P[:9], indicators=on[:9])
        results[f"{rule}, indicators"] = [found.weights_, found.loss_, new]
    awake = rng.random((60, 4)) < 0.7
    full = np.nan_to_num(P, nan=1 / 3)
    winnow = OnlineCombiner("winnow", constant_experts=False).fit(full, y)
    awake_only = OnlineCombiner("eg", eta=0.5, allow_missing=True).fit(full, y, awake=awake)
    return results | {"winnow": winnow.weights_, "awake": awake_only.weights_}


def _pooled(kind, **options):
    documents, labels, task = TASKS
    found = PooledCombiner(kind, random_state=0, cv=3, **options).fit(documents, labels, task)
    new = documents[::13], task[::13]
    return {
        "log-odds": found.decision_function(*new),
        "bands": found.predict_interval(*new, level=0.8),
        "draws": found.sample_proba(*new)[:5],
        "population": found.population(),
        "decisions": {measure: found.decide(*new, measure) for measure in MEASURES},
    }


def pooled_weights():
    return _pooled("weights")


def pooled_tree():
    return _pooled("tree", allow_missing=True)

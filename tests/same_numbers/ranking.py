"""Measures of rankings, features within queries, rankers, and calibrated relevance."""

import tempfile
import warnings
from functools import cache, partial
from pathlib import Path

import numpy as np

from bayescal import ScoreCalibrator, TopicCalibrator
from bayescal.ranking import (
    BinnedFunctions,
    RelevanceCalibrator,
    StepFunctions,
    SVMMAPRanker,
    average_precision,
    compare_rankings,
    load_ranking,
    mean_average_precision,
    min_max_within_queries,
    ndcg,
    percentiles_within_queries,
    precision_at,
    qid_from_group_sizes,
    standardise_within_queries,
)
from tests.ranking_data import linear_queries
from tests.same_numbers.plain import answer_of, attributes_of

X, RELEVANT, QID = linear_queries(n_queries=5, size=9, n_features=3, grid=True)
GRADES = RELEVANT * 2 + (X[:, 1] > 0.5)
SCORES = X[:, 0] + 0.5 * X[:, 2]  # on a grid: documents tie
GAPS = np.where(X == 2.0, np.nan, X)
FILE = """3 qid:1 1:0.5 2:-1 # best
1 qid:1 2:0.25
0 qid:2 1:1 3:7.5
2 qid:2 1:-1
"""


def measures(ties):
    """Return every measure of graded and of binary relevance."""
    binary, graded = (RELEVANT, SCORES, QID), (GRADES, SCORES, QID)
    return {
        "AP": average_precision(*binary, ties=ties),
        "AP by threshold": average_precision(*graded, ties=ties, relevance_threshold=2),
        "MAP": mean_average_precision(*binary, ties=ties),
        "MAP by threshold": mean_average_precision(*graded, ties=ties, relevance_threshold=2),
        "MAP of one query": mean_average_precision(RELEVANT, SCORES, ties=ties),
        "precision": precision_at(*binary, ties=ties),
        "precision at 3": precision_at(*graded, k=3, ties=ties, relevance_threshold=2),
        "nDCG": ndcg(*graded, ties=ties),
        "nDCG at 4": ndcg(*graded, k=4, ties=ties),
        "nDCG, linear": ndcg(*graded, ties=ties, gain="linear"),
        "nDCG, a query of one grade": ndcg([0, 1, 1], [1.0, 2.0, 3.0], [0, 0, 1], ties=ties),
    }


def comparisons():
    """Return tests of few and of many differences, with equal ones."""
    first = average_precision(RELEVANT, SCORES, QID)
    second = average_precision(RELEVANT, X[:, 1], QID)
    many = linear_queries(n_queries=40, size=7, n_features=3, seed=3)
    by = [average_precision(many[1], many[0][:, k], many[2]) for k in (0, 2)]
    return [compare_rankings(first, second), compare_rankings(*by), compare_rankings(first, first)]


def features():
    """Return features within queries, binned ones, and functions of steps."""
    quantiles = BinnedFunctions(n_thresholds=4).fit(GAPS)
    even = BinnedFunctions("even", n_thresholds=3).fit(GAPS)
    given = BinnedFunctions([-1.0, 0.0, 2.0]).fit(GAPS)
    coef = np.arange(1.0, quantiles.transform(X).shape[1] + 1.0)
    steps = StepFunctions([np.array([0.0, 1.0])], [np.array([0.0, 2.0, -1.0])])
    return {
        "percentiles": [percentiles_within_queries(X, QID), percentiles_within_queries(X[:7])],
        "min max": [min_max_within_queries(X, QID), min_max_within_queries(X[:7])],
        "standardised": [
            standardise_within_queries(SCORES, QID),
            standardise_within_queries(SCORES[:7]),
            standardise_within_queries([3.0, 3.0, 3.0, 4.0]),
            standardise_within_queries([3.0, 3.0]),
        ],
        "default": attributes_of(BinnedFunctions().fit(X)),
        "quantiles": [attributes_of(quantiles), quantiles.transform(GAPS)],
        "even": [attributes_of(even), even.transform(GAPS)],
        "given": [attributes_of(given), given.transform(GAPS)],
        "names": quantiles.get_feature_names_out(),
        "own names": quantiles.get_feature_names_out(["bm25", "tf", "age"]),
        "steps": quantiles.step_functions(coef),
        "scores": quantiles.step_functions(coef)(GAPS),
        "step": steps([[-1.0], [0.0], [0.5], [1.0], [np.nan]]),
        "groups": qid_from_group_sizes([2, 1, 3]),
    }


def files():
    """Return a file of rankings, with queries in it and beside it."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "ranking.txt"
        path.write_text(FILE)
        found = [load_ranking(path), load_ranking(path, n_features=5)]
        path.write_text(FILE.replace("qid:1 ", "").replace("qid:2 ", ""))
        sizes = Path(folder) / "ranking.query"
        sizes.write_text("3\n1\n")
        found.append(load_ranking(path, group_sizes=sizes))
    return [{"X": each.X.toarray(), "y": each.y, "qid": each.qid} for each in found]


def ranker(**options):
    """Return a fitted ranker, its scores, and its path over costs."""
    warned = []
    model = SVMMAPRanker(tol=1e-4, **options)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        rows = QID != 2
        y = np.where(QID == 4, 0, GRADES if "relevance_threshold" in options else RELEVANT)
        model.fit(X[rows], y[rows], QID[rows])
        warned += [str(each.message) for each in caught]
        path = model.fit_path([0.1, 10.0], X[rows], y[rows], QID[rows])
    return {
        "fitted": attributes_of(model),
        "scores": model.decision_function(X[:12]),
        "score": model.score(X, y, qid=QID),
        "path": [attributes_of(each) for each in path],
        "warned": warned,
    }


@cache
def relevance(**options):
    """Return a calibrator of relevance, fitted to a few queries."""
    quick = TopicCalibrator(parts="gaussian", draws=40, chains=2, random_state=0)
    rng = np.random.default_rng(6)
    qid = np.repeat(["a", "b", "c"], [30, 24, 18])
    relevant = rng.random(qid.size) < 0.3
    scores = rng.normal(2.0 * relevant) * 3.0 + 10.0
    y = relevant * 2 if "relevance_threshold" in options else relevant
    return RelevanceCalibrator(quick, random_state=4, **options).fit(scores, y, qid)


def read(**options):
    """Return all results of a calibrator of relevance for new queries."""
    model = relevance(**options)
    rng = np.random.default_rng(7)
    scores, qid = rng.normal(11.0, 4.0, 21), np.repeat([5, 3], [13, 8])
    attributes = {k: v for k, v in attributes_of(model).items() if k != "calibrator_"}
    return {
        "fitted": attributes,
        "proba": model.predict_proba(scores, qid),
        "interval": [
            model.predict_interval(scores, qid),
            model.predict_interval(scores, qid, level=0.5),
        ],
        "draws": model.sample_proba(scores, qid, 7, 1),
        "all draws": model.sample_proba(scores, qid),
        "precision": model.expected_average_precision(scores, qid),
        "precision at half": model.expected_average_precision(scores, level=0.5),
        "stops": [
            model.when_to_stop(scores, qid),
            model.when_to_stop(scores, qid, recall=0.5, probability=0.6),
        ],
        "below": [
            model.relevant_below(scores, qid, rank=4),
            model.relevant_below(scores, qid, rank=2, level=0.5),
        ],
        "readings": model.read(scores, qid),
        "other readings": model.read(scores, qid, recall=0.5, probability=0.6, level=0.5),
    }


def refusals():
    """Return the errors that wrong arguments raise."""
    calibrator = relevance()
    wrong = [
        (average_precision, [RELEVANT, SCORES[:9]], {}),
        (average_precision, [RELEVANT, SCORES], {"ties": "random"}),
        (average_precision, [GRADES, SCORES, QID], {}),
        (average_precision, [GRADES, SCORES, QID[:9]], {"relevance_threshold": 1.0}),
        (average_precision, [np.ones(45), SCORES], {}),
        (precision_at, [RELEVANT, SCORES, QID], {"k": 0}),
        (ndcg, [RELEVANT, SCORES, QID], {"k": 1.5}),
        (ndcg, [RELEVANT, SCORES, QID], {"gain": "square"}),
        (ndcg, [-RELEVANT, SCORES, QID], {}),
        (qid_from_group_sizes, [[2, 0]], {}),
        (BinnedFunctions(n_thresholds=0).fit, [X], {}),
        (BinnedFunctions("odd").fit, [X], {}),
        (BinnedFunctions([]).fit, [X], {}),
        (BinnedFunctions([0.0]).fit(X).step_functions, [[1.0]], {}),
        (StepFunctions([np.zeros(1)], [np.zeros(2)]), [X], {}),
        (SVMMAPRanker(C=0.0).fit, [X, RELEVANT, QID], {}),
        (SVMMAPRanker(tol=0.0).fit, [X, RELEVANT, QID], {}),
        (SVMMAPRanker(max_iter=0).fit, [X, RELEVANT, QID], {}),
        (SVMMAPRanker(loss="ap").fit, [X, RELEVANT, QID], {}),
        (SVMMAPRanker(solver="sgd").fit, [X, RELEVANT, QID], {}),
        (SVMMAPRanker(ties="random").fit, [X, RELEVANT, QID], {}),
        (SVMMAPRanker().fit, [X, np.ones(45), QID], {}),
        (SVMMAPRanker().predict, [X], {}),
        (RelevanceCalibrator(units="rank").fit, [SCORES, RELEVANT, QID], {}),
        (RelevanceCalibrator(relevance_threshold=9.0).fit, [SCORES, RELEVANT, QID], {}),
        (RelevanceCalibrator(TopicCalibrator(pooling="none")).fit, [SCORES, RELEVANT, QID], {}),
        (RelevanceCalibrator(ScoreCalibrator()).fit, [SCORES, RELEVANT, QID], {}),
        (RelevanceCalibrator().predict_proba, [SCORES], {}),
        (calibrator.predict_interval, [SCORES], {"level": 1.0}),
        (calibrator.sample_proba, [SCORES], {"draws": 10**6}),
        (calibrator.read, [SCORES], {"recall": 0.0}),
        (calibrator.read, [SCORES], {"probability": 1.0}),
        (calibrator.read, [SCORES], {"level": 0.0}),
        (calibrator.when_to_stop, [SCORES], {"recall": 1.5}),
        (calibrator.relevant_below, [SCORES], {"rank": -1}),
    ]
    return [answer_of(function, *args, **options) for function, args, options in wrong]


CASES = (
    {f"measures, {ties}": partial(measures, ties) for ties in ("pessimistic", "expected")}
    | {"comparisons": comparisons, "features": features, "files": files, "refusals": refusals}
    | {
        f"ranker, {loss}, {solver}": partial(ranker, loss=loss, solver=solver)
        for loss in ("map", "roc")
        for solver in ("bcfw", "cutting-plane")
    }
    | {
        "ranker, grades": partial(ranker, relevance_threshold=2, C=5.0, ties="expected"),
        "ranker, few passes": partial(ranker, max_iter=2),
        "relevance": read,
        "relevance, units of the score": partial(read, units="score"),
        "relevance, grades": partial(read, relevance_threshold=1.0),
    }
)

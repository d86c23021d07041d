"""Every function refuses values that are no array of numbers or labels, and names the argument."""

import re

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from scipy import sparse

from bayescal import (
    CombinedClassifier,
    MulticlassCalibrator,
    decisions,
    likelihood_ratio,
    metrics,
    ranking,
    text,
)
from bayescal.plots import ReliabilityDisplay
from tests.test_masked import BOTH, CASES, PAIR, P, Q, S, T, X, Y, hide, quick, topics

pytestmark = pytest.mark.one_era


def with_one(value):
    def put(values):
        out = np.array(values, dtype=object)
        out.flat[min(3, out.size - 1)] = value
        return out

    return put


KINDS = {
    "a dict among values": with_one({}),
    "rows of several lengths": lambda values: [[1, 2], [3], *([1] * (len(values) - 2))],
    "a set": lambda values: {1, 2},
    "a function": lambda values: len,
    "a word": lambda values: "word",
    "a generator": lambda values: (each for each in values),
}
# Identifiers and texts may come from a generator.
FROM_GENERATORS = {"qid"}


@pytest.mark.parametrize(
    ("name", "argument"), [(name, each) for name, (_, arrays) in CASES.items() for each in arrays]
)
def test_is_refused(name, argument):
    function, arrays = CASES[name]
    for kind, made in KINDS.items():
        if kind == "a generator" and argument in FROM_GENERATORS:
            continue
        with pytest.raises((ValueError, TypeError)) as refused:
            function(**arrays | {argument: made(arrays[argument])})
        if refused.type is not ValueError:
            # As scikit-learn's checks expect, and named all the same.
            assert re.match(rf"({argument} must hold|the classifier \w+ ref)", str(refused.value))


SECONDS = Y * np.timedelta64(1, "s")  # numpy takes a second for equal to 1
SOURCES = np.arange(60) * np.timedelta64(1, "s")
FLAWED = pd.DataFrame(X).astype(object)
FLAWED.iloc[3, 1] = pd.NA
DOCUMENTS = ["wheat price" if y else "oil price" for y in Y]


ONE_NAN = pd.Series([0.5]), pd.Series([np.nan])


def by_topic(scores, names):
    return decisions.thresholds_by_topic(topics().fit(S, Y, T), scores, names, recall=0.5)


def shifted(label):
    return [label, *Y[1:].tolist()]


WRONG = [
    (lambda: metrics.log_loss(SECONDS, P), "y_true must hold text, numbers or booleans, got time"),
    (lambda: quick().fit(S, SECONDS), "y must hold text, numbers or booleans, got timedelta64"),
    (lambda: MulticlassCalibrator().fit(BOTH, SECONDS), "y must hold text, numbers or booleans"),
    (lambda: text.mutual_information(P, Y), r"counts must have shape \(documents, words\)"),
    (lambda: metrics.top_label(Y, BOTH * np.nan), "y_prob must hold probabilities"),
    (lambda: metrics.top_label(Y[:, None], BOTH), r"y_true must have shape \(n,\)"),
    (lambda: metrics.losses(S, np.where(Y, "yes", "no")), "positive must hold booleans"),
    (lambda: metrics.losses(S, hide(Y == 1)), "positive must hold no masked value"),
    (lambda: metrics.class_verdict(Y, BOTH, draws=[0.9 * BOTH] * 5), "draws must .* up to 0.1 off"),
    (lambda: decisions.with_abstention([[0.0, np.nan], [1.0, 0.0]], 0.4), "costs must be finite"),
    (
        lambda: by_topic(S, [None, *T[1:]]),
        "topics must hold labels of one type, got None at position 0",
    ),
    (lambda: by_topic(S, T.astype("S")), "topics must hold text, numbers or booleans, got bytes"),
    (lambda: by_topic(None, T), "scores must be an array"),
    (lambda: by_topic(S[:, None], T), r"\(n,\), or a column for each of 2 topics, got \(60, 1\)"),
    (lambda: ranking.ndcg(Y, S, 0.5), "qid must hold the query of each document, got 0.5"),
    (lambda: ranking.min_max_within_queries(X * np.inf, Q), "X must hold finite numbers"),
    (lambda: ranking.compare_rankings(S, S), "first must be a pandas Series"),
    (lambda: ranking.compare_rankings(*ONE_NAN), "second must hold finite measures"),
    (lambda: likelihood_ratio.source_weights(Y, SOURCES, Q), "of one type, got dates and numbers"),
    (
        lambda: ReliabilityDisplay.from_predictions(shifted(pd.NA), P, pos_label=1),
        "y_true must hold labels of one type, got <NA> at position 0",
    ),
    (
        lambda: ReliabilityDisplay.from_predictions(Y, P, pos_label="yes"),
        "pos_label must be one of the labels of y_true, 0, 1; got 'yes'",
    ),
    (
        lambda: text.TextCalibrator(folds=2).fit(DOCUMENTS, shifted(None)),
        "y must hold labels of one type, got None at position 0",
    ),
    (lambda: text.TextCalibrator().fit(None, Y), "X must be a sequence of documents, got NoneType"),
    (
        lambda: CombinedClassifier(PAIR, cv=2).fit(FLAWED, Y),
        "the classifier LinearSVC refused X, or another argument: .*NAType",
    ),
    (lambda: quick().fit([10**400, *S[1:].tolist()], Y), "scores must be real numbers"),
    (lambda: quick().fit(np.zeros(60, [("a", float)]), Y), "scores must be real numbers"),
]


@pytest.mark.parametrize(("wrong", "message"), WRONG)
def test_messages_name_the_argument(wrong, message):
    with pytest.raises((ValueError, TypeError), match=message):
        wrong()


def test_queries_in_a_pyarrow_column_are_those_of_a_list():
    """Its items are no numbers themselves, so that later queries would all be new ones."""
    column = pa.chunked_array([pa.array(Q[:20]), pa.array(Q[20:])])
    assert ranking.average_precision(Y, S, column).index.tolist() == [1, 2]


def test_what_looks_odd_and_is_right_is_taken():
    assert ranking.qid_from_group_sizes(np.array([2, 1], dtype=object)).tolist() == [0, 0, 1]
    model = text.TextCalibrator("naive_bayes", words=2, folds=2, calibrator=quick())
    expected = model.fit(DOCUMENTS, Y).predict_proba(DOCUMENTS)
    np.testing.assert_array_equal(model.predict_proba(pa.array(DOCUMENTS)), expected)
    assert metrics.class_verdict(Y, BOTH, draws=np.tile(BOTH, (20, 1, 1))).with_bands
    assert metrics.log_loss([1, 1], [1.0, 1.0]) == 0.0
    assert metrics.score_decomposition([0, 0], [0.5, 0.5], score=metrics.log_loss).uncertainty == 0


def test_the_order_of_memory_decides_nothing():
    """`detectable` is where a p-value crosses a limit: rounding moved it from 2.26 to 2.38."""
    expected, found = (metrics.class_verdict(Y, p) for p in (BOTH, np.asfortranarray(BOTH)))
    assert found.detectable == expected.detectable


@pytest.mark.parametrize(
    "name",
    [
        "SVMMAPRanker.fit",
        "SVMMAPRanker.predict",
        "BinnedFunctions.fit",
        "PooledCombiner.fit",
        "ReliabilityIndicators.fit",
        "naive Bayes",
        "NearestNeighbours.fit",
        "DecisionTree.fit",
        "MutualInformationSelector.fit",
    ],
)
def test_features_whose_squares_overflow_are_refused(name):
    function, arrays = CASES[name]
    wrong = arrays["X"].astype(float)
    wrong[1, 2] = 1e151
    for table in (wrong, sparse.csr_matrix(wrong)):
        if table is wrong or name.startswith("SVMMAPRanker"):
            with pytest.raises(ValueError, match=r"^X must lie within 1e150 of 0, got 1e\+151"):
                function(**arrays | {"X": table})

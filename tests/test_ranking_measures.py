"""Measures of rankings against definitions, scikit-learn, and the mean over all orders of ties."""

from functools import partial
from itertools import pairwise, permutations

import numpy as np
import pandas as pd
import pytest
from scipy.stats import wilcoxon
from sklearn.metrics import ndcg_score

from bayescal.ranking import (
    average_precision,
    compare_rankings,
    mean_average_precision,
    ndcg,
    precision_at,
    qid_from_group_sizes,
)
from bayescal.ranking.queries import match_grades

pytestmark = pytest.mark.one_era

RNG = np.random.default_rng(11)


def ap_of_order(grades):
    found = np.flatnonzero(grades) + 1
    return np.mean(np.arange(1, found.size + 1) / found)


def dcg_of_order(grades, k):
    return sum((2.0**g - 1) / np.log2(r + 1) for r, g in enumerate(grades[:k], start=1))


def orders_of(grades, scores):
    """Return the grades in every order that the scores leave open."""
    found = []
    for order in permutations(range(len(grades))):
        if all(scores[a] >= scores[b] for a, b in pairwise(order)):
            found.append(np.asarray(grades)[list(order)])
    return found


def tied_cases(n=25, size=7):
    for _ in range(n):
        grades = RNG.integers(0, 4, size)
        grades[:2] = 0, 3
        yield grades, RNG.integers(0, 3, size).astype(float)


REDUCE = {"pessimistic": min, "expected": np.mean}


def gain_of_order(k):
    return lambda order: dcg_of_order(order, k) / dcg_of_order(np.sort(order)[::-1], k)


OF_TIES = {
    average_precision: ({"relevance_threshold": 2}, lambda order: ap_of_order(order > 1)),
    precision_at: ({"relevance_threshold": 2, "k": 3}, lambda order: np.mean(order[:3] > 1)),
    ndcg: ({"k": 3}, gain_of_order(3)),
    partial(ndcg): ({}, gain_of_order(None)),
}


@pytest.mark.parametrize("ties", REDUCE)
@pytest.mark.parametrize("measure", OF_TIES)
def test_ties_are_every_order_that_they_leave_open(measure, ties):
    options, of_order = OF_TIES[measure]
    for grades, scores in tied_cases():
        values = [of_order(order) for order in orders_of(grades, scores)]
        found = measure(grades, scores, ties=ties, **options)
        assert found.item() == pytest.approx(REDUCE[ties](values), rel=1e-12)


@pytest.mark.parametrize("k", [None, 5])
def test_expected_ndcg_is_scikit_learns(k):
    for _ in range(20):
        y, scores = RNG.integers(0, 4, 30), RNG.integers(0, 6, 30)
        found = ndcg(y, scores, k=k, ties="expected", gain="linear").item()
        assert found == pytest.approx(ndcg_score([y], [scores], k=k), rel=1e-12)


def test_ties_and_missing_documents_in_closed_form():
    y = np.repeat([1, 0], [1, 99])
    low = average_precision(y, np.zeros(100)).item()
    high = average_precision(y, np.zeros(100), ties="expected").item()
    assert low == 0.01
    assert high == pytest.approx(np.mean(1 / np.arange(1, 101)))
    assert precision_at([1, 0], [2.0, 1.0], k=10).item() == 0.1


class TestQueries:
    def test_are_kept_apart_in_any_order_of_documents(self):
        y, scores = RNG.integers(0, 2, 60), RNG.normal(size=60)
        qid = np.repeat(["b", "a", "c"], 20)
        y[::20] = 1 - y[1::20]
        expected = average_precision(y, scores, qid)
        assert expected.index.tolist() == ["b", "a", "c"]
        one_by_one = [average_precision(y[qid == q], scores[qid == q]).item() for q in "bac"]
        assert expected.tolist() == one_by_one
        mixed = RNG.permutation(60)
        found = average_precision(y[mixed], scores[mixed], qid[mixed])
        assert found[expected.index].tolist() == pytest.approx(one_by_one, rel=1e-14)
        assert mean_average_precision(y, scores, qid) == pytest.approx(np.mean(one_by_one))

    @pytest.mark.parametrize(
        "names", [[1, "a", (2, "b")], [1.5, -2.0, 3.0], [True, "x", frozenset([1])]]
    )
    def test_may_be_called_anything_hashable(self, names):
        qid = [name for name in names for _ in range(2)]
        found = average_precision([1, 0] * 3, [2.0, 1.0] * 3, qid)
        assert found.index.name == "query"
        assert list(found.index) == names
        assert found.tolist() == [1.0, 1.0, 1.0]

    def test_of_one_grade_are_left_out_and_groups_are_numbered(self):
        y, qid = [1, 0, 0, 0, 1, 1], [1, 1, 2, 2, 3, 3]
        assert average_precision(y, np.arange(6.0), qid).to_dict() == {1: 0.5}
        assert ndcg([2, 1, 3, 3], np.arange(4.0), [1, 1, 2, 2]).index.tolist() == [1]
        assert qid_from_group_sizes(np.array([1, 3])).tolist() == [0, 1, 1, 1]


class TestComparison:
    def test_counts_and_tests(self):
        first, second = (pd.Series(RNG.random(40)) for _ in range(2))
        second[:5] = first[:5]
        found = compare_rankings(first, second.sample(frac=1, random_state=0))
        assert found.wins == (first > second).sum()
        assert (found.wins + found.losses, found.draws) == (35, 5)
        assert found.mean_difference == pytest.approx((first - second).mean())
        assert found.p_value == pytest.approx(wilcoxon(first[5:], second[5:]).pvalue)
        values = pd.Series([0.5, 0.25])
        assert compare_rankings(values, values).p_value == 1.0

    @pytest.mark.parametrize("other", [["a", "c"], ["a"]])
    def test_needs_the_same_queries(self, other):
        first = pd.Series([0.5, 0.2], index=["a", "b"])
        with pytest.raises(ValueError, match="on the same queries, got 2 and"):
            compare_rankings(first, pd.Series(0.5, index=other))


class TestBadInput:
    @pytest.mark.parametrize(
        ("y", "scores", "qid", "options", "message"),
        [
            ([1, 0], [1.0], None, {}, "y and scores must have the same length, got 2 and 1"),
            ([1, 0], [1.0, 2.0], [1], {}, "qid and y must have the same length, got 1 and 2"),
            ([1, 0], [1.0, np.nan], None, {}, "scores must be finite, got nan at position 1"),
            ([1, np.nan], [1.0, 2.0], None, {}, "y must be finite, got nan"),
            ([1, 0], [1.0, 2.0], [1, None], {}, "qid must not be missing, got None at position 1"),
            ([1, 0], [1.0, 2.0], [1, np.nan], {}, "qid must not be missing, got nan"),
            ([1, 0], [1.0, 2.0], [[1], [2]], {}, r"one hashable value for each .* got \[1\]"),
            ([1, 1], [1.0, 2.0], None, {}, "different grades, got one class only in each of 1"),
            ([2, 0, 1], [1.0, 2.0, 3.0], None, {}, r"got 3 grades \(0, 1, 2\) and no threshold"),
            (["x", "y"], [1.0, 2.0], None, {}, "y must be real numbers"),
            ([1, 0], [1.0, 2.0], None, {"ties": "best"}, "ties must be one of 'pessimistic'"),
        ],
    )
    def test_says_what_is_wrong(self, y, scores, qid, options, message):
        with pytest.raises(ValueError, match=message):
            average_precision(y, scores, qid, **options)

    def test_of_other_measures(self):
        with pytest.raises(ValueError, match="k must be a positive whole number, got 0"):
            precision_at([1, 0], [1.0, 2.0], k=0)
        with pytest.raises(ValueError, match="k must be a positive whole number, got 0"):
            ndcg([1, 0], [1.0, 2.0], k=0)
        with pytest.raises(ValueError, match="grades of at least 0, got -1"):
            ndcg([1, -1], [1.0, 2.0])
        with pytest.raises(ValueError, match="gain must be one of 'exponential', 'linear'"):
            ndcg([1, 0], [1.0, 2.0], gain="cubic")

    @pytest.mark.parametrize("sizes", [[0, 1], [1.5], [[1]]])
    def test_of_group_sizes(self, sizes):
        with pytest.raises(ValueError, match="group sizes must be positive whole numbers"):
            qid_from_group_sizes(sizes)


def test_grades_of_further_documents_are_like_those_fitted():
    """With a threshold other grades may come, and all documents may have the highest one."""
    fitted = np.array([0.0, 1.0, 3.0])
    for grades in ([3.0, 3.0], [0.0, 2.0], [1.0, 9.0]):
        assert match_grades(grades, 2, fitted, only=False).tolist() == grades
    with pytest.raises(ValueError, match="like those from 0 to 3 that were fitted, got 4"):
        match_grades([4.0, 5.0], 2, fitted, only=False)
    with pytest.raises(ValueError, match=r"only, got 2\.0"):
        match_grades([0.0, 2.0], 2, fitted, only=True)

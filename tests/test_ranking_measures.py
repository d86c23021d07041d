"""Average precision against its definition, over all orders of ties."""

from itertools import pairwise, permutations

import numpy as np
import pandas as pd
import pytest

from bayescal.ranking import QueriesLeftOutWarning, average_precision
from bayescal.ranking.queries import match_grades, relevance_threshold_of

RNG = np.random.default_rng(11)


def ap_of_order(grades):
    found = np.flatnonzero(grades) + 1
    return np.mean(np.arange(1, found.size + 1) / found)


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


@pytest.mark.parametrize("ties", REDUCE)
def test_ties_are_every_order_that_they_leave_open(ties):
    for grades, scores in tied_cases():
        values = [ap_of_order(order > 1) for order in orders_of(grades, scores)]
        one = np.zeros(grades.size)
        found = average_precision(grades, scores, one, ties=ties, relevance_threshold=2)
        assert found.item() == pytest.approx(REDUCE[ties](values), rel=1e-12)


class TestQueries:
    def test_are_kept_apart_in_any_order_of_documents(self):
        y, scores = RNG.integers(0, 2, 60), RNG.normal(size=60)
        qid = np.repeat(["b", "a", "c"], 20)
        y[::20] = 1 - y[1::20]
        expected = average_precision(y, scores, qid)
        assert expected.index.tolist() == ["b", "a", "c"]
        one_by_one = [
            average_precision(y[qid == q], scores[qid == q], qid[qid == q]).item() for q in "bac"
        ]
        assert expected.tolist() == one_by_one
        mixed = RNG.permutation(60)
        found = average_precision(y[mixed], scores[mixed], qid[mixed])
        assert found[expected.index].tolist() == pytest.approx(one_by_one, rel=1e-14)

    @pytest.mark.parametrize(
        "names", [[1, "a", (2, "b")], [1.5, -2.0, 3.0], [True, "x", frozenset([1])]]
    )
    def test_may_be_called_anything_hashable(self, names):
        qid = [name for name in names for _ in range(2)]
        found = average_precision([1, 0] * 3, [2.0, 1.0] * 3, qid)
        assert found.index.name == "query"
        assert list(found.index) == names
        assert found.tolist() == [1.0, 1.0, 1.0]

    def test_of_one_grade_are_left_out_and_named(self):
        """One perfect and one failed query had a mean of 1, in silence."""
        y, scores = [1, 0, 0, 0, 1, 1], [1.0, 0.0, 0.0, 1.0, 0.0, 1.0]
        qid = ["good", "good", "failed", "failed", "all", "all"]
        with pytest.warns(
            QueriesLeftOutWarning, match="^2 of 3 .* over the other 1: .* 'failed', 'all'. Set n_r"
        ) as told:
            assert average_precision(y, scores, qid).to_dict() == {"good": 1.0}
        assert told[0].filename == __file__

    def test_count_what_was_not_retrieved(self):
        y, scores = [1, 0, 0, 0, 1, 1], [1.0, 0.0, 0.0, 1.0, 0.0, 1.0]
        qid = ["good", "good", "failed", "failed", "all", "all"]
        n_relevant = {"good": 1, "failed": 2, "all": 5, "not retrieved": 3, "none": 0}
        found = average_precision(y, scores, qid, n_relevant=pd.Series(n_relevant))
        expected = {"good": 1.0, "failed": 0.0, "all": 0.4, "not retrieved": 0.0, "none": 0.0}
        assert found.to_dict() == expected
        assert average_precision(y, scores, qid, n_relevant=n_relevant).to_dict() == expected

    @pytest.mark.parametrize(
        ("n_relevant", "message"),
        [
            (2, "n_relevant must map each query to its number .* got int"),
            ({"a": 1}, "at least 2 for the query 'a', .* got 1.0"),
            ({"b": 2}, "at least 2 for the query 'a', .* got none"),
            ({"a": np.nan}, "at least 2 for the query 'a', .* got nan"),
        ],
    )
    def test_have_enough_relevant_documents(self, n_relevant, message):
        with pytest.raises(ValueError, match=message):
            average_precision([1, 1], [1.0, 0.0], ["a", "a"], n_relevant=n_relevant)


def test_grades_of_0_and_below_are_not_relevant():
    for grades, expected in (([-2, 0, 1], 1.0), ([-1, 0], 1.0), ([0, 0], 1.0), ([-3, 7], 7.0)):
        assert relevance_threshold_of(np.array(grades, dtype=float), None) == expected
    found = average_precision([-2, 1, 0], [3.0, 2.0, 1.0], [1, 1, 1])
    assert found.item() == 0.5
    assert average_precision([-2, 0], [3.0, 2.0], [1, 1], n_relevant={1: 1}).item() == 0.0


class TestBadInput:
    @pytest.mark.parametrize(
        ("y", "scores", "qid", "options", "message"),
        [
            ([1, 0], [1.0, 2.0], None, {}, r"qid must hold .* got None: .* as \[1\] \* 2"),
            ([1, 0], [1.0], None, {}, "y and scores must have the same length, got 2 and 1"),
            ([1, 0], [1.0, 2.0], [1], {}, "qid and y must have the same length, got 1 and 2"),
            ([1, 0], [1.0, np.nan], None, {}, "scores must be finite, got nan at position 1"),
            ([1, np.nan], [1.0, 2.0], None, {}, "y must be finite, got nan"),
            ([1, 0], [1.0, 2.0], [1, None], {}, "qid must not be missing, got None at position 1"),
            ([1, 0], [1.0, 2.0], [1, np.nan], {}, "qid must not be missing, got nan"),
            ([1, 0], [1.0, 2.0], [[1], [2]], {}, r"one hashable value for each .* got \[1\]"),
            ([1, 1], [1.0, 2.0], [1, 1], {}, "different grades, got one class only in each of 1"),
            ([2, 0, 1], [1.0, 2.0, 3.0], None, {}, r"got 3 grades \(0, 1, 2\) and no threshold"),
            (["x", "y"], [1.0, 2.0], None, {}, "y must be real numbers"),
            ([1, 0], [1.0, 2.0], None, {"ties": "best"}, "ties must be one of 'pessimistic'"),
        ],
    )
    def test_says_what_is_wrong(self, y, scores, qid, options, message):
        with pytest.raises(ValueError, match=message):
            average_precision(y, scores, qid, **options)


def test_grades_of_further_documents_are_like_those_fitted():
    """With a threshold other grades may come, and all documents may have the highest one."""
    fitted = np.array([0.0, 1.0, 3.0])
    for grades in ([3.0, 3.0], [0.0, 2.0], [1.0, 9.0]):
        assert match_grades(grades, 2, fitted, only=False).tolist() == grades
    with pytest.raises(ValueError, match="like those from 0 to 3 that were fitted, got 4"):
        match_grades([4.0, 5.0], 2, fitted, only=False)
    with pytest.raises(ValueError, match=r"only, got 2\.0"):
        match_grades([0.0, 2.0], 2, fitted, only=True)

"""Binned functions, scores within queries, and files with queries."""

import numpy as np
import pytest
from scipy.stats import percentileofscore
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

from bayescal.ranking import SVMMAPRanker
from studies.papers.svm_map.features import (
    BinnedFunctions,
    min_max_within_queries,
    percentiles_within_queries,
    read_queries,
)
from tests.ranking_data import linear_queries

pytestmark = pytest.mark.one_era

RNG = np.random.default_rng(8)
SCORES = RNG.normal(size=(400, 3)) * [1.0, 100.0, 0.01] + [0.0, 5.0, -3.0]


class TestBinnedFunctions:
    @parametrize_with_checks([BinnedFunctions(), BinnedFunctions([0.0, 1.0])])
    def test_every_check_of_scikit_learn(self, estimator, check):
        check(estimator)

    @pytest.mark.parametrize("thresholds", ["quantiles", "even", [0.0, 0.5, -0.5]])
    def test_features_are_what_they_say(self, thresholds):
        binned = BinnedFunctions(thresholds, n_thresholds=7).fit(SCORES)
        new = np.vstack([SCORES[:20], np.full((1, 3), np.nan)])
        found = binned.transform(new)
        expected = [[row[f] >= k for f in range(3) for k in binned.thresholds_[f]] for row in new]
        assert found.tolist() == expected
        assert not found[-1].any()
        names = binned.get_feature_names_out()
        assert names.size == found.shape[1]
        assert names[0] == f"x0>={binned.thresholds_[0][0]:g}"

    def test_thresholds(self):
        quantiles = BinnedFunctions(n_thresholds=3).fit(SCORES).thresholds_
        assert quantiles[1] == pytest.approx(np.quantile(SCORES[:, 1], [0.25, 0.5, 0.75]))
        even = BinnedFunctions("even", n_thresholds=3).fit([[0.0], [0.1], [8.0]]).thresholds_
        assert even[0].tolist() == [2.0, 4.0, 6.0]
        tied = BinnedFunctions(n_thresholds=50).fit(np.repeat([[0.0], [1.0]], 50, axis=0))
        assert np.unique(tied.thresholds_[0]).size == tied.thresholds_[0].size < 50
        missing = np.column_stack([SCORES[:, 0], np.full(400, np.nan)])
        binned = BinnedFunctions().fit(missing)
        assert binned.transform(missing).shape == (400, 51)
        assert not binned.transform(missing)[:, -1].any()

    def test_of_a_ranker_in_a_pipeline(self):
        x, y, qid = linear_queries()
        pipeline = make_pipeline(BinnedFunctions(n_thresholds=10), SVMMAPRanker(10.0))
        pipeline.fit(x, y, svmmapranker__qid=qid)
        assert pipeline[1].score(pipeline[0].transform(x), y, qid=qid) > 0.75

    @pytest.mark.parametrize(
        ("thresholds", "message"),
        [
            ("wide", "thresholds must be one of 'quantiles', 'even', got 'wide'"),
            ([], r"thresholds must be finite numbers, at least one, got \[\]"),
            ([np.inf], "thresholds must be finite numbers"),
        ],
    )
    def test_bad_thresholds(self, thresholds, message):
        with pytest.raises(ValueError, match=message):
            BinnedFunctions(thresholds).fit(SCORES)


class TestWithinQueries:
    qid = np.tile(["a", "b"], 200)

    def test_percentiles_are_scipys(self):
        rounded = SCORES.round(1)
        found = percentiles_within_queries(rounded, self.qid)
        for query in "ab":
            mine = rounded[self.qid == query]
            expected = [percentileofscore(each, each, "mean") / 100 for each in mine.T]
            assert found[self.qid == query] == pytest.approx(np.transpose(expected), abs=1e-12)

    def test_min_max(self):
        found = min_max_within_queries(SCORES, self.qid)
        for query in "ab":
            mine = found[self.qid == query]
            assert (mine.min(axis=0).tolist(), mine.max(axis=0).tolist()) == ([0.0] * 3, [1.0] * 3)
            order = np.argsort(SCORES[self.qid == query], axis=0)
            assert (np.diff(np.take_along_axis(mine, order, axis=0), axis=0) >= 0).all()

    @pytest.mark.parametrize("function", [percentiles_within_queries, min_max_within_queries])
    def test_scale_and_offset_of_a_query_do_not_matter(self, function):
        moved = SCORES * 3.0 + np.where(self.qid == "a", 100.0, -7.0)[:, None]
        assert function(moved, self.qid) == pytest.approx(function(SCORES, self.qid), abs=1e-9)

    @pytest.mark.parametrize("function", [percentiles_within_queries, min_max_within_queries])
    def test_missing_scores_stay_missing_and_do_not_count(self, function):
        holes = SCORES[:10].copy()
        holes[3:, 0] = np.nan
        found = function(holes, np.zeros(10))
        assert np.isnan(found[3:, 0]).all()
        assert found[:3, 0].tolist() == function(holes[:3, :1], np.zeros(3))[:, 0].tolist()
        assert np.isnan(function(np.full((2, 1), np.nan), [1, 2])).all()

    def test_ties_and_one_column(self):
        for n in (1, 4):
            alike = percentiles_within_queries(np.ones((n, 1)), np.zeros(n))
            assert alike[:, 0].tolist() == [0.5] * n
        assert min_max_within_queries(np.ones((4, 1)), np.zeros(4))[:, 0].tolist() == [0.0] * 4
        with pytest.raises(ValueError, match=r"X must have shape \(documents, functions\)"):
            min_max_within_queries([1.0, 2.0], [1, 1])


def test_documents_without_a_query_are_refused(tmp_path):
    path = tmp_path / "rank.train"
    path.write_text("2 1:0.5\n0 2:0.25\n1 1:1\n")
    path.with_suffix(".query").write_text("1\n3\n")
    with pytest.raises(ValueError, match="same length, got 0 and 3"):
        read_queries(path)
    with pytest.raises(ValueError, match="same length, got 4 and 3"):
        read_queries(path, group_sizes=path.with_suffix(".query"))

"""Fusion of runs, and what average precision of new queries can be expected from."""

import numpy as np
import pytest

from studies import expected_precision, fusion


def test_runs_and_rank_fusion():
    """Two systems return two of six documents each; the third document is in both runs."""
    features = np.array([[9.0, 5.0, 8.0, 1.0, 2.0, 3.0], [1.0, 2.0, 6.0, 3.0, 7.0, 4.0]]).T
    runs = fusion.runs_of(features, np.array([1, 0, 1, 0, 0, 0]), np.zeros(6, dtype=int))
    assert runs.relevant.tolist() == [1, 1, 0]
    np.testing.assert_array_equal(runs.rank, [[1.0, np.nan], [2.0, 2.0], [np.nan, 1.0]])
    np.testing.assert_array_equal(runs.scores, [[1.0, np.nan], [0.0, 0.0], [np.nan, 1.0]])
    fused = fusion.reciprocal_rank_fusion(runs)
    np.testing.assert_allclose(fused, [1.0 / 61.0, 2.0 / 62.0, 1.0 / 61.0])
    assert fusion.comb_mnz(runs).tolist() == [1.0, 0.0, 1.0]


def test_combinations_beat_rank_fusion_where_systems_are_unequal(monkeypatch):
    bayes = 'CombinedClassifier, "bayes"'  # it takes long
    monkeypatch.setattr(
        fusion, "METHODS", {name: own for name, own in fusion.METHODS.items() if name != bayes}
    )
    table = fusion.measure(fusion.constructed(queries=24, documents=60), 1)
    mean = table.groupby("method")["MAP"].mean()
    for name in ('CombinedClassifier, "logistic"', "PooledCombiner", "OnlineCombiner"):
        assert mean[name] > mean[fusion.REFERENCE]
    assert list(fusion.summary(table).index) == list(fusion.METHODS)


def test_own_curve_expects_the_average_precision_that_comes():
    """Over 300 queries the mean difference is within four standard errors (1 in 16,000)."""
    rng = np.random.default_rng(0)
    queries = [expected_precision.Query.draw(rng) for _ in range(300)]
    apart = []
    for query in queries:
        if query.relevant.any():
            own = np.tile(query.curve(query.scores), (100, 1))
            actual = expected_precision.average_precision_of(query.relevant[None])[0]
            apart.append(expected_precision.expected(own, rng) - actual)
    assert np.mean(apart) == pytest.approx(0.0, abs=4.0 * np.std(apart) / np.sqrt(len(apart)))

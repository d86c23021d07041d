"""Bins of documents: histograms, empirical log-odds, reliability; and numbers in few bytes."""

import numpy as np
import pytest
from scipy import special, stats

from bayescal.fitting.scores import BinaryScores
from bayescal.report.held_out import empirical_log_odds, histogram, reliability
from bayescal.report.rendering import numbers, packed, unpacked
from bayescal.report.topic import split_between
from tests.report_data import make_problem


def labelled(n, seed=0):
    scores, labels = make_problem(n, seed)
    return BinaryScores(scores, labels == 1)


def test_histograms_count_the_documents_inside():
    documents = labelled(400)
    found = histogram(documents, -2.0, 2.0)
    for klass, counts in zip((False, True), found["counts"], strict=True):
        score = documents.score[documents.positive == klass]
        assert sum(counts) == ((score >= -2.0) & (score <= 2.0)).sum()
    assert len(found["counts"][0]) > len(found["counts"][1])


def test_empirical_log_odds_are_those_of_documents_in_bins():
    documents = labelled(400)
    found = empirical_log_odds(documents, np.zeros_like, 0.9)
    plus, minus = np.array(found["positives"]), np.array(found["negatives"])
    assert plus.sum() == 100
    assert minus.sum() == 300
    assert plus.min() > 4
    assert (np.diff(found["score"]) > 0).all()
    for name, share in (("lower", 0.05), ("log_odds", 0.5), ("upper", 0.95)):
        expected = special.logit(stats.beta.ppf(share, plus + 0.5, minus + 0.5))
        open_end = {"upper": minus == 0.0}.get(name, np.zeros(plus.size, dtype=bool))
        given = np.array(found[name], dtype=float)
        assert (np.isnan(given) == open_end).all()
        np.testing.assert_allclose(given[~open_end], expected[~open_end], rtol=1e-3)


def test_weights_are_documents():
    scores, labels = make_problem(60, 0)
    weight = np.where(np.arange(60) < 20, 3.0, 1.0)
    repeated = np.repeat(np.arange(60), weight.astype(int))
    by_weight = BinaryScores(scores, labels == 1, weight)
    by_rows = BinaryScores(scores[repeated], labels[repeated] == 1)
    binned = [empirical_log_odds(each, np.sin, 0.9) for each in (by_weight, by_rows)]
    assert binned[0] == binned[1]
    nodes = np.linspace(-4.0, 4.0, 9)
    np.testing.assert_allclose(split_between(by_weight, nodes), split_between(by_rows, nodes))


def test_equal_scores_are_in_one_bin():
    documents = BinaryScores(np.repeat([0.0, 1.0], 100), np.tile([True, False], 100))
    assert empirical_log_odds(documents, np.sin, 0.9)["score"] == [0, 1]


def test_documents_at_nodes_keep_the_means_of_straight_lines():
    documents = labelled(100)
    nodes = np.sort(np.random.default_rng(0).uniform(-5.0, 5.0, 12))
    nodes[[0, -1]] = -6.0, 6.0
    share = split_between(documents, nodes)
    assert share.sum() == pytest.approx(1.0)
    line = np.random.default_rng(1).normal(size=nodes.size)
    expected = np.interp(documents.score, nodes, line).mean()
    assert share @ line == pytest.approx(expected)


def forecasts(n, seed):
    rng = np.random.default_rng(seed)
    log_odds = rng.normal(-2.0, 2.0, n)
    return log_odds, rng.random(n) < special.expit(log_odds)


def outside(log_odds, positive):
    """Return the number of bins outside their band, and of all bins."""
    bins = reliability(log_odds, positive, 0.9)["bins"]
    low, high, share = (np.array(bins[name]) for name in ("lower", "upper", "observed"))
    return int(((share < low) | (share > high)).sum()), share.size


def test_right_forecasts_lie_in_the_band_and_wrong_ones_do_not():
    right = np.sum([outside(*forecasts(2000, seed)) for seed in range(50)], axis=0)
    # The band is too wide rather than too narrow: at most 10 % outside, and three standard errors.
    assert right[0] / right[1] <= 0.1 + 3 * np.sqrt(0.09 / right[1])
    assert right[1] == 600
    wrong = [outside(log_odds + 0.7, positive) for log_odds, positive in (forecasts(2000, 1),)]
    assert wrong[0][0] > 6


def test_reliability_counts_everything_once():
    log_odds, positive = forecasts(500, 0)
    found = reliability(log_odds, positive, 0.9)
    assert sum(found["bins"]["n"]) == found["n"] == 500
    assert sum(found["bins"]["positives"]) == found["positives"] == positive.sum()
    p = special.expit(log_odds)
    loss = -np.log2(np.where(positive, p, 1 - p)).mean()
    assert found["log_loss"] == pytest.approx(loss, rel=1e-3)
    assert found["brier"] == pytest.approx(((positive - p) ** 2).mean(), rel=1e-3)
    assert found["expected"] == pytest.approx(p.sum(), rel=1e-3)


@pytest.mark.parametrize("by_column", [True, False])
def test_packed_numbers_come_back_within_half_a_step(by_column):
    matrix = np.random.default_rng(0).normal(size=(40, 7)) * np.logspace(-3, 3, 7)
    found = unpacked(packed(matrix, by_column=by_column))
    width = np.ptp(matrix, axis=0) if by_column else np.ptp(matrix)
    # Half a step, and what five digits of the ends lose.
    assert (np.abs(found - matrix) <= width * (0.5 / 255 + 2e-4) + 1e-12).all()


def test_packed_constants_and_short_numbers():
    assert unpacked(packed(np.full((3, 2), 2.5))).tolist() == [[2.5, 2.5]] * 3
    found = numbers([[1.0, 123456.7], [float("inf"), -0.000123456]])
    assert found == [[1, 123500], [None, -0.0001235]]

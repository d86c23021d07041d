"""Curves that are averages over documents: held to sums over groups of them."""

import numpy as np
import pytest
from scipy import special

from bayescal.fitting.curves.part_draws import _kernel, average, spread_over_scores

pytestmark = pytest.mark.one_era

RNG = np.random.default_rng


def test_a_draw_that_adds_a_function_of_the_score_adds_it_to_the_curve():
    score = np.sort(RNG(0).normal(0.0, 2.0, 3000))
    added = np.stack([0.3 * np.sin(score), 0.2 * score])
    at = np.linspace(-3.0, 3.0, 31)
    found = average(score, score + added, 0.3).log_odds(at)
    expected = at + np.stack([0.3 * np.sin(at), 0.2 * at])
    np.testing.assert_allclose(found, expected, atol=0.05)


def test_probabilities_are_averaged_and_not_log_odds():
    """Half of the documents of each score have two more, half two less."""
    score = np.repeat(np.linspace(-4.0, 4.0, 2000), 2)
    side = np.tile([2.0, -2.0], 2000)
    at = np.array([-2.0, 0.0, 1.0])
    (found,) = average(score, (score + side)[None], 0.5).log_odds(at)
    shares = 0.5 * special.expit(at + 2.0) + 0.5 * special.expit(at - 2.0)
    np.testing.assert_allclose(special.expit(found), shares, atol=0.01)
    assert abs(found[0] - -2.0) > 0.3  # where a mean of log-odds would be


def test_widths_of_tied_scores_are_in_units_of_the_scores():
    score, knots, counts = np.repeat([0.0, 1.0, 3.0], 60), np.array([0.0, 1.0, 3.0]), np.ones(180)
    expected = _kernel(score, knots, counts)
    for unit in (1e-6, 1e6):
        np.testing.assert_allclose(_kernel(unit * score, unit * knots, counts), expected)


def test_weights_count_documents():
    rng = RNG(1)
    score = rng.normal(size=200)
    draws = score + rng.normal(size=(5, 200))
    weight = rng.integers(1, 4, 200).astype(float)
    rows = np.repeat(np.arange(200), weight.astype(int))
    # Of equal knots and widths: those are of documents, however often they count.
    one = average(score, draws, 0.5, weight)
    same = average(score, draws, 0.5, np.ones(200))
    assert np.abs(one.deviation - same.deviation).max() > 0.01
    i = np.flatnonzero(np.isclose(one.knots, one.knots[20]))[0]
    near = np.partition(np.abs(score - one.knots[i]), 13)[13]
    kernel = np.exp(-0.5 * ((score[rows] - one.knots[i]) / near) ** 2)
    mean = special.expit(draws[:, rows]) @ kernel / kernel.sum()
    own = special.expit(score[rows]) @ kernel / kernel.sum()
    np.testing.assert_allclose(
        one.deviation[:, i], special.logit(mean) - special.logit(own), atol=1e-9
    )


def test_the_point_is_the_score_and_another_prior_moves_all():
    score = RNG(2).normal(size=100)
    curves = average(score, score + RNG(3).normal(size=(20, 1)), 0.2)
    at = np.array([-1.0, 0.0, 50.0])
    np.testing.assert_allclose(curves.predictive(at), at)
    moved = curves.with_prior(np.full(20, 0.5))
    np.testing.assert_allclose(moved.log_odds(at) - curves.log_odds(at), np.log(4.0))
    np.testing.assert_allclose(moved.predictive(at) - at, np.log(4.0))
    again = moved.with_prior(np.full(20, 0.2))
    np.testing.assert_allclose(again.log_odds(at), curves.log_odds(at))
    some = curves.take(np.array([3, 1]))
    np.testing.assert_array_equal(some.log_odds(at), curves.log_odds(at)[[3, 1]])
    assert curves.densities is None


def test_scores_that_are_all_the_same_have_one_deviation():
    curves = average(np.zeros(9), np.full((2, 9), [[1.0], [-1.0]]), 0.5)
    np.testing.assert_allclose(curves.log_odds(np.array([-5.0, 0.0])), [[-4.0, 1.0], [-6.0, -1.0]])


def test_far_out_nothing_overflows():
    score = np.linspace(-900.0, 900.0, 60)
    found = average(score, score + np.array([[1.0], [-1.0]]), 0.5).log_odds(score)
    assert np.isfinite(found).all()


def test_documents_are_chosen_by_their_score_alone():
    rng = RNG(4)
    score = rng.standard_cauchy(50_000)
    chosen = spread_over_scores(score, 400)
    assert chosen.size <= 400
    assert np.unique(chosen).size == chosen.size
    # Half stand evenly: the far ends are there, which even ranks alone would leave out.
    assert {score.argmin(), score.argmax()} <= set(chosen.tolist())
    middle = np.abs(score[chosen]) < 1.0
    assert middle.mean() > 0.2
    assert spread_over_scores(score[:10], 400).tolist() == list(range(10))


@pytest.mark.parametrize("n", [2, 3, 12])
def test_few_documents_will_do(n):
    score = np.arange(n, dtype=float)
    curves = average(score, score + np.array([[0.5], [-0.5]]), 0.5)
    lower, upper = np.sort(curves.log_odds(np.array([0.5])), axis=0)[:, 0]
    assert lower < 0.5 < upper

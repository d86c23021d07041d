"""Bayes' rule in log-odds, and the losses, against plain arithmetic."""

import numpy as np
import pytest
from scipy import stats as st
from sklearn.metrics import brier_score_loss, log_loss

from bayescal.metrics import losses
from bayescal.support.labels import encode_labels
from bayescal.support.numerics import (
    class_prior,
    log_odds,
    log_probabilities,
    probabilities,
    probability,
)

RNG = np.random.default_rng(4)
LOG_ODDS = RNG.normal(0, 3, 200)
POSITIVE = RNG.random(200) < 0.4


def test_log_odds_are_those_of_the_joint_probabilities():
    s = np.linspace(-2, 2, 9)
    positive, negative = st.norm(1, 1).pdf(s), st.norm(-1, 2).pdf(s)
    expected = 0.3 * positive / (0.3 * positive + 0.7 * negative)
    found = probability(log_odds(0.3, np.log(positive), np.log(negative)))
    assert found == pytest.approx(expected, rel=1e-12)


def test_log_odds_survive_where_probabilities_do_not():
    assert log_odds(0.5, -1e5, -2e5) == 1e5
    assert probability(-800.0) == 0.0  # what is lost by asking for a probability


def test_both_classes_are_reported_where_one_is_certain():
    far = np.array([-700.0, -40.0, 0.0, 40.0, 700.0, np.inf])
    given, found = far.copy(), probabilities(far)
    tail = np.exp([-700.0, -40.0])  # 1 + exp(-40) is 1
    assert found[:, 1] == pytest.approx([*tail, 0.5, 1.0, 1.0, 1.0], rel=1e-15)
    assert found[:, 0] == pytest.approx([1.0, 1.0, 0.5, *tail[::-1], 0.0], rel=1e-15)
    assert log_probabilities(far)[:, 0] == pytest.approx(
        [-tail[0], -tail[1], -np.log(2), -40.0, -700.0, -np.inf], rel=1e-15
    )
    assert np.array_equal(far, given)


@pytest.mark.parametrize(("positive", "total"), [(0, 0), (3, 8), (7, 7)])
def test_class_prior_is_the_mean_of_a_beta_posterior(positive, total):
    expected = st.beta(1 + positive, 1 + total - positive).mean()
    assert class_prior(positive, total) == pytest.approx(expected)


def test_losses_are_those_of_scikit_learn():
    found = losses(LOG_ODDS, POSITIVE)
    p = probability(LOG_ODDS)
    assert found.n == 200
    assert found.log_loss == pytest.approx(log_loss(POSITIVE, p, normalize=False) / np.log(2))
    assert found.squared_error == pytest.approx(200 * brier_score_loss(POSITIVE, p))
    assert found.errors == np.sum((p > 0.5) != POSITIVE)


def test_a_loss_beyond_rounding_is_finite_and_right():
    found = losses([1000.0, -1000.0], [False, True])
    assert found.log_loss == pytest.approx(2000 / np.log(2))
    assert found.squared_error == 2.0
    assert found.errors == 2


@pytest.mark.parametrize(
    ("values", "truth", "message"),
    [
        ([0.0, np.inf], [True, False], "log_odds must be finite"),
        ([0.0], [True, False], "same length, got 1 and 2"),
    ],
)
def test_losses_refuse(values, truth, message):
    with pytest.raises(ValueError, match=message):
        losses(values, truth)


def test_labels_keep_their_type_and_order():
    classes, positive = encode_labels(np.array([5, 2, 5]))
    assert classes.tolist() == [2, 5]
    assert positive.tolist() == [True, False, True]


def test_many_values_are_called_continuous():
    with pytest.raises(ValueError, match="continuous values"):
        encode_labels(np.linspace(0, 1, 30))

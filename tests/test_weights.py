"""A weight is a number of repetitions, by the default too, up to the draws' Monte Carlo error."""

import numpy as np
import pytest

from bayescal import ScoreCalibrator
from bayescal.fitting.engines.monotone.density import Prior
from bayescal.fitting.engines.monotone.engine import leave_one_out
from bayescal.fitting.engines.monotone.posterior import draw_monotone

GRID = np.linspace(-3.0, 5.0, 41)
# Six standard deviations of the difference between two fits with other draws.
TOLERANCE = 0.03


def data(n, seed):
    rng = np.random.default_rng(seed)
    y = (np.arange(n) % 3 == 0).astype(int)
    weight = rng.integers(0, 4, n)
    weight[:6] = 2
    return rng.standard_t(4, n) + 2.0 * y, y, weight


def probabilities(*documents, seed):
    return ScoreCalibrator(random_state=seed).fit(*documents).predict_proba(GRID)[:, 1]


@pytest.mark.parametrize("n", [30, 120])
def test_by_default_a_weight_is_a_number_of_repetitions(n):
    scores, y, weight = data(n, seed=n)
    repeat = np.repeat(np.arange(n), weight)
    weighted = probabilities(scores, y, weight, seed=0)
    assert weighted == pytest.approx(
        probabilities(scores[repeat], y[repeat], seed=1), abs=TOLERANCE
    )
    # Negative: the weights matter by more than that.
    assert np.abs(weighted - probabilities(scores, y, seed=2)).max() > 2 * TOLERANCE


def test_documents_of_no_weight_are_none_where_others_are_left_out():
    rng = np.random.default_rng(0)
    positive = rng.random(900) < 0.4
    x, weight = rng.normal(1.5 * positive), 2.0 * (rng.random(900) < 0.4)
    posterior = draw_monotone(x, positive, weight, Prior(), 1000, rng, n_segments=9)
    repeat = np.repeat(np.arange(900), weight.astype(int))
    weighted, repeated = (
        leave_one_out(posterior, *documents, Prior(), np.random.default_rng(1)).log_probability
        for documents in ((x, positive, weight), (x[repeat], positive[repeat], None))
    )
    np.testing.assert_allclose(weighted[repeat], repeated, rtol=1e-12)


def test_documents_of_no_weight_are_not_among_the_scores_fitted():
    scores, y, weight = data(30, seed=0)
    fitted = ScoreCalibrator(parts="monotone", draws=50, random_state=0)
    alone = fitted.fit(scores, y, weight).posterior_["posterior"]["score"].values
    beside = fitted.fit(np.r_[scores, 99.0], np.r_[y, 1], np.r_[weight, 0])
    assert beside.posterior_["posterior"]["score"].values == pytest.approx(alone)
    assert beside._fitted.calibration.score_range == (
        scores[weight > 0].min(),
        scores[weight > 0].max(),
    )

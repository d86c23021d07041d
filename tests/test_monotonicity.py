"""When log-odds never fall: the closed form against slopes counted on a grid."""

import numpy as np
import pytest

from bayescal import ScoreCalibrator
from bayescal.families import FAMILIES
from bayescal.families.draws import is_monotone

TWO_SIDED = {1: FAMILIES["asymmetric_laplace"], 2: FAMILIES["asymmetric_gaussian"]}


def random_sides(draws, rng):
    """Powers, modes and sides of many draws, a tenth of them with equal modes or sides."""
    power = rng.integers(1, 3, draws)
    theta = np.round(rng.normal(0, 2, draws), 1)
    left, right = np.round(rng.gamma(2, 1, (2, draws)) + 0.1, 1)
    return power, theta, left, right


def log_density(sides, k, x):
    power, theta, left, right = (side[k] for side in sides)
    family = TWO_SIDED[int(power)]
    return family.logpdf(x, *family.from_sides(theta, left, right))


def test_closed_form_is_what_a_grid_shows():
    rng = np.random.default_rng(8)
    negative, positive = random_sides(1500, rng), random_sides(1500, rng)
    claimed = is_monotone(negative, positive)
    near = np.linspace(-12, 12, 12_001)
    x = np.concatenate([-np.geomspace(1e4, 13, 50), near, np.geomspace(13, 1e4, 50)])
    seen = np.array(
        [
            np.all(np.diff(log_density(positive, k, x) - log_density(negative, k, x)) >= -1e-9)
            for k in range(1500)
        ]
    )
    assert np.array_equal(claimed, seen)
    # Far out a Gaussian falls below any exponential.
    assert not claimed[negative[0] != positive[0]].any()
    for power in TWO_SIDED:
        assert claimed[(negative[0] == power) & (positive[0] == power)].sum() > 20
    assert 40 < claimed.sum() < 1460


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(10)
    scores = np.concatenate([rng.gumbel(-2, 1, 60), rng.gumbel(1, 1.5, 6)])
    return scores, np.arange(66) >= 60


def test_the_probability_of_monotone_log_odds_is_the_share_of_such_curves(data):
    scores, positive = data
    free = ScoreCalibrator("asymmetric_laplace", random_state=0).fit(scores, positive)
    x = np.linspace(scores.min() - 20, scores.max() + 20, 1501)
    falls = np.diff(free.sample_proba(x, 1000, 0), axis=1).min(axis=1) < -1e-12
    assert 0.05 < falls.mean() < 0.95
    assert 1 - falls.mean() == pytest.approx(free.monotone_probability_, abs=4 * 0.5 / 1000**0.5)

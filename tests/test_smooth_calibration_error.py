"""The smooth calibration error against its definition, written out kernel by kernel."""

import numpy as np
import pytest
from scipy import stats

from bayescal import metrics

RNG = np.random.default_rng(3)


def at_width(sigma, y, p, weight=None):
    """Every reflection of every kernel, on the midpoints of a fine grid of [0, 1]."""
    weight = np.ones(p.size) if weight is None else weight
    residual = weight / weight.sum() * (y - p)
    t = (np.arange(4000) + 0.5) / 4000
    images = np.concatenate([2.0 * k + sign * p for k in range(-2, 3) for sign in (-1, 1)])
    kernel = stats.norm.pdf(t[:, None], images, sigma).reshape(t.size, -1, p.size).sum(axis=1)
    return np.abs(kernel @ residual).mean()


CASES = {
    "right": (RNG.random(60), 1.0),
    "too sure": (RNG.random(60), 0.4),
    "rare": (RNG.beta(0.5, 20.0, 80), 2.0),
    "at the ends": (np.repeat([0.0, 0.02, 0.97, 1.0], 10), 1.0),
    "one value": (np.full(30, 0.2), 0.5),
}


@pytest.mark.parametrize("name", CASES)
def test_it_is_what_the_definition_says(name):
    p, power = CASES[name]
    y = np.random.default_rng(1).random(p.size) < p**power
    weight = np.random.default_rng(2).random(p.size)
    for given in (None, weight):
        found = metrics.smooth_calibration_error(y, p, sample_weight=given)
        # The error falls with the width, so the exact value is at least as near.
        assert at_width(found, y, p, given) == pytest.approx(found, abs=2e-4)


def test_it_is_that_of_relplot():
    # relplot 1.0.3, run by hand: smECE(p, y); its grids of 2,000 and 200 points cost up to 3e-4.
    p = np.round(np.random.default_rng(0).beta(1, 3, 2000), 6)
    y = np.random.default_rng(1).random(2000) < p**1.5
    assert metrics.smooth_calibration_error(y, p) == pytest.approx(0.09855, abs=5e-4)


def test_edges():
    certain = np.array([0.0, 1.0, 1.0])
    assert metrics.smooth_calibration_error([0, 1, 1], certain) == 0.0
    tiny = np.full(100, 1e-7)  # all negative: the error is the residual itself
    assert metrics.smooth_calibration_error(np.zeros(100), tiny) == pytest.approx(1e-7, abs=2e-7)


def test_it_tells_right_probabilities_from_wrong_ones_and_forgives_small_moves():
    p = RNG.random(20_000)
    y = RNG.random(p.size) < p
    right = metrics.smooth_calibration_error(y, p)
    assert right < 0.02
    assert metrics.smooth_calibration_error(y, p**2) > 0.1
    half = np.repeat([0.0, 1.0], 500)
    moved = np.where(half > 0.0, 0.499, 0.501)  # right at 1/2, and far off at these two in bins
    assert metrics.smooth_calibration_error(half, moved) < 0.03
    assert metrics.calibration_error(half, moved, n_bins=2) > 0.4

"""The demo's ten topics: its version of Platt's method and its sample."""

import numpy as np
import pytest
from scipy import special
from sklearn.calibration import _sigmoid_calibration

from bayescal.cli.demo_topics import platt, sample
from bayescal.datasets import load_reuters_scores

pytestmark = pytest.mark.one_era


@pytest.mark.parametrize("seed", range(3))
def test_platt_is_scikit_learns(seed):
    rng = np.random.default_rng(seed)
    positive = np.arange(80) < 9
    scores = 40.0 * rng.normal(2.0 * positive, 1.0) - 300.0
    new = np.linspace(scores.min(), scores.max(), 50)
    slope, intercept = _sigmoid_calibration(scores, positive.astype(int))
    found = special.expit(platt(scores, positive, new))
    assert found == pytest.approx(special.expit(-(slope * new + intercept)), abs=2e-3)


def test_negatives_come_in_proportion():
    calibration = load_reuters_scores("linear_svm", "corn", "calibration")
    few = sample(calibration, np.random.default_rng(0))
    assert few["label"].sum() == 5
    share = calibration["label"].mean()
    assert few["label"].mean() == pytest.approx(share, rel=0.02)
    assert not few.index.has_duplicates

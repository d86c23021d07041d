"""Bands cover the true P(+|s) as often as they say, and bands that are too narrow are found out.

Short versions of studies/coverage.py, which measures the same with more data and other methods.
"""

import numpy as np
import pytest

from bayescal import ScoreCalibrator
from bayescal.families import FAMILIES
from studies.coverage import CASES, LEVELS, SCORES, ours, under_prior, under_truth
from studies.ranks import simulate
from studies.truths import TRUTHS

pytestmark = pytest.mark.slow

LARGEST_Z = 4.0


def z_values(found, case):
    """Deviation from nominal at each level, in standard errors between data sets."""
    each = found[:, :, CASES.index(case)]
    return (each.mean(axis=0) - LEVELS) / (each.std(axis=0, ddof=1) / len(each) ** 0.5)


@pytest.mark.parametrize(
    ("family", "n"), [*((name, 10) for name in sorted(FAMILIES)), ("asymmetric_gaussian", 100)]
)
def test_bands_cover_under_their_own_model(family, n):
    found = under_prior(simulate(family, n + SCORES, count=150, seed=n), seed=1)
    assert np.abs(z_values(found, "predictive")).max() < LARGEST_Z
    # The negative: the same check finds out bands that are 30 % too narrow in log-odds.
    assert z_values(found, "30 % too narrow").min() < -LARGEST_Z


def test_bands_of_the_estimator_cover_a_truth_of_their_family():
    truth = TRUTHS["asymmetric Laplace"]
    methods = {"A.Laplace": ours(parts="asymmetric_laplace", draws=250), "narrow": narrow}
    found = under_truth(truth, 50, 60, seed=(3,), methods=methods)
    coverage = found[found["level"] == 0.9].groupby("method")["coverage"].mean()
    assert coverage["A.Laplace"] > 0.84
    assert coverage["narrow"] < 0.84


def narrow(scores, labels, seed):
    """A 50 % band that calls itself whatever is asked for."""
    fitted = ScoreCalibrator("asymmetric_laplace", random_state=seed, draws=250).fit(scores, labels)
    return lambda new, level: fitted.predict_interval(new, 0.5)

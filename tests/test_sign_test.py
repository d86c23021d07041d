"""The sign test against scipy's binomial test, and the rate at which it rejects what is true."""

import itertools

import numpy as np
import pytest
from scipy.stats import binomtest

from bayescal.metrics.evidence import ALTERNATIVES, sign_test

pytestmark = pytest.mark.one_era

SMALL = list(itertools.product(range(13), repeat=2))
# The paper's corpora have up to 1.3 million decisions: far tails, and an even split of many.
LARGE = [(101_000, 29_000), (16_495, 16_495), (16_400, 16_590), (3, 2_000), (0, 5_000)]


@pytest.mark.parametrize("alternative", ALTERNATIVES)
def test_is_the_binomial_test_of_scipy(alternative):
    for a, b in SMALL[1:] + LARGE:
        expected = binomtest(a, a + b, alternative=alternative).pvalue
        assert sign_test(a, b, alternative=alternative) == pytest.approx(expected, rel=1e-9)


def test_methods_that_never_differ_are_not_distinguished():
    assert {sign_test(0, 0, alternative=each) for each in ALTERNATIVES} == {1.0}


def test_names_of_the_methods_do_not_matter():
    assert all(sign_test(a, b) == sign_test(b, a) for a, b in SMALL)
    assert all(
        sign_test(a, b, alternative="greater") == sign_test(b, a, alternative="less")
        for a, b in SMALL
    )


@pytest.mark.slow
def test_rejects_equal_methods_rarely_and_unequal_ones_often():
    rng = np.random.default_rng(3)
    equal = np.mean([sign_test(k, 400 - k) < 0.01 for k in rng.binomial(400, 0.5, 4000)])
    unequal = np.mean([sign_test(k, 400 - k) < 0.01 for k in rng.binomial(400, 0.6, 4000)])
    assert equal < 0.01 + 3 * (0.01 * 0.99 / 4000) ** 0.5
    assert unequal > 0.9


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((-1, 2), "a_wins must be a count of decisions, 0, 1, 2, ..., got -1"),
        ((1, 2.5), "b_wins must be a count"),
    ],
)
def test_refuses(arguments, message):
    with pytest.raises(ValueError, match=message):
        sign_test(*arguments)
    with pytest.raises(ValueError, match="alternative must be one of"):
        sign_test(1, 2, alternative="both")

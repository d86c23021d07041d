"""Log-odds of a beta variable: against scipy's beta, and where its shares round to 0 or 1."""

import numpy as np
import pymc as pm
import pytest
import scipy.stats as st
from pymc.logprob.utils import ParameterValueError
from scipy import special

from bayescal.distributions import LogitBeta
from tests.uncompiled import value_of

SHAPES = [(2.0, 0.7), (0.3, 0.2), (40.0, 3.0)]


@pytest.mark.parametrize("shapes", SHAPES)
def test_density_is_that_of_the_share_and_its_slope(shapes):
    v = np.linspace(-9.0, 9.0, 7)
    share = special.expit(v)
    expected = st.beta(*shapes).logpdf(share) + np.log(share * (1.0 - share))
    found = value_of(pm.logp(LogitBeta.dist(*shapes), v))
    assert found == pytest.approx(expected, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("shapes", SHAPES)
def test_tails_go_on_where_shares_round(shapes):
    alpha, beta = shapes
    far = np.array([-800.0, -700.0, 700.0, 800.0])
    density = value_of(pm.logp(LogitBeta.dist(*shapes), far))
    assert np.diff(density)[[0, 2]] == pytest.approx([100.0 * alpha, -100.0 * beta])


@pytest.mark.parametrize("shapes", SHAPES)
def test_draws_are_those_of_beta(shapes):
    v = pm.draw(LogitBeta.dist(*shapes), 4000, random_seed=1)
    assert st.kstest(special.expit(v), st.beta(*shapes).cdf).pvalue > 1e-3
    assert st.kstest(special.expit(v), st.beta(*shapes[::-1]).cdf).pvalue < 1e-3


def test_draws_of_tiny_shapes_are_finite():
    v = pm.draw(LogitBeta.dist([1e-5, 1.0], 1e-5), 100, random_seed=1)
    assert v.shape == (100, 2)
    assert np.isfinite(v).all()
    assert np.abs(v[:, 0]).max() > 1e4


def test_shapes_must_be_positive():
    with pytest.raises(ParameterValueError, match="alpha > 0, beta > 0"):
        value_of(pm.logp(LogitBeta.dist(0.0, 1.0), 0.0))

"""The monotone engine draws from the posterior that NUTS found of its programs.

One weighs draws of a Gaussian approximation; the other sampled the programs in models/ by their
gradients, at length (tests/nuts_reference.py).
"""

import numpy as np
import pytest

from bayescal.fitting.engines.monotone.density import Prior
from bayescal.fitting.engines.monotone.posterior import draw_monotone
from tests.nuts_cases import DIRECT, SHAPES, labelled, of_log_odds
from tests.nuts_reference import LEAST_EFFECTIVE, LIMIT, from_independent, stored

DRAWS = 20_000


def apart(name, shape, prior=None):
    """Return the distance of the engine from NUTS in standard errors: (statistic, quantity)."""
    data, standard, at = labelled(shape)
    segments = {"n_segments": 1} if name == "logistic" else {}
    engine = draw_monotone(
        standard, data.positive, None, prior or Prior(), DRAWS, np.random.default_rng(2), **segments
    )
    assert not engine.problem
    drawn = of_log_odds(engine.log_odds(at))
    return from_independent(drawn, stored(f"{name}, {shape}"), DRAWS * engine.efficiency)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", DIRECT)
def test_means_sds_and_quantiles_agree(name, shape):
    assert stored(f"{name}, {shape}").effective > LEAST_EFFECTIVE
    assert np.abs(apart(name, shape)).max() < LIMIT


@pytest.mark.one_era
@pytest.mark.parametrize("wrong", [{"intercept_scale": 2.0}, {"slope_scale": 0.5}])
@pytest.mark.parametrize("name", DIRECT)
def test_another_prior_is_rejected(name, wrong):
    assert np.abs(apart(name, "three positives", Prior(**wrong))).max() > LIMIT

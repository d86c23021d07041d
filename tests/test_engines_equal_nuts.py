"""Posteriors of the exact and the monotone engine are those of NUTS, within Monte Carlo error.

The exact engine integrates the scales out and draws by rejection, the monotone one weighs draws of
a Gaussian; NUTS sampled the programs in models/ by gradients, at length (tests/nuts_reference.py).
"""

import numpy as np
import pytest

from bayescal import Densities, ScoreCalibrator
from bayescal.families import FAMILIES
from bayescal.fitting.engines.monotone.density import Prior
from bayescal.fitting.engines.monotone.posterior import draw_monotone
from tests.nuts_cases import (
    DIRECT,
    POSITIVES,
    SHAPES,
    labelled,
    of_densities,
    of_log_odds,
    two_classes,
)
from tests.nuts_reference import LIMIT, from_independent, stored


def apart(family, n_positive, hyperparameters=None):
    """Return the distance of the engine from NUTS in standard errors: (statistic, quantity)."""
    scores, positive, new = two_classes(n_positive)
    densities = Densities(family, prior_knowledge=hyperparameters)
    calibrator = ScoreCalibrator(densities, draws=10_000, random_state=2)
    drawn = of_densities(calibrator.fit(scores, positive), new)
    reference = stored(f"{family}, {n_positive} positives")
    return from_independent(drawn.reshape(-1, drawn.shape[-1]), reference)


@pytest.mark.parametrize("family", sorted(FAMILIES))
@pytest.mark.parametrize("n_positive", POSITIVES)
def test_means_sds_and_quantiles_agree(family, n_positive):
    assert stored(f"{family}, {n_positive} positives").divergent < 0.005
    assert np.abs(apart(family, n_positive)).max() < LIMIT


@pytest.mark.one_era
@pytest.mark.parametrize(
    "wrong",
    [
        {"theta_scale": 1.5},
        {"share_alpha": 3.0},
        {"width_shape": 3.0},
        {"width_scale": 2.0},
        {"prior_alpha": 1.5},
    ],
)
def test_another_prior_is_rejected(wrong):
    assert np.abs(apart("asymmetric_laplace", 3, wrong)).max() > LIMIT


# The monotone engine draws from the posterior that NUTS found of its programs

DRAWS = 20_000


def apart_of_log_odds(name, shape, prior=None):
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
def test_log_odds_agree(name, shape):
    assert np.abs(apart_of_log_odds(name, shape)).max() < LIMIT


@pytest.mark.one_era
@pytest.mark.parametrize("wrong", [{"intercept_scale": 2.0}, {"slope_scale": 0.5}])
@pytest.mark.parametrize("name", DIRECT)
def test_another_prior_of_log_odds_is_rejected(name, wrong):
    assert np.abs(apart_of_log_odds(name, "three positives", Prior(**wrong))).max() > LIMIT

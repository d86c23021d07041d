"""The exact engine's posterior is NUTS's, within Monte Carlo error: every parameter, every curve.

Two independent ways to the same numbers: one integrates the scales out and draws by rejection, the
other sampled the program in models/ by its gradients, at length (tests/nuts_reference.py).
"""

import numpy as np
import pytest

from bayescal import Densities, ScoreCalibrator
from bayescal.families import FAMILIES
from tests.nuts_cases import POSITIVES, of_densities, two_classes
from tests.nuts_reference import LEAST_EFFECTIVE, LIMIT, from_independent, stored


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
    reference = stored(f"{family}, {n_positive} positives")
    assert reference.effective > LEAST_EFFECTIVE
    assert reference.divergent < 0.005
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

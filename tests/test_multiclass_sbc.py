"""Simulation-based calibration of the engine of several classes, with wrong engines."""

import numpy as np
import pytest
from scipy import special

from bayescal.fitting.engines.multiclass.density import Maps, probabilities
from bayescal.fitting.engines.multiclass.prior import FREEDOM
from studies.envelope import least_uniform
from tests.multiclass_tools import PRIOR, draws_of, log_scores, other_gain, posterior_of

CHAINS, LAST, STEP = 16, 30, 10  # of each chain every tenth draw
DRAWS = CHAINS * LAST // STEP
SETS, FEW_SETS, DOCUMENTS, CLASSES = 20, 12, 30, 3
LEVEL = 0.001  # false-alarm rate of a right engine, over all quantities


def simulated(seed):
    """Return scores, labels, and the quantities that made them."""
    rng = np.random.default_rng([seed, 7])
    log_p = log_scores(DOCUMENTS, CLASSES, seed)
    posterior = posterior_of(log_p, np.zeros(DOCUMENTS, dtype=np.intp))
    globals_ = rng.normal(posterior.mean, posterior.sd)
    a, b = PRIOR.lapse
    scale = posterior.scales * np.sqrt(FREEDOM / rng.chisquare(FREEDOM, posterior.scales.size))
    theta = scale[posterior.block] * rng.normal(size=posterior.block.size)
    lapse = np.clip(rng.beta(a, b), 1e-12, 1.0)
    maps = Maps(globals_[None], special.logit(np.array([lapse])), posterior.spread_out(theta[None]))
    likelihood = posterior.likelihood
    p = probabilities(likelihood.features, maps, likelihood.raw(maps.theta))[0]
    label = np.array([rng.choice(CLASSES, p=each / each.sum()) for each in p.T])
    return log_p, label, quantities(posterior, maps, np.log(scale)[None])[:, 0]


def quantities(posterior, maps, log_scale):
    likelihood = posterior.likelihood
    p = probabilities(likelihood.features, maps, likelihood.raw(maps.theta))
    return np.stack(
        [p[:, 0, 0], p[:, :, 1].max(axis=1), maps.globals_[:, 0], maps.globals_[:, 1],
         log_scale[:, -1], maps.lapse_logit]
    )  # fmt: skip


def ranks(prior, weight=None, sets=SETS):
    out = []
    for seed in range(sets):
        log_p, label, truth = simulated(seed)
        posterior = posterior_of(log_p, label, prior, weight)
        rng = np.random.default_rng([seed, 1])
        points = draws_of(posterior, rng, CHAINS, LAST)[0].points[:, ::STEP]
        points = points.reshape(-1, posterior.size)
        drawn = quantities(posterior, posterior.maps(points), points[:, 4 : posterior.first])
        out.append((drawn < truth[:, None]).sum(axis=1))
    names = ("p", "top p", "log G", "lambda", "log scale of confusions", "lapse")
    return dict(zip(names, np.array(out).T, strict=True))


def adjusted_p(found):
    return min(1.0, len(found) * least_uniform(found, DRAWS)[1])


@pytest.mark.slow
def test_ranks_of_the_engine_are_uniform():
    assert adjusted_p(ranks(PRIOR)) > LEVEL


@pytest.mark.slow
@pytest.mark.parametrize("wrong", ["prior of log G", "documents counted often"])
def test_ranks_of_wrong_engines_are_not(wrong):
    if wrong == "prior of log G":
        found = ranks(other_gain(PRIOR, 3.0), sets=FEW_SETS)
    else:
        found = ranks(PRIOR, weight=np.full(DOCUMENTS, 25.0), sets=FEW_SETS)
    assert adjusted_p(found) < LEVEL

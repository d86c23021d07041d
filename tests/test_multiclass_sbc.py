"""Simulation-based calibration of the engine of several classes, with wrong engines."""

import numpy as np
import pytest
from scipy import special, stats

from bayescal import MulticlassCalibrator
from bayescal.fitting.engines.multiclass.density import FREEDOM, Maps, probabilities
from studies.sbc import adjusted_p
from tests.multiclass_tools import PRIOR, draws_of, log_scores, other_gain, posterior_of

pytestmark = pytest.mark.slow
CHAINS, LAST, STEP = 16, 30, 10  # of each chain every tenth draw
DRAWS = CHAINS * LAST // STEP
SETS, FEW_SETS, DOCUMENTS = 20, 12, 30
FITS = 40
LEVEL = 0.001  # false-alarm rate of a right engine, over all quantities
PLAIN, EXCLUDED, OPTIONS = "3 classes", "5 classes, some excluded", "options of questions"


def scores_of(kind, seed):
    """Return log-probabilities; a fifth of the options but the first two are excluded."""
    log_p = log_scores(DOCUMENTS, 3 if kind == PLAIN else 5, seed)
    if kind != PLAIN:
        log_p[:, 2:][np.random.default_rng([seed, 8]).random((DOCUMENTS, 3)) < 0.2] = -np.inf
        log_p = special.log_softmax(log_p, axis=1)
    return log_p


def simulated(seed, kind):
    """Return scores and labels, with the posterior, map, log scales and probabilities behind."""
    rng = np.random.default_rng([seed, 7])
    log_p = scores_of(kind, seed)
    posterior = posterior_of(
        log_p, np.zeros(DOCUMENTS, dtype=np.intp), exchangeable=kind == OPTIONS
    )
    globals_ = rng.normal(posterior.mean, posterior.sd)
    a, b = PRIOR.lapse
    scale = posterior.scales * np.sqrt(FREEDOM / rng.chisquare(FREEDOM, posterior.scales.size))
    theta = scale[posterior.block] * rng.normal(size=posterior.block.size)
    lapse = np.clip(rng.beta(a, b), 1e-12, 1.0)
    maps = Maps(globals_[None], special.logit(np.array([lapse])), posterior.spread_out(theta[None]))
    likelihood = posterior.likelihood
    p = probabilities(likelihood.features, maps, likelihood.raw(maps.theta))[0]
    label = np.array([rng.choice(each.size, p=each / each.sum()) for each in p.T])
    return log_p, label, posterior, maps, np.log(scale), p.T


def quantities(posterior, maps, log_scale):
    likelihood = posterior.likelihood
    p = probabilities(likelihood.features, maps, likelihood.raw(maps.theta))
    return np.stack(
        [p[:, 0, 0], p[:, :, 1].max(axis=1), *maps.globals_.T[:2], maps.lapse_logit,
         *log_scale.T[-1:]]
    )  # fmt: skip


def ranks(prior, weight=None, sets=SETS, kind=PLAIN):
    out = []
    for seed in range(sets):
        log_p, label, made, maps, log_scale, _ = simulated(seed, kind)
        truth = quantities(made, maps, log_scale[None])[:, 0]
        posterior = posterior_of(log_p, label, prior, weight, exchangeable=kind == OPTIONS)
        rng = np.random.default_rng([seed, 1])
        points = draws_of(posterior, rng, CHAINS, LAST)
        points = points[:, ::STEP].reshape(-1, posterior.size)
        drawn = quantities(posterior, posterior.maps(points), points[:, 4 : posterior.first])
        out.append((drawn < truth[:, None]).sum(axis=1))
    names = ("p", "top p", "log G", "lambda", "lapse", "log scale of confusions")
    return dict(zip(names, np.array(out).T, strict=kind != OPTIONS))


@pytest.mark.parametrize("kind", [PLAIN, EXCLUDED, OPTIONS])
def test_ranks_of_the_engine_are_uniform(kind):
    assert adjusted_p(ranks(PRIOR, kind=kind), DRAWS) > LEVEL


def test_ranks_with_another_prior_of_the_gain_are_not():
    assert adjusted_p(ranks(other_gain(PRIOR, 3.0), sets=FEW_SETS), DRAWS) < LEVEL


def test_ranks_with_documents_counted_often_are_not():
    weight = np.full(DOCUMENTS, 25.0)
    assert adjusted_p(ranks(PRIOR, weight, sets=FEW_SETS, kind=OPTIONS), DRAWS) < LEVEL


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:the posterior draws are not to be trusted yet")
def test_bands_of_the_calibrator_hold_as_often_as_they_say():
    """Each problem gives one random probability of its true map, to look for in the band."""
    held, narrow = [], []
    for seed in range(FITS):
        rng = np.random.default_rng([seed, 9])
        log_p, label, *_, truth = simulated(seed, PLAIN)
        calibrator = MulticlassCalibrator("scores", draws=40, random_state=seed)
        calibrator.fit(log_p, label, classes=range(3))
        i, k = rng.choice(np.argwhere(np.abs(truth - 0.5) < 0.48))
        lower, upper = calibrator.predict_interval(log_p[[i]])[0, k]
        middle, half = 0.5 * (lower + upper), 0.25 * (upper - lower)
        held.append(lower <= truth[i, k] <= upper)
        narrow.append(abs(truth[i, k] - middle) <= half)
    # 99.9 % of binomial numbers at 90 %; bands half as wide hold about six times in ten.
    fewest, most = stats.binom.ppf([0.0005, 0.9995], FITS, 0.9)
    assert fewest <= sum(held) <= most
    assert sum(narrow) < fewest

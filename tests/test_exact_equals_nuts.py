"""The exact engine's posterior is NUTS's, within Monte Carlo error: every parameter, every curve.

Two independent ways to the same numbers: one integrates the scales out and draws by rejection, the
other samples the program in models/ by its gradients. NUTS's errors come from its effective sample
sizes, those of each statistic.
"""

from functools import cache

import numpy as np
import pytest

from bayescal import ScoreCalibrator
from bayescal.families import FAMILIES
from tests.agreement import LEVELS, LIMIT, effective

pytestmark = [
    pytest.mark.slow,
    # A divergence in a thousand draws; too many of them fail below.
    pytest.mark.filterwarnings("ignore:the posterior draws are not:UserWarning"),
    # PyMC's energy of a trajectory that diverges while step sizes are still tuned.
    pytest.mark.filterwarnings("ignore:overflow encountered in dot:RuntimeWarning"),
]
# 12 fits, 10 to 16 quantities each, 7 statistics: 1,100 comparisons.
CHAINS, DRAWS = 4, 1000
BOUNDED = ("left_share", "prior")


@cache
def data(n_positive):
    """Return scores and labels, three or four negatives to a positive, and five new scores."""
    rng = np.random.default_rng(17)
    n_negative = 4 * n_positive if n_positive < 100 else 3 * n_positive
    scores = np.concatenate([rng.gumbel(-2, 1, n_negative), rng.gumbel(1, 1.5, n_positive)])
    new = np.quantile(scores, [0.01, 0.25, 0.5, 0.75, 0.99])
    return scores, np.arange(scores.size) >= n_negative, new


def quantities(calibrator, new):
    """
    Return draws of every parameter of both classes, of the prior and of P(+|s): (chain, draw, k).

    Scales and inverse scales by their logarithms, which have all moments: with three scores a scale
    has no fourth moment, so that its standard deviation has no standard error. Quantiles are those
    of the scale all the same.
    """
    posterior = calibrator.posterior_["posterior"].to_dataset()
    out = []
    for name in sorted(posterior.data_vars):
        values = posterior[name].transpose("chain", "draw", ...).to_numpy()
        scale = name not in {*BOUNDED, "theta", "mu"}
        out.append((np.log(values) if scale else values).reshape(*values.shape[:2], -1))
    curves = calibrator.sample_proba(new)
    return np.concatenate([*out, curves.reshape(*out[0].shape[:2], -1)], axis=-1)


@cache
def nuts(family, n_positive):
    """Return NUTS's draws of the quantities, and how many of its transitions diverged."""
    scores, positive, new = data(n_positive)
    calibrator = ScoreCalibrator(
        family,
        "nuts",
        draws=DRAWS,
        chains=CHAINS,
        sampler_options={"target_accept": 0.95},
        random_state=1,
    ).fit(scores, positive)
    return quantities(calibrator, new), calibrator.diagnostics_.divergences


def exact(family, n_positive, hyperparameters=None):
    scores, positive, new = data(n_positive)
    calibrator = ScoreCalibrator(
        family, draws=10_000, hyperparameters=hyperparameters, random_state=2
    )
    return quantities(calibrator.fit(scores, positive), new)


def deviations(independent, chains):
    """Return how many standard errors apart means, sds and quantiles are: (statistic, quantity)."""
    flat = independent.reshape(-1, independent.shape[-1])
    out = [_of_means(flat, chains)]
    # se(sd) = se(sd^2) / (2 sd), and sd^2 is a mean too; the centre is no matter.
    centre = flat.mean(axis=0)
    out.append(_of_means((flat - centre) ** 2, (chains - centre) ** 2))
    for level in LEVELS:
        # The share of exact draws below NUTS's quantile is binomial, whatever the density there.
        ess = effective(chains, method="quantile", prob=level)
        below = np.mean(flat < np.quantile(chains, level, axis=(0, 1)), axis=0)
        error = np.sqrt(level * (1 - level) * (1 / ess + 1 / flat.shape[0]))
        out.append((below - level) / error)
    return np.array(out)


def _of_means(flat, chains):
    variance = flat.var(axis=0) / flat.shape[0]
    variance += chains.var(axis=(0, 1)) / effective(chains, method="mean")
    return (flat.mean(axis=0) - chains.mean(axis=(0, 1))) / np.sqrt(variance)


@pytest.mark.parametrize("family", sorted(FAMILIES))
@pytest.mark.parametrize("n_positive", [3, 20, 200])
def test_means_sds_and_quantiles_agree(family, n_positive):
    chains, divergences = nuts(family, n_positive)
    found = deviations(exact(family, n_positive), chains)
    assert found.shape == (2 + len(LEVELS), chains.shape[-1])
    assert np.abs(found).max() < LIMIT
    assert divergences < 0.005 * CHAINS * DRAWS
    # Fewer effective draws would see little.
    assert effective(chains, method="bulk").min() > 400


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
    chains, _ = nuts("asymmetric_laplace", 3)
    found = deviations(exact("asymmetric_laplace", 3, wrong), chains)
    assert np.abs(found).max() > LIMIT

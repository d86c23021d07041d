"""The pooled engine's posterior is NUTS's, within Monte Carlo error: populations and topics.

One integrates every topic out and weighs populations; the other samples the program `topics` by its
gradients. The engine's errors come from independent runs, for all draws of a run share their
topics' base draws; NUTS's from its effective sample sizes.
"""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from bayescal import programs
from bayescal.engines.nuts import draw_posterior
from bayescal.engines.pooled.hyperposterior import draw_hyperposterior
from bayescal.engines.pooled.population import NAMES, OF_SHARE, Hyperprior
from bayescal.families import FAMILIES
from tests.agreement import LEVELS, LIMIT, effective

pytestmark = [
    pytest.mark.slow,
    # PyMC's energy of a trajectory that diverges while step sizes are still tuned.
    pytest.mark.filterwarnings("ignore:overflow encountered in:RuntimeWarning"),
]
TOPICS, POSITIVES = 10, (3, 20)
CHAINS, DRAWS = 4, 1000
RUNS, RUN_DRAWS, TOPIC_DRAWS = 12, 1000, 2000


@cache
def data():
    """Return scores, labels and topics: 3 to 20 positives a topic, four negatives to each."""
    rng = np.random.default_rng(5)
    scores, labels, topics = [], [], []
    for topic, positives in enumerate(np.linspace(*POSITIVES, TOPICS).round().astype(int)):
        label = np.repeat([0, 1], [4 * positives, positives])
        centre = rng.normal([-1.0, 1.0], 0.4)[label]
        left, right = rng.gamma(8.0, [[0.1], [0.05]], (2, 2))
        x = centre + np.where(
            rng.random(label.size) < left[label] / (left + right)[label],
            -left[label] * rng.exponential(size=label.size),
            right[label] * rng.exponential(size=label.size),
        )
        scores.append(x)
        labels.append(label)
        topics.append(np.full(label.size, topic))
    return tuple(np.concatenate(each) for each in (scores, labels, topics))


def estimated(family):
    """Return which hyperparameters the family has."""
    return [k for k in range(len(NAMES)) if not (FAMILIES[family].symmetric and k in OF_SHARE)]


@cache
def nuts(family):
    """Return draws of all quantities of negatives, then positives; and how many diverged."""
    model = programs.load("topics").model(*data(), family=family)
    options = {"target_accept": 0.95, "tune": 1500}
    found = draw_posterior(
        model, np.random.default_rng(1), draws=DRAWS, chains=CHAINS, options=options
    )
    posterior = found["posterior"].transpose("chain", "draw", "klass", ...)
    populations = np.stack([posterior[NAMES[k]] for k in estimated(family)], axis=-1)
    theta, left, right = (posterior[name].to_numpy() for name in ("theta", "left", "right"))
    both = np.concatenate([populations, theta, np.log(left), np.log(right)], axis=-1)
    diverging = int(found["sample_stats"]["diverging"].sum())
    return both.reshape(CHAINS, DRAWS, -1), diverging


def engine(family):
    """Return the same of the engine's independent runs."""
    scores, labels, topics = data()
    record, runs = FAMILIES[family], []
    for seed in range(RUNS):
        rng, both = np.random.default_rng(seed), []
        for k in (0, 1):
            own = [(scores[(labels == k) & (topics == t)], None) for t in range(TOPICS)]
            found = draw_hyperposterior(own, record, rng, draws=RUN_DRAWS, topic_draws=TOPIC_DRAWS)
            theta, left, right = found.topics.pick(found.points, rng)
            topic_by_topic = np.concatenate([theta, np.log(left), np.log(right)]).T
            both += [found.points[:, estimated(family)], topic_by_topic]
        runs.append(np.concatenate(both, axis=-1))
    return np.array(runs)


def deviations(runs, chains):
    """Return how many standard errors apart means, sds and quantiles are: (statistic, quantity)."""
    centre = runs.mean(axis=(0, 1))
    out = [_apart(runs, chains), _apart((runs - centre) ** 2, (chains - centre) ** 2)]
    for level in LEVELS:
        below = runs < np.quantile(chains, level, axis=(0, 1))
        error = level * (1 - level) / effective(chains, method="quantile", prob=level)
        out.append((below.mean(axis=(0, 1)) - level) / np.sqrt(error + _between(below)))
    return np.array(out)


def _apart(runs, chains):
    difference = runs.mean(axis=(0, 1)) - chains.mean(axis=(0, 1))
    error = chains.var(axis=(0, 1)) / effective(chains, method="mean")
    return difference / np.sqrt(error + _between(runs))


def _between(runs):
    return runs.mean(axis=1).var(axis=0, ddof=1) / runs.shape[0]


@pytest.mark.parametrize(
    "family", ["asymmetric_laplace", "asymmetric_gaussian", "gaussian", "laplace"]
)
def test_means_sds_and_quantiles_agree(family):
    chains, diverging = nuts(family)
    found = deviations(engine(family), chains)
    assert found.shape == (2 + len(LEVELS), 2 * (len(estimated(family)) + 3 * TOPICS))
    assert np.abs(found).max() < LIMIT
    # Fewer effective draws would see little.
    assert effective(chains, method="bulk").min() > 200
    assert diverging < 0.02 * CHAINS * DRAWS


@pytest.mark.parametrize("halved", ["log_scale", "log_concentration", "log_shape"])
def test_another_hyperprior_is_rejected(halved, monkeypatch):
    right = Hyperprior.of(1)
    scale = [s / 2 if name == halved else s for name, s in zip(NAMES, right.scale, strict=True)]
    monkeypatch.setattr(Hyperprior, "of", lambda power: replace(right, scale=tuple(scale)))
    chains, _ = nuts("asymmetric_laplace")
    assert np.abs(deviations(engine("asymmetric_laplace"), chains)).max() > LIMIT

"""Helpers for tests of the pooled engine: ten topics, its runs, distances of draws."""

from dataclasses import replace
from functools import cache

import numpy as np

from bayescal.families import FAMILIES
from bayescal.fitting.engines.pooled.engine import draw_population, sample_topics
from bayescal.fitting.engines.pooled.population import DENSITY_NAMES, OF_SHARE, Hyperprior
from bayescal.fitting.scores import BinaryScores

TOPICS, POSITIVES = 10, (3, 20)
# Families that the program of many topics is sampled with.
SAMPLED = ("gaussian", "laplace", "asymmetric_laplace")
CHAINS = 2
RUNS, RUN_DRAWS, TOPIC_DRAWS = 10, 1000, 2000


@cache
def data():
    """Return scores, labels and topics: 3 to 20 positives per topic, four negatives to each."""
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


def of_class(klass):
    """Return each topic's scores of a class."""
    scores, labels, topics = data()
    return [scores[(labels == klass) & (topics == t)] for t in range(TOPICS)]


def problems():
    """Return each topic's scores of both classes."""
    scores, labels, topics = data()
    mine = [topics == t for t in range(TOPICS)]
    return [BinaryScores(scores[rows], labels[rows] == 1) for rows in mine]


def estimated(family):
    """Return the names of the family's hyperparameters."""
    return [
        k for k in range(len(DENSITY_NAMES)) if not (FAMILIES[family].symmetric and k in OF_SHARE)
    ]


def engine(family, klass, draws=RUN_DRAWS):
    """Return hyperparameters (run, draw, k) and topics (run, 3, topic, draw), run by run."""
    own, points, topics = [(each, None) for each in of_class(klass)], [], []
    for seed in range(RUNS):
        rng = np.random.default_rng(seed)
        found = draw_population(own, FAMILIES[family], rng, draws=draws, topic_draws=TOPIC_DRAWS)
        points.append(found.points)
        topics.append(found.pick(rng))
    return np.array(points), np.array(topics)


def halve(name, power, monkeypatch):
    """Give the engine a hyperprior half as wide in one hyperparameter: a wrong engine."""
    right = Hyperprior.of(power)
    scale = [
        s / 2 if each == name else s for each, s in zip(DENSITY_NAMES, right.scale, strict=True)
    ]
    monkeypatch.setattr(Hyperprior, "of", lambda power: replace(right, scale=tuple(scale)))


def quantities(family, points, sides):
    """
    Return hyperparameters, modes, log widths and, if free, log-odds of shares: (draw, k).

    Log-odds by their arcsinh: the few draws far out, most of a variance, are visited so rarely that
    a chain's own estimate of its error does not know of them.
    """
    theta, left, right = sides
    found = [points[:, estimated(family)].T, theta, np.log(left + right)]
    if not FAMILIES[family].symmetric:
        found.append(np.arcsinh(np.log(left) - np.log(right)))
    return np.concatenate(found).T


def sides_of(drawn):
    """Return mode, left and right side of both classes, (2, 3, ..., draws)."""
    return np.moveaxis([drawn.theta, drawn.left, drawn.right], -1, 0)


def sample(family, klass, *, draws, tune, seed=1):
    """Return the quantities of a class by NUTS, and the share of divergent transitions."""
    found = sampled(family, draws, tune, seed)
    drawn = quantities(family, found.population[klass], sides_of(found.topics)[klass])
    return drawn.reshape(CHAINS, draws, -1), float(found.sample_stats["diverging"].mean())


@cache
def sampled(family, draws, tune, seed):
    """Return all topics of the program, by NUTS."""
    return sample_topics(
        problems(),
        FAMILIES[family],
        np.random.default_rng(seed),
        draws=draws,
        chains=CHAINS,
        scale=(0.0, 1.0),
        options={"tune": tune},
    )

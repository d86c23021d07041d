"""What tests of the engine of many topics share: ten topics, its runs, how far draws are apart."""

from dataclasses import replace
from functools import cache

import numpy as np
from scipy import special

from bayescal.engines.pooled.population import NAMES, OF_SHARE, Hyperprior
from bayescal.engines.pooled.topics import draw_population
from bayescal.families import FAMILIES
from tests.agreement import LEVELS, effective

TOPICS, POSITIVES = 10, (3, 20)
RUNS, RUN_DRAWS, TOPIC_DRAWS = 10, 1000, 2000


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


def of_class(klass):
    """Return each topic's scores of a class."""
    scores, labels, topics = data()
    return [scores[(labels == klass) & (topics == t)] for t in range(TOPICS)]


def estimated(family):
    """Return which hyperparameters the family has."""
    return [k for k in range(len(NAMES)) if not (FAMILIES[family].symmetric and k in OF_SHARE)]


def engine(family, klass, draws=RUN_DRAWS):
    """Return hyperparameters (run, draw, k) and topics (run, 3, topic, draw), run by run."""
    own, points, topics = [(each, None) for each in of_class(klass)], [], []
    for seed in range(RUNS):
        rng = np.random.default_rng(seed)
        found = draw_population(own, FAMILIES[family], rng, draws=draws, topic_draws=TOPIC_DRAWS)
        points.append(found.points)
        topics.append(found.topics.pick(found.points, rng))
    return np.array(points), np.array(topics)


def halve(name, power, monkeypatch):
    """Give the engine a hyperprior half as wide in one hyperparameter: a wrong engine."""
    right = Hyperprior.of(power)
    scale = [s / 2 if each == name else s for each, s in zip(NAMES, right.scale, strict=True)]
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


def deviations(runs, chains):
    """
    Return how many standard errors apart means, sds and quantiles are: (statistic, quantity).

    The engine's errors come from independent runs, (run, draw, k), for all draws of a run share
    their topics' base draws; those of chains, (chain, draw, k), from effective sample sizes. So few
    runs know their error badly: the ratio is Student's, and what is returned is the normal
    deviate as likely as it.
    """
    centre = runs.mean(axis=(0, 1))
    out = [_of_means(runs, chains), _of_means((runs - centre) ** 2, (chains - centre) ** 2)]
    for level in LEVELS:
        below = runs < np.quantile(chains, level, axis=(0, 1))
        variance = level * (1 - level) / effective(chains, method="quantile", prob=level)
        out.append(_deviate(below, level, variance))
    return np.array(out)


def _of_means(runs, chains):
    variance = chains.var(axis=(0, 1)) / effective(chains, method="mean")
    return _deviate(runs, chains.mean(axis=(0, 1)), variance)


def _deviate(runs, expected, variance):
    """Return the mean of runs beside an expected value of a known variance, by Welch's test."""
    means = runs.mean(axis=1)
    between = means.var(axis=0, ddof=1) / len(means)
    difference, error = means.mean(axis=0) - expected, np.sqrt(variance + between)
    freedom = (len(means) - 1) * (error**2 / between) ** 2
    tail = special.stdtr(freedom, -np.abs(difference) / error)
    return -np.sign(difference) * special.ndtri(tail)

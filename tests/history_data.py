"""A history of calibrated problems, and one more problem with few labels."""

from functools import cache

import numpy as np

from bayescal import TopicCalibrator

GRID = np.linspace(-4.0, 7.0, 45)


@cache
def history(family="auto", apart=3.0, topics=8, positives=40, negatives=80, draws=100, **settings):
    """Return topics whose class densities are Gaussian, so many units apart, fitted together."""
    rng = np.random.default_rng(1)
    labels = np.tile(np.repeat([0, 1], [negatives, positives]), topics)
    names = np.repeat([f"topic {k}" for k in range(topics)], negatives + positives)
    shift = np.repeat(rng.normal(0.0, 0.3, topics), negatives + positives)
    scores = rng.normal(apart * labels + shift)
    calibrator = TopicCalibrator(parts=family, draws=draws, random_state=0, **settings)
    return calibrator.fit(scores, labels, names)


def problem(positives=4, negatives=30, apart=3.0, seed=3):
    """Return scores and labels of one more problem."""
    labels = np.repeat(["ham", "spam"], [negatives, positives])
    scores = np.random.default_rng(seed).normal(apart * (labels == "spam"))
    return scores, labels

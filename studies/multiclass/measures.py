"""Losses of probabilities, and how often predictive bands of shares hold."""

from __future__ import annotations

import numpy as np

from studies.multiclass.problems import Floats, Labels

SMALLEST = 1e-12
BINS, CLASS_BINS, ERROR_BINS = 10, 5, 15
LEAST_PROBABLE, FEWEST = 0.02, 100  # of documents that bands of a class are judged on
LEVEL = 0.9


def losses(p: Floats, labels: Labels) -> dict[str, float]:
    """Return log-loss in nats, Brier score, accuracy and the mean class-wise calibration error."""
    p = np.maximum(p, SMALLEST)
    p = p / p.sum(axis=1, keepdims=True)
    n, classes = p.shape
    truth = np.eye(classes)[labels]
    error = 0.0
    for k in range(classes):
        for part in np.array_split(np.argsort(p[:, k]), ERROR_BINS):
            if part.size:
                error += part.size / n * abs(float((p[part, k] - truth[part, k]).mean()))
    return {
        "log_loss": float(-np.log(p[np.arange(n), labels]).mean()),
        "brier": float(((p - truth) ** 2).sum(axis=1).mean()),
        "accuracy": float((p.argmax(axis=1) == labels).mean()),
        "classwise": error / classes,
    }


def coverage(draws: Floats, labels: Labels, rng: np.random.Generator) -> dict[str, float]:
    """Return the coverage of 90 % predictive bands for the share of a class in bins.

    Each draw of probabilities, (draws, n, classes), predicts a number of labels in the bin. The
    observed number has a rank among them, ties broken at random, which is uniform if the draws are
    right: the central 90 % of ranks are held.
    """
    mean = draws.mean(axis=0)
    top = mean.argmax(axis=1)
    right = labels == top
    at = np.arange(labels.size)
    of_top = draws[:, at, top]
    held_top = [
        _holds(of_top[:, part], right[part], rng)
        for part in np.array_split(np.argsort(mean[at, top]), BINS)
    ]
    held = []
    for k in range(mean.shape[1]):
        kept = np.flatnonzero(mean[:, k] > LEAST_PROBABLE)
        if kept.size >= FEWEST:
            for part in np.array_split(kept[np.argsort(mean[kept, k])], CLASS_BINS):
                held.append(_holds(draws[:, part, k], labels[part] == k, rng))
    return {
        "class_bands": float(np.mean(held)) if held else np.nan,
        "top_bands": float(np.mean(held_top)),
    }


def _holds(p: Floats, happened: np.ndarray, rng: np.random.Generator) -> bool:
    predicted = (rng.random(p.shape) < p).sum(axis=1)
    seen = happened.sum()
    below, same = (predicted < seen).sum(), (predicted == seen).sum()
    # One more, the observed number itself, is as likely at any place among the same.
    place = (below + rng.random() * (same + 1)) / (predicted.size + 1)
    return bool(0.5 - LEVEL / 2.0 < place < 0.5 + LEVEL / 2.0)

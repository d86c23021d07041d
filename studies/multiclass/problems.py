"""Scores of classifiers of several classes, in groups of one data set each."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy import special

GROUPS: dict[str, tuple[str, ...]] = {
    "cifar10": ("cifar10_vgg16_plambda",),
    "emotion": ("emotion_final_tst",),
    "qc": ("qc6_svc", "qc6_mnb", "qc6_lr", "qc50_svc", "qc50_mnb"),
    "landsat": ("landsat_lr", "landsat_nb", "landsat_rf", "landsat_svc"),
    "optdigits": ("optdigits_nb", "optdigits_mlp", "optdigits_svc", "digits_gb"),
    "pendigits": ("pendigits_svc", "pendigits_rf", "pendigits_nb"),
    "segment": ("segment_gb", "segment_nb"),
    "vehicle": ("vehicle_svc", "vehicle_rf"),
    "waveform": ("waveform_gb", "waveform_knn"),
    "pageblocks": ("pageblocks_svc", "pageblocks_rf"),
    "abalone": ("abalone_lr", "abalone_rf"),
    "diamonds": ("diamonds_gb", "diamonds_lr"),
}
PROBLEMS = tuple(name for group in GROUPS.values() for name in group)
GROUP_OF = {name: group for group, names in GROUPS.items() for name in names}
SIZES = (20, 50, 100, 200, 500, 1000, 5000)
MOST_CLASSES = 20  # of the problems in the main tables
MOST_TESTED, FEWEST_TESTED = 4000, 100
LARGEST_SHARE = 0.75  # of the documents that may be labelled

Floats = NDArray[np.float64]
Labels = NDArray[np.intp]


def load(folder: Path, name: str) -> tuple[Floats, Labels]:
    """Return log-probabilities, (n, K), and labels of a problem."""
    with np.load(folder / f"{name}.npz") as arrays:
        scores, labels = arrays["z"].astype(np.float64), arrays["y"].astype(np.intp)
    return np.asarray(special.log_softmax(scores, axis=1)), labels


def split(
    folder: Path, name: str, size: int, repetition: int
) -> tuple[Floats, Labels, Floats, Labels] | None:
    """Return labelled and test documents, drawn at random; None if there are too few."""
    scores, labels = load(folder, name)
    n = labels.size
    if size > LARGEST_SHARE * n or n - size < FEWEST_TESTED:
        return None
    rng = np.random.default_rng([size, repetition, sum(map(ord, name))])
    order = rng.permutation(n)
    kept, test = order[:size], order[size : size + MOST_TESTED]
    return scores[kept], labels[kept], scores[test], labels[test]

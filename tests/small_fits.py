"""Small fits that rooms of `same_numbers` share: uneven, weighted, of every kind."""

from functools import cache

import numpy as np

from bayescal import MulticlassCalibrator, ScoreCalibrator, TopicCalibrator
from bayescal.fitting.engines.multiclass import engine

RNG = np.random.default_rng(7)
LABELS = np.repeat([0, 1], [41, 14])
SCORES = np.round(RNG.laplace(2.2 * LABELS - 1.0), 2)
WEIGHTS = np.random.default_rng(8).integers(0, 3, LABELS.size)
# Held out: ties, and scores beyond those fitted.
NEW_LABELS = np.repeat([0, 1], [60, 23])
NEW = np.round(RNG.normal(1.9 * NEW_LABELS - 0.8, 1.3), 1)
COUNTS = {"acq": (30, 9), "corn": (22, 3), "earn": (25, 0), "ship": (17, 6)}
TOPIC_LABELS = np.concatenate([np.repeat([0, 1], each) for each in COUNTS.values()])
TOPICS = np.repeat(list(COUNTS), [sum(each) for each in COUNTS.values()])
TOPIC_SCORES = np.round(RNG.normal(1.8 * TOPIC_LABELS - 0.7, 1.1), 2)
CLASSES = np.array(["ant", "bee", "wasp"])
KLASS = CLASSES[RNG.choice(3, 70, p=[0.5, 0.3, 0.2])]
LOGITS = np.round(2.0 * (KLASS[:, None] == CLASSES) + RNG.normal(size=(70, 3)), 2)
NEW_KLASS = CLASSES[RNG.choice(3, 90, p=[0.4, 0.35, 0.25])]
NEW_LOGITS = np.round(1.4 * (NEW_KLASS[:, None] == CLASSES) + RNG.normal(size=(90, 3)), 2)
SMALL = {"draws": 30, "chains": 2, "random_state": 3}
KINDS = {
    "gaussian": {"parts": "gaussian"},
    "weighted": {"parts": "asymmetric_laplace", "point": "median"},
    "several": {"parts": ["gaussian", "logistic"]},
    "monotone": {"parts": "monotone"},
    "mle": {"parts": "gaussian", "inference": "mle"},
    "first positive": {"parts": "gaussian", "positive": "no"},
    "probabilities": {"parts": "logistic", "scores_are": "probabilities"},
}


@cache
def one(kind="gaussian"):
    """Return a calibrator of one problem."""
    scores, labels, weights = SCORES, LABELS, None
    if kind == "weighted":
        weights = WEIGHTS
    elif kind == "first positive":
        scores, labels = -SCORES, np.array(["yes", "no"])[1 - LABELS]
    elif kind == "probabilities":
        scores = np.round(1.0 / (1.0 + np.exp(-SCORES)), 4)
    return ScoreCalibrator(**SMALL, **KINDS[kind]).fit(scores, labels, weights)


@cache
def topics(**options):
    """Return a calibrator of four topics, one of them without positives."""
    fitted = TopicCalibrator(parts="gaussian", **SMALL, **options)
    return fitted.fit(TOPIC_SCORES, TOPIC_LABELS, TOPICS)


def classes():
    """Return a calibrator of three classes, drawn by the sampler in force, which tests replace."""
    return classes_drawn_by(engine.sample)


@cache
def classes_drawn_by(sampler):
    """Return a calibrator of three classes, once for each sampler that was in force."""
    return MulticlassCalibrator(**SMALL).fit(LOGITS, KLASS)

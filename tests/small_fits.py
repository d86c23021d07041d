"""Small fits that several files of tests share, made once: one problem, topics and classes."""

from functools import cache

import numpy as np

from bayescal import MulticlassCalibrator, ScoreCalibrator, TopicCalibrator

RNG = np.random.default_rng(7)
LABELS = np.repeat([0, 1], [41, 14])
SCORES = np.round(RNG.laplace(2.2 * LABELS - 1.0), 2)
COUNTS = {"acq": (30, 9), "corn": (22, 3), "earn": (25, 0), "ship": (17, 6)}
TOPIC_LABELS = np.concatenate([np.repeat([0, 1], each) for each in COUNTS.values()])
TOPICS = np.repeat(list(COUNTS), [sum(each) for each in COUNTS.values()])
TOPIC_SCORES = np.round(RNG.normal(1.8 * TOPIC_LABELS - 0.7, 1.1), 2)
CLASSES = np.array(["ant", "bee", "wasp"])
KLASS = CLASSES[RNG.choice(3, 70, p=[0.5, 0.3, 0.2])]
LOGITS = np.round(2.0 * (KLASS[:, None] == CLASSES) + RNG.normal(size=(70, 3)), 2)
SMALL = {"draws": 30, "chains": 2, "random_state": 3}


@cache
def one():
    """Return a calibrator of one problem."""
    return ScoreCalibrator(parts="gaussian", **SMALL).fit(SCORES, LABELS)


@cache
def topics():
    """Return a calibrator of four topics, one of them without positives."""
    return TopicCalibrator(parts="gaussian", **SMALL).fit(TOPIC_SCORES, TOPIC_LABELS, TOPICS)


@cache
def classes():
    """Return a calibrator of three classes."""
    return MulticlassCalibrator(**SMALL).fit(LOGITS, KLASS)

"""Models of topics: of one of them, of an added one, and of any other."""

from functools import partial

import numpy as np

from bayescal import TopicCalibrator
from tests.same_numbers.models import LABELS, SCORES, SHOWN, SMALL, numbers_of

TOPICS = np.tile(["a", "b", "c", "d"], 13)
POOLED = {
    "topics": {},
    "topics apart": {"pooling": "none"},
    "topics together": {"pooling": "complete"},
    "topics, gaussian": {"parts": "gaussian"},
    "topics, laplace": {"parts": "laplace"},
}


def of_topics(name):
    """Return a topic model's results on one of its topics, on an added one, and on any other."""
    calibrator = TopicCalibrator(**SMALL, **POOLED[name]).fit(SCORES, LABELS, TOPICS)
    added = slice(30, None)
    calibrator.add_topics(SCORES[added], LABELS[added], ["added"] * LABELS[added].size)
    return {
        topic: numbers_of(calibrator, [topic] * len(SHOWN)) for topic in ("a", "added", "unknown")
    }


CASES = {name: partial(of_topics, name) for name in POOLED}

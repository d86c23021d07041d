"""Artists of evidence displays: likelihood ratios, audits, drift, rankings, topics."""

from functools import cache, partial

import numpy as np

from bayescal import TopicCalibrator
from bayescal.monitoring import DriftMonitor, audit
from bayescal.ranking import RelevanceCalibrator
from tests.same_numbers.plots_of_predictions import HERE, of
from tests.small_fits import NEW, NEW_LABELS, TOPIC_LABELS, TOPIC_SCORES, TOPICS, one, topics

# Likelihood ratios of comparisons, some of them infinite, of items of seven sources.
SAME = NEW_LABELS == 1
LOG10_LR = np.where(NEW > 3.2, np.inf, np.where(NEW < -3.6, -np.inf, np.round(0.9 * NEW, 2)))
FIRST = np.arange(SAME.size) % 7
SOURCES = (FIRST, np.where(SAME, FIRST, (FIRST + 1 + np.arange(SAME.size) % 3) % 7))
GIVEN = np.clip(np.round((1.0 + np.exp(-1.3 * NEW)) ** -1.6, 3), 0.01, 0.95)
SITES = np.array(["north", "south", "west"])[np.arange(NEW.size) % 8 // 3]


@cache
def audited(*, sites=False, threshold=None):
    """Return an audit of given probabilities."""
    where = SITES if sites else None
    return audit(NEW_LABELS, GIVEN, where, threshold=threshold, level=0.8, draws=60, random_state=0)


@cache
def monitor(*, alarm):
    """Return a monitor that has seen documents, more positives than fitted where it alarms."""
    watched = DriftMonitor(one(), 0.03, draws=40)
    labels = np.ones(NEW.size, dtype=int) if alarm else NEW_LABELS
    return watched.update(NEW, labels)


@cache
def ranker():
    """Return a calibrator of relevance."""
    quick = TopicCalibrator(parts="gaussian", draws=30, chains=2, random_state=0)
    calibrator = RelevanceCalibrator(quick, random_state=0)
    return calibrator.fit(TOPIC_SCORES, TOPIC_LABELS, TOPICS)


FORESTS = {
    "forest": {},
    "forest, negatives": {"klass": "negative", "level": 0.8, "legend": False},
    "forest, left": {"parameter": "left"},
    "forest, right": {"parameter": "right", "klass": "negative"},
    "forest, width": {"parameter": "width", "level": 0.5},
    "forest, prior": {"parameter": "prior", "topics": ["ship", "earn"]},
}

CASES = {
    "tippett": partial(of, "Tippett", HERE, SAME, LOG10_LR),
    "tippett, sources": partial(of, "Tippett", HERE, SAME, LOG10_LR, sources=SOURCES, kind=2,
                                level=0.6, random_state=4, legend=False),
    "pav": partial(of, "Pav", HERE, SAME, LOG10_LR),
    "pav, finite": partial(of, "Pav", HERE, SAME[:70], LOG10_LR[:70], legend=False),
    "pav, equal": partial(of, "Pav", HERE, [True, False, True], [0.0, 0.0, 0.0]),
    "cross-entropy": partial(of, "CrossEntropy", HERE, SAME, LOG10_LR),
    "cross-entropy, small": partial(of, "CrossEntropy", HERE, SAME, np.where(SAME, 0.9, -0.8),
                                    log10_prior_odds=[-1.0, 0.5, 1.5], legend=False),
    "consistency": partial(of, "Consistency", HERE, SAME, np.clip(LOG10_LR, -3.0, 3.0)),
    "consistency, bins": partial(of, "Consistency", HERE, SAME, np.clip(LOG10_LR, -3.0, 3.0),
                                 sources=SOURCES, bins=3, level=0.5, random_state=2, legend=False),
    "calibration curve": partial(of, "CalibrationCurve", "from_audit", audited),
    "net benefit": partial(of, "NetBenefit", "from_audit", audited),
    "net benefit, asked": partial(of, "NetBenefit", "from_audit", partial(audited, threshold=0.2),
                                  legend=False),
    "model probability": partial(of, "ModelProbability", "from_audit", audited),
    "sites": partial(of, "Sites", "from_audit", partial(audited, sites=True)),
    "drift": partial(of, "Drift", "from_estimator", partial(monitor, alarm=False)),
    "drift, alarm": partial(of, "Drift", "from_estimator", partial(monitor, alarm=True)),
    "ranking": partial(of, "Ranking", "from_estimator", ranker, NEW[20:50]),
    "ranking, known": partial(of, "Ranking", "from_estimator", ranker, NEW[20:70],
                              y=NEW_LABELS[20:70], recall=0.5, probability=0.6, level=0.7,
                              legend=False),
    **{name: partial(of, "TopicForest", "from_estimator", topics, **options)
       for name, options in FORESTS.items()},
}  # fmt: skip

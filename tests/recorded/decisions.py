"""Decisions by posterior draws, and tables of thresholds by topic."""

import numpy as np

from bayescal import ScoreCalibrator, TopicCalibrator, decisions
from tests.recorded.metrics import CLASSES, DRAWS, LABELS, WEIGHT, P, Y


def decided():
    several, costs = CLASSES ** np.linspace(0.6, 1.5, 12)[:, None, None], 4 - np.diag([4, 3, 3])
    several, sets = several / several.sum(axis=2, keepdims=True), decisions.expected_sets(CLASSES)
    found = {"classes": [decisions.decide(several, costs, level=0.8), sets,
        decisions.value_of_label(several, costs, candidates=several[:, :9]),
        decisions.risk_coverage(several, LABELS, points=7), decisions.set_coverage(sets, LABELS),
        decisions.conformal_sets(CLASSES, LABELS, CLASSES[::2], 0.8),
        decisions.expected_costs(several, costs), decisions.information_gain(several)]}  # fmt: skip
    for k, weight in enumerate((None, WEIGHT - 1, 400 * WEIGHT)):
        price = np.multiply.outer(1.0 + P, costs[:2, :2]) if k else costs[1:, 1:]
        own = {"of": ("population", "documents")[k % 2], "sample_weight": weight, "rng": 0}
        found[f"{k}"] = [decisions.count_positives(DRAWS, sample_weight=weight, rng=0, level=0.8),
            decisions.decide(DRAWS, price, abstain_cost=P), decisions.value_of_label(DRAWS, price),
            decisions.precision_at(0.5, P, DRAWS, **own), decisions.recall_at(0.4, P, DRAWS, **own),
            decisions.threshold_for_recall(P, DRAWS, 0.7, assurance=0.85, level=0.8, **own),
            decisions.threshold_for_precision(P, DRAWS, 0.6, **own)]  # fmt: skip
    own, scores, topics = {"draws": 30, "random_state": 0}, 9.0 * P, np.repeat(["ant", "bee"], 30)
    one = ScoreCalibrator("gaussian", **own).fit(scores, Y)
    of_topics = TopicCalibrator(parts="gaussian", **own).fit(scores, Y, topics)
    many, both = np.arange(16e3), ((one, scores, WEIGHT - 1), (of_topics, scores, topics, None))
    for k, (*given, weight) in enumerate((*both, (one, many / 1777, many % 3))):
        own |= {"prior": (0.6, None)[k % 2], "sample_weight": weight, "level": 0.8}
        found[f"{k} table"] = [decisions.rates_by_topic(*given, probability=0.35, **own),
            decisions.thresholds_by_topic(*given, recall=0.75, assurance=0.9, **own)]  # fmt: skip
    return found

"""Calibrated decisions of many methods on the same documents, and who wins which."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special

from bayescal.methods import Method
from bayescal.reproduce.corpus_scores import TopicScores
from bayescal.validation import Floats

RAW = "raw"


@dataclass(frozen=True)
class Decisions:
    """
    What methods say of one classifier's test documents, all topics one after the other.

    Attributes
    ----------
    classifier : str
        Whose scores were calibrated.
    log_odds : dict of str to array of shape (decisions,)
        Calibrated natural log-odds by method; "raw" the scores themselves.
    truth : array of shape (decisions,) of bool
        What is so.
    """

    classifier: str
    log_odds: dict[str, Floats]
    truth: NDArray[np.bool_]

    def support(self, method: str) -> Floats:
        """
        Return the log-odds of what is so.

        Log-loss and squared error both fall as they rise, so that methods compare by them in
        either; in log-odds no two probabilities near 1 are the same.
        """
        values = self.log_odds[method]
        return np.where(self.truth, values, -values)

    def right(self, method: str) -> NDArray[np.bool_]:
        """Return which decisions at probability 1/2 (log-odds 0) are right."""
        return np.asarray((self.log_odds[method] > 0.0) == self.truth)


def decide(methods: Mapping[str, Method], topics: Sequence[TopicScores]) -> Decisions:
    """
    Return what methods say of the test documents of one classifier's topics.

    A topic with a single positive in training has no cross-validated score of one: every method
    answers the prior there, (1 + 1)/(n + 2), and "raw" the score.

    Parameters
    ----------
    methods : mapping of str to Method
        See `bayescal.methods.METHODS`.
    topics : sequence of TopicScores
        All of the same classifier.

    Examples
    --------
    >>> import numpy as np
    >>> from bayescal.methods import METHODS
    >>> labels = np.array([0, 0, 1, 0, 1])
    >>> scores = np.array([-2.0, -1.0, 1.0, 1.5, 2.0])
    >>> corn = TopicScores("svm", "corn", scores, labels, np.array([-3.0, 3.0]), labels[1:3] == 1)
    >>> decide({"raw": METHODS["raw"]}, [corn]).right("raw").tolist()
    [True, True]
    """
    solvable = [topic for topic in topics if topic.problem is not None]
    found = {}
    for name, method in methods.items():
        answers = method.over_topics([topic.problem for topic in solvable if topic.problem])
        by_topic = {topic.topic: each for topic, each in zip(solvable, answers, strict=True)}
        found[name] = np.concatenate(
            [by_topic.get(topic.topic, _without(name, topic)) for topic in topics]
        )
    truth = np.concatenate([topic.truth for topic in topics])
    return Decisions(topics[0].classifier, found, truth)


def _without(name: str, topic: TopicScores) -> Floats:
    """Return what a method says where it has nothing to calibrate with."""
    if name == RAW:
        return topic.new
    return np.full(topic.new.size, special.logit(topic.prior))

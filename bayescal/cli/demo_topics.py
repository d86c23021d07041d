"""The demo's topics with five positives each: Platt's method, each by itself, and pooled."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bayescal.cli.console import Screen
from bayescal.validation import Floats

if TYPE_CHECKING:
    import pandas as pd

    from bayescal.metrics import Losses

POSITIVES = 5
PLATT, APART, POOLED = "Platt", "posterior, unpooled", "posterior, pooled"


def topics_losses(classifier: str, seed: int, screen: Screen) -> dict[str, Losses]:
    """
    Return the losses on the test documents of ten topics, by method.

    Parameters
    ----------
    classifier : str
        A name of `bayescal.datasets.reuters_scores.CLASSIFIERS`.
    seed : int
        Chooses the documents to fit, and seeds the fits.
    screen : Screen
        Shows progress.
    """
    from bayescal.datasets import load_reuters_scores
    from bayescal.datasets.reuters_scores import TOPICS
    from bayescal.methods.sigmoids import platt
    from bayescal.metrics import losses
    from bayescal.score_calibrator import ScoreCalibrator
    from bayescal.score_checks import without_scores_warnings
    from bayescal.topic_calibrator import TopicCalibrator

    rng = np.random.default_rng(seed)
    fitted, test, found = [], [], {}
    for topic in TOPICS:
        fitted.append(sample(load_reuters_scores(classifier, topic, "calibration"), rng))
        test.append(load_reuters_scores(classifier, topic, "test"))
    by_topic: dict[str, list[Floats]] = {PLATT: [], APART: []}
    with screen.progress(classifier, len(TOPICS) + 1) as step:
        for few, new in zip(fitted, test, strict=True):
            step.begin(str(few["topic"].iloc[0]))
            scores, labels, others = few["score"], few["label"], new["score"].to_numpy()
            by_topic[PLATT].append(platt(scores.to_numpy(), labels.to_numpy(), others))
            with without_scores_warnings():
                apart = ScoreCalibrator(random_state=seed).fit(scores, labels)
            by_topic[APART].append(apart.decision_function(others))
            step.end()
        step.begin("all topics")
        columns = [[each[c].to_numpy() for each in fitted] for c in ("score", "label", "topic")]
        with without_scores_warnings():
            pooled = TopicCalibrator(random_state=seed).fit(*map(np.concatenate, columns))
        by_topic[POOLED] = [
            pooled.decision_function(new["score"].to_numpy(), new["topic"].to_numpy().astype(str))
            for new in test
        ]
        step.end()
    positive = np.concatenate([new["label"].to_numpy() == 1 for new in test])
    for method, log_odds in by_topic.items():
        found[method] = losses(np.concatenate(log_odds), positive)
    return found


def sample(
    calibration: pd.DataFrame, rng: np.random.Generator, positives: int = POSITIVES
) -> pd.DataFrame:
    """Return so many positive documents, and negatives in proportion."""
    share = positives / int(calibration["label"].sum())
    rows = [
        rng.choice(where, round(share * where.size), replace=False)
        for where in (np.flatnonzero(calibration["label"] == label) for label in (0, 1))
    ]
    return calibration.iloc[np.concatenate(rows)]

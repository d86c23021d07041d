"""Ours: calibrators of one topic, and of many around their population."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from bayescal.methods.method import Labels, Problem
from bayescal.score_checks import without_scores_warnings
from bayescal.validation import Floats


def posterior(scores: Floats, labels: Labels, new: Floats, **settings: Any) -> Floats:
    """Return log-odds by a `ScoreCalibrator` with the settings."""
    from bayescal.score_calibrator import ScoreCalibrator

    with without_scores_warnings():
        fitted = ScoreCalibrator(**{"random_state": 0} | settings).fit(scores, labels)
    return np.asarray(fitted.decision_function(new))


def pooled(problems: Sequence[Problem], **settings: Any) -> list[Floats]:
    """Return log-odds by a `TopicCalibrator` of all topics."""
    from bayescal.topic_calibrator import TopicCalibrator

    sizes = [problem.scores.size for problem in problems]
    names = [str(k) for k in range(len(problems))]
    with without_scores_warnings():
        fitted = TopicCalibrator(**{"random_state": 0} | settings).fit(
            np.concatenate([problem.scores for problem in problems]),
            np.concatenate([problem.labels for problem in problems]),
            np.repeat(names, sizes),
        )
    return [
        np.asarray(fitted.decision_function(problem.new, np.full(problem.new.size, name)))
        for name, problem in zip(names, problems, strict=True)
    ]

"""`--pool`: all topics of a file at once, each around their population."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from bayescal.cli.console import Screen
from bayescal.cli.errors import UsageError, blamed_on_use
from bayescal.cli.fitting import Calibrated, calibrated, most_undecided_first
from bayescal.cli.problems import split_by_topic
from bayescal.cli.reading import ScoreTable
from bayescal.cli.settings import Settings, option_advice
from bayescal.parallel import reporting


def pool(
    table: ScoreTable, settings: Settings, screen: Screen, folder: Path | None = None
) -> list[Calibrated]:
    """
    Fit all topics of a table together, and return them with the most undecided first.

    Parameters
    ----------
    table : ScoreTable
        All topics.
    settings : Settings
        How.
    screen : Screen
        Shows progress and warnings.
    folder : Path, optional
        Keeps topics as they are drawn; those that are there are read.

    Raises
    ------
    UsageError
        If there are no topics, an option is for topics apart, or the scores are refused.
    """
    from bayescal.saved import TOPICS_FILE
    from bayescal.settings import AUTO
    from bayescal.topic_calibrator import TopicCalibrator

    _check_poolable(settings, table)
    calibrator = TopicCalibrator(
        family=settings.family or AUTO,
        parts=settings.parts,
        scores_are=settings.scores_are,
        positive=table.classes[1],
        draws=settings.draws,
        chains=settings.chains,
        random_state=settings.seed,
        n_jobs=None if settings.jobs == 1 else settings.jobs,
        memory=folder,
    )
    problems, fitted = split_by_topic(table), np.flatnonzero(~table.test)
    with (
        screen.progress("pool:", len(problems)) as step,
        screen.warnings(advice=option_advice),
        blamed_on_use(),
        reporting(step.of),
    ):
        scores, labels, topics = table.labelled(fitted)
        weight = None if table.weight is None else table.weight[fitted]
        calibrator.fit(scores, labels, topics, weight)
    found = calibrator.fitted_problems()
    answers = [
        calibrated(each, calibrator, found.answering(each.name), TOPICS_FILE, settings.level)
        for each in problems
    ]
    return most_undecided_first(answers)


def _check_poolable(settings: Settings, table: ScoreTable) -> None:
    from bayescal.topic_settings import FAMILY_NAMES
    from bayescal.validation import check_choice

    if table.topic is None:
        raise UsageError("--pool needs topics: name their column with --topic-column.")
    if settings.model is not None:
        raise UsageError(
            f"--pool takes no program, got --model {settings.model}: leave out --model, or --pool."
        )
    if settings.inference_name != "exact":
        raise UsageError(f"--pool needs --inference exact, got {settings.inference_name}.")
    if settings.family is not None:
        with blamed_on_use():
            check_choice("--family with --pool", settings.family, FAMILY_NAMES)

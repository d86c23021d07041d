"""Saved calibrators, and which of them answers for which row of a file of scores."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from bayescal.cli.command import Screen, UsageError, blamed_on_use
from bayescal.cli.fitting import LeftOut, Rows, rows_by_topic, rows_left_out
from bayescal.cli.reading import ColumnReader
from bayescal.cli.writing import read_record

if TYPE_CHECKING:
    import pandas as pd

    from bayescal.fitting.problems.problem import Calibrator, Problems

TOPIC = "topic"  # what a column of topics is often called


@dataclass(frozen=True)
class Calibrators:
    """Fitted problems, and the rows of a file that each answers for."""

    # As it was loaded
    source: Calibrator
    # Its problems, by topic, or the only one
    problems: Problems
    # (n,): topic of each row
    topics: NDArray[np.str_] | None
    # (n,): rows of topics that the fit left out, for which nothing answers
    left_out: NDArray[np.bool_]
    # Words that tell of these; empty if there are none
    said: str

    def rows(self) -> list[tuple[str, Rows]]:
        """Return each topic, the empty string without topics, and its rows."""
        there = np.flatnonzero(~self.left_out)
        topics = None if self.topics is None else self.topics[there]
        found = rows_by_topic(topics, there.size)
        return [(topic or "", there[rows]) for topic, rows in found]


def read_calibrators(path: Path, reader: ColumnReader, topic_column: str | None) -> Calibrators:
    """Read what `bayescal fit` wrote, for the rows of a file."""
    with blamed_on_use():
        source = load(path)
    return calibrators_of(source, path, reader, topic_column)


def load(path: Path) -> Calibrator:
    """Load as `bayescal.load` does, but return `FittedScores` for a ScoreCalibrator."""
    from bayescal.calibrators.loading import read_saved

    return read_saved(path, _read_file)


def _read_file(path: Path) -> Calibrator:
    from bayescal.fitting.fitted_scores import NAME, FittedScores
    from bayescal.fitting.results import storage, tree

    results = storage.read_tree(path)
    if results.attrs[tree.ESTIMATOR] == NAME:
        return FittedScores.from_results(results)
    from bayescal.calibrators.loading import calibrator_of

    calibrator: Calibrator = calibrator_of(results, path)
    return calibrator


def calibrators_of(
    source: Calibrator, path: Path, reader: ColumnReader, topic_column: str | None
) -> Calibrators:
    """Assign each row to the saved problem that predicts it; see `read_calibrators`."""
    topics = reader.topics(topic_column) if topic_column else None
    with blamed_on_use():
        problems = source.fitted_problems()
    if problems.by_topic and topics is None:
        raise UsageError(f"{path} holds many topics: name their column with --topic-column.")
    if topics is not None and not problems.by_topic:
        raise UsageError(
            f"--topic-column needs a folder that bayescal fit wrote with --topic-column;"
            f" {path} is one calibrator without topics."
        )
    left_out, said = rows_left_out(topics, left_out_of(path), len(reader.frame))
    found = Calibrators(source, problems, topics, left_out, said)
    _check_answered(found, reader.name(str(topic_column)))
    return found


def left_out_of(path: Path) -> LeftOut:
    """Return the topics that the fit of a folder left out, and why."""
    left_out: LeftOut = read_record(path).get("left_out", {})
    return left_out


def say_what_is_not_used(
    screen: Screen, frame: pd.DataFrame, path: Path, topic_column: str | None, what: str
) -> None:
    """Tell of a column of topics that nobody asked for, and what to do or why it is not used."""
    if topic_column is not None or TOPIC not in frame.columns:
        return
    topics = frame[TOPIC].nunique()
    if topics > 1:
        screen.warn(f"{path} has a column {TOPIC!r} of {topics} values, which is not used: {what}")


def _check_answered(found: Calibrators, column: str) -> None:
    rows, problems = found.rows(), found.problems
    if not rows:
        raise UsageError(f"{column} must hold topics that were fitted: there are only {found.said}")
    for topic, _ in rows:
        if not problems.answers(topic):
            raise UsageError(
                f"{column} must hold topics that have a calibrator,"
                f" {', '.join(map(repr, problems))}; got {topic!r}."
            )

"""Saved calibrators, and which of them answers for which row of a file of scores."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from bayescal.cli.console import Screen
from bayescal.cli.errors import UsageError, blamed_on_use
from bayescal.cli.left_out import LeftOut, rows_left_out
from bayescal.cli.problems import Rows, rows_by_topic
from bayescal.cli.reading import ColumnReader
from bayescal.cli.record import read_record

if TYPE_CHECKING:
    import pandas as pd

    from bayescal.fitted.problem import Calibrator, Problems

TOPIC = "topic"  # what a column of topics is often called


@dataclass(frozen=True)
class Calibrators:
    """
    Fitted problems, and the rows of a file that each answers for.

    Attributes
    ----------
    source : calibrator
        As it was loaded.
    problems : Problems
        Its problems, by topic, or the only one.
    topics : array of shape (n,) of str, or None
        Topic of each row.
    left_out : array of shape (n,) of bool
        Rows of topics that the fit left out, for which nothing answers.
    said : str
        Words that tell of these; empty if there are none.
    """

    source: Calibrator
    problems: Problems
    topics: NDArray[np.str_] | None
    left_out: NDArray[np.bool_]
    said: str

    def rows(self) -> list[tuple[str, Rows]]:
        """Return each topic, the empty string without topics, and its rows."""
        there = np.flatnonzero(~self.left_out)
        topics = None if self.topics is None else self.topics[there]
        found = rows_by_topic(topics, there.size)
        return [(topic or "", there[rows]) for topic, rows in found]


def read_calibrators(path: Path, reader: ColumnReader, topic_column: str | None) -> Calibrators:
    """
    Read what `bayescal fit` wrote, for the rows of a file.

    Parameters
    ----------
    path : Path
        A calibrator's file, or a folder of them.
    reader : ColumnReader
        Of the file of scores.
    topic_column : str or None
        Its column of topics.

    Raises
    ------
    UsageError
        If it cannot be read, topics are there and not named or the other way round, or no
        calibrator answers for a topic that the fit did not have.
    """
    with blamed_on_use():
        source = load(path)
    return calibrators_of(source, path, reader, topic_column)


def load(path: Path) -> Calibrator:
    """Return what `bayescal.load` does, but of one problem no scikit-learn estimator."""
    from bayescal.saved import read_saved

    return read_saved(path, _read_file)


def _read_file(path: Path) -> Calibrator:
    from bayescal.plain_calibrator import NAME, PlainCalibrator
    from bayescal.results import provenance, storage

    results = storage.read_tree(path)
    if results.attrs[provenance.ESTIMATOR] == NAME:
        return PlainCalibrator.from_results(results)
    from bayescal.loading import calibrator_of

    calibrator: Calibrator = calibrator_of(results, path)
    return calibrator


def calibrators_of(
    source: Calibrator, path: Path, reader: ColumnReader, topic_column: str | None
) -> Calibrators:
    """Return which problem of what a path holds answers for which row; see `read_calibrators`."""
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

"""Everything that a report says, gathered topic by topic."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import special
from sklearn.utils.validation import check_is_fitted

from bayescal.report.grid import Size
from bayescal.report.held_out import predict
from bayescal.report.labelled import Labelled, read_labelled, read_labelled_topics
from bayescal.report.packing import unpacked
from bayescal.report.provenance import describe_run
from bayescal.report.subject import Subject, subject_of, subjects_of
from bayescal.report.topic import PRIORS, describe_topic
from bayescal.report.totals import Totals
from bayescal.score_calibrator import ScoreCalibrator
from bayescal.settings import resolve_scores
from bayescal.topic_calibrator import TopicCalibrator
from bayescal.validation import Floats

Source = ScoreCalibrator | TopicCalibrator | Mapping[str, ScoreCalibrator]


@dataclass(frozen=True)
class Row:
    """A topic in the table of topics; `cells` in the order of `Contents.columns`."""

    name: str
    cells: tuple[float | int | None, ...]
    verdict: str


@dataclass(frozen=True)
class Contents:
    """
    Everything that a report says.

    Attributes
    ----------
    data : dict
        What the page draws and computes with.
    rows : list of Row
        The topics.
    columns : tuple of str
        Of the rows' cells.
    facts : dict of str to str
        About the data.
    problems : int
        How many topics have one.
    verdict : dict or None
        On the calibration of all held-out predictions: verdict, calibrated, pvalue.
    off : tuple of int
        How many topics' held-out predictions are off by themselves, of how many that have some.
    run : dict
        Provenance.
    hashes : dict of str to str
        Of the scores fitted and held out.
    example : ScoreCalibrator or TopicCalibrator
        Whose model the page describes.
    several_models : bool
        Whether other topics have models of their own with the same settings.
    """

    data: dict[str, Any]
    rows: list[Row]
    columns: tuple[str, ...]
    facts: dict[str, str]
    problems: int
    verdict: dict[str, Any] | None
    off: tuple[int, int]
    run: dict[str, dict[str, str]]
    hashes: dict[str, str]
    example: ScoreCalibrator | TopicCalibrator
    several_models: bool

    @property
    def draws(self) -> int:
        """Return how many draws the page computes with."""
        return int(unpacked(self.data["topics"][0]["draws"]).shape[0])


COLUMNS = ("Positives", "Negatives", "Mean P(+)", "Mean band width", "Mean shift from MLE")
TEST_COLUMNS = (
    "Held out",
    "Held-out positives",
    "Expected",
    "p, calibrated",
    "Log-loss",
    "Log-loss, MLE",
)


def gather(source: Source, *, test: Any, fitted: Any, level: float) -> Contents:
    """
    Return what a report says; see `document.write_report`.

    Raises
    ------
    ValueError
        If scores or labels given are not as described.
    """
    example = _example(source)
    classes = example.classes_
    held_out = _held_out(source, test, classes)
    seen = Totals()
    topics, rows = [], []
    size = Size.of(_count(source))
    for key, subject in _subjects(source, fitted, level):
        mine = held_out.get(key)
        found = None if mine is None else predict(subject, mine)
        topic = describe_topic(subject, found, level, size)
        seen.add(subject, mine, found)
        topics.append(topic)
        rows.append(_row(subject, topic, with_test=bool(held_out)))
    tree = example.posterior_ if isinstance(example, TopicCalibrator) else example.results_
    tested = seen.reliability(level)
    data = {
        "level": level,
        "classes": [str(label) for label in classes.tolist()],
        "axis": _axis(example),
        "priors": PRIORS.tolist(),
        "topics": topics,
        "test": tested if len(topics) > 1 else None,
    }
    return Contents(
        data=data,
        rows=rows,
        columns=(*COLUMNS, *(TEST_COLUMNS if held_out else ())),
        facts=seen.facts(data["classes"], tested),
        problems=sum(bool(topic["problems"]) for topic in topics),
        verdict=None if tested is None else tested["point"],
        off=_off(topics),
        run=describe_run(tree),
        hashes={k: v for k, v in seen.hashes().items() if v},
        example=example,
        several_models=isinstance(source, Mapping) and len(source) > 1,
    )


def _off(topics: list[dict[str, Any]]) -> tuple[int, int]:
    found = [topic["test"]["point"]["calibrated"] for topic in topics if topic["test"]]
    return found.count(False), len(found)


def _example(source: Source) -> ScoreCalibrator | TopicCalibrator:
    if not isinstance(source, Mapping):
        return source
    if not source:
        raise ValueError("calibrators must hold at least one fitted calibrator, got none.")
    first: ScoreCalibrator = source[next(iter(source))]
    check_is_fitted(first)
    return first


def _count(source: Source) -> int:
    if isinstance(source, TopicCalibrator):
        return int(source.topics_.size)
    return len(source) if isinstance(source, Mapping) else 1


def _held_out(source: Source, test: Any, classes: Any) -> dict[Any, Labelled]:
    if test is None:
        return {}
    if isinstance(source, TopicCalibrator):
        return read_labelled_topics(test, classes, source.topics_.tolist())
    if isinstance(source, Mapping):
        are = resolve_scores(_example(source).scores_are)
        return read_labelled_topics(test, classes, source, scores_are=are)
    return {"": read_labelled(test, classes, scores_are=resolve_scores(source.scores_are))}


def _subjects(source: Source, fitted: Any, level: float) -> Iterator[tuple[Any, Subject]]:
    if isinstance(source, TopicCalibrator):
        names = source.topics_.tolist()
        known = None
        if fitted is not None:
            known = read_labelled_topics(fitted, source.classes_, names, "fitted")
        yield from zip(names, subjects_of(source, known, level), strict=True)
        return
    if fitted is not None:
        raise ValueError("fitted is for a TopicCalibrator: a ScoreCalibrator keeps its scores.")
    if isinstance(source, ScoreCalibrator):
        yield "", subject_of(source, "", level)
        return
    for name in source:
        calibrator = source[name]
        check_is_fitted(calibrator)
        yield name, subject_of(calibrator, str(name), level)


def _row(subject: Subject, topic: dict[str, Any], *, with_test: bool) -> Row:
    share = np.array(topic["share"])
    share = share / share.sum()

    def p(name: str) -> Floats:
        values = [np.nan if value is None else value for value in topic[name]]
        return np.asarray(special.expit(np.array(values)))

    mean = float(share @ p("point"))
    width = float(share @ (p("upper") - p("lower"))) if "upper" in topic else None
    apart = float(share @ np.abs(p("point") - p("mle"))) if "mle" in topic else None
    cells = [subject.counts[1], subject.counts[0], mean, width, apart]
    if with_test:
        test = topic["test"] or {}
        names = ("n", "positives", "expected", "pvalue")
        cells += [test["point"][each] if test else None for each in names]
        cells += [test[each]["log_loss"] if each in test else None for each in ("point", "mle")]
    return Row(subject.name, tuple(cells), "; ".join(subject.problems))


def _axis(example: ScoreCalibrator | TopicCalibrator) -> str:
    topics = isinstance(example, TopicCalibrator)
    kind = "scores" if topics else resolve_scores(example.scores_are)
    return {
        "scores": "score",
        "log_odds": "score (log-odds)",
        "probabilities": "log-odds of the score (a probability)",
    }[kind]

"""Answers of fitted calibrators for rows: curves, losses, verdicts; saved calibrators."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import astuple, dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bayescal.cli import scores
from bayescal.cli.columns import ColumnReader, Mask, Rows
from bayescal.cli.files import WRITTEN
from bayescal.cli.terminal import Screen, UsageError, usage_errors
from bayescal.support.validation import Columns, Floats, first_of

if TYPE_CHECKING:
    import pandas as pd

    from bayescal.calibrators.ordinal_calibrator import OrdinalCalibrator
    from bayescal.calibrators.score_calibrator import ScoreCalibrator
    from bayescal.calibrators.topic_calibrator import TopicCalibrator
    from bayescal.fitting.fitted_scores import FittedScores
    from bayescal.fitting.problems.problem import Calibrator, FittedProblem, Problems
    from bayescal.metrics import CalibrationVerdict, Losses
    from bayescal.report.held_out import HeldOut

ALL_TOPICS = "all"  # names the sum over topics
TOPIC = "topic"  # the usual name of a column of topics
SIGN_TURNED = "lower scores stand for positives: what is written takes -score in place of score."
FIT_TOPICS = f"--topic-column {TOPIC} fits each by itself, with --pool all together."


@dataclass(frozen=True)
class RowCurve:
    """Calibrated answers at the scores of rows."""

    log_odds: Floats  # (n,): natural log-odds of the positive class
    band: Floats | None = None  # (n, 2): of its probability; None without a posterior

    @property
    def probability(self) -> Floats:
        """Return the probabilities of the positive class."""
        from bayescal.support.numerics import probability

        return probability(self.log_odds)

    @property
    def columns(self) -> dict[str, Floats]:
        """Return the probabilities, the ends of their band if any, and the log-odds."""
        ends = {} if self.band is None else {"lower": self.band[:, 0], "upper": self.band[:, 1]}
        return {"probability": self.probability, **ends, "log_odds": self.log_odds}

    @property
    def width(self) -> float | None:
        """Return the mean width of the band, if any."""
        return None if self.band is None else float((self.band[:, 1] - self.band[:, 0]).mean())


def curve_at(
    fitted: FittedProblem,
    score: Floats,
    level: float,
    *,
    band: str = "pointwise",
    prior: float | None = None,
    covariates: Columns | None = None,
) -> RowCurve:
    """Return log-odds and bands at scores, of typical documents if covariates are not given."""
    values, calibration = fitted.read(score), fitted.calibration.with_prior(prior)
    if covariates is not None:
        calibration = calibration.of_documents(values, covariates)
    log_odds = calibration.log_odds(values, fitted.point)
    if not fitted.has_posterior:
        return RowCurve(log_odds)
    return RowCurve(log_odds, calibration.interval(values, level, band))


def merge_columns(
    parts: Sequence[Mapping[str, NDArray[Any]]], rows: Sequence[Rows], n: int
) -> dict[str, NDArray[Any]]:
    """Return columns of n rows from those of some rows each; others are nan, or empty text."""
    columns: dict[str, NDArray[Any]] = {}
    for part, positions in zip(parts, rows, strict=True):
        for name, values in part.items():
            if name not in columns:
                numeric = values.dtype.kind == "f"
                columns[name] = np.full(n, np.nan) if numeric else np.full(n, "", dtype=object)
            columns[name][positions] = values
    return columns


def mle_log_odds(fitted: FittedProblem, score: Floats) -> Floats:
    """Return the log-odds of maximum likelihood at scores."""
    calibration = fitted.calibration
    return calibration.fits.log_odds(calibration.read(fitted.read(score)))


@dataclass(frozen=True)
class Calibrated:
    """A fitted topic, and the answers for its rows."""

    problem: scores.ScoreTable  # the rows of the topic
    # For this topic alone, or for all topics
    calibrator: FittedScores | ScoreCalibrator | TopicCalibrator | OrdinalCalibrator
    fitted: FittedProblem  # the calibrator's problem of this topic
    file: str  # name of the calibrator's file
    curve: RowCurve  # at all rows of the topic, in their order
    losses: dict[str, Losses]  # on the rows to test on, by inference; empty without any

    @property
    def undecided(self) -> int | None:
        """Count the rows with 1/2 inside their band, whose likelier class is uncertain."""
        if self.curve.band is None:
            return None
        lower, upper = self.curve.band.T
        return int(((lower < 0.5) & (upper > 0.5)).sum())

    @cached_property
    def tested(self) -> HeldOut:
        """Return the predictions for the rows to test on."""
        from bayescal.support.score_checks import without_scores_warnings

        table, rows = self.problem, self.problem.test_rows
        columns, truth = table.columns_of(rows), table.positive[rows]
        with without_scores_warnings():  # the curve was computed at these scores
            return held_out(self.fitted, table.score[rows], truth, covariates=columns)


def calibrated(
    problem: scores.ScoreTable,
    calibrator: FittedScores | ScoreCalibrator | TopicCalibrator,
    fitted: FittedProblem,
    file: str,
    level: float,
) -> Calibrated:
    """Compute a fitted topic's answers for its rows; arguments are attributes of the result."""
    curve = curve_at(fitted, problem.score, level, covariates=problem.covariates)
    return Calibrated(problem, calibrator, fitted, file, curve, held_out_losses(fitted, problem))


def most_undecided_first(results: Iterable[Calibrated]) -> list[Calibrated]:
    """Return topics by number of undecided rows, where labels help most."""
    return sorted(results, key=lambda each: (-(each.undecided or 0), each.problem.counts[1]))


def flags(results: Sequence[Calibrated]) -> list[str]:
    """Return each topic's findings, except those that all of several topics share."""
    findings = [each.fitted.problems for each in results]
    shared = set.intersection(*map(set, findings)) if len(findings) > 1 else set()
    return ["; ".join(text for text in each if text not in shared) for each in findings]


# Losses and verdicts on rows to test on.


def held_out_losses(fitted: FittedProblem, problem: scores.ScoreTable) -> dict[str, Losses]:
    """Return the losses on the rows to test on, by inference; empty without such rows."""
    rows = problem.test_rows
    if rows.size == 0:
        return {}
    from bayescal.metrics import losses

    score, positive = problem.score[rows], problem.positive[rows]
    by_method = {"mle": losses(mle_log_odds(fitted, score), positive)} if fitted.has_mle else {}
    if fitted.inference != "mle":
        columns = problem.columns_of(rows)
        curve = fitted.of_documents(score, columns)
        by_method[fitted.inference] = losses(curve.log_odds(fitted.read(score)), positive)
    return by_method


def sum_losses(topics: Iterable[Mapping[str, Losses]]) -> dict[str, Losses]:
    """Return the sums over topics of the losses of methods that all topics have."""
    from bayescal.metrics import Losses

    maps = list(topics)
    names = [name for name in maps[0] if all(name in other for other in maps)]
    each = {name: zip(*(astuple(other[name]) for other in maps), strict=True) for name in names}
    return {name: Losses(*map(sum, columns)) for name, columns in each.items()}


def with_test_rows(results: Sequence[Calibrated]) -> list[Calibrated]:
    """Return the topics that have rows to test on."""
    return [each for each in results if each.problem.test_rows.size]


def total_losses(tested: Sequence[Calibrated]) -> Losses:
    """Return the losses of the inference, summed over topics."""
    return sum_losses(each.losses for each in tested)[tested[0].fitted.inference]


# A topic's name, and the verdict on its probabilities.
NamedVerdict = tuple[str, "CalibrationVerdict"]


def held_out(
    fitted: FittedProblem,
    values: Floats,
    positive: Mask,
    prior: float | None = None,
    *,
    covariates: Columns | None = None,
) -> HeldOut:
    """Return a problem's predictions for labelled scores of users."""
    from bayescal.fitting.scores import BinaryScores
    from bayescal.report.held_out import predict

    return predict(fitted, BinaryScores(fitted.read(values), positive), prior, covariates)


def verdicts_by_topic(tested: Iterable[tuple[str, HeldOut]]) -> list[NamedVerdict]:
    """Return verdicts on each topic's probabilities, the worst first, and of several on all."""
    from bayescal.report.held_out import join

    names, each = zip(*tested, strict=True)
    verdicts = [(name, one.cells.verdict()) for name, one in zip(names, each, strict=True)]
    verdicts.sort(key=lambda named: named[1].pvalue)
    if len(verdicts) > 1:
        verdicts.append((ALL_TOPICS, join(each).cells.verdict()))
    return verdicts


Examples = tuple[NDArray[Any], ...]  # scores, labels and perhaps topics

# Saved calibrators, and their problem for each row of a file of scores.


@dataclass(frozen=True)
class SavedCalibrator:
    """A saved calibrator, and its problem for each row of a file."""

    source: Calibrator
    problems: Problems  # by topic, or a single one
    topics: NDArray[np.str_] | None  # (n,): topic of each row
    left_out: Mask  # (n,): rows of topics that the fit left out
    left_out_note: str  # a sentence about these; empty without any
    sign: int  # -1 if lower scores stand for positives: the calibrator takes negated scores

    @property
    def answered(self) -> Rows:
        """Return the positions of rows with a problem."""
        return np.flatnonzero(~self.left_out)

    def documents(self, score: Floats, rows: Rows) -> tuple[Floats, NDArray[np.str_] | None]:
        """Return scores of rows for the calibrator, and their topics, if any."""
        return self.sign * score[rows], None if self.topics is None else self.topics[rows]

    def rows(self) -> list[tuple[str, Rows]]:
        """Return each topic (empty without topics) and its rows."""
        answered = self.answered
        topics = None if self.topics is None else self.topics[answered]
        grouped = scores.rows_by_topic(topics, answered.size)
        return [(topic or "", answered[rows]) for topic, rows in grouped]


def load(path: Path) -> Calibrator:
    """Load as `bayescal.load` does, but return `FittedScores` for a ScoreCalibrator."""
    from bayescal.calibrators.loading import read_saved

    return read_saved(path, _read_file)


def of_classes(calibrator: Any) -> bool:
    """Return True for a calibrator of several exclusive classes."""
    return bool(getattr(calibrator, "several_classes", False))


def _read_file(path: Path, topic: str | None) -> Calibrator:
    from bayescal.calibrators.loading import calibrator_of
    from bayescal.fitting.fitted_scores import FittedScores
    from bayescal.fitting.results import storage, tree

    # Calibrators of topics are read on demand.
    with usage_errors():
        results = storage.read_tree(path, topic)
    if results.attrs[tree.ESTIMATOR] == FittedScores.estimator:
        return FittedScores.from_results(tree.Results.of_tree(results))
    calibrator: Calibrator = calibrator_of(results, path)
    return calibrator


def read_record(path: Path) -> dict[str, Any]:
    """Return the record in a folder, or beside a calibrator's file; empty without one."""
    from bayescal.calibrators.loading import SUMMARY

    folder = path if path.is_dir() else path.parent
    try:
        record: dict[str, Any] = json.loads((folder / SUMMARY).read_text(encoding="utf-8"))
        return record if isinstance(record["arguments"], dict) else {}
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return {}


def read_calibrator(
    path: Path,
    reader: ColumnReader,
    topic_column: str | None,
    source: Calibrator | None = None,
    *,
    lower_is_positive: bool = False,
) -> SavedCalibrator:
    """Read a saved calibrator, unless given, and find the problem of each row of a file."""
    with usage_errors():
        source = load(path) if source is None else source
        if of_classes(source):
            raise UsageError(f"{path} calibrates several classes: this command takes one score.")
        problems, record = source.fitted_problems(), read_record(path)
        reasons: scores.LeftOut = record.get("left_out", {})
        known = [*map(str, problems), *reasons]
        topics = reader.names(topic_column, known=known) if topic_column else None
    if problems.by_topic and topics is None:
        raise UsageError(
            f"{path} holds many topics: name their column with --topic-column; they are"
            f" {first_of(list(problems))}."
        )
    if topics is not None and not problems.by_topic:
        raise UsageError(
            f"--topic-column needs a folder that bayescal fit wrote with --topic-column;"
            f" {path} is one calibrator without topics."
        )
    left_out, note = scores.rows_left_out(topics, reasons, len(reader.frame))
    sign = -1 if lower_is_positive else scores.sign_of(record.get("arguments", {}))
    saved = SavedCalibrator(source, problems, topics, left_out, note, sign)
    _check_answered(saved, reader.name(str(topic_column)))
    return saved


def state_positive(screen: Screen, source: Calibrator) -> None:
    """State the positive and the negative label of a calibrator."""
    negative, positive = map(str, next(iter(source.fitted_problems().values())).labels)
    screen.note(f"Positive label, as fitted: {positive!r}; negative: {negative!r}.")


def read_covariates(path: Path, reader: ColumnReader, saved: SavedCalibrator) -> Columns | None:
    """Return a saved calibrator's covariates from a file, by the names fitted."""
    calibration = next(iter(saved.problems.values())).calibration
    known, draws = calibration.covariates, calibration.draws
    if known is None:
        return None
    names, frame = list(known.columns), reader.frame
    if missing := [name for name in names if name not in frame.columns]:
        raise UsageError(
            f"{reader.path} must have the columns {', '.join(names)}, which the model of {path}"
            f" takes; there is no {', '.join(missing)}: add what is missing."
        )
    columns = {name: reader.covariate(name, text=name in known.levels) for name in names}
    for name in getattr(draws, "open_to", ()):
        if new := sorted(set(columns[name].tolist()).difference(known.levels[name])):
            reader.screen.note(
                f"Not fitted: {name} {first_of(new)}. Probabilities and bands there are those of a"
                f" new {name}, if it is like the {len(known.levels[name])} fitted."
            )
    return columns


def fitted_examples(path: Path, problems: Problems) -> Examples | None:
    """Return the fitted scores from the file beside a calibrator that does not store them."""
    arguments: dict[str, Any] = read_record(path).get("arguments", {})
    folder = path if path.is_dir() else path.parent
    written = [folder / f"probabilities{suffix}" for suffix in WRITTEN]
    written = [file for file in written if file.is_file()]
    if not arguments or not written or next(iter(problems.values())).documents.score.size:
        return None
    table = scores.read_scores(written[0], {**arguments, "labels": None})
    rows = table.fit_rows
    if scores.HELD_OUT in table.frame:
        rows = rows[table.frame[scores.HELD_OUT].astype(str).to_numpy()[rows] != "True"]
    return table.examples(rows)


def _check_answered(saved: SavedCalibrator, column: str) -> None:
    rows, problems = saved.rows(), saved.problems
    if not rows:
        raise UsageError(
            f"{column} must hold topics that were fitted: there are only {saved.left_out_note}"
        )
    for topic, _ in rows:
        if not problems.answers(topic):
            raise UsageError(
                f"{column} must hold topics that have a calibrator,"
                f" {', '.join(map(repr, problems))}; got {topic!r}."
            )


def warn_of_topics(
    screen: Screen, frame: pd.DataFrame, path: Path, topic_column: str | None, why: str
) -> None:
    """Warn of a column of topics that no option names."""
    if topic_column is not None or TOPIC not in frame.columns:
        return
    topics = frame[TOPIC].nunique()
    if topics > 1:
        screen.warn(f"{path} has a column {TOPIC!r} of {topics} values, which is not used: {why}")

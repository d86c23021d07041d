"""Ordered grades of one score: fits and predictions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from bayescal.cli import classes, fitting, options, predictions, tables, writing
from bayescal.cli.columns import ColumnReader
from bayescal.cli.scores import ScoreTable, read_scores
from bayescal.cli.terminal import Screen, UsageError, usage_errors
from bayescal.support.validation import Floats

if TYPE_CHECKING:
    import pandas as pd

    from bayescal.calibrators.ordinal_calibrator import OrdinalCalibrator

NOT_FOR_GRADES = (
    "labels", "classes", "topic_column", "source_columns", "covariate_columns", "positive",
    "lower_is_positive", "model", "pool", "jobs", "resume", "parameters", "prior", "shares",
    "likelihood_ratio", "support", "bounds",
)  # fmt: skip


def _refuse_other_options(chosen: set[str]) -> None:
    if strange := [name for name in NOT_FOR_GRADES if name in chosen]:
        option = options.flag(strange[0])
        raise UsageError(f"{option} is not for ordered grades: leave it out.")


# bayescal fit --grades


def read_to_fit(arguments: Mapping[str, Any], chosen: set[str], screen: Screen) -> ScoreTable:
    """Read the file of scores of a call, given the options on the command line."""
    _refuse_other_options(chosen)
    path = arguments["scores"]
    table = read_scores(path, arguments, screen)
    writing.check_columns_free(table.frame, path, *_added(table.classes))
    return table


def fit(
    table: ScoreTable, arguments: Mapping[str, Any], chosen: set[str], screen: Screen
) -> OrdinalCalibrator:
    """Fit the stages of all grades, and show the probability of reaching each grade."""
    from bayescal.calibrators.ordinal_calibrator import OrdinalCalibrator
    from bayescal.fitting.settings import CurveParameters

    rows, parameters = table.fit_rows, fitting.read_parameters(arguments)
    shared = {each.name: getattr(parameters, each.name) for each in fields(CurveParameters)}
    calibrator = OrdinalCalibrator(grades=table.classes, **shared)
    with screen.warnings(), usage_errors():
        calibrator.fit(table.score[rows], table.labels(rows), **table.weights(rows))
    for k, (event, fitted) in enumerate(calibrator.fitted_problems().items(), start=1):
        label, nothing = (table.label >= k).astype(np.intp), predictions.RowCurve(table.score[:0])
        own = replace(table, topic=event, classes=(f"< {table.classes[k]}", event), label=label)
        each = predictions.Calibrated(own, calibrator, fitted, fitting.SINGLE, nothing, {})
        screen.show(tables.answer_table(each, arguments["level"]))
    return calibrator


# bayescal predict


def of_grades(calibrator: Any) -> bool:
    """Return True for a calibrator of ordered grades."""
    from bayescal.calibrators.ordinal_calibrator import OrdinalCalibrator

    return isinstance(calibrator, OrdinalCalibrator)


def _added(grades: Sequence[Any]) -> list[str]:
    reached = [f"{what}(>= {grade})" for grade in grades[1:] for what in ("P", "lower", "upper")]
    expected = [f"expected_grade{end}" for end in ("", "_lower", "_upper")]
    return ["predicted", *(f"P({grade})" for grade in grades), *reached, *expected]


def with_probabilities(
    calibrator: OrdinalCalibrator,
    frame: pd.DataFrame,
    scores: Floats,
    level: float,
    band: str = "pointwise",
) -> pd.DataFrame:
    """Return rows with the likeliest grade, the bands of reaching grades, the expected grade."""
    bands = calibrator.predict_interval(scores, level, band)
    reached = np.dstack([calibrator.exceedance(scores), bands]).reshape(len(scores), -1)
    expected = calibrator.expected_gain(scores), *calibrator.gain_interval(scores, level, band).T
    numbers = *calibrator.predict_proba(scores).T, *reached.T, *expected
    names = _added(calibrator.classes_.tolist())
    columns = zip(names, (calibrator.predict(scores), *numbers), strict=True)
    return frame.assign(**dict(columns))


judge_and_write = partial(classes.judge_and_write, answer=with_probabilities)


def predict(
    calibrator: OrdinalCalibrator, arguments: Mapping[str, Any], chosen: set[str], screen: Screen
) -> None:
    """Write a file's rows with probabilities, and show a verdict with --test."""
    _refuse_other_options(chosen)
    reader, out = ColumnReader(arguments["scores"], screen=screen), arguments["out"]
    grades, column, verdict = calibrator.classes_, arguments["score_column"], None
    writing.check_columns_free(reader.frame, reader.path, *_added(grades.tolist()))
    scores = reader.scores(column)
    if arguments["test"]:
        at, labelled = reader.class_positions(arguments["label_column"], grades.tolist(), "grades")
        verdict = classes.verdict_on(calibrator, scores[labelled], grades[at[labelled]])
    with screen.warnings(), usage_errors(f"{reader.name(column)}: "):
        level, band = arguments["level"], arguments["band"]
        frame = with_probabilities(calibrator, reader.frame, scores, level, band)
    writing.write_table(frame, out, screen)
    if verdict is not None:
        screen.show(classes.verdict_table(verdict), stderr=out is None)

"""The summary of a run: what was asked for, with which versions, and what came out, as JSON."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayescal.cli.fitting import Calibrated
from bayescal.validation import Floats


def write_record(record: Mapping[str, Any], folder: Path) -> None:
    """Write a summary into a folder."""
    from bayescal.loading import SUMMARY

    text = json.dumps(_jsonable(record), indent=2, allow_nan=False, ensure_ascii=False)
    (folder / SUMMARY).write_text(text + "\n", encoding="utf-8")


def describe(
    calibrated: Sequence[Calibrated], names: Sequence[str], arguments: Mapping[str, Any]
) -> dict[str, Any]:
    """
    Return versions, arguments and, by topic, parameters, diagnostics and losses.

    Parameters
    ----------
    calibrated : sequence of Calibrated
        All problems of one table.
    names : sequence of str
        The files of their calibrators.
    arguments : mapping
        What the command was asked for; "level" and "seed" among it.
    """
    from bayescal.results.provenance import versions

    negative, positive = calibrated[0].problem.table.classes
    topics = zip(calibrated, names, strict=True)
    return {
        "versions": versions(),
        "seed": arguments["seed"],
        "arguments": dict(arguments),
        "family": calibrated[0].calibrator.family,
        "classes": {"negative": negative, "positive": positive},
        "topics": [_topic_summary(one, name, arguments["level"]) for one, name in topics],
    }


def describe_pooled(
    file: str,
    family: str,
    classes: tuple[Any, Any],
    topics: Sequence[Mapping[str, Any]],
    diagnostics: Mapping[str, Any],
    problems: Sequence[str],
    losses: Mapping[str, Any] | None,
    tested: tuple[Floats, NDArray[np.bool_]] | None,
    arguments: Mapping[str, Any],
) -> dict[str, Any]:
    """
    Return versions, arguments and, by topic, what pooling found; all topics are in one file.

    Parameters
    ----------
    file : str
        Of the calibrator.
    family : str
        Of the densities.
    classes : tuple
        The negative and the positive label.
    topics : sequence of mapping
        One a topic.
    diagnostics : mapping
        Of the draws of all topics.
    problems : sequence of str
        What is wrong with the scores of all topics.
    losses : mapping or None
        On the rows to test on, of all topics together.
    tested : tuple of array, or None
        Probabilities of the rows to test on, and which of them are positive.
    arguments : mapping
        What the command was asked for; "seed" among it.
    """
    from bayescal.results.provenance import versions

    return {
        "versions": versions(),
        "seed": arguments["seed"],
        "arguments": dict(arguments),
        "family": family,
        "classes": dict(zip(("negative", "positive"), classes, strict=True)),
        "topics": [{**topic, "file": file} for topic in topics],
        "diagnostics": dict(diagnostics),
        "score_problems": problems,
        "losses": losses,
        "verdict": None if tested is None else _verdict(*tested),
    }


def _topic_summary(one: Calibrated, name: str, level: float) -> dict[str, Any]:
    negatives, positives = (part.size for part in one.problem.scores_by_class())
    diagnostics = one.calibrator.diagnostics_
    rows: dict[Any, dict[Any, Any]] = one.summary(level).to_dict("index")
    parameters: dict[str, dict[str, Any]] = {}
    for (label, parameter), values in rows.items():
        parameters.setdefault(str(label), {})[str(parameter)] = values
    return {
        "topic": one.problem.topic,
        "file": name,
        "rows": {
            "negatives": negatives,
            "positives": positives,
            "test": one.problem.test_rows.size,
        },
        "parameters": parameters,
        "diagnostics": None if diagnostics is None else asdict(diagnostics),
        "score_problems": one.calibrator.score_problems_,
        "losses": {key: asdict(value) for key, value in one.losses.items()},
        "verdict": _verdict(*one.tested) if one.problem.test_rows.size else None,
    }


def _verdict(probability: Floats, positive: NDArray[np.bool_]) -> dict[str, Any]:
    from bayescal.metrics import calibration_verdict

    found = calibration_verdict(positive, probability)
    return {**asdict(found), "text": found.text}


def _jsonable(value: Any) -> Any:
    """Return plain data: paths as text, and null for what JSON has no number for."""
    if isinstance(value, Mapping):
        return {str(key): _jsonable(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_jsonable(item) for item in value]
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value

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

from bayescal.cli.fitting import Calibrated, FittedCalibrator, flags
from bayescal.cli.held_out import all_test_rows, total_losses, with_test_rows
from bayescal.cli.left_out import LeftOut
from bayescal.validation import Floats


def write_record(record: Mapping[str, Any], folder: Path) -> None:
    """Write a summary into a folder."""
    from bayescal.saved import SUMMARY

    text = json.dumps(_jsonable(record), indent=2, allow_nan=False, ensure_ascii=False)
    (folder / SUMMARY).write_text(text + "\n", encoding="utf-8")


def read_record(path: Path) -> dict[str, Any]:
    """Return the summary in a folder, or beside a calibrator's file; empty where there is none."""
    from bayescal.saved import SUMMARY

    folder = path if path.is_dir() else path.parent
    try:
        record: dict[str, Any] = json.loads((folder / SUMMARY).read_text(encoding="utf-8"))
        return record if isinstance(record["arguments"], dict) else {}
    except (OSError, ValueError, KeyError, TypeError):
        return {}


def describe(
    many: Sequence[Calibrated], arguments: Mapping[str, Any], left_out: LeftOut
) -> dict[str, Any]:
    """
    Return versions, arguments and what came out, by topic and of all together.

    Diagnostics and problems of scores are those of a calibrator: they stand with the topic that it
    is of, and with all where it is the only one.

    Parameters
    ----------
    many : sequence of Calibrated
        All problems of one table.
    arguments : mapping
        What the command was asked for; "level" and "seed" among it.
    left_out : mapping
        Topics that were not fitted, and why.
    """
    from bayescal.results.provenance import versions

    first, files = many[0], {one.file for one in many}
    each_its_own = len(files) == len(many)
    topics = [
        _topic(one, flag, arguments["level"]) | (_health(one.calibrator) if each_its_own else {})
        for one, flag in zip(many, flags(many), strict=True)
    ]
    tested = with_test_rows(many)
    return {
        "versions": versions(),
        "seed": arguments["seed"],
        "arguments": dict(arguments),
        "family": first.fitted.model,
        "classes": dict(zip(("negative", "positive"), first.problem.table.classes, strict=True)),
        "topics": topics,
        "left_out": dict(left_out),
        **(_health(first.calibrator) if len(files) == 1 else {}),
        "losses": asdict(total_losses(tested)) if tested else None,
        "verdict": _verdict(*all_test_rows(tested)) if tested else None,
    }


def _topic(one: Calibrated, flag: str, level: float) -> dict[str, Any]:
    negatives, positives = one.problem.counts
    test = one.problem.test_rows.size
    return {
        "topic": one.problem.topic,
        "file": one.file,
        "positives": positives,
        "negatives": negatives,
        "rows": {"negatives": negatives, "positives": positives, "test": test},
        "probability": float(one.curve.probability.mean()),
        "width": one.curve.width,
        "undecided": one.undecided,
        "flag": flag,
        "parameters": _parameters(one, level),
        "losses": {key: asdict(value) for key, value in one.losses.items()},
        "verdict": _verdict(*one.tested) if test else None,
    }


def _parameters(one: Calibrated, level: float) -> dict[str, dict[str, Any]]:
    rows: dict[Any, dict[Any, Any]] = one.fitted.parameters(level).to_dict("index")
    parameters: dict[str, dict[str, Any]] = {}
    for (label, parameter), values in rows.items():
        parameters.setdefault(str(label), {})[str(parameter)] = values
    return parameters


def _health(calibrator: FittedCalibrator) -> dict[str, Any]:
    found = calibrator.diagnostics_
    return {
        "diagnostics": None if found is None else asdict(found),
        "score_problems": calibrator.score_problems_,
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

"""Folders of results, written whole or not at all."""

from __future__ import annotations

import hashlib
import json
import math
import shlex
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from bayescal.cli import options, predictions, scores
from bayescal.cli.files import Write, block_writer, existing_folder, write_frame
from bayescal.cli.predictions import Calibrated
from bayescal.cli.terminal import Screen, UsageError, counted, usage_errors
from bayescal.support import files as run_files

if TYPE_CHECKING:
    import pandas as pd
    import typer

    from bayescal.metrics import CalibrationVerdict, ClassVerdict
    from bayescal.report.held_out import HeldOut

# The summary of a run as JSON: arguments, versions and results.


def run_record(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return versions and arguments of a run, the first part of every summary."""
    from bayescal.fitting.results.tree import versions

    return {"versions": versions(), "seed": arguments["seed"], "arguments": dict(arguments)}


def page_run(
    context: typer.Context,
    command: str,
    files: Sequence[Path],
    rows: str,
    positive: object,
    unit: str,
) -> dict[str, dict[str, str]]:
    """Return the provenance that a page to sign states, its files and its call, by heading."""
    arguments = options.arguments_of(context, command).items()
    hashes = {f"SHA-256 of {path}": _digest(path) for path in files}
    counted = {"Rows": rows, "Positive label": str(positive), "Unit of counting": unit}
    return {
        "Files": hashes | counted | {"Date": date.today().isoformat()},
        "Arguments": {name: _written(value) for name, value in arguments if value is not None},
    }


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _written(value: Any) -> str:
    """Return an argument as text; those given several times are joined."""
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


def describe(
    results: Sequence[Calibrated], arguments: Mapping[str, Any], left_out: scores.LeftOut
) -> dict[str, Any]:
    """Return versions, arguments and results, by topic and of all topics."""
    first, files = results[0], {each.file for each in results}
    own_calibrators = len(files) == len(results)
    flags = predictions.flags(results)
    topics = [
        _topic(each, flag, arguments["level"])
        | (health(each.calibrator) if own_calibrators else {})
        for each, flag in zip(results, flags, strict=True)
    ]
    tested = predictions.with_test_rows(results)
    return run_record(arguments) | {
        "family": first.fitted.model,
        "classes": dict(zip(("negative", "positive"), first.problem.classes, strict=True)),
        "topics": topics,
        "left_out": dict(left_out),
        "unnamed_sources": first.problem.unnamed_sources,
        **(health(first.calibrator) if len(files) == 1 else {}),
        "losses": asdict(predictions.total_losses(tested)) if tested else None,
        "verdict": _verdict_on([each.tested for each in tested]) if tested else None,
    }


def _topic(result: Calibrated, flag: str, level: float) -> dict[str, Any]:
    negatives, positives = result.problem.counts
    test, effect = result.problem.test_rows.size, result.fitted.design_effect
    rows: dict[Any, Any] = result.fitted.parameters(level).to_dict("index")
    parameters: dict[str, dict[str, Any]] = {}
    for (label, name), values in rows.items():
        parameters.setdefault(str(label), {})[str(name)] = values
    return {
        "topic": result.problem.topic,
        "file": result.file,
        "positives": positives,
        "negatives": negatives,
        "rows": {"negatives": negatives, "positives": positives, "test": test},
        "probability": float(result.curve.probability.mean()),
        "width": result.curve.width,
        "undecided": result.undecided,
        "clusters": None if effect is None else asdict(effect),
        "flag": flag,
        "parameters": parameters,
        "losses": {method: asdict(losses) for method, losses in result.losses.items()},
        "verdict": _verdict_on([result.tested]) if test else None,
    }


def health(calibrator: Any) -> dict[str, Any]:
    """Return the diagnostics of a calibrator and the problems of its scores, for a summary."""
    diagnostics = calibrator.diagnostics_
    return {
        "diagnostics": None if diagnostics is None else asdict(diagnostics),
        "score_problems": calibrator.score_problems_,
    }


def _verdict_on(tested: Sequence[HeldOut]) -> dict[str, Any]:
    from bayescal.report.held_out import join

    return describe_verdict(join(tested).cells.verdict())


def describe_verdict(verdict: CalibrationVerdict | ClassVerdict) -> dict[str, Any]:
    """Return a verdict's numbers, outcome and text."""
    return {**asdict(verdict), "outcome": verdict.outcome, "text": verdict.text}


def _jsonable(value: Any) -> Any:
    """Return plain data for JSON, with paths as text, and null for infinite numbers and nan."""
    if isinstance(value, Mapping):
        return {str(key): _jsonable(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_jsonable(item) for item in value]
    if isinstance(value, np.ndarray | np.generic):
        return _jsonable(value.tolist())
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


# Writing whole results.

MOST_NAMES = 5  # of calibrators in a line
CURVE_COLUMNS = ("probability", "lower", "upper", "log_odds")


@contextmanager
def staged_folder(out: Path) -> Iterator[Path]:
    """Yield a folder to write into; without an error its files move to `out`."""
    # In the same folder, for moves within a file system.
    parent = existing_folder(out)
    with usage_errors("--out: ", (OSError,)):
        stage = Path(tempfile.mkdtemp(prefix=".bayescal-", dir=parent))
        try:
            yield stage
            paths = sorted(stage.iterdir())
            for path in paths:
                if (out / path.name).is_dir():
                    raise UsageError(
                        f"--out: {out / path.name} is a folder, where a file is to be written."
                    )
            out.mkdir(parents=True, exist_ok=True)
            for path in paths:
                path.replace(out / path.name)
        finally:
            shutil.rmtree(stage, ignore_errors=True)


def save(
    out: Path | None, write: Callable[[Path], object], arguments: Mapping[str, Any], screen: Screen
) -> None:
    """Write results into a folder and print next steps; without a folder print how to write."""
    if out is None:
        screen.say("Nothing is written; --out FOLDER keeps calibrators and probabilities.")
        return
    with staged_folder(out) as stage:
        write(stage)
        names = [path.name for path in sorted(stage.iterdir())]
    screen.say(f"Written to {out}: {', '.join(_listed(names))}. Next:")
    for line in _next_steps(shlex.quote(str(out)), arguments):
        screen.say(f"  bayescal {line}")


def _listed(names: list[str]) -> list[str]:
    """Return file names; many calibrators are counted."""
    calibrators = [name for name in names if name.endswith(".nc")]
    if len(calibrators) <= MOST_NAMES:
        return names
    return [f"{len(calibrators)} calibrators (.nc)", *(n for n in names if n not in calibrators)]


def _next_steps(out: str, arguments: Mapping[str, Any]) -> list[str]:
    given = {
        "--score-column": arguments.get("probability_column"),
        "--text-column": arguments.get("text_column"),
        "--topic-column": arguments.get("topic_column") or arguments.get("site_column"),
    }
    columns = "".join(f" {name} {shlex.quote(value)}" for name, value in given.items() if value)
    steps = [f"predict {out} new.csv{columns} --out probabilities.csv", f"report {out}"]
    if "text_column" in arguments:
        steps[0] = f"text {steps[0]}"
    if arguments.get("covariate_columns") or "probability_column" in arguments:
        return steps[:1]  # there is no curve of one score to report
    return steps


def write_results(
    results: Sequence[Calibrated],
    frame: pd.DataFrame,
    arguments: Mapping[str, Any],
    left_out: scores.LeftOut,
    folder: Path,
) -> None:
    """Write calibrators, probabilities and a summary."""
    rows = [each.problem.rows for each in results]
    columns = [each.curve.columns for each in results]
    added = predictions.merge_columns(columns, rows, len(frame))
    calibrators = {each.file: each.calibrator for each in results}
    record = describe(results, arguments, left_out)
    write_files(calibrators, frame.assign(**added), record, folder)


def write_files(
    calibrators: Mapping[str, Any], frame: pd.DataFrame, record: Mapping[str, Any], folder: Path
) -> None:
    """Write calibrators by the names of their files, a table of probabilities and a summary."""
    from bayescal.calibrators.loading import SUMMARY

    for name, calibrator in calibrators.items():
        calibrator.save(folder / name)
    suffix = record["arguments"].get("table_format", "csv")
    write_frame(frame, folder / f"probabilities.{suffix}")
    text = json.dumps(_jsonable(record), indent=2, allow_nan=False, ensure_ascii=False)
    (folder / SUMMARY).write_text(text + "\n", encoding="utf-8")


def write_table(frame: pd.DataFrame, out: Path | None, screen: Screen) -> None:
    """Write a table to a file and print its name, or print the table as CSV."""
    with table_writer(out, screen) as write:
        write(frame)


@contextmanager
def table_writer(out: Path | None, screen: Screen) -> Iterator[Write]:
    """Yield a function that adds rows to a table: a file, written whole or not at all, or CSV."""
    if out is None:
        with block_writer(sys.stdout) as write:
            yield write
        screen.tell_notes(stderr=True)
        return
    rows = 0

    def counting(frame: pd.DataFrame) -> None:
        nonlocal rows
        with usage_errors("--out: ", (OSError,)):
            write(frame)
        rows += len(frame)

    with (
        usage_errors("--out: ", (OSError,)),
        run_files.whole_file(out) as path,
        block_writer(path) as write,
    ):
        yield counting
    screen.say(f"Written to {out}: {counted(rows, 'row')}")


def check_columns_free(frame: pd.DataFrame, path: Path, *names: str) -> None:
    """Raise UsageError if columns of the output exist in the input."""
    for name in (*names, *CURVE_COLUMNS, scores.HELD_OUT):
        if name in frame.columns:
            raise UsageError(
                f"{path} has a column {name!r}, which the output adds: rename it in the input."
            )


# `--resume`: topics are stored as they are fitted, and a killed run continues.

# Arguments without influence on results.
ELSEWHERE = ("command", "scores", "jobs", "resume", "table_format")


@contextmanager
def unfinished_run(
    out: Path | None, table: scores.ScoreTable, arguments: Mapping[str, Any], *, resume: bool
) -> Iterator[Path | None]:
    """Yield a folder inside that of the results, which stores topics until all are fitted."""
    if resume and (out is None or table.topics is None):
        raise UsageError("--resume needs --topic-column and --out, as the run to go on with had.")
    if out is None or table.topics is None:
        yield None
        return
    folder = out / run_files.FOLDER
    made = [path for path in (out, *out.parents) if not path.exists()]
    try:
        with usage_errors("--out: "):
            run_files.begin(folder, _record(table, arguments), resume=resume)
        yield folder
    except BaseException:
        # Without a result in the memory of `parallel`.
        if folder.is_dir() and not any(folder.rglob("output.pkl")):
            shutil.rmtree(folder, ignore_errors=True)
            for path in made:
                if path.is_dir() and not any(path.iterdir()):
                    path.rmdir()
        raise
    shutil.rmtree(folder, ignore_errors=True)


def _record(table: scores.ScoreTable, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return the inputs and options that determine a run's results."""
    from bayescal.fitting.results.tree import versions

    options = {name: value for name, value in arguments.items() if name not in ELSEWHERE}
    columns = () if table.covariates is None else table.covariates.values()
    arrays = (table.score, table.positive, table.test, table.topics, table.weight)
    arrays = (*arrays, table.clusters, *columns)
    data = [b"" if array is None else np.ascontiguousarray(array).tobytes() for array in arrays]
    model = options.get("model")
    if model is not None and Path(model).is_file():
        options["text of --model"] = hashlib.sha256(Path(model).read_bytes()).hexdigest()
    record = {
        "scores": run_files.digest([repr(table.classes).encode(), *data]),
        **options,
        **{f"version of {name}": version for name, version in versions().items()},
    }
    # As it is read again: paths as text.
    plain: dict[str, Any] = json.loads(json.dumps(record, default=str))
    return plain

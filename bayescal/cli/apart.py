"""Topics fitted apart: a calibrator each, in as many processes as are asked for."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from bayescal.cli.console import Screen
from bayescal.cli.errors import blamed_on_use
from bayescal.cli.files import SINGLE, calibrator_files
from bayescal.cli.fitting import Calibrated, calibrated
from bayescal.cli.problems import Problem, check_classes
from bayescal.cli.settings import Settings, option_advice
from bayescal.parallel import in_parallel, workers

if TYPE_CHECKING:
    from bayescal.score_calibrator import ScoreCalibrator

Advice = Callable[[type[Warning]], str]
# Texts of warnings, and their kinds.
Warned = list[tuple[str, type[Warning]]]
# A problem, its calibrator, not fitted yet, and the level of the band: all that a fit depends on.
Task = tuple[Problem, "ScoreCalibrator", float]


def calibrate(
    problems: Sequence[Problem],
    settings: Settings,
    screen: Screen,
    *,
    advice: Advice = option_advice,
    folder: Path | None = None,
) -> list[Calibrated]:
    """
    Fit a calibrator to every problem.

    Parameters
    ----------
    problems : sequence of Problem
        What to fit.
    settings : Settings
        How, the same for all.
    screen : Screen
        Shows progress and warnings.
    advice : callable
        Of a kind of warning: which options help.
    folder : Path, optional
        Keeps problems as they are fitted; those that are there are read.

    Raises
    ------
    UsageError
        If a problem lacks a class, or a calibrator refuses its scores or its program.
    """
    check_classes(problems)
    tasks = [(problem.alone(), settings.calibrator(), settings.level) for problem in problems]
    files, done = calibrator_files([problem.topic for problem in problems]), []
    with (
        screen.progress(f"{settings.inference_name}:", len(problems)) as step,
        workers(settings.jobs, folder),
    ):
        found = in_parallel(_calibrate_task, tasks)
        for problem, file in zip(problems, files, strict=True):
            step.begin(problem.name)
            one, warned = next(found)
            for text, category in warned:
                screen.warn(f"{problem.subject}{text} {advice(category)}")
            done.append(replace(one, problem=problem, file=file))
            step.end()
    return done


def _calibrate_task(task: Task) -> tuple[Calibrated, Warned]:
    """Fit one problem, maybe in another process; warnings come back as text."""
    from bayescal.results.diagnostics import ConvergenceWarning
    from bayescal.score_checks import ScoresWarning

    with warnings.catch_warnings(record=True) as caught, blamed_on_use(task[0].subject):
        for category in (ConvergenceWarning, ScoresWarning):
            warnings.simplefilter("always", category)
        found = calibrate_one(*task)
    return found, [(str(w.message), w.category) for w in caught]


def calibrate_one(problem: Problem, calibrator: ScoreCalibrator, level: float) -> Calibrated:
    """Fit one problem."""
    fit_rows(calibrator, problem)
    (fitted,) = calibrator.fitted_problems().values()
    return calibrated(problem, calibrator, fitted, SINGLE, level)


def fit_rows(calibrator: ScoreCalibrator, problem: Problem) -> ScoreCalibrator:
    """Fit a calibrator to the rows to fit of a problem."""
    table, rows = problem.table, problem.fit_rows
    calibrator.set_params(positive=table.classes[1])
    weight = None if table.weight is None else table.weight[rows]
    return calibrator.fit(table.score[rows], table.labels(rows), sample_weight=weight)

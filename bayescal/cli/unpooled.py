"""Topics fitted one by one: a calibrator each, in as many processes as are asked for."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from bayescal.cli.console import Screen
from bayescal.cli.errors import UsageError, blamed_on_use
from bayescal.cli.files import SINGLE, calibrator_files
from bayescal.cli.fitting import Calibrated, calibrated
from bayescal.cli.left_out import fittable, refuse_if_all
from bayescal.cli.problems import Problem
from bayescal.cli.settings import Settings, option_advice
from bayescal.parallel import in_parallel, workers

if TYPE_CHECKING:
    from bayescal.plain_calibrator import PlainCalibrator

Advice = Callable[[type[Warning]], str]
# Texts of warnings, and their kinds.
Warned = list[tuple[str, type[Warning]]]
# A problem, its calibrator, not fitted yet, and the level of the band: all that a fit depends on.
Task = tuple[Problem, "PlainCalibrator", float]


@dataclass(frozen=True)
class Refused:
    """A problem that a calibrator refused, and why."""

    reason: str


def calibrate(
    problems: Sequence[Problem],
    settings: Settings,
    screen: Screen,
    *,
    advice: Advice = option_advice,
    folder: Path | None = None,
) -> tuple[list[Calibrated], dict[str, str]]:
    """
    Fit a calibrator to every problem that can be fitted.

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

    Returns
    -------
    tuple of list of Calibrated and dict
        Those fitted, in the order given; and, by topic, why the others are left out: they lack a
        class, or the calibrator refused their scores.

    Raises
    ------
    UsageError
        If nothing can be fitted.
    """
    fitted, left_out = fittable(problems)
    tasks = [(problem.alone(), settings.calibrator(), settings.level) for problem in fitted]
    files, done = calibrator_files([problem.topic for problem in fitted]), []
    with (
        screen.progress(f"{settings.inference_name}:", len(fitted)) as step,
        workers(settings.jobs, folder),
    ):
        found = in_parallel(_calibrate_task, tasks)
        for problem, file in zip(fitted, files, strict=True):
            step.begin(problem.name)
            one, warned = next(found)
            for text, category in warned:
                screen.warn(f"{problem.subject}{text} {advice(category)}")
            if isinstance(one, Refused):
                left_out[problem.name] = one.reason
            else:
                done.append(replace(one, problem=problem, file=file))
            step.end()
    refuse_if_all(problems, left_out)
    return done, left_out


def _calibrate_task(task: Task) -> tuple[Calibrated | Refused, Warned]:
    """Fit one problem, maybe in another process; warnings come back as text."""
    from bayescal.results.diagnostics import ConvergenceWarning
    from bayescal.score_checks import ScoresWarning

    found: Calibrated | Refused
    with warnings.catch_warnings(record=True) as caught:
        for category in (ConvergenceWarning, ScoresWarning):
            warnings.simplefilter("always", category)
        try:
            with blamed_on_use():
                found = calibrate_one(*task)
        except UsageError as err:
            found = Refused(str(err))
    # What is wrong with a score is told once, whichever methods then read it.
    return found, list(dict.fromkeys((str(w.message), w.category) for w in caught))


def calibrate_one(problem: Problem, calibrator: PlainCalibrator, level: float) -> Calibrated:
    """Fit one problem."""
    fit_rows(calibrator, problem)
    (fitted,) = calibrator.fitted_problems().values()
    return calibrated(problem, calibrator, fitted, SINGLE, level)


def fit_rows(calibrator: PlainCalibrator, problem: Problem) -> PlainCalibrator:
    """Fit a calibrator to the rows to fit of a problem."""
    table, rows = problem.table, problem.fit_rows
    calibrator.positive = table.classes[1]
    weight = None if table.weight is None else table.weight[rows]
    return calibrator.fit(table.score[rows], table.labels(rows), sample_weight=weight)

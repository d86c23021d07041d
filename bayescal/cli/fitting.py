"""Fit the calibrators of all topics, and work out what they say about every row."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bayescal.cli.console import Screen
from bayescal.cli.curve import Curve, curve_at, mle_log_odds
from bayescal.cli.errors import blamed_on_use
from bayescal.cli.files import calibrator_files
from bayescal.cli.problems import Problem, Rows
from bayescal.cli.reading import ScoreTable
from bayescal.cli.settings import Settings, option_advice
from bayescal.parallel import in_parallel, workers
from bayescal.validation import Floats

if TYPE_CHECKING:
    import pandas as pd

    from bayescal.metrics import Losses
    from bayescal.score_calibrator import ScoreCalibrator


Advice = Callable[[type[Warning]], str]
# Texts of warnings, and their kinds.
Warned = list[tuple[str, type[Warning]]]


@dataclass(frozen=True)
class Calibrated:
    """
    A fitted problem.

    Attributes
    ----------
    problem : Problem
        Its rows.
    calibrator : ScoreCalibrator
        Fitted to the rows to fit.
    curve : Curve
        At all rows of the problem, in their order.
    losses : dict of str to Losses
        On the rows to test on, by inference; empty if there are none.
    file : Path or None
        Where the calibrator is written already, if it is.
    """

    problem: Problem
    calibrator: ScoreCalibrator
    curve: Curve
    losses: dict[str, Losses]
    file: Path | None = None

    def summary(self, level: float) -> pd.DataFrame:
        """Return `ScoreCalibrator.summary` without repeating the warnings of the fit."""
        from bayescal.results.summaries import parameter_table

        return parameter_table(self.calibrator.results_, self.calibrator.classes_, level)

    @property
    def tested(self) -> tuple[Floats, NDArray[np.bool_]]:
        """Return the probabilities of the rows to test on, and which of them are positive."""
        rows = self.problem.test_rows
        where = np.searchsorted(self.problem.rows, rows)
        return self.curve.probability[where], self.problem.table.positive[rows]


def calibrate(
    problems: Sequence[Problem],
    settings: Settings,
    screen: Screen,
    *,
    advice: Advice = option_advice,
    folder: Path | None = None,
) -> list[Calibrated]:
    """
    Fit a calibrator to every problem, in as many processes as the settings say.

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
        Where calibrators are written as they are fitted; those that are there are read.

    Raises
    ------
    UsageError
        If a calibrator refuses its scores or its program.
    """
    names = calibrator_files([problem.topic for problem in problems])
    paths = [None if folder is None else folder / name for name in names]
    done = []
    with screen.progress(f"{settings.inference_name}:", len(problems)) as step:
        run = _in_turn if settings.jobs == 1 else _in_processes
        found = run(problems, paths, settings, screen, advice)
        for problem, path in zip(problems, paths, strict=True):
            step.begin(problem.name)
            one = next(found)
            if path is not None and not path.exists():
                one.calibrator.save(path)
            done.append(replace(one, problem=problem, file=path))
            step.end()
    return done


def _in_turn(
    problems: Sequence[Problem],
    paths: Sequence[Path | None],
    settings: Settings,
    screen: Screen,
    advice: Advice,
) -> Iterator[Calibrated]:
    """Yield fitted problems in order."""
    for problem, path in zip(problems, paths, strict=True):
        with screen.warnings(problem.subject, advice), blamed_on_use(problem.subject):
            yield calibrate_one(problem, settings, path)


def _in_processes(
    problems: Sequence[Problem],
    paths: Sequence[Path | None],
    settings: Settings,
    screen: Screen,
    advice: Advice,
) -> Iterator[Calibrated]:
    """Yield fitted problems in order; joblib's backend of the moment runs them."""
    tasks = [
        (problem.alone(), settings, path) for problem, path in zip(problems, paths, strict=True)
    ]
    with workers(settings.jobs):
        found = in_parallel(_calibrate_apart, tasks)
        for problem, (one, warned) in zip(problems, found, strict=True):
            for text, category in warned:
                screen.warn(f"{problem.subject}{text} {advice(category)}")
            yield one


def _calibrate_apart(task: tuple[Problem, Settings, Path | None]) -> tuple[Calibrated, Warned]:
    """Fit one problem in another process; warnings come back as text."""
    from bayescal.results.diagnostics import ConvergenceWarning
    from bayescal.score_checks import ScoresWarning

    problem, settings, path = task
    with warnings.catch_warnings(record=True) as caught, blamed_on_use(problem.subject):
        for category in (ConvergenceWarning, ScoresWarning):
            warnings.simplefilter("always", category)
        found = calibrate_one(problem, settings, path)
    return found, [(str(w.message), w.category) for w in caught]


def calibrate_one(problem: Problem, settings: Settings, path: Path | None = None) -> Calibrated:
    """Fit one problem, or read its calibrator if it is there; see `calibrate`."""
    from bayescal.score_calibrator import ScoreCalibrator

    if path is not None and path.exists():
        calibrator = ScoreCalibrator.load(path)
    else:
        calibrator = fit_rows(settings.calibrator(), problem)
    score = problem.table.score
    return Calibrated(
        problem=problem,
        calibrator=calibrator,
        curve=curve_at(calibrator, score[problem.rows], settings.level),
        losses=held_out_losses(calibrator, problem),
    )


def fit_rows(calibrator: ScoreCalibrator, problem: Problem) -> ScoreCalibrator:
    """Fit a calibrator to the rows to fit of a problem."""
    table, rows = problem.table, problem.fit_rows
    calibrator.set_params(positive=table.classes[1])
    return calibrator.fit(
        table.score[rows],
        class_labels(table, rows),
        sample_weight=None if table.weight is None else table.weight[rows],
    )


def held_out_losses(calibrator: ScoreCalibrator, problem: Problem) -> dict[str, Losses]:
    """Return the losses on the rows to test on, of maximum likelihood and of the inference."""
    from bayescal.metrics import losses

    rows = problem.test_rows
    if rows.size == 0:
        return {}
    score, positive = problem.table.score[rows], problem.table.positive[rows]
    found = {"mle": losses(mle_log_odds(calibrator, score), positive)}
    if calibrator.inference_ != "mle":
        found[calibrator.inference_] = losses(calibrator.decision_function(score), positive)
    return found


def class_labels(table: ScoreTable, rows: Rows) -> NDArray[Any]:
    """Return the labels of some rows, as the file has them."""
    return np.array(table.classes)[table.positive[rows].astype(np.intp)]

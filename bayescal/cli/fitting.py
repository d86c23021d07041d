"""Fitted problems of any calibrator, with predictions for their rows."""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray
from rich.console import Group
from rich.text import Text

from bayescal.cli.command import Screen, UsageError, blamed_on_use
from bayescal.cli.layout import (
    ALL_TOPICS,
    MOST_TOPICS,
    add_columns,
    add_topic_column,
    counted,
    new_table,
    percent,
    titled,
)
from bayescal.cli.reading import ScoreTable
from bayescal.cli.settings import Settings, option_advice
from bayescal.support.parallel import in_parallel, reporting, workers
from bayescal.support.validation import Floats, first_of

if TYPE_CHECKING:
    from bayescal.fitting.fitted_scores import FittedScores
    from bayescal.fitting.problems.problem import FittedProblem, Problems
    from bayescal.fitting.results.diagnostics import Diagnostics
    from bayescal.fitting.settings import ScoreParameters
    from bayescal.metrics import CalibrationVerdict, Losses
    from bayescal.report.held_out import HeldOut

# What fitted problems say at some scores: log-odds, and probabilities with a band.


@dataclass(frozen=True)
class Curve:
    """Calibrated answers at some scores."""

    # (n,): natural log-odds of the positive class
    log_odds: Floats
    # (n, 2): lower and upper end of the band of its probability; None without a posterior
    band: Floats | None = None

    @property
    def probability(self) -> Floats:
        """Return the probabilities of the positive class."""
        from bayescal.support.bayes import probability

        return probability(self.log_odds)

    @property
    def width(self) -> float | None:
        """Return the mean width of the band, if there is one."""
        return None if self.band is None else float((self.band[:, 1] - self.band[:, 0]).mean())


def curve_at(
    fitted: FittedProblem,
    scores: Floats,
    level: float,
    *,
    band: str = "pointwise",
    prior: float | None = None,
) -> Curve:
    """Return log-odds and bands of a fitted problem at scores; see `Calibration.interval`."""
    values, calibration = fitted.read(scores), fitted.calibration
    log_odds = fitted.log_odds(values, prior)
    if not fitted.has_posterior:
        return Curve(log_odds)
    return Curve(log_odds, calibration.with_prior(prior).interval(values, level, band))


def log_odds_at(fitted: FittedProblem, scores: Floats) -> Floats:
    """Return the log-odds that a fitted problem gives users' scores."""
    return fitted.log_odds(fitted.read(scores))


def mle_log_odds(fitted: FittedProblem, scores: Floats) -> Floats:
    """Return the log-odds of maximum likelihood at scores."""
    calibration = fitted.calibration
    return calibration.fits.log_odds(calibration.read(fitted.read(scores)))


def merge_curves(rows: Sequence[NDArray[np.intp]], curves: Sequence[Curve], n: int) -> Curve:
    """Return the curve of a table of n rows from those of parts of it."""
    log_odds, band = np.full(n, np.nan), np.full((n, 2), np.nan)
    banded = all(curve.band is not None for curve in curves)
    for where, curve in zip(rows, curves, strict=True):
        log_odds[where] = curve.log_odds
        if banded:
            band[where] = curve.band
    return Curve(log_odds, band if banded else None)


# Names of the files of calibrators.

SINGLE = "posterior.nc"
LONGEST_SLUG = 80


def calibrator_files(topics: Sequence[str | None]) -> list[str]:
    """
    Return file names for the calibrators of topics: safe everywhere, and no two the same.

    Examples
    --------
    >>> calibrator_files(["corn", "money/fx", "money fx", "Corn"])
    ['corn.nc', 'money_fx.nc', 'money_fx-2.nc', 'Corn-2.nc']
    """
    taken: set[str] = set()
    names = []
    for topic in topics:
        stem = SINGLE.removesuffix(".nc") if topic is None else _slug(topic)
        name, k = stem, 1
        # Some file systems do not tell Corn from corn.
        while name.casefold() in taken:
            k += 1
            name = f"{stem}-{k}"
        taken.add(name.casefold())
        names.append(f"{name}.nc")
    return names


def _slug(topic: str) -> str:
    text = re.sub(r"[^A-Za-z0-9._-]+", "_", topic).strip("._-")
    return text[:LONGEST_SLUG] or "topic"


# From a table to binary problems: one a topic, with the rows to fit and the rows to test on.

Rows = NDArray[np.intp]

# The column that says which rows were held out at random.
HELD_OUT = "held_out"


@dataclass(frozen=True)
class Problem:
    """The rows of one topic, or of a file without topics."""

    # Where the rows are
    table: ScoreTable
    # Its name; None in a file without topics
    topic: str | None
    # Positions in the table; no row is in both
    fit_rows: Rows
    test_rows: Rows
    # Rows without a label, which get a probability and no more
    other_rows: Rows = field(default_factory=lambda: np.array([], dtype=np.intp))

    @property
    def name(self) -> str:
        """Return the topic, or nothing in a file without topics."""
        return self.topic or ""

    @property
    def subject(self) -> str:
        """Return the opening of messages about the problem."""
        return "" if self.topic is None else f"topic {self.topic!r}: "

    @property
    def rows(self) -> Rows:
        """Return all rows of the problem, in the table's order."""
        return np.sort(np.concatenate([self.fit_rows, self.test_rows, self.other_rows]))

    def alone(self) -> Problem:
        """Return the same problem in a table of its own rows: what another process needs of it."""
        table, rows = self.table, self.rows
        own = replace(
            table,
            frame=table.frame.iloc[:0, :0],
            score=table.score[rows],
            positive=table.positive[rows],
            test=table.test[rows],
            topic=None if table.topic is None else table.topic[rows],
            weight=None if table.weight is None else table.weight[rows],
        )
        kinds = (self.fit_rows, self.test_rows, self.other_rows)
        return Problem(own, self.topic, *(np.searchsorted(rows, which) for which in kinds))

    @property
    def counts(self) -> tuple[int, int]:
        """Count the negative and the positive rows to fit."""
        negatives, positives = self.scores_by_class()
        return negatives.size, positives.size

    def scores_by_class(self) -> tuple[Floats, Floats]:
        """Return the scores to fit of the negatives and of the positives."""
        score, positive = self.table.score[self.fit_rows], self.table.positive[self.fit_rows]
        return score[~positive], score[positive]


def split_by_topic(table: ScoreTable) -> list[Problem]:
    """Return one problem a topic, in the order in which topics first appear."""
    return [
        Problem(table, topic, rows[~table.test[rows]], rows[table.test[rows]])
        for topic, rows in rows_by_topic(table.topic, table.score.size)
    ]


def missing_class(problem: Problem) -> str:
    """Name the class that a problem's rows to fit lack; empty if both are present."""
    table = problem.table
    weight = np.ones(table.score.size) if table.weight is None else table.weight
    kept = problem.fit_rows[weight[problem.fit_rows] > 0.0]
    for label, which in zip(table.classes, (False, True), strict=True):
        if not (table.positive[kept] == which).any():
            return (
                "both classes need rows to fit (not of split 'test', not of weight 0), got none"
                f" with label {label!r}."
            )
    return ""


def hold_out(table: ScoreTable, share: float, seed: int) -> ScoreTable:
    """
    Set random rows apart for testing: the same share of each class of each topic.

    Each class keeps at least one row to fit. The frame gets a column that says which rows.
    """
    rng = np.random.default_rng(seed)
    test = table.test.copy()
    for _, rows in rows_by_topic(table.topic, table.score.size):
        for which in (False, True):
            members = rows[table.positive[rows] == which]
            n = min(round(share * members.size), members.size - 1)
            if n > 0:
                test[rng.choice(members, n, replace=False)] = True
    return replace(table, test=test, frame=table.frame.assign(**{HELD_OUT: test}))


def rows_by_topic(topics: NDArray[np.str_] | None, n: int) -> list[tuple[str | None, Rows]]:
    """Return the topics in the order in which they first appear, and the rows of each."""
    if topics is None:
        return [(None, np.arange(n))]
    names, first, codes = np.unique(topics, return_index=True, return_inverse=True)
    order = np.argsort(codes, kind="stable")
    rows = np.split(order, np.flatnonzero(np.diff(codes[order])) + 1)
    return [(str(names[k]), rows[k]) for k in np.argsort(first)]


# Topics that cannot be fitted: they are listed with the reason, and the others go on.

# Why each topic that could not be fitted was left out, by its name.
LeftOut = Mapping[str, str]
NONE: LeftOut = MappingProxyType({})


def fittable(problems: Sequence[Problem]) -> tuple[list[Problem], dict[str, str]]:
    """Return the problems with both classes, and why the other topics are left out."""
    reasons = [missing_class(problem) for problem in problems]
    left_out = {
        problem.name: reason for problem, reason in zip(problems, reasons, strict=True) if reason
    }
    refuse_if_all(problems, left_out)
    return [one for one, why in zip(problems, reasons, strict=True) if not why], left_out


def refuse_if_all(problems: Sequence[Problem], left_out: LeftOut) -> None:
    """Raise UsageError, with the first reason, if every problem is left out."""
    if len(left_out) < len(problems):
        return
    first = problems[0]
    others = f" None of {counted(len(problems), 'topic')} can be fitted." if first.topic else ""
    raise UsageError(f"{first.subject}{left_out[first.name]}{others}")


def left_out_tables(left_out: LeftOut, advice: str = "") -> list[Group]:
    """Return a table of the topics left out, and why; none where all were fitted."""
    if not left_out:
        return []
    table = new_table()
    add_columns(table, ["topic"], justify="left")
    table.add_column("reason", overflow="fold")
    for topic, reason in left_out.items():
        table.add_row(Text(topic), Text(reason))
    title = f"{counted(len(left_out), 'topic')} left out of the fit; the others are not affected"
    return [titled(title, table, *([advice] if advice else []))]


def rows_left_out(
    topics: NDArray[np.str_] | None, left_out: LeftOut, n: int
) -> tuple[NDArray[np.bool_], str]:
    """Return the mask of rows in topics left out, (n,), and a sentence about them, if any."""
    if topics is None or not left_out:
        return np.zeros(n, dtype=bool), ""
    gone = np.isin(topics, list(left_out))
    if not gone.any():
        return gone, ""
    names = list(dict.fromkeys(topics[gone].tolist()))
    of_rows = counted(int(gone.sum()), "row")
    return gone, (
        f"{of_rows} of {counted(len(names), 'topic')} that the fit left out ({first_of(names)}):"
        f" {left_out[names[0]]}"
    )


# Losses on the rows to test on: of maximum likelihood, and of the inference beside it.


def held_out_losses(fitted: FittedProblem, problem: Problem) -> dict[str, Losses]:
    """Return the losses on the rows to test on, by inference; nothing where there are none."""
    rows = problem.test_rows
    if rows.size == 0:
        return {}
    from bayescal.metrics import losses

    score, positive = problem.table.score[rows], problem.table.positive[rows]
    found = {"mle": losses(mle_log_odds(fitted, score), positive)} if fitted.has_mle else {}
    if fitted.inference != "mle":
        found[fitted.inference] = losses(log_odds_at(fitted, score), positive)
    return found


def sum_losses(many: Iterable[Mapping[str, Losses]]) -> dict[str, Losses]:
    """Return the sums over topics, of the methods that every topic has."""
    maps = list(many)
    common = [method for method in maps[0] if all(method in other for other in maps)]
    return {method: _sum([other[method] for other in maps]) for method in common}


def losses_table(named: Sequence[tuple[str, Mapping[str, Losses]]], *, total: bool = True) -> Group:
    """Return the losses on test rows."""
    rows = list(named)
    with_topics = any(topic for topic, _ in rows)
    if total and len(rows) > 1:
        rows.append((ALL_TOPICS, sum_losses(losses for _, losses in rows)))
    table = new_table()
    if with_topics:
        add_topic_column(table)
    add_columns(table, ["method"], justify="left")
    add_columns(table, ["rows", "log-loss", "per row", "squared error", "errors"])
    for topic, by_method in rows:
        for k, (method, one) in enumerate(by_method.items()):
            head = [Text("" if k else topic)] if with_topics else []
            table.add_row(*head, method, *_cells(one), end_section=k + 1 == len(by_method))
    methods = {method for _, losses in rows for method in losses}
    notes = ["MLE: maximum likelihood"] if "MLE" in methods else []
    title = "Losses on test rows (base-2 log-loss; sums, and bits per row)"
    return titled(title, table, *notes)


def _sum(parts: Sequence[Losses]) -> Losses:
    from bayescal.metrics import Losses

    return Losses(
        n=sum(part.n for part in parts),
        log_loss=math.fsum(part.log_loss for part in parts),
        squared_error=math.fsum(part.squared_error for part in parts),
        errors=sum(part.errors for part in parts),
    )


def _cells(one: Losses) -> list[str]:
    # Without a floor one document alone can cost 1e12 bits.
    bits = f"{one.log_loss:.1f}" if one.log_loss < 1e6 else f"{one.log_loss:.1e}"
    mean = f"{one.log_loss / one.n:.4g}"
    return [str(one.n), bits, mean, f"{one.squared_error:.2f}", str(one.errors)]


class FittedCalibrator(Protocol):
    """The interface of calibrators that commands use besides their problems."""

    @property
    def diagnostics_(self) -> Diagnostics | None:
        """Diagnostics of its draws."""
        ...

    @property
    def score_problems_(self) -> tuple[str, ...]:
        """Problems of the scores that it was fitted to."""
        ...

    def fitted_problems(self) -> Problems:
        """Return the problems fitted."""
        ...

    def save(self, path: str | Path) -> Path:
        """Write it to a file."""
        ...


@dataclass(frozen=True)
class Calibrated:
    """A fitted problem, and what it says about its rows."""

    # Its rows
    problem: Problem
    # Fitted to the rows to fit, of this problem alone or of others too
    calibrator: FittedCalibrator
    # What the calibrator says of this problem
    fitted: FittedProblem
    # Name of the calibrator's file
    file: str
    # At all rows of the problem, in their order
    curve: Curve
    # On the rows to test on, by inference; empty if there are none
    losses: dict[str, Losses]

    @property
    def undecided(self) -> int | None:
        """Return the rows whose band holds 1/2, so that either class may be likelier."""
        if self.curve.band is None:
            return None
        lower, upper = self.curve.band.T
        return int(((lower < 0.5) & (upper > 0.5)).sum())

    @cached_property
    def tested(self) -> HeldOut:
        """Return the predictions for the rows to test on."""
        table, rows = self.problem.table, self.problem.test_rows
        return held_out(self.fitted, table.score[rows], table.positive[rows])


def calibrated(
    problem: Problem, calibrator: FittedCalibrator, fitted: FittedProblem, file: str, level: float
) -> Calibrated:
    """Work out what a fitted problem says about its rows; arguments as the attributes above."""
    return Calibrated(
        problem=problem,
        calibrator=calibrator,
        fitted=fitted,
        file=file,
        curve=curve_at(fitted, problem.table.score[problem.rows], level),
        losses=held_out_losses(fitted, problem),
    )


def most_undecided_first(many: Iterable[Calibrated]) -> list[Calibrated]:
    """
    Return problems by how many rows are undecided: where people, or labels, help most.

    Without bands, and where as many are, those with few positives come first.
    """
    return sorted(many, key=lambda one: (-(one.undecided or 0), one.problem.counts[1]))


def flags(many: Sequence[Calibrated]) -> list[str]:
    """Return the findings of each problem, without those that all of several share."""
    found = [one.fitted.problems for one in many]
    shared = set.intersection(*map(set, found)) if len(found) > 1 else set()
    return ["; ".join(text for text in each if text not in shared) for each in found]


# `--pool`: all topics of a file at once, each around their population.


def pool(
    table: ScoreTable, settings: Settings, screen: Screen, folder: Path | None = None
) -> list[Calibrated]:
    """Fit all topics of a table together, and return them with the most undecided first."""
    from bayescal.calibrators.loading import TOPICS_FILE
    from bayescal.calibrators.topic_calibrator import TopicCalibrator

    _check_poolable(settings, table)
    calibrator = TopicCalibrator(
        parts=_parts(settings),
        scores_are=settings.scores_are,
        positive=table.classes[1],
        draws=settings.draws,
        chains=settings.chains,
        random_state=settings.seed,
        n_jobs=None if settings.jobs == 1 else settings.jobs,
        memory=folder,
    )
    problems, fitted = split_by_topic(table), np.flatnonzero(~table.test)
    with (
        screen.progress("pool:", len(problems)) as step,
        screen.warnings(advice=option_advice),
        blamed_on_use(),
        reporting(step.of),
    ):
        scores, labels, topics = table.labelled(fitted)
        weight = None if table.weight is None else table.weight[fitted]
        calibrator.fit(scores, labels, topics, weight)
    found = calibrator.fitted_problems()
    answers = [
        calibrated(each, calibrator, found.answering(each.name), TOPICS_FILE, settings.level)
        for each in problems
    ]
    return most_undecided_first(answers)


def _parts(settings: Settings) -> str:
    """Return the parts that --parts and --family ask for."""
    from bayescal.fitting.parts.configured import AUTO, Densities

    if settings.family in (None, AUTO):
        return settings.parts
    if settings.parts not in (AUTO, Densities.name):
        raise UsageError(
            f"--family with --pool needs --parts densities, got --parts {settings.parts}."
        )
    return str(settings.family)


def _check_poolable(settings: Settings, table: ScoreTable) -> None:
    from bayescal.fitting.parts.configured import AUTO
    from bayescal.fitting.topic_settings import FAMILY_NAMES
    from bayescal.support.validation import check_choice

    if table.topic is None:
        raise UsageError("--pool needs topics: name their column with --topic-column.")
    if settings.model is not None:
        raise UsageError(
            f"--pool takes no program, got --model {settings.model}: leave out --model, or --pool."
        )
    if settings.inference_name != "exact":
        raise UsageError(f"--pool needs --inference exact, got {settings.inference_name}.")
    if settings.family is not None:
        with blamed_on_use():
            check_choice("--family with --pool", settings.family, (AUTO, *FAMILY_NAMES))


# Topics fitted one by one: a calibrator each, in as many processes as are asked for.

Advice = Callable[[type[Warning]], str]
# Texts of warnings, and their kinds.
Warned = list[tuple[str, type[Warning]]]
# A problem, the parameters of its fit and the level of the band: all that a fit depends on.
Task = tuple[Problem, "ScoreParameters", float]


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
    """Fit a calibrator to every problem that can be fitted."""
    fitted, left_out = fittable(problems)
    tasks = [(problem.alone(), settings.score_parameters(), settings.level) for problem in fitted]
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
    from bayescal.fitting.results.diagnostics import ConvergenceWarning
    from bayescal.support.score_checks import ScoresWarning

    found: Calibrated | Refused
    with warnings.catch_warnings(record=True) as caught:
        for category in (ConvergenceWarning, ScoresWarning):
            warnings.simplefilter("always", category)
        try:
            with blamed_on_use():
                found = calibrate_one(*task)
        except UsageError as err:
            found = Refused(str(err))
    # A problem of a score is reported once, although several methods read the score.
    return found, list(dict.fromkeys((str(w.message), w.category) for w in caught))


def calibrate_one(problem: Problem, parameters: ScoreParameters, level: float) -> Calibrated:
    """Fit one problem."""
    calibrator = fit_rows(parameters, problem)
    (fitted,) = calibrator.fitted_problems().values()
    return calibrated(problem, calibrator, fitted, SINGLE, level)


def fit_rows(parameters: ScoreParameters, problem: Problem) -> FittedScores:
    """Fit the rows to fit of a problem."""
    from bayescal.fitting.fitted_scores import fit_scores

    table, rows = problem.table, problem.fit_rows
    parameters = replace(parameters, positive=table.classes[1])
    weight = None if table.weight is None else table.weight[rows]
    return fit_scores(parameters, table.score[rows], table.labels(rows), weight)


# Verdicts on probabilities whose labels are known, by topic and of all together.

Named = tuple[str, "CalibrationVerdict"]
FINDINGS = {
    "none": "no sign",
    "base rate": "by base rate",
    "slope": "by slope",
    "impossible": "impossible",
}


def held_out(
    fitted: FittedProblem, scores: Floats, positive: NDArray[np.bool_], prior: float | None = None
) -> HeldOut:
    """Return a problem's predictions for users' scores whose labels are known."""
    from bayescal.fitting.problems.problem import Documents
    from bayescal.report.held_out import predict

    return predict(fitted, Documents.of(fitted.read(scores), positive, held_out=True), prior)


def verdicts_by_topic(tested: Iterable[tuple[str, HeldOut]]) -> list[Named]:
    """Return the verdict on each topic's probabilities, the worst first, and of several on all."""
    from bayescal.report.held_out import join

    names, each = zip(*tested, strict=True)
    found = [(name, one.cells.verdict()) for name, one in zip(names, each, strict=True)]
    found.sort(key=lambda named: named[1].pvalue)
    if len(found) > 1:
        found.append((ALL_TOPICS, join(each).cells.verdict()))
    return found


def verdicts_table(named: Sequence[Named]) -> Group:
    """Return verdicts as a table, with what the last says, that on all rows, in words."""
    with_topics = len(named) > 1
    shown = [*named[:-1][:MOST_TOPICS], named[-1]]
    last = named[-1][1]
    table = new_table()
    if with_topics:
        add_topic_column(table)
    expected = f"{percent(last.level)} range"
    add_columns(table, ["rows", "positives", "expected", expected, "p value"])
    add_columns(table, ["off?"], justify="left")
    for topic, one in shown:
        head = [Text(topic)] if with_topics else []
        table.add_row(*head, *_verdict_cells(one))
    notes = [f"{last.finding} {last.advice}"]
    if with_topics:
        notes = [f"{ALL_TOPICS}: {last.finding}"]
        topics = len(named) - 1
        off = sum(not one.calibrated for _, one in named[:-1])
        by_chance = f"{(1.0 - last.level) * topics:.2g}"
        notes.append(f"{off} of {topics} topics are off, where {by_chance} would be by chance.")
    title = "Are the probabilities right? Expected positives against the labels of test rows"
    return titled(title, table, *notes)


def _verdict_cells(one: CalibrationVerdict) -> list[str]:
    expected = f"{one.expected:,.0f}" if one.expected >= 100.0 else f"{one.expected:.3g}"
    interval = f"[{one.lower:,.0f}, {one.upper:,.0f}]"
    finding = "within bands" if one.outcome == "uncertain" else FINDINGS[one.cause]
    return [
        f"{one.documents:,.0f}",
        f"{one.observed:,.0f}",
        expected,
        interval,
        f"{one.pvalue:.3f}",
        finding,
    ]

"""Several exclusive classes, each with a column of scores: fits, comparisons, predictions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Group

from bayescal.cli import options, tables, writing
from bayescal.cli.columns import ColumnReader, Rows
from bayescal.cli.files import read_frame
from bayescal.cli.fitting import SINGLE
from bayescal.cli.numbers import as_numbers
from bayescal.cli.scores import ScoreTable, read_scores
from bayescal.cli.terminal import Screen, UsageError, option_advice, usage_errors
from bayescal.support.intervals import percent
from bayescal.support.validation import Floats, check_choice, first_of

if TYPE_CHECKING:
    import pandas as pd

    from bayescal.calibrators.multiclass_calibrator import MulticlassCalibrator
    from bayescal.calibrators.ordinal_calibrator import OrdinalCalibrator
    from bayescal.metrics import ClassVerdict

# Options for one score.
OF_ONE_SCORE = (
    "labels", "score_column", "topic_column", "source_columns", "positive",
    "lower_is_positive", "family", "parts", "prior_knowledge", "inference", "model",
    "covariate_columns", "pool", "jobs", "tune", "target_accept", "resume", "prior",
    "likelihood_ratio", "support", "bounds", "at", "at_score", "recall", "assurance", "collection",
)  # fmt: skip


def refuse_options_of_one_score(chosen: set[str], *further: str) -> None:
    """Raise UsageError if an option on the command line is for one score."""
    if strange := [name for name in (*OF_ONE_SCORE, *further) if name in chosen]:
        option = options.flag(strange[0])
        raise UsageError(f"{option} is for one score, and means nothing for several classes.")


# bayescal fit --classes


ADVICE = partial(
    option_advice, texts=("Option for this: --draws.", "Option for this: --scores-are.")
)


def read_to_fit(arguments: Mapping[str, Any], chosen: set[str], screen: Screen) -> ScoreTable:
    """Read the file of scores of a call, given the options on the command line."""
    from bayescal.fitting.class_scores import SCORES_ARE

    refuse_options_of_one_score(chosen)
    with usage_errors():
        check_choice("--scores-are", arguments["scores_are"], SCORES_ARE)
    path = arguments["scores"]
    table = read_scores(path, arguments, screen)
    writing.check_columns_free(table.frame, path, *_added(table.classes))
    reader = ColumnReader(path, table.frame, screen)
    excluded = np.isneginf(table.score[np.arange(table.label.size), table.label]) & table.labelled
    reader.refuse_rows(excluded, "give the class of a label a score above -inf")
    if not table.fit_rows.size:
        raise UsageError(f"{path} must hold labelled rows to fit, got none.")
    tested = table.weights(table.test_rows).get("sample_weight")
    if tested is not None and (tested != np.round(tested)).any():
        raise UsageError(
            f"{reader.name(arguments['weight_column'])} must hold whole numbers in rows to test"
            " on, how many documents each counts for: round them."
        )
    return table


def fit(
    table: ScoreTable, arguments: Mapping[str, Any], chosen: set[str], screen: Screen
) -> MulticlassCalibrator:
    """Fit one map for all classes, and show its parameters and findings."""
    from bayescal.calibrators.multiclass_calibrator import MulticlassCalibrator
    from bayescal.fitting.class_scores import read_class_scores

    path, rows, level = arguments["scores"], table.fit_rows, arguments["level"]
    with screen.warnings(ADVICE), usage_errors(f"{path}: "):
        # Check the rows to test on too: none may fail after the fit.
        naming = ColumnReader(path, table.frame, screen).row
        read = read_class_scores(table.score, arguments["scores_are"], naming=naming)
    sampling = {name: arguments[name] for name in ("draws", "chains") if name in chosen}
    calibrator = MulticlassCalibrator(read.scores_are, random_state=arguments["seed"], **sampling)
    labels = table.labels(rows)
    with screen.warnings(ADVICE), usage_errors():
        calibrator.fit(table.score[rows], labels, classes=table.classes, **table.weights(rows))
    if "parameters" in chosen:
        summary = calibrator.summary(level)
        shown = tables.new_table("parameter", "class", "other class", *map(str, summary.columns))
        for names, row in zip(summary.index.tolist(), summary.to_numpy(), strict=True):
            shown.add_row(*map(str, names), *(f"{value:.3g}" for value in row))
        screen.show(tables.titled(f"Parameters, with {percent(level)} intervals", shown))
    shown = tables.new_table("class", "rows fitted", "share, posterior mean")
    for name, share in zip(table.classes, calibrator.share_, strict=True):
        shown.add_row(name, f"{np.count_nonzero(labels == name):,}", f"{share:.3g}")
    notes = calibrator.findings(level)
    screen.show(tables.titled("Calibrated together by one map", shown, *notes))
    return calibrator


def judge_and_write(
    calibrator: MulticlassCalibrator | OrdinalCalibrator,
    table: ScoreTable,
    arguments: Mapping[str, Any],
    screen: Screen,
    out: Path | None,
    answer: Callable[..., pd.DataFrame] | None = None,
) -> None:
    """Test the probabilities of the test rows, and write those of all rows, by `answer` if given.

    Only classes with scores of their own are compared with other methods.
    """
    from bayescal.calibrators.multiclass_calibrator import MulticlassCalibrator

    held_out, verdict = table.test_rows, None
    if held_out.size:
        with usage_errors():
            labels, weights = table.labels(held_out), table.weights(held_out)
            verdict = verdict_on(calibrator, table.score[held_out], labels, **weights)
        if isinstance(calibrator, MulticlassCalibrator):
            with screen.warnings(), usage_errors():
                screen.show(compare(calibrator, table, arguments))
        screen.show(verdict_table(verdict))
    diagnostics: dict[str, Any] = (
        asdict(calibrator.diagnostics_)
        if isinstance(calibrator, MulticlassCalibrator)
        else {name: writing.health(stage) for name, stage in calibrator.stages_.items()}
    )
    names, counts = np.unique(table.labels(table.fit_rows), return_counts=True)
    record = writing.run_record(arguments) | {
        "classes": table.classes,
        "rows": dict(zip(names.tolist(), counts.tolist(), strict=True)),
        "topics": [{"topic": None, "file": SINGLE}],
        "diagnostics": diagnostics,
        "verdict": None if verdict is None else writing.describe_verdict(verdict),
    }

    def write(folder: Path) -> None:
        answered = answer or with_probabilities
        frame = answered(calibrator, table.frame, table.score, arguments["level"])
        writing.write_files({SINGLE: calibrator}, frame, record, folder)

    writing.save(out, write, arguments, screen)


# Methods side by side, on the rows to test on

MAP, RAW = "one map", "scores as given"
OTHERS = {"one against the rest": "one_vs_rest", "temperature": "temperature"}
NOTES = (
    f"{MAP}: MulticlassCalibrator. one against the rest: a ScoreCalibrator of each class,"
    " normalised.",
    f"temperature: one factor for all log-probabilities. {RAW}: no calibration.",
)


def compare(
    calibrator: MulticlassCalibrator, table: ScoreTable, arguments: Mapping[str, Any]
) -> Group:
    """Return a table of losses of one map and of other methods on the rows to test on."""
    from sklearn.frozen import FrozenEstimator

    from bayescal.calibrators.calibrated_classifier import CalibratedClassifier
    from bayescal.calibrators.classifier.wrappers import LogProbabilities
    from bayescal.fitting.class_scores import read_class_scores

    rows, new, scores_are = table.fit_rows, table.test_rows, calibrator.scores_are
    known = read_class_scores(table.score[rows], scores_are)
    asked = read_class_scores(table.score[new], scores_are, floor=known.floor, factor=known.factor)
    order = np.argsort(table.classes)  # scikit-learn's order
    log_probabilities = FrozenEstimator(LogProbabilities(np.array(table.classes)[order]))
    by_method = {MAP: calibrator.predict_proba(table.score[new])}
    for name, kind in OTHERS.items():
        other = CalibratedClassifier(log_probabilities, kind, random_state=arguments["seed"])
        other.fit(known.log_p[:, order], table.labels(rows), **table.weights(rows))
        by_method[name] = other.predict_proba(asked.log_p[:, order])[:, np.argsort(order)]
    return _losses_table(table, new, by_method | {RAW: np.exp(asked.given)}, arguments)


def _losses_table(
    table: ScoreTable, rows: Rows, by_method: Mapping[str, Floats], arguments: Mapping[str, Any]
) -> Group:
    from bayescal.calibrators.comparison import paired_bootstrap
    from bayescal.metrics import Losses, pointwise_losses
    from bayescal.support.weighting import either_weights

    level, classes, weights = arguments["level"], np.array(table.classes), table.weights(rows)
    both = (weights.get("sample_weight"), weights.get("inclusion"))
    weight = either_weights(*both, rows.size)
    weight = np.ones(rows.size) if weight is None else weight
    more = f"more per row than {MAP}, {percent(level)} interval"
    shown = tables.new_table(*tables.LOSS_COLUMNS, more, words=["method"])
    first: Floats | None = None
    for name, p in by_method.items():
        log, *others = (
            pointwise_losses(table.labels(rows), p, kind, classes=classes)
            for kind in ("log", "brier", "error")
        )
        sums = [float(weight @ loss) for loss in (log, *others)]
        cells = [*tables.loss_cells(Losses(float(weight.sum()), *sums)), ""]
        if first is None:
            first = log
        elif np.isfinite(log).all() and np.isfinite(first).all() and rows.size > 1:
            found = paired_bootstrap(log, first, level=level, rng=arguments["seed"], **weights)
            cells[-1] = f"{found.difference:+.4f} [{found.lower:+.4f}, {found.upper:+.4f}]"
        shown.add_row(name, *cells)
    return tables.titled(tables.LOSSES, shown, *NOTES)


# bayescal predict, decide and report: answers of a fitted calibrator


def _added(classes: tuple[str, ...]) -> list[str]:
    names = [f"{what}({name})" for what in ("P", "lower", "upper") for name in classes]
    return ["predicted", *names]


def with_probabilities(
    calibrator: MulticlassCalibrator,
    frame: pd.DataFrame,
    scores: Floats,
    level: float,
    shares: list[float] | None = None,
) -> pd.DataFrame:
    """Return rows with the likeliest class and its band, and the bands of all classes."""
    p = calibrator.predict_proba(scores, shares)
    lower, upper = np.moveaxis(calibrator.predict_interval(scores, level, prior=shares), -1, 0)
    classes, top = calibrator.classes_, p.argmax(axis=1)
    at = np.arange(top.size), top
    bands = np.hstack([p, lower, upper]).T
    return frame.assign(
        predicted=classes[top], probability=p[at], lower=lower[at], upper=upper[at]
    ).assign(**dict(zip(_added(tuple(classes.tolist()))[1:], bands, strict=True)))


def verdict_on(
    calibrator: MulticlassCalibrator | OrdinalCalibrator,
    scores: Floats,
    labels: Any,
    shares: list[float] | None = None,
    **weights: Any,
) -> ClassVerdict:
    """Return the verdict of held-out labels on a calibrator's probabilities."""
    from bayescal.metrics import class_verdict

    new: dict[str, Any] = {} if shares is None else {"prior": shares}
    p, draws = calibrator.predict_proba(scores, **new), calibrator.sample_proba(scores, **new)
    return class_verdict(labels, p, calibrator.classes_, draws=draws, **weights)


def verdict_table(verdict: ClassVerdict) -> Group:
    """Return a verdict as a table."""
    shown = tables.new_table("class", "rows", "expected", "if right", "smooth error")
    for k, name in enumerate(verdict.classes.tolist()):
        shown.add_row(
            str(name),
            f"{verdict.observed[k]:,.0f}",
            f"{verdict.expected[k]:,.4g}",
            f"{verdict.lower[k]:,.0f} to {verdict.upper[k]:,.0f}",
            f"{verdict.class_errors[k]:.2g}",
        )
    notes = [part for part in (verdict.test, verdict.finding, verdict.advice) if part]
    return tables.titled("Are the probabilities right?", shown, *notes)


def predict(
    calibrator: MulticlassCalibrator,
    reader: ColumnReader,
    screen: Screen,
    out: Path | None,
    level: float,
    shares: str | None,
    label_column: str | None,
) -> None:
    """Write a file's rows with probabilities, and show a verdict if there are labels."""
    classes = tuple(calibrator.classes_.tolist())
    scores = reader.class_scores(classes)
    labels, labelled = None, np.zeros(len(scores), dtype=bool)
    if label_column is not None:
        positions, labelled = reader.class_positions(label_column, classes)
        labels = calibrator.classes_[positions[labelled]]
    writing.check_columns_free(reader.frame, reader.path, *_added(classes))
    new = None if shares is None else _shares(shares)
    with screen.warnings(), usage_errors():
        frame = with_probabilities(calibrator, reader.frame, scores, level, new)
    writing.write_table(frame, out, screen)
    if labels is not None:
        verdict = verdict_on(calibrator, scores[labelled], labels, new)
        screen.show(verdict_table(verdict), stderr=out is None)


def _shares(text: str) -> list[float]:
    values, _ = as_numbers(text.split(","))
    if not np.isfinite(values).all():
        raise UsageError(f"--shares must be numbers in the order of the classes, got {text!r}.")
    return [float(value) for value in values]


DECISION, ABSTAIN = "decision", "abstain"


def decide(
    calibrator: MulticlassCalibrator,
    path: Path,
    screen: Screen,
    *,
    level: float,
    costs: Path | None,
    abstain_cost: float | None,
) -> pd.DataFrame:
    """Return each row of a file with the decision of least expected cost."""
    reader, classes = ColumnReader(path, screen=screen), calibrator.classes_.tolist()
    scores = reader.class_scores(classes)
    names, prices = _costs(costs, classes, abstain_cost)
    with screen.warnings(), usage_errors():
        result = calibrator.decide(scores, prices, level=level)
    shown = tables.new_table("decision", "rows", "mean expected cost", "P(best), mean")
    for k, name in enumerate(names):
        mine = result.decision == k
        if mine.any():
            means = (result.expected_cost[mine].mean(), result.probability_optimal[mine].mean())
            shown.add_row(name, f"{int(mine.sum()):,}", *(f"{mean:.3g}" for mean in means))
    shown.add_row("all", f"{len(scores):,}", f"{result.expected_cost.mean():.3g}", "")
    screen.show(tables.titled("Decisions of the least expected cost", shown))
    return reader.frame.assign(
        decision=np.array(names, dtype=object)[result.decision],
        expected_cost=result.expected_cost,
        cost_lower=result.cost_interval[:, 0],
        cost_upper=result.cost_interval[:, 1],
        probability_optimal=result.probability_optimal,
    )


def _costs(
    path: Path | None, classes: list[str], abstain_cost: float | None
) -> tuple[list[str], Floats]:
    """Return names of decisions and their costs; by default a wrong class costs 1."""
    names, prices = list(classes), 1.0 - np.eye(len(classes))
    if path is not None:
        frame = read_frame(path, "costs")
        missing = [name for name in (DECISION, *classes) if name not in frame.columns]
        if missing:
            raise UsageError(
                f"{path} must have a column {DECISION!r} and a column of costs for each class, it"
                f" lacks {first_of(missing)}."
            )
        names = [str(name) for name in frame[DECISION].tolist()]
        if names[: len(classes)] != classes:
            raise UsageError(
                f"{path} must name the classes first, {first_of(classes)}, in the column"
                f" {DECISION!r}; got {first_of(names)}."
            )
        prices = np.stack([as_numbers(frame[name].tolist())[0] for name in classes], axis=1)
        if not np.isfinite(prices).all():
            raise UsageError(f"{path} must hold a number for every cost.")
    if abstain_cost is not None:
        names, prices = [*names, ABSTAIN], np.vstack([prices, np.full(len(classes), abstain_cost)])
    return names, prices


def held_out(
    calibrator: MulticlassCalibrator, reader: ColumnReader, label_column: str, split: str | None
) -> tuple[Floats, NDArray[Any]]:
    """Return the scores and labels of a file's labelled rows to test on."""
    classes = calibrator.classes_.tolist()
    scores = reader.class_scores(classes)
    positions, labelled = reader.class_positions(label_column, classes)
    rows = np.flatnonzero(reader.held_out_rows(split, labelled))
    return scores[rows], calibrator.classes_[positions[rows]]

"""`bayescal predict`: probabilities of new scores by a calibrator that was saved."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer
from numpy.typing import NDArray

from bayescal.cli import options
from bayescal.cli.console import Screen
from bayescal.cli.curve import Curve, curve_at, merge_curves
from bayescal.cli.errors import UsageError, blamed_on_use
from bayescal.cli.frames import SUFFIXES, write_frame
from bayescal.cli.pooled import pooled_curve
from bayescal.cli.problems import Rows, rows_by_topic
from bayescal.cli.reading import ColumnReader
from bayescal.cli.verdicts import verdicts_by_topic, verdicts_table
from bayescal.cli.writing import check_columns_free, staged_file, with_curve
from bayescal.validation import Floats, check_choice, check_fraction

if TYPE_CHECKING:
    import pandas as pd

    from bayescal.loading import CalibratorsOfTopics
    from bayescal.score_calibrator import ScoreCalibrator
    from bayescal.topic_calibrator import TopicCalibrator

Calibrator = Annotated[
    Path,
    typer.Argument(
        metavar="CALIBRATOR", help="A .nc file, or a folder, that bayescal fit has written."
    ),
]
Test = Annotated[
    bool,
    typer.Option(
        "--test",
        help="The scores have labels (--label-column): say whether the probabilities are right.",
        rich_help_panel=options.OUTPUT,
    ),
]
OutFile = Annotated[
    Path | None,
    typer.Option(
        "--out",
        metavar="FILE",
        help="A .csv or .parquet file to write. By default CSV on the screen, quiet or not.",
        rich_help_panel=options.OUTPUT,
    ),
]


def predict(
    calibrator: Calibrator,
    scores: options.ScoresFile,
    score_column: options.ScoreColumn = "score",
    topic_column: options.TopicColumn = None,
    test: Test = False,
    label_column: options.LabelColumn = "label",
    out: OutFile = None,
    level: options.Level = 0.9,
    band: options.Band = "pointwise",
    prior: options.Prior = None,
    quiet: options.Quiet = False,
) -> None:
    """Give new scores probabilities, with a band if the calibrator has a posterior.

    [bold]bayescal predict calibrated/posterior.nc new.csv --out probabilities.csv[/bold]

    copies the rows of new.csv and adds the columns probability, lower, upper
    and log_odds.

    [bold]bayescal predict calibrated new.csv --topic-column topic > probabilities.csv[/bold]

    takes each topic's calibrator, or that of all topics, from the folder that
    bayescal fit wrote; pooled, a topic that was not fitted has the answer of
    the population.

    [bold]bayescal predict calibrated held_out.csv --test --out probabilities.csv[/bold]

    says as well whether the probabilities are right, as far as the labels of
    held_out.csv can tell, and what to do if they are not.
    """
    from bayescal.topic_calibrator import TopicCalibrator

    _check_options(level, band, prior)
    _check_out(out)
    reader = ColumnReader(scores)
    check_columns_free(reader.frame, scores)
    values = reader.scores(score_column)
    topics = reader.topics(topic_column) if topic_column else None
    screen = Screen(quiet=quiet)
    source = _load(calibrator)
    positive = reader.known_labels(label_column, _classes(source)) if test else None
    if isinstance(source, TopicCalibrator):
        others = {"--band": band != "pointwise", "--prior": prior is not None}
        names = _check_pooled(calibrator, topics, others)
        curve = pooled_curve(source, values, names, level)
    else:
        fitted = _by_topic(source, calibrator, with_topics=topics is not None)
        rows = rows_by_topic(topics, values.size)
        _check_topics([topic for topic, _ in rows], fitted, reader.name(str(topic_column)))
        curve = _curve_of_topics(fitted, rows, values, screen, level=level, band=band, prior=prior)
    _write(with_curve(reader.frame, curve), out, screen)
    if positive is not None:
        # What is written to the screen may be piped on: the verdict stands apart from it.
        show = screen.note if out is None else screen.show
        show(verdicts_table(verdicts_by_topic(curve.probability, positive, topics)))


def _classes(source: ScoreCalibrator | TopicCalibrator | CalibratorsOfTopics) -> NDArray[Any]:
    one = source[next(iter(source))] if isinstance(source, Mapping) else source
    return np.asarray(one.classes_)


def _load(path: Path) -> ScoreCalibrator | TopicCalibrator | CalibratorsOfTopics:
    from bayescal.loading import load

    with blamed_on_use():
        return load(path)


def _check_pooled(
    path: Path, topics: NDArray[np.str_] | None, others: Mapping[str, bool]
) -> NDArray[np.str_]:
    """Return the topics, which must be named; no option may be given that is for topics apart."""
    if topics is None:
        raise UsageError(f"{path} holds many topics: name their column with --topic-column.")
    for option, given in others.items():
        if given:
            raise UsageError(f"{option} is for topics fitted apart; {path} holds topics pooled.")
    return topics


def _by_topic(
    source: ScoreCalibrator | CalibratorsOfTopics, path: Path, *, with_topics: bool
) -> Mapping[Any, ScoreCalibrator]:
    """Return calibrators by topic; None stands for the one of scores without topics."""
    if isinstance(source, Mapping):
        if not with_topics:
            raise UsageError(
                f"{path} has a calibrator a topic: name the column of topics with --topic-column."
            )
        return source
    if with_topics:
        raise UsageError(
            f"--topic-column needs a folder that bayescal fit wrote with --topic-column;"
            f" {path} is one calibrator without topics."
        )
    return {None: source}


def _check_topics(topics: Sequence[str | None], known: Iterable[str | None], column: str) -> None:
    names = list(known)
    for topic in topics:
        if topic not in names:
            raise UsageError(
                f"{column} must hold topics that have a calibrator, {', '.join(map(repr, names))};"
                f" got {topic!r}."
            )


def _curve_of_topics(
    fitted: Mapping[Any, ScoreCalibrator],
    rows: Sequence[tuple[str | None, Rows]],
    scores: Floats,
    screen: Screen,
    **asked: Any,
) -> Curve:
    """Return what each topic's calibrator says of its rows; `asked` is for `curve_at`."""
    curves = []
    with screen.progress("predict", len(rows)) as step:
        for topic, where in rows:
            step.begin(topic or "")
            with blamed_on_use():
                calibrator = fitted[topic]
            curves.append(curve_at(calibrator, scores[where], **asked))
            step.end()
    return merge_curves([where for _, where in rows], curves)


def _check_options(level: float, band: str, prior: float | None) -> None:
    from bayescal.results.calibration import KINDS

    with blamed_on_use():
        check_fraction(**{"--level": level})
        check_choice("--band", band, KINDS)
        if prior is not None:
            check_fraction(**{"--prior": prior})


def _check_out(out: Path | None) -> None:
    if out is not None and out.suffix.lower() not in SUFFIXES:
        raise UsageError(f"--out must end in {' or '.join(SUFFIXES)}, got {out}.")


def _write(frame: pd.DataFrame, out: Path | None, screen: Screen) -> None:
    if out is None:
        frame.to_csv(sys.stdout, index=False)
        return
    with staged_file(out) as path:
        write_frame(frame, path)
    screen.say(f"Written to {out}: {len(frame)} rows")

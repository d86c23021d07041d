"""`--pool`: all topics of a file at once, each around their population."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bayescal.cli.console import Screen
from bayescal.cli.curve import Curve
from bayescal.cli.errors import UsageError, blamed_on_use
from bayescal.cli.fitting import class_labels
from bayescal.cli.frames import write_frame
from bayescal.cli.problems import rows_by_topic
from bayescal.cli.reading import ScoreTable
from bayescal.cli.record import describe_pooled, write_record
from bayescal.cli.request import Request
from bayescal.cli.settings import Settings, option_advice
from bayescal.cli.tables import TopicRow, losses_table, topics_table
from bayescal.cli.verdicts import verdicts_by_topic, verdicts_table
from bayescal.cli.writing import with_curve
from bayescal.parallel import reporting
from bayescal.validation import Floats

if TYPE_CHECKING:
    from bayescal.metrics import Losses
    from bayescal.topic_calibrator import TopicCalibrator

METHOD = "pooled"


@dataclass(frozen=True)
class Pooled:
    """
    Topics fitted together.

    Attributes
    ----------
    table : ScoreTable
        All rows.
    calibrator : TopicCalibrator
        Fitted to the rows to fit.
    curve : Curve
        At all rows.
    losses : Losses or None
        On the rows to test on, if there are any.
    """

    table: ScoreTable
    calibrator: TopicCalibrator
    curve: Curve
    losses: Losses | None

    @property
    def tested(self) -> tuple[Floats, NDArray[np.bool_]]:
        """Return the probabilities of the rows to test on, and which of them are positive."""
        return self.curve.probability[self.table.test], self.table.positive[self.table.test]

    def topics(self) -> list[TopicRow]:
        """Return one row a topic, the least certain first."""
        table, rows = self.table, []
        lower, upper = self.curve.lower, self.curve.upper
        assert lower is not None and upper is not None  # noqa: PT018, S101
        width = upper - lower
        for topic, where in rows_by_topic(table.topic, table.score.size):
            fitted = where[~table.test[where]]
            rows.append(
                TopicRow(
                    topic=str(topic),
                    positives=int(table.positive[fitted].sum()),
                    negatives=int((~table.positive[fitted]).sum()),
                    probability=float(self.curve.probability[where].mean()),
                    width=float(width[where].mean()),
                    flag=self.calibrator.flagged_.get(str(topic), ""),
                )
            )
        return sorted(rows, key=lambda row: -row.width)


def check_poolable(request: Request) -> None:
    """
    Check that what is asked for can be pooled.

    Raises
    ------
    UsageError
        If there are no topics, or an option is for topics apart.
    """
    from bayescal.topic_calibrator import FAMILY_NAMES
    from bayescal.validation import check_choice

    settings, table = request.settings, request.table
    if table.topic is None:
        raise UsageError("--pool needs topics: name their column with --topic-column.")
    if settings.model is not None:
        raise UsageError(
            f"--pool takes no program, got --model {settings.model}: leave out --model, or --pool."
        )
    if settings.inference_name != "exact":
        raise UsageError(f"--pool needs --inference exact, got {settings.inference_name}.")
    if settings.scores_are in ("log_odds", "probabilities"):
        raise UsageError(
            f"--pool takes raw scores, got --scores-are {settings.scores_are}: leave it out, or"
            " --pool."
        )
    if table.weight is not None:
        raise UsageError("--pool takes no weights: leave out --weight-column, or --pool.")
    if settings.family is not None:
        with blamed_on_use():
            check_choice("--family with --pool", settings.family, FAMILY_NAMES)


def fit_pooled(request: Request, folder: Path | None = None) -> None:
    """Fit all topics, show the least certain first, and write results if asked to."""
    from bayescal.loading import TOPICS_FILE

    check_poolable(request)
    pooled = pool(request.table, request.settings, request.screen, folder)
    rows = pooled.topics()
    request.screen.show(topics_table(rows, request.settings.level))
    if pooled.losses is not None:
        topic = request.table.topic
        request.screen.show(losses_table([("", {METHOD: pooled.losses})]))
        tested = None if topic is None else topic[request.table.test]
        request.screen.show(verdicts_table(verdicts_by_topic(*pooled.tested, tested)))

    def write(folder: Path) -> None:
        pooled.calibrator.save(folder / TOPICS_FILE)
        frame = with_curve(pooled.table.frame, pooled.curve)
        write_frame(frame, folder / f"probabilities.{request.table_format}")
        write_record(_record(pooled, rows, request.arguments), folder)

    request.store(write)


def pool(
    table: ScoreTable, settings: Settings, screen: Screen, folder: Path | None = None
) -> Pooled:
    """
    Fit all topics of a table together.

    Parameters
    ----------
    table : ScoreTable
        All topics.
    settings : Settings
        How.
    screen : Screen
        Shows progress and warnings.
    folder : Path, optional
        Keeps topics as they are drawn; those that are there are read.

    Raises
    ------
    UsageError
        If the scores are refused.
    """
    from bayescal.metrics import losses
    from bayescal.settings import AUTO
    from bayescal.topic_calibrator import TopicCalibrator

    assert table.topic is not None  # noqa: S101
    calibrator = TopicCalibrator(
        family=settings.family or AUTO,
        parts=settings.parts,
        positive=table.classes[1],
        draws=settings.draws,
        chains=settings.chains,
        random_state=settings.seed,
        n_jobs=None if settings.jobs == 1 else settings.jobs,
        memory=folder,
    )
    fitted = np.flatnonzero(~table.test)
    topics = np.unique(table.topic).size
    with (
        screen.progress("pool:", topics) as step,
        screen.warnings(advice=option_advice),
        blamed_on_use(),
        reporting(step.of),
    ):
        calibrator.fit(table.score[fitted], class_labels(table, fitted), table.topic[fitted])
    curve = pooled_curve(calibrator, table.score, table.topic, settings.level)
    test = table.test
    return Pooled(
        table=table,
        calibrator=calibrator,
        curve=curve,
        losses=losses(curve.log_odds[test], table.positive[test]) if test.any() else None,
    )


def pooled_curve(
    calibrator: TopicCalibrator, scores: Floats, topics: NDArray[np.str_], level: float
) -> Curve:
    """Return what a calibrator of many topics says at some scores."""
    log_odds = calibrator.decision_function(scores, topics)
    lower, upper = calibrator.predict_interval(scores, topics, level).T
    return Curve(log_odds, lower, upper)


def _record(pooled: Pooled, rows: list[TopicRow], arguments: Mapping[str, Any]) -> dict[str, Any]:
    from bayescal.loading import TOPICS_FILE

    return describe_pooled(
        TOPICS_FILE,
        pooled.calibrator.family,
        pooled.table.classes,
        [asdict(row) for row in rows],
        asdict(pooled.calibrator.diagnostics_),
        pooled.calibrator.score_problems_,
        None if pooled.losses is None else asdict(pooled.losses),
        None if pooled.losses is None else pooled.tested,
        arguments,
    )

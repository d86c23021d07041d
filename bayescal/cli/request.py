"""What `fit` and `compare` ask for: scores, how to fit them, and where the results go."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from bayescal.cli import options
from bayescal.cli.command import Call
from bayescal.cli.fitting import Calibrated
from bayescal.cli.options import TableFormat
from bayescal.cli.reading import ScoreTable, read_scores
from bayescal.cli.settings import Settings
from bayescal.cli.writing import check_columns_free, check_folder, save

TOPIC = "topic"  # what a column of topics is often called


@dataclass(frozen=True, kw_only=True)
class Rows(Call):
    """A file of scores, and the columns to read; see `cli.options`."""

    scores: options.ScoresFile
    score_column: options.ScoreColumn = "score"
    label_column: options.LabelColumn = "label"
    topic_column: options.TopicColumn = None
    weight_column: options.WeightColumn = None
    split_column: options.SplitColumn = None
    positive: options.Positive = None


# Options stand in the order of the bases from the last: columns, then the calibrator's.
@dataclass(frozen=True, kw_only=True)
class Fitting(Settings, Rows):
    """Scores to fit, how, and a folder for what comes out; see `cli.options`."""

    out: options.OutFolder = None
    table_format: options.Format = TableFormat.CSV

    def read(self) -> ScoreTable:
        """
        Check the options, and read the scores.

        Raises
        ------
        UsageError
            If an option or the file is not as it should be.
        """
        self.check()
        check_folder(self.out)
        table = read_scores(
            self.scores,
            self.positive,
            score=self.score_column,
            label=self.label_column,
            topic=self.topic_column,
            weight=self.weight_column,
            split=self.split_column,
        )
        check_columns_free(table.frame, self.scores)
        return table

    def _say_what_is_not_used(self, table: ScoreTable) -> None:
        """Tell of a column of topics that nobody asked for."""
        frame = table.frame
        if self.topic_column is not None or TOPIC not in frame.columns:
            return
        topics = frame[TOPIC].nunique()
        if topics > 1:
            self.screen.warn(
                f"{self.scores} has a column {TOPIC!r} of {topics} values, which is not used:"
                f" --topic-column {TOPIC} fits each by itself, with --pool all together."
            )

    def told(self, command: str) -> dict[str, Any]:
        """Return what the summary tells about the call, with the inference that it means."""
        return super().told(command) | {"inference": self.inference_name}

    def save(self, many: Sequence[Calibrated], command: str) -> None:
        """Write results into the folder and say so, or say how to get them."""
        save(self.out, many, self.told(command), self.table_format, self.screen)
        self._say_what_is_not_used(many[0].problem.table)

"""Requests of `fit` and `compare`: scores, settings of the fit, and the output folder."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from bayescal.cli import options
from bayescal.cli.command import Call, UsageError
from bayescal.cli.fitting import Calibrated, LeftOut
from bayescal.cli.options import TableFormat
from bayescal.cli.reading import ScoreTable, read_scores
from bayescal.cli.saved import TOPIC, say_what_is_not_used
from bayescal.cli.settings import Settings
from bayescal.cli.writing import check_columns_free, check_folder, save


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
        """Check the options, and read the scores."""
        self.check()
        check_folder(self.out)
        if self.score_column == self.label_column:
            raise UsageError(
                "--score-column and --label-column must name different columns, got"
                f" {self.score_column!r} for both."
            )
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

    def told(self, command: str) -> dict[str, Any]:
        """Return the record of the call for the summary, with the resolved inference."""
        return super().told(command) | {"inference": self.inference_name}

    def save(self, many: Sequence[Calibrated], command: str, left_out: LeftOut) -> None:
        """Write results into the folder and say so, or say how to get them."""
        save(self.out, many, self.told(command), self.table_format, self.screen, left_out)
        say_what_is_not_used(
            self.screen,
            many[0].problem.table.frame,
            self.scores,
            self.topic_column,
            f"--topic-column {TOPIC} fits each by itself, with --pool all together.",
        )

"""Reviews in files: the scores of a collection, and labels of some documents."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from numpy.typing import NDArray

from bayescal.cli import options
from bayescal.cli.columns import NO, YES, ColumnReader, shown
from bayescal.cli.files import read_frame
from bayescal.cli.terminal import UsageError, usage_errors
from bayescal.support.validation import Floats

if TYPE_CHECKING:
    import pandas as pd

    from bayescal.sampling import SamplePlan

REVIEW = "Review"
LABELS = (
    "A file of labels, with columns document and label: a plan that bayescal sample wrote, filled"
    " in, or any other. Several may be given."
)
LabelFiles = Annotated[list[Path] | None, options.option("--labels", REVIEW, LABELS, "FILE")]
AT_SCORE = "Take documents whose score is at least this."
AtScore = Annotated[float | None, options.option("--at-score", REVIEW, AT_SCORE, "SCORE")]
GROUPS = "Families of near duplicates: each counts as one document."
GroupColumn = Annotated[str | None, options.option("--group-column", options.COLUMNS, GROUPS)]
RECALL = "The share of positives to find."
Recall = Annotated[float, options.option("--recall", REVIEW, RECALL, "SHARE")]
ASSURANCE = "The probability to reach it with."
Assurance = Annotated[float, options.option("--assurance", REVIEW, ASSURANCE, "PROBABILITY")]


class HiddenPrior(StrEnum):
    """The values of --hidden."""

    VAGUE = "vague"
    LEARNED = "learned"
    NONE = "none"

    @property
    def prior(self) -> Any:
        """Return the value for functions' argument `hidden`."""
        return 0 if self is HiddenPrior.NONE else self.value


HIDDEN = (
    "Prior of the share of positives whose scores resemble those of negatives: vague, learned from"
    " news stories, or none such."
)
Hidden = Annotated[HiddenPrior, options.option("--hidden", REVIEW, HIDDEN)]
DOCUMENT, LABEL = "document", "label"


@dataclass(frozen=True)
class ReviewFiles:
    """A collection with its labels; documents are rows of the file of scores, from 0 on."""

    scores: Floats
    labels: Floats  # 1, 0, or nan without a label
    plans: tuple[SamplePlan, ...]  # files of labels that are plans
    groups: NDArray[Any] | None


def read_review(
    scores: Path,
    labels: Sequence[Path] | None,
    score_column: str,
    sign: float,
    group_column: str | None = None,
) -> ReviewFiles:
    """Read a collection and labels from several files, which must not contradict each other."""
    from bayescal.sampling.plans import OF_PLAN_ALONE, plan_of_rows

    reader = ColumnReader(scores)
    values = sign * reader.scores(score_column)
    groups = (
        None if group_column is None else reader.names(group_column, "--group-column", "a group")
    )
    known, plans = np.full(values.size, np.nan), []
    source: dict[int, Path] = {}
    for path in labels or ():
        frame = read_frame(path, "labels")
        document, label = _labels_of(path, frame, values.size)
        filled = ~np.isnan(label)
        for one, value in zip(document[filled].tolist(), label[filled].tolist(), strict=True):
            if known[one] == 1.0 - value:
                raise UsageError(
                    f"document {one} has the label {known[one]:g} in {source[one]} and {value:g} in"
                    f" {path}: two reviewers have to agree on one label a document."
                )
            known[one], source[one] = value, path
        # A plan without some of its columns is an error; its labels would lose their design.
        if len(set(OF_PLAN_ALONE) & set(frame.columns)) > 1:
            with usage_errors():
                cells = frame.astype(object).where(frame.notna(), "").astype(str)
                names = list(cells.columns)
                lines = zip(frame.index.tolist(), cells.to_numpy().tolist(), strict=True)
                rows = {position: dict(zip(names, line, strict=True)) for position, line in lines}
                plans.append(plan_of_rows(str(path), rows, values, groups))
    return ReviewFiles(values, known, tuple(plans), groups)


def _labels_of(path: Path, frame: pd.DataFrame, documents: int) -> tuple[NDArray[np.intp], Floats]:
    """Return positions of documents, and their labels, nan for empty cells."""
    reader = ColumnReader(path, frame)
    position = reader.scores(DOCUMENT, None)
    wrong = (position != np.rint(position)) | (position < 0) | (position >= documents)
    if wrong.any():
        raise UsageError(
            f"column {DOCUMENT!r} of {path} must hold rows of the file of scores, from 0 to"
            f" {documents - 1}, got {position[wrong][0]:g}."
        )
    filled = reader.present(LABEL, None)
    label = np.full(position.size, np.nan)
    for row in np.flatnonzero(filled):
        cell = frame[LABEL].iloc[row]
        text = str(cell).strip().casefold()
        if text not in NO | YES:
            raise UsageError(
                f"column {LABEL!r} of {path} must hold 1 or 0, yes or no, or nothing, got"
                f" {shown(cell)} in {reader.row(int(row))}."
            )
        label[row] = float(text in YES)
    twice = _first_contradiction(position, label)
    if twice is not None:
        raise UsageError(
            f"{path} holds both labels for document {twice}: two reviewers have to agree on one"
            " label a document."
        )
    return position.astype(np.intp), label


def _first_contradiction(position: Floats, label: Floats) -> int | None:
    yes, no = (set(position[label == value].tolist()) for value in (1.0, 0.0))
    both = sorted(yes & no)
    return int(both[0]) if both else None

"""Reviews in files: the scores of a collection, and labels of some documents."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray

from bayescal.cli import options
from bayescal.cli.columns import ColumnReader, shown
from bayescal.cli.documents import DocumentNames
from bayescal.cli.files import read_frame
from bayescal.cli.terminal import Screen, UsageError, counted, usage_errors
from bayescal.support.label_words import NO, YES, plain
from bayescal.support.validation import Floats

if TYPE_CHECKING:
    from bayescal.sampling import SamplePlan

REVIEW = "Review"
LABELS = (
    "A file with a column label and the column that identifies documents, or else row: a plan that"
    " bayescal sample wrote, filled in, or any other. Several may be given."
)
LabelFiles = Annotated[list[Path] | None, options.option("--labels", REVIEW, LABELS, "FILE")]
AT_SCORE = "Take documents whose score is at least this."
AtScore = Annotated[float | None, options.option("--at-score", REVIEW, AT_SCORE, "SCORE")]
GROUPS = "Families of near duplicates: each counts as one document."
GroupColumn = Annotated[str | None, options.option("--group-column", options.COLUMNS, GROUPS)]
IDENTIFIER = (
    "The column that identifies documents, in all files. By default one named id, document, control"
    " number, bates, patient or mrn with another value in each row; without one, rows count."
)
IdColumn = Annotated[str | None, options.option("--id-column", options.COLUMNS, IDENTIFIER)]
RECALL = "The share of positives to find."
Recall = Annotated[float, options.option("--recall", REVIEW, RECALL, "SHARE")]
ASSURANCE = "The probability to reach it with."
Assurance = Annotated[float, options.option("--assurance", REVIEW, ASSURANCE, "PROBABILITY")]


HIDDEN = (
    "Prior of the share of positives whose scores resemble those of negatives: vague, learned from"
    " news stories, or none such."
)
HiddenPrior = Literal["vague", "learned", "none"]
Hidden = Annotated[HiddenPrior, options.option("--hidden", REVIEW, HIDDEN)]
LABEL = "label"


@dataclass(frozen=True)
class ReviewFiles:
    """A collection with its labels."""

    documents: DocumentNames
    scores: Floats
    labels: Floats  # 1, 0, or nan without a label
    plan_of: dict[Path, SamplePlan]  # the files of labels that are plans
    groups: NDArray[Any] | None
    positive: str  # the words of positive labels


def read_review(
    scores: Path,
    labels: Sequence[Path] | None,
    score_column: str,
    sign: float,
    screen: Screen,
    id_column: str | None = None,
    group_column: str | None = None,
) -> ReviewFiles:
    """Read a collection and labels from several files, which must not contradict each other."""
    from bayescal.sampling.plans import OF_PLAN_ALONE, plan_of_rows

    reader = ColumnReader(scores, screen=screen)
    values = sign * reader.scores(score_column)
    documents = DocumentNames(reader, id_column)
    groups = None if group_column is None else reader.names(group_column, "group")
    known, plan_of = np.full(values.size, np.nan), {}
    source: dict[int, Path] = {}
    words: list[str] = []
    for path in labels or ():
        frame = read_frame(path, "labels")
        own = ColumnReader(path, frame, screen)
        # A plan without some of its columns is an error; its labels would lose their design.
        is_plan = len(set(OF_PLAN_ALONE) & set(frame.columns)) > 1
        document, column = documents.positions(own)
        label, words_here = _labels_of(own)
        words += words_here
        filled = ~np.isnan(label)
        for one, value in zip(document[filled].tolist(), label[filled].tolist(), strict=True):
            if known[one] == 1.0 - value:
                raise UsageError(
                    f"{documents.name(one)} has the label {known[one]:g} in {source[one]} and"
                    f" {value:g} in {path}: two reviewers have to agree on one label a document."
                )
            known[one], source[one] = value, path
        positive = " or ".join(map(repr, words_here or ["1"]))
        screen.note(
            f"Positive label: {positive}, {int((label == 1.0).sum()):,d} of"
            f" {counted(int(filled.sum()), 'labelled row')} of {path}, matched by the column"
            f" {column!r}."
        )
        if is_plan:
            with usage_errors():
                cells = frame.astype(object).where(frame.notna(), "").astype(str)
                names = list(cells.columns)
                lines = zip(frame.index.tolist(), cells.to_numpy().tolist(), strict=True)
                rows = {position: dict(zip(names, line, strict=True)) for position, line in lines}
                plan_of[path] = plan_of_rows(str(path), rows, values, groups, document)
    positive = " or ".join(dict.fromkeys(words)) or "1"
    return ReviewFiles(documents, values, known, plan_of, groups, positive)


def _labels_of(reader: ColumnReader) -> tuple[Floats, list[str]]:
    """Return labels, nan for empty cells, and the words of positive ones."""
    filled = reader.present(LABEL, None)
    label = np.full(filled.size, np.nan)
    words: dict[str, None] = {}
    for row in np.flatnonzero(filled):
        cell = reader.frame[LABEL].iloc[row]
        text = plain(cell)
        if text not in NO | YES:
            raise UsageError(
                f"column {LABEL!r} of {reader.path} must hold 1 or 0, yes or no, or nothing, got"
                f" {shown(cell)} in {reader.row(int(row))}."
            )
        label[row] = float(text in YES)
        if text in YES:
            words[text] = None
    return label, list(words)

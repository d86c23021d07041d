"""Reviews in files: the scores of a collection, and labels of some documents."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray

from bayescal.cli import options
from bayescal.cli.blocks import read_rows
from bayescal.cli.columns import ColumnReader, plain_name, shown
from bayescal.cli.documents import LABEL, DocumentNames, named_rows
from bayescal.cli.files import files_of, read_frame
from bayescal.cli.terminal import Screen, UsageError, counted, usage_errors
from bayescal.support.files import ROW
from bayescal.support.labels import UNSURE, meanings_of, plain
from bayescal.support.validation import Floats, first_of

if TYPE_CHECKING:
    import pandas as pd

    from bayescal.sampling import SamplePlan

REVIEW, INCLUSION = "Review", "inclusion"
LABELS = (
    "A file with a column label and the column that identifies documents, or else row: one that"
    " bayescal sample wrote, filled in, or any other. Several may be given."
)
LabelFiles = Annotated[list[Path] | None, options.option("--labels", REVIEW, LABELS, "FILE")]
PLANS = (
    "A plan that bayescal sample wrote, by default NAME.plan.csv for labels in NAME.csv, NAME.tsv"
    " or NAME.xlsx. Several may be given."
)
PlanFiles = Annotated[list[Path] | None, options.option("--plan", REVIEW, PLANS, "FILE")]
AT_SCORE = "Take documents whose score is at least this."
AtScore = Annotated[float | None, options.option("--at-score", REVIEW, AT_SCORE, "SCORE")]
GROUPS = "Groups that are drawn whole, such as families of near duplicates or threads."
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
PRIORS: dict[str, Any] = {"vague": "vague", "learned": "learned", "none": 0}  # as functions take it


def option_advice(category: type[Warning]) -> str:
    """Name the option of reviews that addresses a warning about scores."""
    from bayescal.support.score_checks import ScoresWarning

    return "Option for this: --lower-is-positive." if issubclass(category, ScoresWarning) else ""


@dataclass(frozen=True)
class ReviewFiles:
    """A collection with its labels."""

    documents: DocumentNames
    scores: Floats
    labels: Floats  # 1, 0, or nan without a label
    second: Floats  # labels of a second reviewer, of documents that the first one labelled
    plan_of: dict[Path, SamplePlan]  # by the file of labels, or the plan's own
    groups: NDArray[Any] | None
    positive: str  # the words of positive labels
    counts: Floats | None  # how many documents each score stands for; None for one each

    def joined(self, label: str) -> pd.DataFrame:
        """Return the file with a column of labels, and one of inclusion if there is a plan."""
        from bayescal.sampling.plans import inclusion_of

        frame = self.documents.frame
        labels = [None if np.isnan(each) else int(each) for each in self.labels]
        added = {label: np.array(labels, dtype=object)}
        if plans := tuple(self.plan_of.values()):
            added[INCLUSION] = inclusion_of(plans, self.scores)
        if taken := [name for name in added if name in frame]:
            raise UsageError(
                f"{self.documents.path} must have no column {taken[0]!r} beside --labels: leave"
                " out one of them."
            )
        return frame.assign(**added).sort_index()


def read_review(
    scores: Path,
    labels: Sequence[Path] | None,
    score_column: str,
    sign: float,
    screen: Screen,
    id_column: str | None = None,
    group_column: str | None = None,
    plans: Sequence[Path] | None = None,
    reviewers: Sequence[str] = (LABEL,),
    rows: int | None = None,
    whole: Sequence[str] = ("this command",),
) -> ReviewFiles:
    """Read a collection, and labels and plans from files, which must not contradict each other.

    Documents that no label names are counted if there are more than so many rows, unless `whole`,
    plans or labels by row need all of them.
    """
    from bayescal.sampling.plans import OF_PLAN_ALONE

    frames = {path: read_frame(path, "labels") for path in labels or ()}
    # A plan without some of its columns is an error; its labels would lose their design.
    plan_file = {
        path: path if len(set(OF_PLAN_ALONE) & set(frame.columns)) > 1 else plan_beside(path)
        for path, frame in frames.items()
    }
    beside = [file for file in plan_file.values() if file.is_file()]
    whole = [*whole, *(f"the plan {file}" for file in (*(plans or ()), *beside))]
    whole += [
        f"column {ROW!r} of {path}" for path in frames if ROW in map(plain_name, frames[path])
    ]
    keep = partial(named_rows, column=id_column, labels=list(frames.values()))
    first, others = read_rows(scores, rows, screen, score_column, whole=whole, keep=keep)
    counts = others.counts
    documents = DocumentNames(first, id_column, 0 if counts is None else int(counts.sum()))
    reader = ColumnReader(scores, documents.frame, screen)
    values = sign * reader.scores(score_column)
    if counts is not None:
        values = np.append(values, sign * others.frame[score_column].to_numpy())
        counts = np.append(np.ones(documents.rows.size), counts)
    groups = None if group_column is None else reader.names(group_column, "group")
    known, second = (np.full(values.size, np.nan) for _ in range(2))
    plan_of = {path: _read_plan(path, documents, values, groups) for path in plans or ()}
    source: dict[int, Path] = {}
    words: list[str] = []
    for path, file in plan_file.items():
        own = ColumnReader(path, frames[path], screen)
        document, column = documents.positions(own)
        label, words_here, unsure = _labels_of(own, reviewers[0])
        if len(reviewers) > 1:
            other, more, _ = _labels_of(own, reviewers[1])
            second[document] = np.where(np.isnan(label), np.nan, other)
            label, words_here = np.where(np.isnan(label), other, label), [*words_here, *more]
        words += words_here
        filled = ~np.isnan(label)
        for one, value in zip(document[filled].tolist(), label[filled].tolist(), strict=True):
            if known[one] == 1.0 - value:
                raise UsageError(
                    f"{documents.name(one)} has the label {known[one]:g} in {source[one]} and"
                    f" {value:g} in {path}: two reviewers have to agree on one label a document."
                )
            known[one], source[one] = value, path
        positive = " or ".join(map(repr, dict.fromkeys(words_here or ["1"])))
        screen.note(
            f"Positive label: {positive}, {int((label == 1.0).sum()):,d} of"
            f" {counted(int(filled.sum()), 'labelled row')} of {path}, matched by the column"
            f" {column!r}.{_left_out(int((~filled).sum()), unsure)}"
        )
        if file.is_file() and file not in plan_of:
            plan_of[path] = _read_plan(file, documents, values, groups)
            screen.note(f"Plan of {path}: {file}, round {plan_of[path].round}.")
    positive = " or ".join(dict.fromkeys(words)) or "1"
    return ReviewFiles(documents, values, known, second, plan_of, groups, positive, counts)


def files_read(
    scores: Path, labels: Sequence[Path] | None, plans: Sequence[Path] | None
) -> list[Path]:
    """Return the files that `read_review` reads, once each, with the plans beside labels."""
    beside = [path for path in map(plan_beside, labels or ()) if path.is_file()]
    return list(dict.fromkeys([*files_of(scores), *(labels or ()), *(plans or ()), *beside]))


def plan_beside(labels: Path) -> Path:
    """Return the file of the plan of a file of labels, by default."""
    return labels.with_name(f"{labels.stem}.plan.csv")


def _read_plan(
    path: Path, documents: DocumentNames, scores: Floats, groups: NDArray[Any] | None
) -> SamplePlan:
    from bayescal.sampling.plans import plan_of_rows

    frame = read_frame(path, "a plan")
    position, _ = documents.positions(ColumnReader(path, frame))
    cells = frame.astype(object).where(frame.notna(), "").astype(str)
    lines = zip(frame.index.tolist(), cells.to_numpy().tolist(), strict=True)
    rows = {row: dict(zip(cells.columns, line, strict=True)) for row, line in lines}
    with usage_errors():
        return plan_of_rows(str(path), rows, scores, groups, position)


def _labels_of(reader: ColumnReader, column: str) -> tuple[Floats, list[str], int]:
    """Return labels, nan if blank or unsure, the words of positives, and the number of unsure."""
    filled = reader.present(column, None)
    cells = reader.frame[column].tolist()
    texts = {int(row): plain(cells[row]) for row in np.flatnonzero(filled)}
    sure = {row: text for row, text in texts.items() if text not in UNSURE}
    words: list[str] = []
    for row, text in sure.items():
        if text not in words and meanings_of([*words, text]) is None:
            others = f", after {first_of(words)}" if meanings_of([text]) and words else ""
            raise UsageError(
                f"{reader.name(column)} must hold 1 or 0, yes or no, responsive or not"
                " responsive and the like for one question, unsure, or nothing, got"
                f" {shown(cells[row])} in {reader.row(row)}{others}."
            )
        words = list(dict.fromkeys([*words, text]))
    meanings = meanings_of(words) or {}
    label = np.full(filled.size, np.nan)
    label[list(sure)] = [float(meanings[text]) for text in sure.values()]
    positive = [word for word in words if meanings[word]]
    return label, positive, len(texts) - len(sure)


def _left_out(unlabelled: int, unsure: int) -> str:
    """Return a sentence on rows without a label; empty if all have one."""
    if not unlabelled:
        return ""
    blank = unlabelled - unsure
    return f" {counted(unlabelled, 'row')} without a label: {unsure:,} unsure, {blank:,} blank."

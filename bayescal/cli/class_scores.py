"""Files with a column of scores for each of several exclusive classes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bayescal.cli.columns import ColumnReader, Mask
from bayescal.cli.files import as_numbers
from bayescal.cli.scores import HELD_OUT, Rows
from bayescal.cli.terminal import UsageError
from bayescal.support.validation import Floats, first_of

if TYPE_CHECKING:
    import pandas as pd

# Options that mean something for one score only.
OF_ONE_SCORE = (
    "score_column",
    "topic_column",
    "positive",
    "lower_is_positive",
    "family",
    "parts",
    "prior_knowledge",
    "inference",
    "model",
    "covariate_columns",
    "pool",
    "jobs",
    "tune",
    "target_accept",
    "resume",
    "prior",
    "likelihood_ratio",
    "support",
    "at",
    "at_score",
    "recall",
    "assurance",
    "collection",
)


def refuse_options_of_one_score(chosen: set[str], *further: str) -> None:
    """Raise UsageError if an option on the command line would be ignored."""
    if strange := [name for name in (*OF_ONE_SCORE, *further) if name in chosen]:
        option = f"--{strange[0].replace('_', '-')}"
        raise UsageError(f"{option} is for one score, and means nothing for several classes.")


@dataclass(frozen=True)
class ClassTable:
    """A file with a column of scores for each class, and maybe labels."""

    reader: ColumnReader
    classes: NDArray[np.str_]  # (K,)
    scores: Floats  # (n, K); -inf for excluded classes
    labels: NDArray[np.str_]  # (n,): empty where unknown
    labelled: Mask  # (n,)
    test: Mask  # (n,): rows to test on
    scores_are: str = "auto"

    @property
    def frame(self) -> pd.DataFrame:
        """Return the rows as they were read."""
        return self.reader.frame

    @property
    def fit_rows(self) -> Rows:
        """Return the positions of the rows to fit."""
        return np.flatnonzero(self.labelled & ~self.test)

    @property
    def test_rows(self) -> Rows:
        """Return the positions of the rows to test on."""
        return np.flatnonzero(self.labelled & self.test)

    def check_possible(self) -> None:
        """Raise UsageError if a label is a class that its row excludes."""
        excluded = np.isneginf(self.scores) & (self.labels[:, None] == self.classes)
        _refuse(self.reader, excluded.any(axis=1), "give the class of a label a score above -inf")

    def rows_by_class(self) -> list[Rows]:
        """Return the labelled rows of each class."""
        return [np.flatnonzero(self.labels == name) for name in self.classes]

    def with_test_rows(self, test: Mask) -> ClassTable:
        """Return the table with other rows to test on, and a column that marks them."""
        frame = self.frame.assign(**{HELD_OUT: test})
        return replace(self, reader=ColumnReader(self.reader.path, frame), test=test)

    def weights(self, arguments: Mapping[str, Any], rows: Rows) -> dict[str, Any]:
        """Return the weights of some rows, by the name of the argument of a fit."""
        for kind in ("weight", "inclusion"):
            column, sampled = arguments[f"{kind}_column"], kind == "inclusion"
            if column is not None:
                values = self.reader.weights(column, self.labelled, sampled=sampled)
                return {"inclusion" if sampled else "sample_weight": values[rows]}
        return {}


def split_names(text: str, option: str = "--classes") -> list[str]:
    """Return the names in an option, separated by commas."""
    names = [name.strip() for name in text.split(",")]
    if len(names) < 2 or not all(names):
        raise UsageError(f"{option} must name at least two classes, as a,b,c; got {text!r}.")
    if twice := [name for name in names if names.count(name) > 1]:
        raise UsageError(f"{option} must name every class once, got {twice[0]!r} twice.")
    return names


def read_class_table(
    reader: ColumnReader, classes: Sequence[str], label_column: str | None
) -> ClassTable:
    """Read a file whose columns of scores are named by the classes."""
    missing = [name for name in classes if name not in reader.frame.columns]
    if missing:
        known = ", ".join(repr(str(name)) for name in reader.frame.columns)
        raise UsageError(
            f"{reader.path} must have a column of scores for each class, it lacks"
            f" {first_of(missing)}; its columns are {known}."
        )
    scores = np.stack([_scores(reader, name) for name in classes], axis=1)
    excluded: Mask = np.isneginf(scores.max(axis=1))
    _refuse(reader, excluded, "leave some class that is not excluded")
    labelled = np.zeros(len(reader.frame), dtype=bool)
    labels = np.full(len(reader.frame), "", dtype=object)
    if label_column is not None:
        if label_column in classes:
            raise UsageError(f"--label-column must be no class, got {label_column!r}.")
        values, labelled = reader.class_labels(label_column)
        labels[labelled] = [str(value) for value in values.tolist()]
        strange = labelled & ~np.isin(labels.astype(str), list(classes))
        if strange.any():
            row = int(np.flatnonzero(strange)[0])
            raise UsageError(
                f"{reader.name(label_column)} must hold classes, {first_of(list(classes))}; got"
                f" {labels[row]!r} in {reader.row(row)} ({int(strange.sum())} of {labels.size}"
                " rows)."
            )
    nothing = np.zeros_like(labelled)
    return ClassTable(reader, np.array(classes), scores, labels.astype(str), labelled, nothing)


def _refuse(reader: ColumnReader, bad: Mask, expected: str) -> None:
    if bad.any():
        row = int(np.flatnonzero(bad)[0])
        raise UsageError(
            f"{reader.path} must {expected}, {reader.row(row)} does not ({int(bad.sum())} of"
            f" {bad.size} rows): correct or leave them out."
        )


def _scores(reader: ColumnReader, name: str) -> Floats:
    """Return a column of numbers, or of -inf for excluded classes."""
    values, advice = as_numbers(reader.frame[name].tolist())
    bad = np.isnan(values) | np.isposinf(values)
    if bad.any():
        row = int(np.flatnonzero(bad)[0])
        raise UsageError(
            f"{reader.name(name)} must hold a number, or -inf for an excluded class, got"
            f" {reader.frame[name].iloc[row]!r} in {reader.row(row)} ({int(bad.sum())} of"
            f" {bad.size} rows): correct or leave them out.{advice}"
        )
    return values

"""A file of labelled scores as a table, and its rows by topic."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bayescal.cli import comparisons, reviews
from bayescal.cli.columns import ColumnReader, Mask, Rows, names_in, split_column
from bayescal.cli.files import read_frame
from bayescal.cli.numbers import as_numbers
from bayescal.cli.terminal import Screen, UsageError, counted
from bayescal.support.intervals import percent
from bayescal.support.validation import Columns, Floats, first_of, take_columns

if TYPE_CHECKING:
    import pandas as pd

HELD_OUT = "held_out"  # a column that marks rows held out at random
TEXT_FILES = "*.txt"
# Columns by meaning; options and arguments have their names.
COLUMNS = ("score", "label", "topic", "weight", "inclusion", "cluster", "split")


@dataclass(frozen=True)
class ScoreTable:
    """A checked file of scores: one in each row for two classes, one per class for several."""

    # All rows and columns; score, label and weight typed, other columns of a CSV file as text
    frame: pd.DataFrame
    # (n,): finite, negated if lower ones stand for positives; of several classes (n, K), -inf for
    # excluded ones
    score: Floats
    label: Rows  # (n,): positions of labels in `classes`; 0 without a label
    classes: tuple[Any, ...]  # the negative and the positive label, several, or grades
    test: Mask  # (n,): rows to test on; other labelled rows are fitted
    labelled: Mask  # (n,): rows with a label; others only get a probability
    topics: NDArray[np.str_] | None = None  # (n,)
    weight: Floats | None = None  # (n,): in the fit
    clusters: NDArray[np.str_] | None = None  # (n,): which labelled rows belong together
    unnamed_sources: tuple[str, str] | None = None  # columns of sources that no option names
    sampled: bool = False  # True if weights are inclusion probabilities, False for counts
    sign: int = 1  # -1 if scores are negated
    covariates: Columns | None = None  # (n,) each, for a program
    topic: str | None = None  # the only topic of `take`; None in a file without topics
    rows: Rows = field(default_factory=lambda: np.arange(0))  # after `take`: positions in the file

    def take(self, rows: Rows, topic: str | None = None) -> ScoreTable:
        """Return the rows of one topic, without their frame, for another process."""
        return replace(
            self,
            frame=self.frame.iloc[:0, :0],
            score=self.score[rows],
            label=self.label[rows],
            test=self.test[rows],
            labelled=self.labelled[rows],
            topics=None,
            weight=None if self.weight is None else self.weight[rows],
            clusters=None if self.clusters is None else self.clusters[rows],
            covariates=self.columns_of(rows),
            topic=topic,
            rows=rows,
        )

    @property
    def name(self) -> str:
        """Return the topic, or the empty string in a file without topics."""
        return self.topic or ""

    @property
    def subject(self) -> str:
        """Return the opening of messages about the topic."""
        return "" if self.topic is None else f"topic {self.topic!r}: "

    @property
    def positive(self) -> Mask:
        """Return the mask of rows whose label is the positive one of two."""
        positive: Mask = self.label == 1
        return positive

    @property
    def fit_rows(self) -> Rows:
        """Return the positions of the rows to fit."""
        return np.flatnonzero(self.labelled & ~self.test)

    @property
    def test_rows(self) -> Rows:
        """Return the positions of the rows to test on."""
        return np.flatnonzero(self.labelled & self.test)

    @property
    def note(self) -> str:
        """Return a sentence on rows without a label; empty without any."""
        labelled, n = int(self.labelled.sum()), self.labelled.size
        if labelled == n:
            return ""
        return (
            f"{labelled:,d} of {n:,d} rows have a label and are fitted or tested on; the other"
            f" {n - labelled:,d} get a probability only."
        )

    def labels(self, rows: Rows) -> NDArray[Any]:
        """Return labels of rows, as in the file."""
        return np.array(self.classes)[self.label[rows]]

    def weights(self, rows: Rows) -> dict[str, Any]:
        """Return weights of rows, and clusters if there are any, by argument of a fit."""
        kind = "inclusion" if self.sampled else "sample_weight"
        weights = {kind: None if self.weight is None else self.weight[rows]}
        return weights | ({} if self.clusters is None else {"clusters": self.clusters[rows]})

    def columns_of(self, rows: Rows) -> Columns | None:
        """Return covariates of rows, if any."""
        return take_columns(self.covariates, rows)

    def examples(self, rows: Rows) -> tuple[NDArray[Any], ...]:
        """Return scores and labels of rows, and topics, if any."""
        topics = () if self.topics is None else (self.topics[rows],)
        return (self.score[rows], self.labels(rows), *topics)

    @property
    def counts(self) -> tuple[int, int]:
        """Count the negative and the positive rows to fit."""
        negatives, positives = self.scores_by_class()
        return negatives.size, positives.size

    def scores_by_class(self) -> tuple[Floats, Floats]:
        """Return the scores to fit of the negatives and of the positives."""
        score, positive = self.score[self.fit_rows], self.positive[self.fit_rows]
        return score[~positive], score[positive]


def read_scores(
    path: Path, arguments: Mapping[str, Any], screen: Screen | None = None
) -> ScoreTable:
    """Read a file of labelled scores with the columns in a call's arguments."""
    names: dict[str, Any] = {kind: arguments.get(f"{kind}_column") for kind in COLUMNS}
    several, ordered = arguments.get("classes"), arguments.get("grades")
    if several is None and names["score"] == names["label"]:
        raise UsageError(
            "--score-column and --label-column must name different columns, got"
            f" {names['score']!r} for both."
        )
    classes: tuple[Any, ...] = () if several is None else split_names(several)
    sign, reader = sign_of(arguments), ColumnReader(path, screen=screen)
    if arguments.get("labels"):
        columns = names["score"], sign, reader.screen, arguments["id_column"], None
        review = reviews.read_review(path, arguments["labels"], *columns, arguments["plans"])
        reader = ColumnReader(path, review.joined(names["label"]), screen)
        if review.plan_of and names["inclusion"] is None:
            names["inclusion"] = reviews.INCLUSION
    sampled = names["inclusion"] is not None
    if sampled and names["weight"] is not None:
        raise UsageError(
            "--weight-column counts rows and --inclusion-column is their probability to be"
            " labelled: leave out one of them."
        )
    weight = names["inclusion" if sampled else "weight"]
    if ordered is not None:
        score, classes = reader.scores(names["score"]), _grades(ordered)
        label, labelled = reader.class_positions(names["label"], classes, "grades")
    elif several is None:
        score = sign * reader.scores(names["score"])
        classes, is_positive, labelled = reader.labels(names["label"], arguments["positive"])
        label = is_positive.astype(np.intp)
    else:
        score = reader.class_scores(classes)
        label, labelled = reader.class_positions(names["label"], classes)
    test = reader.test_rows(split_column(reader.frame, names["split"]), labelled)
    weights = reader.weights(weight, labelled, sampled=sampled) if weight is not None else None
    unnamed, pairs = None, arguments.get("source_columns")
    if pairs is not None:
        rows = np.flatnonzero(labelled & ~test)
        weights = comparisons.weights_of_pairs(reader, pairs, rows, label == 1)
    elif several is ordered is None and "source_columns" in arguments:
        unnamed = comparisons.unnamed_sources(reader, labelled, label == 1, _used(arguments))
    if unnamed is not None:
        reader.screen.note(
            f"{' and '.join(unnamed)} agree exactly in the positive rows: if they are the sources"
            f" of compared items, name them with --source-columns {','.join(unnamed)}, or else"
            " bands are too narrow."
        )
    topics = None if names["topic"] is None else reader.names(names["topic"])
    return ScoreTable(
        frame=reader.frame,
        score=score,
        label=label,
        classes=classes,
        test=test,
        labelled=labelled,
        topics=topics,
        weight=weights,
        clusters=reader.clusters(names["cluster"], labelled, test, _used(arguments), topics=topics)
        if "cluster_column" in arguments
        else None,
        unnamed_sources=unnamed,
        sampled=sampled,
        sign=sign,
        covariates=_covariates(reader, arguments.get("covariate_columns"), names),
    )


def _used(arguments: Mapping[str, Any]) -> list[Any]:
    """Return the columns that options of a call name."""
    columns = [value for name, value in arguments.items() if name.endswith("_column")]
    lists = ("covariate_columns", "source_columns")
    return [*columns, *(one for name in lists for one in names_in(arguments.get(name) or ""))]


def split_names(text: str, kinds: str = "classes", kind: str = "class") -> tuple[str, ...]:
    """Return the names of several classes, separated by commas in --classes, or of grades."""
    names = tuple(names_in(text))
    if len(names) < 2 or not all(names):
        raise UsageError(f"--{kinds} must name at least two {kinds}, as a,b,c; got {text!r}.")
    if twice := [name for name in names if names.count(name) > 1]:
        raise UsageError(f"--{kinds} must name every {kind} once, got {twice[0]!r} twice.")
    return names


def _grades(text: str) -> tuple[Any, ...]:
    """Return the grades of --grades, lowest first, as whole numbers if all are."""
    names = split_names(text, "grades", "grade")
    values, _ = as_numbers(names)
    whole = (values % 1.0 == 0.0).all() and all("." not in name for name in names)
    return tuple(values.astype(int).tolist()) if whole else names


def _covariates(
    reader: ColumnReader, asked: str | None, names: Mapping[str, Any]
) -> Columns | None:
    """Return the columns of --covariate-columns."""
    if asked is None:
        return None
    wanted = names_in(asked)
    if not all(wanted) or len(set(wanted)) < len(wanted):
        raise UsageError(
            f"--covariate-columns must name every column once, such as length,site; got {asked!r}."
        )
    if names["label"] in wanted:
        raise UsageError(
            f"--covariate-columns must leave out {names['label']!r}, which is the label to predict."
        )
    return {name: reader.covariate(name) for name in wanted}


def sign_of(arguments: Mapping[str, Any]) -> int:
    """Return -1 if a call's arguments have --lower-is-positive, otherwise 1."""
    return -1 if arguments.get("lower_is_positive") else 1


def read_texts(path: Path, text: str, label: str, screen: Screen) -> tuple[ColumnReader, list[str]]:
    """Read a table or folder of texts; return its columns and the texts."""
    if not path.is_dir() and not path.suffix:
        raise UsageError(f"there is no folder {path} of documents, nor is it named like a file.")
    frame = _folder(path, text, label) if path.is_dir() else read_frame(path, "documents")
    reader = ColumnReader(path, frame, screen)
    return reader, reader.texts(text)


def read_documents(
    path: Path,
    text: str,
    label: str,
    split: str | None,
    cluster: str | None,
    positive: str | None,
    screen: Screen,
) -> tuple[ScoreTable, list[str]]:
    """Read texts with labels; return the table, without scores and texts, and the texts."""
    reader, texts = read_texts(path, text, label, screen)
    frame = reader.frame
    classes, is_positive, labelled = reader.labels(label, positive)
    test = reader.test_rows(split_column(frame, split), labelled)
    table = ScoreTable(
        frame=frame.drop(columns=text),
        score=np.full(len(frame), np.nan),
        label=is_positive.astype(np.intp),
        classes=classes,
        test=test,
        labelled=labelled,
        clusters=reader.clusters(cluster, labelled, test, (text, label, split)),
    )
    return table, texts


def _folder(path: Path, text: str, label: str) -> pd.DataFrame:
    import pandas as pd

    paths = sorted([*path.glob(TEXT_FILES), *path.glob(f"*/{TEXT_FILES}")])
    if not paths:
        raise UsageError(
            f"{path} must hold text files ({TEXT_FILES}), those with a label in a folder of its"
            " name; got none."
        )
    return pd.DataFrame(
        {
            "document": [str(file.relative_to(path)) for file in paths],
            text: [_text(file) for file in paths],
            label: [None if file.parent == path else file.parent.name for file in paths],
        }
    )


def _text(file: Path) -> str:
    try:
        content = file.read_text(encoding="utf-8")
    except UnicodeDecodeError as err:
        raise UsageError(
            f"{file} must be UTF-8 text, got byte {err.object[err.start]:#04x} at {err.start}:"
            " convert it first."
        ) from err
    if not content.strip():
        raise UsageError(f"{file} must hold a document, got an empty file: leave it out.")
    return content


# Binary problems of a table, one for each topic.


def split_by_topic(table: ScoreTable) -> list[ScoreTable]:
    """Return the rows of each topic, in order of first appearance."""
    grouped = rows_by_topic(table.topics, table.label.size)
    return [table.take(rows, topic) for topic, rows in grouped]


def rows_by_topic(topics: NDArray[np.str_] | None, n: int) -> list[tuple[str | None, Rows]]:
    """Return the topics in order of first appearance, with their rows."""
    if topics is None:
        return [(None, np.arange(n))]
    names, first, codes = np.unique(topics, return_index=True, return_inverse=True)
    order = np.argsort(codes, kind="stable")
    rows = np.split(order, np.flatnonzero(np.diff(codes[order])) + 1)
    return [(str(names[k]), rows[k]) for k in np.argsort(first)]


def rows_by_class(table: ScoreTable) -> list[Rows]:
    """Return the labelled rows of each class in each topic, by score."""
    members = [table.labelled & (table.label == k) for k in range(len(table.classes))]
    rising = np.lexsort(np.atleast_2d(table.score.T))
    topics = None if table.topics is None else table.topics[rising]
    by_topic = [rising[rows] for _, rows in rows_by_topic(topics, rising.size)]
    return [rows[each[rows]] for rows in by_topic for each in members]


NO_TEST_ROWS = "no row is left to test on, so there are no losses: classes of one row are kept."


def with_holdout(table: ScoreTable, share: float | None, seed: int, screen: Screen) -> ScoreTable:
    """Return the table with a share of the rows of each class, or of clusters, to test on."""
    if share is None:
        return table
    if table.test.any():
        raise UsageError(
            f"--holdout is for files without test rows, got {share:g} and"
            f" {int(table.test.sum())} rows of split 'test': leave one of them out."
        )
    if table.clusters is None:
        of, test = "each class", hold_out(table.test.size, rows_by_class(table), share, seed)
    else:
        of, test = "clusters", hold_out_clusters(table.clusters, table.labelled, share, seed)
    if not test.any():
        screen.warn(NO_TEST_ROWS)
    screen.show(
        f"{int(test.sum())} of {test.size} rows held out at random, {percent(share)} of {of}"
        f" (--seed {seed})."
    )
    return replace(table, test=test, frame=table.frame.assign(**{HELD_OUT: test}))


def hold_out(n: int, groups: Iterable[Rows], share: float, seed: int) -> Mask:
    """Return a mask of random rows to test on: a share of each group, less than all of it."""
    rng = np.random.default_rng(seed)
    test = np.zeros(n, dtype=bool)
    for members in groups:
        size = min(round(share * members.size), members.size - 1)
        if size > 0:
            test[rng.choice(members, size, replace=False)] = True
    return test


def hold_out_clusters(clusters: NDArray[np.str_], labelled: Mask, share: float, seed: int) -> Mask:
    """Return a mask of labelled rows to test on: all rows of a random share of clusters."""
    names = np.unique(clusters[labelled])
    size = min(round(share * names.size), names.size - 1)
    drawn = np.random.default_rng(seed).choice(names, size, replace=False)
    return labelled & np.isin(clusters, drawn)


# Topics left out of the fit, with reasons.

LeftOut = Mapping[str, str]
NONE: LeftOut = MappingProxyType({})


def fittable(problems: Sequence[ScoreTable]) -> tuple[list[ScoreTable], dict[str, str]]:
    """Return the topics with both classes, and reasons to leave out the others."""
    reasons = [missing_class(problem) for problem in problems]
    left_out = {
        problem.name: reason for problem, reason in zip(problems, reasons, strict=True) if reason
    }
    refuse_if_all(problems, left_out)
    return [each for each, why in zip(problems, reasons, strict=True) if not why], left_out


def missing_class(table: ScoreTable) -> str:
    """Return a reason to leave out a topic that lacks a class to fit; otherwise empty."""
    rows = table.fit_rows
    counts = rows if table.weight is None else rows[table.weight[rows] > 0.0]
    for label, positive in zip(table.classes, (False, True), strict=True):
        if not (table.positive[counts] == positive).any():
            return (
                "both classes need rows to fit (not of split 'test', not of weight 0), got none"
                f" with label {label!r}."
            )
    return ""


def refuse_if_all(problems: Sequence[ScoreTable], left_out: LeftOut) -> None:
    """Raise UsageError with the first reason if all topics are left out."""
    if len(left_out) < len(problems):
        return
    first = problems[0]
    others = f" None of {counted(len(problems), 'topic')} can be fitted." if first.topic else ""
    raise UsageError(f"{first.subject}{left_out[first.name]}{others}")


def rows_left_out(topics: NDArray[np.str_] | None, left_out: LeftOut, n: int) -> tuple[Mask, str]:
    """Return the mask of rows in topics left out, (n,), and a sentence about any."""
    if topics is None or not left_out:
        return np.zeros(n, dtype=bool), ""
    gone = np.isin(topics, list(left_out))
    if not gone.any():
        return gone, ""
    names = list(dict.fromkeys(topics[gone].tolist()))
    return gone, (
        f"{counted(int(gone.sum()), 'row')} of {counted(len(names), 'topic')} that the fit left out"
        f" ({first_of(names)}): {left_out[names[0]]}"
    )

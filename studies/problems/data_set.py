"""Data sets: training and test documents with their classes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from studies.problems.folds import Bools, deal

Kind = Literal["texts", "words", "table"]
TestKind = Literal["later", "separate", "same"]

LEAST_POSITIVES = 10
# Three tenths of the documents are set aside where a source has no test part.
TENTHS, TENTHS_TO_TEST = 10, 3


@dataclass(frozen=True)
class DataSet:
    """Documents and their classes.

    Attributes
    ----------
    name : str
        Name of the data set.
    kind : {"texts", "words", "table"}
        What documents are: strings, rows of a sparse matrix of words, or rows of numbers.
    classes : tuple of str
        Their names.
    train, test : sequence or matrix of n and m documents
        To train with, and to test on.
    label, test_label : array of shape (n, classes) and (m, classes) of bool
        Which documents are of each class.
    test_kind : {"later", "separate", "same"}
        Whether the test documents are later than those to train with, a part that the source set
        apart, or drawn from the same documents at random.
    """

    name: str
    kind: Kind
    classes: tuple[str, ...]
    train: Any
    label: Bools
    test: Any
    test_label: Bools
    test_kind: TestKind

    def with_enough_positives(self) -> DataSet:
        """Return the data set without classes with fewer than ten training positives."""
        enough = self.label.sum(axis=0) >= LEAST_POSITIVES
        return replace(
            self,
            classes=tuple(np.array(self.classes)[enough].tolist()),
            label=self.label[:, enough],
            test_label=self.test_label[:, enough],
        )


def with_random_test(
    name: str, kind: Kind, classes: tuple[str, ...], documents: Any, label: Bools, seed: int
) -> DataSet:
    """Return a data set with a random test part of three tenths of the documents."""
    test = deal(label, TENTHS, seed) < TENTHS_TO_TEST
    train, new = documents[~test], documents[test]
    return DataSet(name, kind, classes, train, label[~test], new, label[test], "same")


def with_later_test(
    name: str, kind: Kind, classes: tuple[str, ...], documents: Any, label: Bools
) -> DataSet:
    """Return a data set whose last three tenths of the documents in time are the test part."""
    first = len(label) * (TENTHS - TENTHS_TO_TEST) // TENTHS
    train, new = documents[:first], documents[first:]
    return DataSet(name, kind, classes, train, label[:first], new, label[first:], "later")


def one_of(names: Any, classes: tuple[str, ...]) -> Bools:
    """Return a mask of classes for each document, given the name of its class.

    Examples
    --------
    >>> one_of(["spam", "ham"], ("spam",)).tolist()
    [[True], [False]]
    """
    return np.asarray(np.asarray(names)[:, None] == np.asarray(classes), dtype=np.bool_)

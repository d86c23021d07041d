"""Documents of many labels, as sparse ARFF files of words: e-mails and radiology reports."""

from __future__ import annotations

import lzma
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
from scipy import sparse

from studies.problems.data_set import DataSet
from studies.problems.folds import Bools

NAMES = ("medical", "enron")
NAMESPACE = "{http://mulan.sourceforge.net/labels}"
ATTRIBUTE = "@attribute "


def load(data: Path, name: str, seed: int) -> DataSet:
    """Return the words of both parts, and every label."""
    folder = data / "multilabel"
    tree = ElementTree.parse(folder / f"{name}.xml")
    classes = tuple(each.attrib["name"] for each in tree.iter(f"{NAMESPACE}label"))
    train, label = _part(folder / f"{name}-train.arff.xz", classes)
    test, test_label = _part(folder / f"{name}-test.arff.xz", classes)
    return DataSet(name, "words", classes, train, label, test, test_label, "separate")


def _part(file: Path, classes: tuple[str, ...]) -> tuple[sparse.csr_matrix, Bools]:
    """Return the words and the labels of a file: both are attributes that are 0 or 1."""
    lines = lzma.decompress(file.read_bytes()).decode("utf-8").splitlines()
    names = [_name(line) for line in lines if line.lower().startswith(ATTRIBUTE)]
    rows = [_attributes(line) for line in lines if line.startswith("{")]
    matrix = sparse.lil_matrix((len(rows), len(names)))
    for i, row in enumerate(rows):
        matrix[i, row] = 1.0
    columns = matrix.tocsc()
    of_labels = [names.index(name) for name in classes]
    words = np.setdiff1d(np.arange(len(names)), of_labels)
    return columns[:, words].tocsr(), columns[:, of_labels].toarray() > 0.0


def _name(line: str) -> str:
    return line[len(ATTRIBUTE) :].rsplit(" ", 1)[0].strip("'\"")


def _attributes(line: str) -> list[int]:
    pairs = [pair.split() for pair in line.strip("{}").split(",")]
    return [int(index) for index, value in pairs if value == "1"]

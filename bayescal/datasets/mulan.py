"""Documents of many labels in Mulan's files: sparse ARFF of words and labels, labels in XML."""

from __future__ import annotations

import lzma
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

NAMESPACE = "{http://mulan.sourceforge.net/labels}"
ATTRIBUTE = "@attribute "


@dataclass(frozen=True)
class LabelledWords:
    """
    Documents to train with and to test on, and which labels each has.

    Attributes
    ----------
    labels : tuple of str
        Their names.
    train, test : sparse matrix of shape (n, words) and (m, words)
        1 where a word occurs.
    train_labels, test_labels : array of shape (n, labels) and (m, labels) of bool
        Which documents have each label.
    """

    labels: tuple[str, ...]
    train: Any
    test: Any
    train_labels: NDArray[np.bool_]
    test_labels: NDArray[np.bool_]


def read_mulan(folder: str | Path, name: str) -> LabelledWords:
    """
    Return a data set of Mulan's, such as "enron" or "medical", in its own training and test parts.

    Its attributes must be 0 or 1, and its rows sparse.

    Parameters
    ----------
    folder : str or Path
        It holds <name>-train.arff, <name>-test.arff, each with or without .xz behind, and
        <name>.xml with the names of the labels.
    name : str
        Of the data set.

    Raises
    ------
    FileNotFoundError
        If a file is not there.
    ValueError
        If the file of labels is no XML, or a label is no attribute.

    References
    ----------
    G. Tsoumakas et al., Mulan: a Java library for multi-label learning, JMLR 2011.
    """
    home = Path(folder)
    try:
        tree = ElementTree.parse(home / f"{name}.xml")
    except ElementTree.ParseError as err:
        raise ValueError(f"{name}.xml must be an XML file of labels: {err}.") from err
    labels = tuple(each.attrib["name"] for each in tree.iter(f"{NAMESPACE}label"))
    train, train_labels = _part(home, f"{name}-train.arff", labels)
    test, test_labels = _part(home, f"{name}-test.arff", labels)
    return LabelledWords(labels, train, test, train_labels, test_labels)


def _part(
    folder: Path, name: str, labels: tuple[str, ...]
) -> tuple[sparse.csr_matrix, NDArray[np.bool_]]:
    """Return the words and the labels of a file: both are attributes that are 0 or 1."""
    lines = _text(folder, name).splitlines()
    names = [_name(line) for line in lines if line.lower().startswith(ATTRIBUTE)]
    if missing := sorted(set(labels) - set(names)):
        raise ValueError(f"every label must be an attribute of {name}, got none of {missing[0]!r}.")
    rows = [_attributes(line) for line in lines if line.startswith("{")]
    matrix = sparse.lil_matrix((len(rows), len(names)))
    for i, row in enumerate(rows):
        matrix[i, row] = 1.0
    columns = matrix.tocsc()
    of_labels = [names.index(label) for label in labels]
    words = np.setdiff1d(np.arange(len(names)), of_labels)
    return columns[:, words].tocsr(), columns[:, of_labels].toarray() > 0.0


def _text(folder: Path, name: str) -> str:
    packed = folder / f"{name}.xz"
    content = (
        lzma.decompress(packed.read_bytes()) if packed.exists() else (folder / name).read_bytes()
    )
    return content.decode("utf-8")


def _name(line: str) -> str:
    return line[len(ATTRIBUTE) :].rsplit(" ", 1)[0].strip("'\"")


def _attributes(line: str) -> list[int]:
    # A document without words is an empty pair of braces.
    pairs = [pair.split() for pair in line.strip("{}").split(",") if pair.strip()]
    return [int(index) for index, value in pairs if value == "1"]

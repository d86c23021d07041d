"""Documents of many labels in Mulan's files: sparse ARFF of words and labels, labels in XML."""

from __future__ import annotations

import lzma
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

ATTRIBUTE, DATA = "@attribute", "@data"
COMMENT = "%"
NAME = re.compile(ATTRIBUTE + r"\s+('[^']*'|\"[^\"]*\"|\S+)", re.IGNORECASE)
ENTRY = re.compile(r"\s*(\d+)\s+['\"]?([01])['\"]?\s*")


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
        If the file of labels is no XML or holds none, a label is no attribute, a row is not sparse
        or holds other values than 0 and 1, or both parts do not have the same attributes in the
        same order.

    References
    ----------
    G. Tsoumakas et al., Mulan: a Java library for multi-label learning, JMLR 2011.
    """
    home = Path(folder)
    labels = _labels(home / f"{name}.xml")
    files = [f"{name}-{part}.arff" for part in ("train", "test")]
    lines = [_lines(home, file) for file in files]
    names, others = (
        [_name(line, file) for line in part if _starts(line, ATTRIBUTE)]
        for part, file in zip(lines, files, strict=True)
    )
    if others != names:
        raise ValueError(f"{files[1]} must have the attributes of {files[0]}, in the same order.")
    if missing := sorted(set(labels) - set(names)):
        raise ValueError(
            f"every label must be an attribute of {files[0]}, got none of {missing[0]!r}."
        )
    of_labels = np.array([names.index(label) for label in labels])
    words = np.setdiff1d(np.arange(len(names)), of_labels)
    train, test = (_matrix(part, file, len(names)) for part, file in zip(lines, files, strict=True))
    return LabelledWords(
        labels,
        train[:, words].tocsr(),
        test[:, words].tocsr(),
        train[:, of_labels].toarray() > 0.0,
        test[:, of_labels].toarray() > 0.0,
    )


def _labels(path: Path) -> tuple[str, ...]:
    """Return the names in a file of labels, whatever namespace it is written in."""
    try:
        tree = ElementTree.parse(path)
    except ElementTree.ParseError as err:
        raise ValueError(f"{path.name} must be an XML file of labels: {err}.") from err
    found = [each.get("name") for each in tree.iter() if each.tag.rpartition("}")[2] == "label"]
    labels = tuple(name for name in found if name)
    if not labels or len(labels) < len(found):
        raise ValueError(f"{path.name} must hold labels, each with a name; got {found}.")
    return labels


def _matrix(lines: list[str], file: str, columns: int) -> sparse.csc_matrix:
    """Return the rows below @data."""
    start = next((k for k, line in enumerate(lines) if _starts(line, DATA)), len(lines))
    rows = [_row(line, file, columns) for line in lines[start + 1 :]]
    matrix = sparse.lil_matrix((len(rows), columns))
    for i, row in enumerate(rows):
        matrix[i, row] = 1.0
    return matrix.tocsc()


def _lines(folder: Path, name: str) -> list[str]:
    """Return the lines of a file that say something."""
    packed = folder / f"{name}.xz"
    try:
        content = (
            lzma.decompress(packed.read_bytes())
            if packed.exists()
            else (folder / name).read_bytes()
        )
    except lzma.LZMAError as err:
        raise ValueError(f"{packed.name} must be a file packed by xz: {err}.") from err
    lines = (line.strip() for line in content.decode("utf-8").splitlines())
    return [line for line in lines if line and not line.startswith(COMMENT)]


def _starts(line: str, keyword: str) -> bool:
    return line.lower().split(maxsplit=1)[0] == keyword


def _name(line: str, file: str) -> str:
    found = NAME.match(line)
    if found is None:
        raise ValueError(f"an attribute of {file} must have a name, got {line[:60]}.")
    return found[1].strip("'\"")


def _row(line: str, file: str, columns: int) -> list[int]:
    """Return the attributes of a document that are 1."""
    # A document without words is an empty pair of braces.
    found = [ENTRY.fullmatch(each) for each in line[1:-1].split(",") if each.strip()]
    pairs = [(int(each[1]), each[2]) for each in found if each is not None]
    sparse_row = line.startswith("{") and line.endswith("}") and len(pairs) == len(found)
    if not sparse_row or any(index >= columns for index, _ in pairs):
        raise ValueError(
            f"a row of {file} must be sparse, as in {{0 1,7 1}}, with attributes from 0 to"
            f" {columns - 1} that are 0 or 1; got {line[:60]}."
        )
    return [index for index, value in pairs if value == "1"]

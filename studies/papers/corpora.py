"""Readers of the corpora: Reuters-21578 (ModApte split) and Mulan's multi-label data sets.

`fetch_reuters21578` reads a copy of Reuters-21578 or downloads it; `read_mulan` reads sparse ARFF
files with their labels in XML.
"""

from __future__ import annotations

import html
import lzma
import os
import re
import tarfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from lzma import LZMAError
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

if TYPE_CHECKING:
    import pandas as pd


URL = (
    "https://archive.ics.uci.edu/ml/machine-learning-databases/reuters21578-mld/reuters21578.tar.gz"
)
SHA256 = "3bae43c9b14e387f76a61b6d82bf98a4fb5d3ef99ef7e7075ff2ccbcf59f9d30"
PATH_VARIABLE = "BAYESCAL_REUTERS21578"
HOME_VARIABLE = "BAYESCAL_DATA_HOME"
SGML_FILES = "reut2-*.sgm"
STORIES = 21_578

DAMAGED = (tarfile.TarError, EOFError, LZMAError, zlib.error, OSError)


class CorpusError(ValueError):
    """A copy of the corpus is damaged, incomplete, or not the corpus."""


class DownloadError(OSError):
    """The corpus could not be fetched."""


def fetch_reuters21578(
    data_home: str | Path | None = None, path: str | Path | None = None
) -> pd.DataFrame:
    """Return Reuters-21578, Distribution 1.0, in the ModApte split.

    9,603 documents to train with, 3,299 to test on, 8,676 that the split leaves out. A copy named
    by `path`, or by the environment variable BAYESCAL_REUTERS21578, is read; otherwise the
    archive (8 MB) is fetched once from the UCI repository, checked against its SHA-256, and
    kept. Copyright Reuters Ltd., for research: tell readers where you have it from.

    Parameters
    ----------
    data_home : str or Path, optional
        Where the fetched archive is kept; by default what the environment variable
        BAYESCAL_DATA_HOME says, else the user's cache folder. Needs the
        package pooch.
    path : str or Path, optional
        A copy of the corpus: its folder of .sgm files, or a tar archive of them, compressed or
        not. Nothing is fetched then.

    Returns
    -------
    pandas.DataFrame
        Columns document (the corpus's NEWID), split (train, test or unused), topics (a tuple of
        names), title, text (title and body). Sorted by document.

    Examples
    --------
    >>> corpus = fetch_reuters21578()  # doctest: +SKIP
    >>> corpus["split"].value_counts().to_dict()  # doctest: +SKIP
    {'train': 9603, 'unused': 8676, 'test': 3299}
    """
    import pandas as pd

    given = path or os.environ.get(PATH_VARIABLE)
    source = Path(given) if given else _fetch(data_home)
    if not source.exists():
        raise FileNotFoundError(f"there is no copy of Reuters-21578 at {source}.")
    stories = sorted(_stories(source), key=lambda story: story.document)
    if [story.document for story in stories] != list(range(1, STORIES + 1)):
        raise CorpusError(
            f"the corpus has the stories 1 to {STORIES}, got {len(stories)} of them from {source}:"
            " files are missing or damaged."
        )
    return pd.DataFrame([vars(story) for story in stories])


def _stories(source: Path) -> Iterator[Story]:
    for name, content in _files(source):
        try:
            yield from read_stories(content)
        except ValueError as err:
            raise CorpusError(f"{name} of {source}: {err}") from err


def _files(source: Path) -> Iterator[tuple[str, bytes]]:
    """Yield the SGML files of a folder or an archive, which is not unpacked."""
    if source.is_dir():
        for file in sorted(source.rglob(SGML_FILES)):
            yield file.name, file.read_bytes()
        return
    try:
        with tarfile.open(source) as archive:
            for member in archive:
                stream = archive.extractfile(member)
                if stream is not None and Path(member.name).match(SGML_FILES):
                    yield member.name, stream.read()
    except DAMAGED as err:
        raise CorpusError(f"{source} is no tar archive, or a damaged one: {err}.") from err


def _fetch(data_home: str | Path | None) -> Path:
    """Return the path of the archive, fetched unless it is there and whole."""
    try:
        import pooch
    except ModuleNotFoundError as err:
        raise ImportError(
            "to fetch Reuters-21578 install pooch (pip install pooch), or name a"
            f" copy with path= or the environment variable {PATH_VARIABLE}."
        ) from err
    home = data_home or os.environ.get(HOME_VARIABLE) or pooch.os_cache("bayescal")
    try:
        # Pooch downloads to a temporary file and moves it only if its checksum is right.
        archive = pooch.retrieve(URL, known_hash=SHA256, path=home, fname=Path(URL).name)
    except OSError as err:
        raise DownloadError(
            f"Reuters-21578 could not be fetched from {URL} ({err}). Without a network name a copy"
            f" with path= or the environment variable {PATH_VARIABLE}."
        ) from err
    except ValueError as err:
        raise CorpusError(f"what {URL} sent has another checksum than the corpus: {err}") from err
    return Path(archive)


STORY = re.compile(r"<REUTERS\b([^>]*)>(.*?)</REUTERS>", re.DOTALL)
ATTRIBUTE = re.compile(r'([A-Z]+)\s*=\s*"([^"]*)"')
TOPICS = re.compile(r"<TOPICS>(.*?)</TOPICS>", re.DOTALL)
TOPIC = re.compile(r"<D>(.*?)</D>", re.DOTALL)
TEXT = re.compile(r"<TEXT\b[^>]*>(.*?)</TEXT>", re.DOTALL)
TITLE = re.compile(r"<TITLE>(.*?)</TITLE>", re.DOTALL)
BODY = re.compile(r"<BODY>(.*?)</BODY>", re.DOTALL)
# Transmission codes such as &#3;, which ends a story, and &#22;: marks, not text.
CONTROL = re.compile(r"&#(?:[0-9]|[12][0-9]|3[01]);")

# Every byte is a character: a few stories hold bytes that are neither ASCII nor UTF-8.
ENCODING = "latin-1"
PARTS = {"TRAIN": "train", "TEST": "test"}


@dataclass(frozen=True)
class Story:
    """One document of the corpus.

    Attributes
    ----------
    document : int
        Its NEWID.
    split : str
        Its part in the ModApte split: train, test or unused.
    topics : tuple of str
        In the order of the file, each once.
    title, text : str
        The headline; headline and body, or all text where neither is marked.
    """

    document: int
    split: str
    topics: tuple[str, ...]
    title: str
    text: str


def read_stories(content: bytes) -> Iterator[Story]:
    r"""Yield the stories of one SGML file, in its order.

    Parameters
    ----------
    content : bytes
        Of the file.

    Examples
    --------
    >>> [story] = read_stories(
    ...     b'<REUTERS TOPICS="YES" LEWISSPLIT="TEST" NEWID="7"><TOPICS><D>corn</D></TOPICS>'
    ...     b"<TEXT><TITLE>Corn &amp; rice</TITLE><BODY>Up.&#3;</BODY></TEXT></REUTERS>"
    ... )
    >>> story.split, story.topics, story.text
    ('test', ('corn',), 'Corn & rice\nUp.')
    """
    for found in STORY.finditer(content.decode(ENCODING)):
        yield _story(dict(ATTRIBUTE.findall(found[1])), found[2])


def _story(attributes: dict[str, str], inner: str) -> Story:
    missing = {"NEWID", "TOPICS", "LEWISSPLIT"} - set(attributes)
    if missing:
        raise ValueError(
            f"every REUTERS element must have the attributes NEWID, TOPICS and LEWISSPLIT, got"
            f" one without {', '.join(sorted(missing))}: is the file damaged?"
        )
    text = _inside(TEXT, inner)
    title, body = _inside(TITLE, text), _inside(BODY, text)
    # ModApte takes documents that indexers saw (TOPICS="YES"), with topics or without.
    part = PARTS.get(attributes["LEWISSPLIT"]) if attributes["TOPICS"] == "YES" else None
    topics = TOPIC.findall(_inside(TOPICS, inner))
    return Story(
        document=int(attributes["NEWID"]),
        split=part or "unused",
        topics=tuple(dict.fromkeys(topics)),  # two documents name a topic twice
        title=_clean(title),
        # Unprocessed stories have neither headline nor body marked; some have a headline only.
        text=_clean(f"{title}\n{body}" if title or body else text),
    )


def _inside(element: re.Pattern[str], text: str) -> str:
    found = element.search(text)
    return found[1] if found else ""


def _clean(text: str) -> str:
    return html.unescape(CONTROL.sub(" ", text)).strip()


ARFF_ATTRIBUTE, ARFF_DATA = "@attribute", "@data"
ARFF_COMMENT = "%"
ARFF_NAME = re.compile(ARFF_ATTRIBUTE + r"\s+('[^']*'|\"[^\"]*\"|\S+)", re.IGNORECASE)
ARFF_ENTRY = re.compile(r"\s*(\d+)\s+['\"]?([01])['\"]?\s*")


@dataclass(frozen=True)
class LabelledWords:
    """Documents to train with and to test on, and which labels each has.

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
    """Return a data set of Mulan's, such as "enron" or "medical", in its training and test parts.

    Its attributes must be 0 or 1, and its rows sparse.

    Parameters
    ----------
    folder : str or Path
        It holds <name>-train.arff, <name>-test.arff, each with or without .xz behind, and
        <name>.xml with the names of the labels.
    name : str
        Of the data set.

    References
    ----------
    G. Tsoumakas et al., Mulan: a Java library for multi-label learning, JMLR 2011.
    """
    home = Path(folder)
    labels = _label_names(home / f"{name}.xml")
    files = [f"{name}-{part}.arff" for part in ("train", "test")]
    lines = [_lines(home, file) for file in files]
    names, others = (
        [_attribute_name(line, file) for line in part if _starts(line, ARFF_ATTRIBUTE)]
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


def _label_names(path: Path) -> tuple[str, ...]:
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
    start = next((k for k, line in enumerate(lines) if _starts(line, ARFF_DATA)), len(lines))
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
    return [line for line in lines if line and not line.startswith(ARFF_COMMENT)]


def _starts(line: str, keyword: str) -> bool:
    return line.lower().split(maxsplit=1)[0] == keyword


def _attribute_name(line: str, file: str) -> str:
    found = ARFF_NAME.match(line)
    if found is None:
        raise ValueError(f"an attribute of {file} must have a name, got {line[:60]}.")
    return found[1].strip("'\"")


def _row(line: str, file: str, columns: int) -> list[int]:
    """Return the attributes of a document that are 1."""
    # A document without words is an empty pair of braces.
    found = [ARFF_ENTRY.fullmatch(each) for each in line[1:-1].split(",") if each.strip()]
    pairs = [(int(each[1]), each[2]) for each in found if each is not None]
    sparse_row = line.startswith("{") and line.endswith("}") and len(pairs) == len(found)
    if not sparse_row or any(index >= columns for index, _ in pairs):
        raise ValueError(
            f"a row of {file} must be sparse, as in {{0 1,7 1}}, with attributes from 0 to"
            f" {columns - 1} that are 0 or 1; got {line[:60]}."
        )
    return [index for index, value in pairs if value == "1"]

"""Reuters-21578 itself: fetched once, or read from a copy at hand."""

from __future__ import annotations

import os
import tarfile
import zlib
from collections.abc import Iterator
from lzma import LZMAError
from pathlib import Path
from typing import TYPE_CHECKING

from bayescal.datasets.sgml import Story, read_stories

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
    """
    Return Reuters-21578, Distribution 1.0, in the ModApte split.

    9,603 documents to train with, 3,299 to test on, 8,676 that the split leaves out. A copy named
    by `path`, or by the environment variable BAYESCAL_REUTERS21578, is read; otherwise the
    archive (8 MB) is fetched once from the UCI repository, checked against its SHA-256, and
    kept. Copyright Reuters Ltd., for research: tell readers where you have it from.

    Parameters
    ----------
    data_home : str or Path, optional
        Where the fetched archive is kept; by default what the environment variable
        BAYESCAL_DATA_HOME says, else the user's cache folder. Needs the extra
        `bayescal[datasets]` (pooch).
    path : str or Path, optional
        A copy of the corpus: its folder of .sgm files, or a tar archive of them, compressed or
        not. Nothing is fetched then.

    Returns
    -------
    pandas.DataFrame
        Columns document (the corpus's NEWID), split (train, test or unused), topics (a tuple of
        names), title, text (title and body). Sorted by document.

    Raises
    ------
    CorpusError
        If the copy is damaged or incomplete, or a fetched archive has another checksum. A
        ValueError.
    DownloadError
        If the archive could not be fetched; nothing is left of the attempt. An OSError.
    FileNotFoundError
        If there is nothing at `path`.
    ImportError
        If pooch is needed and not installed.

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
            "to fetch Reuters-21578 install pooch (pip install 'bayescal[datasets]'), or name a"
            f" copy with path= or the environment variable {PATH_VARIABLE}."
        ) from err
    home = data_home or os.environ.get(HOME_VARIABLE) or pooch.os_cache("bayescal")
    try:
        # Pooch downloads beside the place and moves there only what has the right checksum.
        archive = pooch.retrieve(URL, known_hash=SHA256, path=home, fname=Path(URL).name)
    except OSError as err:
        raise DownloadError(
            f"Reuters-21578 could not be fetched from {URL} ({err}). Without a network name a copy"
            f" with path= or the environment variable {PATH_VARIABLE}."
        ) from err
    except ValueError as err:
        raise CorpusError(f"what {URL} sent has another checksum than the corpus: {err}") from err
    return Path(archive)

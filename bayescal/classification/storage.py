"""Fitted classifiers on disk: pickles, which run code when they are read, with who made them."""

from __future__ import annotations

from pathlib import Path
from pickle import UnpicklingError
from typing import Any

import joblib

from bayescal.results.provenance import ESTIMATOR, versions
from bayescal.whole_file import whole_file

CLASSIFIER = "classifier"


def write_classifier(classifier: Any, path: str | Path) -> Path:
    """
    Write a fitted classifier with its calibrators to a file, whole or not at all.

    Raises
    ------
    IsADirectoryError, FileNotFoundError, PermissionError
        See `bayescal.whole_file.whole_file`.
    """
    content = {
        ESTIMATOR: type(classifier).__name__,
        "bayescal_versions": versions(),
        CLASSIFIER: classifier,
    }
    with whole_file(path) as temporary:
        joblib.dump(content, temporary, compress=3)
    return Path(path)


def read_classifier(path: str | Path, expected: type) -> Any:
    """
    Read a classifier that `write_classifier` wrote: only from those you trust, it is a pickle.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    ValueError
        If it holds anything else.
    """
    source = Path(path)
    if not source.is_file():
        raise FileNotFoundError(f"there is no file {source}.")
    advice = f"{source} must be a file that {expected.__name__}.save wrote"
    try:
        content = joblib.load(source)
    except (ValueError, KeyError, IndexError, EOFError, OSError, UnpicklingError) as err:
        raise ValueError(f"{advice}: it cannot be read as one ({err}).") from err
    if not isinstance(content, dict) or ESTIMATOR not in content:
        raise ValueError(f"{advice}, got a pickle of something else.")
    found = content[CLASSIFIER]
    if not isinstance(found, expected):
        raise ValueError(f"{advice}, got a {content[ESTIMATOR]}: use {content[ESTIMATOR]}.load.")
    return found

"""Where a report comes from: versions, arguments, seed, and a hash of the data."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import numpy as np
import xarray as xr

from bayescal.fitted.documents import Documents
from bayescal.results.provenance import versions

HASH_NOTE = (
    "SHA-256 over the topics in the order of the calibrator: the name in UTF-8, the scores as"
    " little-endian float64, the labels as bytes 0 and 1."
)

SEED = {"random_state": "random_state (seed)"}


class DataHash:
    """A hash of the documents of many topics, taken one topic at a time."""

    def __init__(self) -> None:
        self._sum, self._topics = hashlib.sha256(), 0

    def add(self, name: str, documents: Documents | None) -> None:
        """Take in a topic; one without documents known counts for nothing."""
        if documents is None or not documents.known:
            return
        self._topics += 1
        self._sum.update(name.encode())
        self._sum.update(documents.score.astype("<f8").tobytes())
        self._sum.update(documents.positive.astype(np.uint8).tobytes())

    def text(self) -> str:
        """Return the hash, or that there were no documents."""
        return self._sum.hexdigest() if self._topics else ""


def describe_run(tree: xr.DataTree) -> dict[str, dict[str, str]]:
    """Return the versions and the estimator's parameters behind a tree, and versions now."""
    fitted = json.loads(tree.attrs["bayescal_versions"])
    parameters = json.loads(tree.attrs["bayescal_parameters"])
    return {
        "Versions that fitted": fitted,
        "Versions that report": versions(),
        "Parameters of the estimator": {
            SEED.get(name, name): _text(value) for name, value in sorted(parameters.items())
        },
    }


def _text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)

"""Documents of many labels: e-mails and radiology reports."""

from __future__ import annotations

from pathlib import Path

from bayescal.datasets import read_mulan
from studies.problems.data_set import DataSet

NAMES = ("medical", "enron")


def load(data: Path, name: str, seed: int) -> DataSet:
    """Return the words of both parts, and every label."""
    found = read_mulan(data / "multilabel", name)
    parts = (found.train, found.train_labels, found.test, found.test_labels)
    return DataSet(name, "words", found.labels, *parts, "separate")

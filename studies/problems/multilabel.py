"""Documents of many labels: e-mails and radiology reports."""

from __future__ import annotations

from pathlib import Path

from studies.papers.corpora import read_mulan
from studies.problems.data_set import DataSet

NAMES = ("medical", "enron")


def load(data: Path, name: str, seed: int) -> DataSet:
    """Return the words of both parts, and every label."""
    results = read_mulan(data / "multilabel", name)
    parts = (results.train, results.train_labels, results.test, results.test_labels)
    return DataSet(name, "words", results.labels, *parts, "separate")

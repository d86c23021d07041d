"""Reuters-21578 in the ModApte split: ninety topics, the test stories later than the others."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from studies.papers.corpora import fetch_reuters21578
from studies.problems.data_set import DataSet
from studies.problems.folds import Bools

NAMES = ("reuters21578",)


def load(data: Path, name: str, seed: int) -> DataSet:
    """Return the stories of both parts, and the topics that occur in both."""
    corpus = fetch_reuters21578(path=data / "reuters21578" / "reuters21578.tar.xz")
    train, test = (corpus[corpus["split"] == part] for part in ("train", "test"))
    of_train, of_test = ({t for each in part["topics"] for t in each} for part in (train, test))
    topics = tuple(sorted(of_train & of_test))
    texts, test_texts = (part["text"].to_numpy(dtype=object) for part in (train, test))
    label, test_label = (_label(part["topics"].tolist(), topics) for part in (train, test))
    return DataSet(name, "texts", topics, texts, label, test_texts, test_label, "later")


def _label(named: list[tuple[str, ...]], topics: tuple[str, ...]) -> Bools:
    return np.array([[topic in of_story for topic in topics] for of_story in named])

"""Corpora of documents with many topics: counts of words, and which documents are of each topic."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bayescal.datasets import read_mulan
from bayescal.reproduce.corpus_scores import count_words, largest_topics

if TYPE_CHECKING:
    import pandas as pd

Bools = NDArray[np.bool_]

REUTERS, REUTERS_TOPICS = "reuters", 90
MULAN = ("enron", "medical")
# One to train with and one to judge the classifiers by; and one to test on, without which F1 and
# normalised error are 0/0.
LEAST_TRAINING, LEAST_TEST = 2, 1


@dataclass(frozen=True)
class Corpus:
    """
    Documents of many topics.

    Attributes
    ----------
    name : str
        Of the corpus.
    topics : tuple of str
        Names of its tasks.
    train, test : sparse matrix of shape (n, words) and (m, words)
        How often each word occurs.
    positive, truth : array of shape (n, topics) and (m, topics) of bool
        Which training and test documents are of each topic.
    """

    name: str
    topics: tuple[str, ...]
    train: Any
    test: Any
    positive: Bools
    truth: Bools

    def usable(self) -> Corpus:
        """Return the corpus with those topics that have enough positive documents."""
        enough = self.positive.sum(axis=0) >= LEAST_TRAINING
        enough &= self.truth.sum(axis=0) >= LEAST_TEST
        topics = tuple(np.array(self.topics)[enough].tolist())
        kept = self.positive[:, enough], self.truth[:, enough]
        return Corpus(self.name, topics, self.train, self.test, *kept)


def reuters(frame: pd.DataFrame, count: int = REUTERS_TOPICS) -> Corpus:
    """
    Return the largest topics of Reuters-21578 in the ModApte split.

    Parameters
    ----------
    frame : pandas.DataFrame
        See `bayescal.datasets.fetch_reuters21578`.
    count : int
        How many topics.
    """
    topics = largest_topics(frame, count)
    train, test = (frame[frame["split"] == split] for split in ("train", "test"))
    positive, truth = (_labels(part["topics"].tolist(), topics) for part in (train, test))
    counts = count_words(train["text"], test["text"])
    return Corpus(REUTERS, tuple(topics), *counts, positive, truth)


def multilabel(folder: Path) -> list[Corpus]:
    """Return the corpora of Mulan's that are in a folder, enron and medical."""
    out = []
    for name in MULAN:
        found = read_mulan(folder, name)
        labels = found.train_labels, found.test_labels
        out.append(Corpus(name, found.labels, found.train, found.test, *labels))
    return out


def _labels(named: list[tuple[str, ...]], topics: list[str]) -> Bools:
    return np.array([[topic in of_story for topic in topics] for of_story in named])

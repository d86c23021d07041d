"""From the corpus to the scores of every topic: cross-validated in training, refitted for the test.

Nothing here sees a test document's topics but to hand them on: words are counted, chosen and
weighed, and classifiers fitted, on the training documents.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bayescal.bayes import class_prior
from bayescal.methods import Problem
from bayescal.parallel import spread_over
from bayescal.text import cross_val_scores, raw_scores
from bayescal.text.cross_validation import FOLDS
from bayescal.validation import Floats

if TYPE_CHECKING:
    import pandas as pd

# Words with inner hyphens, apostrophes and points, numbers too: 15,210 of them are in three
# training documents or more, where the paper has "approximately 15K" (`\w\w+` has 12,756).
WORD = r"(?u)\w+(?:[-'.]\w+)*"


@dataclass(frozen=True)
class TopicScores:
    """
    One classifier's scores of one topic.

    Attributes
    ----------
    classifier, topic : str
        Whose they are.
    scores : array of shape (n,)
        Cross-validated, of the training documents; nan where the topic has a single positive,
        which no classifier can be trained without.
    labels : array of shape (n,)
        1 for documents of the topic.
    new : array of shape (m,)
        Of the test documents, by the classifier fitted to all training documents.
    truth : array of shape (m,) of bool
        Which test documents are of the topic.
    """

    classifier: str
    topic: str
    scores: Floats
    labels: NDArray[np.int64]
    new: Floats
    truth: NDArray[np.bool_]

    @property
    def problem(self) -> Problem | None:
        """Return what methods get: all but the truth; None for a single positive."""
        if np.isnan(self.scores).any():
            return None
        return Problem(self.scores, self.labels, self.new)

    @property
    def prior(self) -> float:
        """Return the smoothed share of positives in training, (n_+ + 1)/(n + 2)."""
        return class_prior(float(self.labels.sum()), float(self.labels.size))


def largest_topics(corpus: pd.DataFrame, count: int) -> list[str]:
    """
    Return the topics with most training documents, of those that test documents have too.

    Parameters
    ----------
    corpus : pandas.DataFrame
        See `bayescal.datasets.fetch_reuters21578`.
    count : int
        How many; the ninety are all.

    Raises
    ------
    ValueError
        If there are not so many.
    """
    exploded = corpus.explode("topics")
    train = exploded.loc[exploded["split"] == "train", "topics"].value_counts()
    both = train[train.index.isin(exploded.loc[exploded["split"] == "test", "topics"])]
    if not 1 <= count <= len(both):
        raise ValueError(f"topics must be from 1 to {len(both)}, got {count}.")
    # By name among topics of equal size: the same ones everywhere.
    order = sorted(both.index, key=lambda topic: (-both[topic], topic))
    return order[:count]


def score_topics(
    corpus: pd.DataFrame,
    topics: Sequence[str],
    classifiers: Mapping[str, Any],
    *,
    random_state: int = 0,
    jobs: int = 1,
    word: str = WORD,
) -> list[TopicScores]:
    """
    Return the scores of every classifier on every topic, classifier by classifier.

    Parameters
    ----------
    corpus : pandas.DataFrame
        Columns split (train, test), topics, text.
    topics : sequence of str
        Each a binary problem of its own.
    classifiers : mapping of str to pipeline
        Of counts of words; see `bayescal.text.classifiers`.
    random_state : int
        Of the folds, which are five, or as many as a topic has positives.
    jobs : int
        Processes.
    word : str
        What a word is, as a regular expression.
    """
    train, test = (corpus[corpus["split"] == split] for split in ("train", "test"))
    counts = count_words(train["text"], test["text"], word)
    labels = {topic: [_has(part, topic) for part in (train, test)] for topic in topics}
    arguments = (
        (name, classifier, topic, counts, labels[topic])
        for name, classifier in classifiers.items()
        for topic in topics
    )
    return spread_over(jobs, partial(score_topic, random_state=random_state), arguments)


def score_topic(
    name: str,
    classifier: Any,
    topic: str,
    counts: tuple[Any, Any],
    labels: Sequence[NDArray[np.int64]],
    *,
    random_state: int = 0,
) -> TopicScores:
    """Return one classifier's scores of one topic, from counts and labels of both parts."""
    from sklearn.base import clone

    train, test = labels
    folds = min(FOLDS, int(train.sum()))
    scores = (
        cross_val_scores(classifier, counts[0], train, folds=folds, random_state=random_state)
        if folds > 1
        else np.full(train.size, np.nan)
    )
    new = raw_scores(clone(classifier).fit(counts[0], train), counts[1])
    return TopicScores(name, topic, scores, train, new, test == 1)


def count_words(train: Iterable[str], test: Iterable[str], word: str = WORD) -> tuple[Any, Any]:
    """Return counts of the training documents' words, in training and in test documents."""
    from sklearn.feature_extraction.text import CountVectorizer

    vectorizer = CountVectorizer(token_pattern=word)
    return vectorizer.fit_transform(train), vectorizer.transform(test)


def _has(part: pd.DataFrame, topic: str) -> NDArray[np.int64]:
    return np.array([topic in topics for topics in part["topics"]], dtype=np.int64)

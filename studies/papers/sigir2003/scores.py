"""Classifier scores of the topics of a corpus, and the decisions of calibration methods on them.

Words are counted, selected and weighted, and classifiers fitted, on the training documents only.
Training documents get cross-validated scores; test documents get scores of a refitted classifier.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import special

from bayescal.support.numerics import class_prior
from bayescal.support.validation import Floats
from bayescal.text import cross_val_scores, raw_scores
from bayescal.text.text_calibrator import FOLDS
from studies.command import spread_over
from studies.papers.methods import Method, Problem

if TYPE_CHECKING:
    import pandas as pd


# Words with inner hyphens, apostrophes and points, numbers too: 15,210 of them are in three
# training documents or more, where the paper has "approximately 15K" (`\w\w+` has 12,756).
WORD = r"(?u)\w+(?:[-'.]\w+)*"


@dataclass(frozen=True)
class TopicScores:
    """One classifier's scores of one topic.

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
        """Return the inputs of methods, without test labels; None for a single positive."""
        if np.isnan(self.scores).any():
            return None
        return Problem(self.scores, self.labels, self.new)

    @property
    def prior(self) -> float:
        """Return the smoothed share of positives in training, (n_+ + 1)/(n + 2)."""
        return class_prior(float(self.labels.sum()), float(self.labels.size))


def largest_topics(corpus: pd.DataFrame, count: int) -> list[str]:
    """Return the topics with most training documents, if test documents have them too.

    Parameters
    ----------
    corpus : pandas.DataFrame
        See `bayescal.text.reuters_scores.fetch_reuters21578`.
    count : int
        How many; the ninety are all.
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
    """Return the scores of every classifier on every topic, classifier by classifier.

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


RAW = "raw"


@dataclass(frozen=True)
class Decisions:
    """Predictions of methods for one classifier's test documents, topic after topic.

    Attributes
    ----------
    classifier : str
        Whose scores were calibrated.
    log_odds : dict of str to array of shape (decisions,)
        Calibrated natural log-odds by method; "raw" the scores themselves.
    truth : array of shape (decisions,) of bool
        What is so.
    """

    classifier: str
    log_odds: dict[str, Floats]
    truth: NDArray[np.bool_]

    def support(self, method: str) -> Floats:
        """Return the log-odds of the true class.

        Log-loss and squared error both fall as they rise, so that methods compare by them in
        either; in log-odds no two probabilities near 1 are the same.
        """
        values = self.log_odds[method]
        return np.where(self.truth, values, -values)

    def right(self, method: str) -> NDArray[np.bool_]:
        """Return True for correct decisions at probability 1/2 (log-odds 0)."""
        return np.asarray((self.log_odds[method] > 0.0) == self.truth)


def decide(methods: Mapping[str, Method], topics: Sequence[TopicScores]) -> Decisions:
    """Return the log-odds of the test documents of one classifier's topics, by method.

    A topic with a single positive in training has no cross-validated score of one: every method
    answers the prior there, (1 + 1)/(n + 2), and "raw" the score.

    Parameters
    ----------
    methods : mapping of str to Method
        See `studies.papers.methods.METHODS`.
    topics : sequence of TopicScores
        All of the same classifier.

    Examples
    --------
    >>> import numpy as np
    >>> from studies.papers.methods import METHODS
    >>> labels = np.array([0, 0, 1, 0, 1])
    >>> scores = np.array([-2.0, -1.0, 1.0, 1.5, 2.0])
    >>> corn = TopicScores("svm", "corn", scores, labels, np.array([-3.0, 3.0]), labels[1:3] == 1)
    >>> decide({"raw": METHODS["raw"]}, [corn]).right("raw").tolist()
    [True, True]
    """
    solvable = [topic for topic in topics if topic.problem is not None]
    found = {}
    for name, method in methods.items():
        answers = method.over_topics([topic.problem for topic in solvable if topic.problem])
        by_topic = {topic.topic: each for topic, each in zip(solvable, answers, strict=True)}
        found[name] = np.concatenate(
            [by_topic.get(topic.topic, _without(name, topic)) for topic in topics]
        )
    truth = np.concatenate([topic.truth for topic in topics])
    return Decisions(topics[0].classifier, found, truth)


def _without(name: str, topic: TopicScores) -> Floats:
    """Return the log-odds for a topic without calibration data."""
    if name == RAW:
        return topic.new
    return np.full(topic.new.size, special.logit(topic.prior))

"""What base classifiers and indicators say of each task's documents."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bayescal.parallel import spread_over
from bayescal.reproduce.label.corpora import Bools, Corpus
from bayescal.reproduce.nested_inputs import nested_inputs
from bayescal.text import make_classifier
from bayescal.validation import Floats

# The dissertation's four (section 8.3.1); "unigram" is multinomial naive Bayes.
BASE = {
    "decision tree": "decision_tree",
    "unigram": "naive_bayes",
    "naive Bayes": "bernoulli_naive_bayes",
    "SVM": "linear_svm",
}


@dataclass(frozen=True)
class Task:
    """
    One topic of a corpus.

    Attributes
    ----------
    corpus, topic : str
        Which.
    inputs : array of shape (n, columns)
        Scores of `BASE` in its order, then indicators, of the training documents, by classifiers
        that were not trained on them.
    positive : array of shape (n,) of bool
        Their labels.
    fold : array of shape (n,) of int
        In which fold each was held out.
    new : array of shape (m, columns)
        The same of the test documents, by classifiers trained on all training documents.
    truth : array of shape (m,) of bool
        Their labels, for measures alone.
    """

    corpus: str
    topic: str
    inputs: Floats
    positive: Bools
    fold: np.ndarray[Any, np.dtype[np.intp]]
    new: Floats
    truth: Bools

    @property
    def name(self) -> str:
        """Return a name that no task of another corpus has."""
        return f"{self.corpus}/{self.topic}"


def tasks_of(corpora: Sequence[Corpus], *, random_state: int = 0, jobs: int = 1) -> list[Task]:
    """
    Fit base classifiers and indicators of every topic of every corpus.

    Parameters
    ----------
    corpora : sequence of Corpus
        Every topic with two positive documents at least.
    random_state : int
        Of the folds, which are five, or as many as a topic has positives.
    jobs : int
        Processes.
    """
    arguments = (
        (
            corpus.name,
            topic,
            (corpus.train, corpus.test),
            (corpus.positive[:, k], corpus.truth[:, k]),
            random_state,
        )
        for corpus in corpora
        for k, topic in enumerate(corpus.topics)
    )
    return spread_over(jobs, _task, arguments)


def _task(
    corpus: str, topic: str, counts: tuple[Any, Any], labels: tuple[Bools, Bools], random_state: int
) -> Task:
    positive, truth = labels
    old, new = nested_inputs(
        topic,
        {name: make_classifier(kind) for name, kind in BASE.items()},
        counts,
        positive,
        best="SVM",  # as in `bayescal.reproduce.strive`
        text=False,
        random_state=random_state,
    )
    return Task(corpus, topic, old.inputs.matrix, old.positive, old.fold, new.matrix, truth)

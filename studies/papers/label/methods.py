"""Classifiers of many tasks and the methods that combine them, alone or across tasks (LABEL).

Dissertation, chapter 8: the corpora, the scores and indicators of each task, the methods, and the
protocols that define which tasks learn from which.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bayescal.calibrators.score_calibrator import ScoreCalibrator
from bayescal.combining.combiners.measures import best_threshold
from bayescal.combining.nested import Inputs, Labelled
from bayescal.combining.tasks import PooledCombiner
from bayescal.support.validation import Floats
from bayescal.text import make_classifier
from studies.command import spread_over
from studies.papers.corpora import read_mulan
from studies.papers.label.tree import GENERAL, REPOP, KeptTree
from studies.papers.sigir2003.scores import count_words, largest_topics
from studies.papers.strive.methods import nested_inputs

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
    """Documents of many topics.

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
    """Return the largest topics of Reuters-21578 in the ModApte split.

    Parameters
    ----------
    frame : pandas.DataFrame
        See `bayescal.text.reuters_scores.fetch_reuters21578`.
    count : int
        How many topics.
    """
    topics = largest_topics(frame, count)
    train, test = (frame[frame["split"] == split] for split in ("train", "test"))
    positive, truth = (_topics_of(part["topics"].tolist(), topics) for part in (train, test))
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


def _topics_of(named: list[tuple[str, ...]], topics: list[str]) -> Bools:
    return np.array([[topic in of_story for topic in topics] for of_story in named])


# The dissertation's four (section 8.3.1); "unigram" is multinomial naive Bayes.
BASE = {
    "decision tree": "decision_tree",
    "unigram": "naive_bayes",
    "naive Bayes": "bernoulli_naive_bayes",
    "SVM": "linear_svm",
}


@dataclass(frozen=True)
class Task:
    """One topic of a corpus.

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
    """Fit base classifiers and indicators of every topic of every corpus.

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
        best="SVM",  # as in `studies.papers.strive.methods`
        text=False,
        random_state=random_state,
    )
    return Task(corpus, topic, old.inputs.matrix, old.positive, old.fold, new.matrix, truth)


SVM = list(BASE).index("SVM")
# By the names of the table's columns, what thresholds are best by.
DECISIONS = {"Macro F1": "f1", "Error": "error"}
# In place of the five folds by which thresholds are chosen elsewhere: a tree of all tasks takes a
# minute, and hundreds of thousands of documents need no more.
FOLDS = 3


@dataclass(frozen=True)
class Decided:
    """A method's predictions for one task's test documents.

    Attributes
    ----------
    taken : dict of str to array of shape (m,) of bool
        By measure, with the thresholds that are best by it on training documents.
    log_odds : array of shape (m,)
        Natural log-odds; infinite where the method is certain.
    """

    taken: dict[str, Bools]
    log_odds: Floats


@dataclass(frozen=True)
class Setting:
    """What the methods of an experiment share.

    Attributes
    ----------
    memory : joblib.Memory or None
        Keeps grown trees, which several methods have in common.
    random_state : int
        Of folds and draws.
    """

    memory: Any = None
    random_state: int = 0

    def combiner(self, metaclassifier: str | KeptTree) -> PooledCombiner:
        """Return an unfitted combiner of many tasks."""
        if isinstance(metaclassifier, KeptTree):
            metaclassifier = replace(metaclassifier, memory=self.memory)
        return PooledCombiner(metaclassifier, cv=FOLDS, random_state=self.random_state)


# From the tasks to learn from and those to answer, to what is decided on the latter.
Method = Callable[[Sequence[Task], Sequence[Task], Setting], list[Decided]]


def of_all(metaclassifier: str | KeptTree) -> Method:
    """Return a method that learns from all tasks; those it has no labels of it adds without."""

    def decide(known: Sequence[Task], asked: Sequence[Task], setting: Setting) -> list[Decided]:
        combiner = setting.combiner(metaclassifier)
        with warnings.catch_warnings():
            # To hash the inputs takes seconds, to grow a tree of them a minute.
            warnings.filterwarnings("ignore", "Persisting input arguments", UserWarning)
            combiner.fit(*_gathered(known))
        names = {task.name for task in known}
        for task in asked:
            if task.name not in names:
                combiner.add_tasks(task.inputs, _names(task.inputs, task))
        return [_by_combiner(combiner, task) for task in asked]

    return decide


def of_one(metaclassifier: str | KeptTree) -> Method:
    """Return a method that learns from each task by itself."""

    def decide(known: Sequence[Task], asked: Sequence[Task], setting: Setting) -> list[Decided]:
        out = []
        for task in asked:
            combiner = setting.combiner(metaclassifier)
            out.append(_by_combiner(combiner.fit(*_gathered([task])), task))
        return out

    return decide


def svm(known: Sequence[Task], asked: Sequence[Task], setting: Setting) -> list[Decided]:
    """Return the SVM's own decisions, and log-odds by a calibrator of its scores.

    The calibrator's prior is vague, since the default's was learned from these corpora.
    """
    out = []
    for task in asked:
        scores, new = task.inputs[:, SVM], task.new[:, SVM]
        taken = {by: new >= best_threshold(by, scores, task.positive) for by in DECISIONS.values()}
        calibrator = ScoreCalibrator(
            scores_are="scores", prior_knowledge="vague", random_state=setting.random_state
        )
        calibrator.fit(scores, task.positive)
        out.append(Decided(taken, calibrator.decision_function(new)))
    return out


def bayes(known: Sequence[Task], asked: Sequence[Task], setting: Setting) -> list[Decided]:
    """Return the decisions of a default `CombinedClassifier` fitted to each task alone."""
    from bayescal.combining.combiners import read_combiner

    out = []
    for task in asked:
        combiner = read_combiner("bayes", normalise=True, weighted=False)
        labelled = Labelled(_scores_alone(task.inputs), task.positive, None, task.fold)
        rng = np.random.default_rng(setting.random_state)
        (found,) = combiner.fit([labelled], rng, 1)
        new = _scores_alone(task.new)
        taken = {by: found.decide(new, by) for by in DECISIONS.values()}
        out.append(Decided(taken, found.score(new)))
    return out


# Those that learn from each task by itself, in the order of the table, and those of all tasks.
ALONE: Mapping[str, Method] = {
    "SVM": svm,
    "STRIVE-D": of_one(KeptTree(m=GENERAL)),
    "weights, alone": of_one("weights"),
}
# It calibrates every classifier in every fold: five seconds a task, and more of many documents.
SLOW: Mapping[str, Method] = {"bayes": bayes}
TOGETHER: Mapping[str, Method] = {
    "LABEL-D (repop)": of_all(KeptTree(m=REPOP)),
    "LABEL-D (general)": of_all(KeptTree(m=GENERAL)),
    "LABEL-D (m = 10)": of_all(KeptTree(m=10.0)),
    "LABEL-D (m = 100)": of_all(KeptTree(m=100.0)),
    "LABEL-D (pooled)": of_all(KeptTree()),
    "weights, pooled": of_all("weights"),
}
# Of tasks without labels all that shrink to the general estimate say the same.
WITHOUT_LABELS = ("LABEL-D (general)", "LABEL-D (pooled)", "weights, pooled")


def _gathered(tasks: Sequence[Task]) -> tuple[Floats, Bools, list[str]]:
    inputs = np.concatenate([task.inputs for task in tasks])
    positive = np.concatenate([task.positive for task in tasks])
    return inputs, positive, [name for task in tasks for name in _names(task.inputs, task)]


def _names(inputs: Floats, task: Task) -> list[str]:
    return [task.name] * len(inputs)


def _by_combiner(combiner: PooledCombiner, task: Task) -> Decided:
    names = _names(task.new, task)
    taken = {by: combiner.decide(task.new, names, by) for by in DECISIONS.values()}
    return Decided(taken, combiner.decision_function(task.new, names))


def _scores_alone(inputs: Floats) -> Inputs:
    return Inputs(inputs[:, : len(BASE)], np.empty((len(inputs), 0)))


# Tasks are left out in so many groups: one by one would grow a tree of all others for each.
LEFT_OUT_GROUPS = 3


def together(tasks: Sequence[Task], random_state: int) -> list[list[int]]:
    """Return no tasks to leave out: every task learns from all, its own labels among them."""
    return []


def tasks_left_out(tasks: Sequence[Task], random_state: int) -> list[list[int]]:
    """Return groups of tasks, dealt at random, so that each has its share of every corpus."""
    rng = np.random.default_rng(random_state)
    order = sorted(rng.permutation(len(tasks)).tolist(), key=lambda k: tasks[k].corpus)
    return [sorted(order[start::LEFT_OUT_GROUPS]) for start in range(LEFT_OUT_GROUPS)]


def corpora_left_out(tasks: Sequence[Task], random_state: int) -> list[list[int]]:
    """Return the tasks of each corpus, which are answered by those of all other corpora."""
    names = dict.fromkeys(task.corpus for task in tasks)
    return [[k for k, task in enumerate(tasks) if task.corpus == name] for name in names]


PROTOCOLS: Mapping[str, Callable[[Sequence[Task], int], list[list[int]]]] = {
    "together": together,
    "tasks-left-out": tasks_left_out,
    "corpora-left-out": corpora_left_out,
}


def decide_all(
    tasks: Sequence[Task],
    protocol: str,
    *,
    slow: bool = False,
    random_state: int = 0,
    jobs: int = 1,
) -> dict[str, list[Decided]]:
    """Return the decisions of every method, by method name, one entry per task.

    Parameters
    ----------
    tasks : sequence of Task
        Scores of base classifiers, and indicators.
    protocol : {"together", "tasks-left-out", "corpora-left-out"}
        Which tasks learn from which. Left out are labels alone: a task's own documents say how
        its inputs are normalised.
    slow : bool
        Whether to take the methods that take long, too; of one task each, so not of those left out.
    random_state : int
        Of groups, folds and draws.
    jobs : int
        Processes.
    """
    import joblib

    groups = PROTOCOLS[protocol](tasks, random_state)
    if any(len(group) == len(tasks) for group in groups):
        raise ValueError(
            f"{protocol} must leave tasks to learn from, got {len(tasks)} of one corpus: add a"
            " corpus, or topics."
        )
    with TemporaryDirectory() as folder:
        setting = Setting(joblib.Memory(folder, verbose=0), random_state)
        if not groups:
            return _decide_together(tasks, {**ALONE, **(SLOW if slow else {})}, setting, jobs)
        parts = spread_over(jobs, _decide_left_out, [(tasks, group, setting) for group in groups])
    places = [k for group in groups for k in group]
    return {
        name: [
            decided
            for _, decided in sorted(
                zip(places, (each for part in parts for each in part[name]), strict=True),
                key=lambda pair: pair[0],
            )
        ]
        for name in WITHOUT_LABELS
    }


def _decide_together(
    tasks: Sequence[Task], alone: Mapping[str, Method], setting: Setting, jobs: int
) -> dict[str, list[Decided]]:
    arguments = [(method, task, setting) for method in alone.values() for task in tasks]
    of_tasks = spread_over(jobs, _decide_alone, arguments)
    found = {name: of_tasks[k * len(tasks) : (k + 1) * len(tasks)] for k, name in enumerate(alone)}
    return found | {name: method(tasks, tasks, setting) for name, method in TOGETHER.items()}


def _decide_alone(method: Method, task: Task, setting: Setting) -> Decided:
    (found,) = method([task], [task], setting)
    return found


def _decide_left_out(
    tasks: Sequence[Task], group: Sequence[int], setting: Setting
) -> dict[str, list[Decided]]:
    known = [task for k, task in enumerate(tasks) if k not in set(group)]
    asked = [tasks[k] for k in group]
    return {name: TOGETHER[name](known, asked, setting) for name in WITHOUT_LABELS}

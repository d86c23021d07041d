"""Ways to decide on a task's documents: by one classifier, by the task alone, by all tasks."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bayescal.combining.inputs import Inputs, Labelled
from bayescal.combining.measures import best_threshold
from bayescal.reproduce.label.corpora import Bools
from bayescal.reproduce.label.inputs import BASE, Task
from bayescal.score_calibrator import ScoreCalibrator
from bayescal.tasks import PooledCombiner
from bayescal.validation import Floats

SVM = list(BASE).index("SVM")
# By the names of the table's columns, what thresholds are best by.
DECISIONS = {"Macro F1": "f1", "Error": "error"}
# In place of the five folds by which thresholds are chosen elsewhere: a tree of all tasks takes a
# minute, and hundreds of thousands of documents need no more.
FOLDS = 3


@dataclass(frozen=True)
class Decided:
    """
    What a method says of one task's test documents.

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
    """
    What the methods of an experiment share.

    Attributes
    ----------
    memory : joblib.Memory or None
        Keeps grown trees, which several methods have in common.
    random_state : int
        Of folds and draws.
    """

    memory: Any = None
    random_state: int = 0

    def combiner(self, metaclassifier: str, specialise: str | float) -> PooledCombiner:
        """Return an unfitted combiner of many tasks."""
        return PooledCombiner(
            metaclassifier,
            specialise=specialise,
            cv=FOLDS,
            memory=self.memory,
            random_state=self.random_state,
        )


# From the tasks to learn from and those to answer, to what is decided on the latter.
Method = Callable[[Sequence[Task], Sequence[Task], Setting], list[Decided]]


def of_all(metaclassifier: str, specialise: str | float) -> Method:
    """Return a method that learns from all tasks; those it has no labels of it adds without."""

    def decide(known: Sequence[Task], asked: Sequence[Task], setting: Setting) -> list[Decided]:
        combiner = setting.combiner(metaclassifier, specialise)
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


def of_one(metaclassifier: str, specialise: str) -> Method:
    """Return a method that learns from each task by itself."""

    def decide(known: Sequence[Task], asked: Sequence[Task], setting: Setting) -> list[Decided]:
        out = []
        for task in asked:
            combiner = setting.combiner(metaclassifier, specialise)
            out.append(_by_combiner(combiner.fit(*_gathered([task])), task))
        return out

    return decide


def svm(known: Sequence[Task], asked: Sequence[Task], setting: Setting) -> list[Decided]:
    """
    Return the SVM's own decisions, and log-odds by a calibrator of its scores.

    The calibrator's prior is vague: what the default has learnt it has learnt from these corpora.
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
    """Return what `CombinedClassifier`'s default makes of the scores of each task by itself."""
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
    "STRIVE-D": of_one("tree", "general"),
    "weights, alone": of_one("weights", "pooled"),
}
# It calibrates every classifier in every fold: five seconds a task, and more of many documents.
SLOW: Mapping[str, Method] = {"bayes": bayes}
TOGETHER: Mapping[str, Method] = {
    "LABEL-D (repop)": of_all("tree", "repop"),
    "LABEL-D (general)": of_all("tree", "general"),
    "LABEL-D (m = 10)": of_all("tree", 10.0),
    "LABEL-D (m = 100)": of_all("tree", 100.0),
    "LABEL-D (pooled)": of_all("tree", "pooled"),
    "weights, pooled": of_all("weights", "pooled"),
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

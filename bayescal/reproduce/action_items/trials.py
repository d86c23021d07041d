"""Trials: sentences to learn from and others to judge by, and what every method says of these."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from bayescal.parallel import spread_over
from bayescal.reproduce.action_items.corpus import Sentences
from bayescal.reproduce.action_items.views import BEST, CLASSIFIERS, base_classifiers, count
from bayescal.reproduce.nested_inputs import nested_inputs
from bayescal.reproduce.strive import COMBINATIONS, Bools, Decided, TopicInputs, decide_all

# The dissertation's, of those on normalised inputs alone; and ours.
METHODS = (
    "Majority",
    "Best By Class",
    "Stack-D (norm)",
    "Stack-S (norm)",
    "STRIVE-D (norm)",
    "STRIVE-S (norm)",
    "logistic",
    "logistic, indicators",
    "bayes",
    "bayes, indicators",
)
CHOSEN = {name: COMBINATIONS[name] for name in METHODS}


class Trial(NamedTuple):
    """Sentences to learn from, and those to judge by."""

    train: Sentences
    new: Sentences


class Outcomes(NamedTuple):
    """
    What methods decided in some trials.

    Attributes
    ----------
    found : dict of str to list of Decided
        By method, one a trial.
    truths : list of array of bool
        The labels of each trial's new sentences.
    """

    found: dict[str, list[Decided]]
    truths: list[Bools]


def cross_validation(sentences: Sentences, folds: int, random_state: int = 0) -> list[Trial]:
    """
    Return a trial for each of so many stratified folds of shuffled sentences.

    Raises
    ------
    ValueError
        If a class has fewer sentences than folds, or there are fewer than two folds.
    """
    from bayescal.text.cross_validation import check_folds, splitter

    check_folds(folds, sentences.positive)
    splits = splitter(folds, random_state).split(sentences.texts, sentences.positive)
    return [Trial(sentences.take(train), sentences.take(new)) for train, new in splits]


def run_trials(trials: Sequence[Trial], *, random_state: int = 0, jobs: int = 1) -> Outcomes:
    """
    Return what every method decides in every trial.

    Parameters
    ----------
    trials : sequence of Trial
        Each by itself: the sentences that one learns from may be judged by in another.
    random_state : int
        Of the folds within the training sentences, of classifiers and combiners.
    jobs : int
        Processes.
    """
    parts = spread_over(jobs, run_trial, [(trial, random_state) for trial in trials])
    found = {name: [part[name] for part in parts] for name in parts[0]}
    return Outcomes(found, [trial.new.positive for trial in trials])


def run_trial(trial: Trial, random_state: int = 0) -> dict[str, Decided]:
    """Return what every method decides of a trial's new sentences, by its name."""
    inputs = trial_inputs(trial, random_state)
    found = decide_all([inputs], base=CLASSIFIERS, combinations=CHOSEN, random_state=random_state)
    return {name: decided for name, (decided,) in found.items()}


def trial_inputs(trial: Trial, random_state: int = 0) -> TopicInputs:
    """
    Return what combiners get of a trial: scores and indicators of models, by nested folds.

    There are sixty indicators: twenty-nine of the five models in each view, and two of votes.
    """
    topic = "action item"
    counts = count(trial.train.texts, trial.new.texts)
    labelled, new = nested_inputs(
        topic,
        base_classifiers(counts.columns, random_state=random_state),
        (counts.train, counts.new),
        trial.train.positive,
        best=BEST,
        text=False,
        random_state=random_state,
    )
    return TopicInputs(topic, labelled, new, trial.new.positive)

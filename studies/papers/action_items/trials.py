"""Labelled sentences of e-mail, ten classifiers of them, and trials that combine the classifiers.

The dissertation's corpus (chapter 10, 744 e-mails of volunteers) is not public. Sentences that
Parakweet Labs published, labelled with and without a request or a promise, replace it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bayescal.text import linear_svm, make_classifier
from studies.command import spread_over
from studies.papers.action_items.sentences import sentence_ngrams, sentence_tokens, sentence_words
from studies.papers.strive.methods import (
    BASE,
    COMBINATIONS,
    Bools,
    Decided,
    TopicInputs,
    decide_all,
    nested_inputs,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from sklearn.pipeline import Pipeline


TRAINING, TEST = "Ask0729-fixed.txt", "testSet-qualifiedBatch-fixed.txt"
SOURCE = "github.com/ParakweetLabs/EmailIntentDataSet, folder src/resources"
LABELS = {"Yes": True, "No": False}


@dataclass(frozen=True)
class Sentences:
    """Labelled sentences.

    Attributes
    ----------
    texts : array of shape (n,) of str
        Sentences.
    positive : array of shape (n,) of bool
        Which of them ask for something or promise it.
    """

    texts: NDArray[Any]
    positive: NDArray[np.bool_]

    def take(self, rows: NDArray[np.intp]) -> Sentences:
        """Return some of the sentences."""
        return Sentences(self.texts[rows], self.positive[rows])


def read_files(folder: Path) -> tuple[Sentences, Sentences]:
    """Return the sentences of the training file, and those of the test file that are not in it.

    The 27 repeated sentences are left out: a held-out copy would be known from training.

    Parameters
    ----------
    folder : Path
        With both files.
    """
    missing = [name for name in (TRAINING, TEST) if not (folder / name).is_file()]
    if missing:
        raise ValueError(
            f"--data must be a folder with {TRAINING} and {TEST} (of {SOURCE}), got {folder}"
            f" without {' and '.join(missing)}."
        )
    training, test = (read_sentences(folder / name) for name in (TRAINING, TEST))
    known = without_repetitions(training)
    both = without_repetitions(together(known, test))
    return known, both.take(np.arange(known.positive.size, both.positive.size))


def read_sentences(path: Path) -> Sentences:
    """Return the sentences of a file: a line is Yes or No, a tab, and a sentence.

    Parameters
    ----------
    path : Path
        A text file; bytes that are not UTF-8 are replaced.
    """
    # Only line feeds end lines here: some sentences hold other characters that might.
    lines = path.read_bytes().decode("utf-8", errors="replace").split("\n")
    texts, labels = [], []
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        label, tab, text = line.partition("\t")
        if label not in LABELS or not tab or not text.strip():
            raise ValueError(
                f"line {number} of {path} must be Yes or No, a tab and a sentence, got"
                f" {line[:60]!r}."
            )
        texts.append(text.strip())
        labels.append(LABELS[label])
    return Sentences(np.array(texts, dtype=object), np.array(labels, dtype=np.bool_))


def together(first: Sentences, second: Sentences) -> Sentences:
    """Return the sentences of both, those of the first before those of the second."""
    return Sentences(
        np.concatenate([first.texts, second.texts]),
        np.concatenate([first.positive, second.positive]),
    )


def without_repetitions(sentences: Sentences) -> Sentences:
    """Return each sentence once, at its first place; equal are those of the same tokens."""
    first: dict[tuple[str, ...], int] = {}
    for row, text in enumerate(sentences.texts):
        first.setdefault(tuple(sentence_tokens(text)), row)
    return sentences.take(np.fromiter(first.values(), dtype=np.intp))


VIEWS = {"words": sentence_words, "n-grams": sentence_ngrams}
FEATURES = 300
CLASSIFIERS = tuple(f"{algorithm}, {view}" for view in VIEWS for algorithm in BASE)
# One fit in a hundred takes the SVM's solver 26,000 steps.
MOST_STEPS = 100_000
# Votes are compared with those of one classifier, which is named before the experiment.
BEST = "SVM, n-grams"


class Counts(NamedTuple):
    """Counts of all views side by side.

    Attributes
    ----------
    train, new : sparse matrices of shape (sentences, features)
        How often each feature of the training sentences occurs.
    columns : dict of str to slice
        Which columns are of which view.
    """

    train: Any
    new: Any
    columns: dict[str, slice]


def count(train: NDArray[Any], new: NDArray[Any]) -> Counts:
    """Return counts of the training vocabulary in the training sentences and in new ones."""
    from scipy import sparse

    vectorizers = [view() for view in VIEWS.values()]
    of_train = [vectorizer.fit_transform(train) for vectorizer in vectorizers]
    of_new = [vectorizer.transform(new) for vectorizer in vectorizers]
    columns, start = {}, 0
    for view, counts in zip(VIEWS, of_train, strict=True):
        columns[view] = slice(start, start + counts.shape[1])
        start += counts.shape[1]
    return Counts(sparse.hstack(of_train, "csr"), sparse.hstack(of_new, "csr"), columns)


def base_classifiers(
    columns: Mapping[str, slice], *, features: int = FEATURES, random_state: int = 0
) -> dict[str, Pipeline]:
    """Return the ten base classifiers by name, each on its view's features of largest chi-squared.

    Parameters
    ----------
    columns : mapping of str to slice
        The views' columns; see `Counts`.
    features : int
        How many features of a view, or all of a view that has fewer.
    random_state : int
        Of the SVM's solver, and of the trees' features that split equally well.

    Examples
    --------
    >>> list(base_classifiers({"words": slice(0, 9), "n-grams": slice(9, 40)}))[4:6]
    ['kNN, words', 'decision tree, n-grams']
    """
    return {
        f"{algorithm}, {view}": _on_view(kind, own, features, random_state)
        for view, own in columns.items()
        for algorithm, kind in BASE.items()
    }


def _on_view(kind: str, columns: slice, features: int, random_state: int) -> Pipeline:
    from sklearn.compose import ColumnTransformer
    from sklearn.feature_selection import SelectKBest, chi2
    from sklearn.pipeline import Pipeline

    view = ColumnTransformer([("view", "passthrough", columns)], sparse_threshold=1.0)
    classifier = make_classifier(kind, random_state=random_state)
    if kind == "linear_svm":
        classifier = linear_svm(weights="tf_idf", random_state=random_state)
        classifier.set_params(classifier__max_iter=MOST_STEPS)
    wanted = min(features, columns.stop - columns.start)
    classifier.set_params(words=SelectKBest(chi2, k=wanted))
    return Pipeline([("view", view), *classifier.steps])


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
    """The decisions of methods in some trials.

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
    """Return a trial for each of so many stratified folds of shuffled sentences."""
    from bayescal.text.text_calibrator import check_folds, splitter

    check_folds(folds, sentences.positive)
    splits = splitter(folds, random_state).split(sentences.texts, sentences.positive)
    return [Trial(sentences.take(train), sentences.take(new)) for train, new in splits]


def run_trials(trials: Sequence[Trial], *, random_state: int = 0, jobs: int = 1) -> Outcomes:
    """Return the decisions of every method in every trial.

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
    """Return each method's decisions on a trial's new sentences, by method name."""
    inputs = trial_inputs(trial, random_state)
    found = decide_all([inputs], base=CLASSIFIERS, combinations=CHOSEN, random_state=random_state)
    return {name: decided for name, (decided,) in found.items()}


def trial_inputs(trial: Trial, random_state: int = 0) -> TopicInputs:
    """Return the inputs of combiners for a trial: scores and indicators from nested folds.

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

"""Files of scores of data sets: out of fold, and of test documents."""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Iterable, Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from bayescal.support.files import whole_file
from bayescal.support.validation import Floats
from studies.problems.classifiers import CLASSIFIERS, Classifier
from studies.problems.data_set import DataSet
from studies.problems.features import Views, views
from studies.problems.folds import Ints, deal
from studies.problems.library import write_manifest
from studies.problems.sources import load

FOLDS = 5
LIBRARIES = ("numpy", "scipy", "scikit-learn")


class SeedError(ValueError):
    """A folder holds scores that were made with another seed."""


def make(data: Path | None, to: Path, names: Iterable[str], seed: int) -> None:
    """Make the missing files of the data sets, and the manifest of all."""
    for name in names:
        whole = load(data, name, seed)
        data_set = whole.with_enough_positives()
        left_out = len(whole.classes) - len(data_set.classes)
        sys.stdout.write(f"{name}: {len(data_set.classes)} classes, {left_out} left out\n")
        make_data_set(data_set, to / name, seed)
        write_manifest(to)


def make_data_set(data_set: DataSet, folder: Path, seed: int) -> None:
    """Write the missing files of scores of the data set's classifiers."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = {
        folder / f"{name}.npz": classifier
        for name, classifier in CLASSIFIERS.items()
        if data_set.kind in classifier.kinds
    }
    missing = {path: one for path, one in paths.items() if not _made(path, seed)}
    if not missing:
        return
    fold = deal(data_set.label, FOLDS, seed)
    seen = list(_seen(data_set, fold, seed))
    for path, classifier in missing.items():
        began = time.process_time()
        scores, test_scores = _scores(data_set, classifier, fold, seen, seed)
        _write(path, data_set, classifier, scores, test_scores, seed)
        sys.stdout.write(f"  {path.stem}: {time.process_time() - began:.1f} s\n")
        sys.stdout.flush()


def _made(path: Path, seed: int) -> bool:
    """Return whether the file exists; another seed is an error."""
    if not path.exists():
        return False
    with np.load(path) as file:
        made_with = int(file["seed"])
    if made_with != seed:
        raise SeedError(
            f"{path} was made with seed {made_with}, not {seed}: use that seed or another folder."
        )
    return True


def _seen(data_set: DataSet, fold: Ints, seed: int) -> Iterator[Views]:
    """Yield the features of each fold, learned on the others, and of the test documents."""
    train = data_set.train
    for k in range(FOLDS):
        yield views(data_set.kind, train[fold != k], train[fold == k], seed)
    yield views(data_set.kind, train, data_set.test, seed)


def _scores(
    data_set: DataSet, classifier: Classifier, fold: Ints, seen: list[Views], seed: int
) -> tuple[Floats, Floats]:
    """Return scores out of fold and of test documents."""
    label = data_set.label
    scores = np.empty(label.shape)
    for k in range(FOLDS):
        train, new = seen[k][classifier.space]
        scores[fold == k] = quietly(classifier, train, label[fold != k], new, seed)
    train, test = seen[FOLDS][classifier.space]
    return scores, quietly(classifier, train, label, test, seed)


def quietly(classifier: Classifier, *arguments: Any) -> Floats:
    """Return scores of a classifier without its warnings that it stops early."""
    with warnings.catch_warnings():
        # The neural network stops early on purpose.
        warnings.simplefilter("ignore", ConvergenceWarning)
        return classifier.score(*arguments)


def _write(
    path: Path,
    data_set: DataSet,
    classifier: Classifier,
    scores: Floats,
    test_scores: Floats,
    seed: int,
) -> None:
    precision = np.float64 if classifier.score_kind == "probability" else np.float32
    with whole_file(path) as file:
        np.savez_compressed(
            file,
            score=scores.astype(precision),
            label=data_set.label,
            test_score=test_scores.astype(precision),
            test_label=data_set.test_label,
            classes=np.array(data_set.classes),
            score_kind=classifier.score_kind,
            test_kind=data_set.test_kind,
            seed=seed,
            versions=" ".join(f"{each} {version(each)}" for each in LIBRARIES),
        )

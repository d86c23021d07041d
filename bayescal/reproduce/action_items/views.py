"""Two views of sentences, words and n-grams, and five classifiers of each: ten base classifiers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from bayescal.reproduce.strive import BASE
from bayescal.text import linear_svm, make_classifier, sentence_ngrams, sentence_words

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from sklearn.pipeline import Pipeline

VIEWS = {"words": sentence_words, "n-grams": sentence_ngrams}
FEATURES = 300
CLASSIFIERS = tuple(f"{algorithm}, {view}" for view in VIEWS for algorithm in BASE)
# One fit in a hundred takes the SVM's solver 26,000 steps.
MOST_STEPS = 100_000
# Votes are compared with those of one classifier, which is named before the experiment.
BEST = "SVM, n-grams"


class Counts(NamedTuple):
    """
    Counts of all views side by side.

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
    """Return counts of what the training sentences hold, in these and in new ones."""
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
    """
    Return the ten base classifiers by name, each on its view's features of largest chi-squared.

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

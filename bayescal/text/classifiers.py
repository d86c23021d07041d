"""The classifiers of documents that Bennett calibrates, as pipelines on counts of words."""

from __future__ import annotations

from typing import Any

from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import Binarizer
from sklearn.svm import LinearSVC

from bayescal.support.validation import check_choice, check_flag
from bayescal.text.decision_tree import DecisionTree
from bayescal.text.mutual_information import MutualInformationSelector
from bayescal.text.naive_bayes import BernoulliNaiveBayes, MultinomialNaiveBayes
from bayescal.text.nearest_neighbours import NearestNeighbours

WORDS = 300
# What each weighting passes to TfidfTransformer; log_tf is 1 + ln tf.
WEIGHTS: dict[str, dict[str, bool]] = {
    "binary": {"use_idf": False},
    "tf": {"use_idf": False},
    "log_tf": {"use_idf": False, "sublinear_tf": True},
    "tf_idf": {},
    "log_tf_idf": {"sublinear_tf": True},
}
NAIVE_BAYES = {"naive_bayes": MultinomialNaiveBayes, "bernoulli_naive_bayes": BernoulliNaiveBayes}
CLASSIFIERS = (*NAIVE_BAYES, "linear_svm", "nearest_neighbours", "decision_tree")
# Neighbours are compared by more words than the other classifiers see.
NEIGHBOURS_WORDS = 3
# Unnormalised counts take the solver far more steps than documents of length 1.
MOST_STEPS = 20_000


def naive_bayes(kind: str = "naive_bayes", *, words: int = WORDS) -> Pipeline:
    """
    Return naive Bayes on the most telling words; its scores are log-odds.

    Parameters
    ----------
    kind : {"naive_bayes", "bernoulli_naive_bayes"}
        Multinomial, where repetitions of a word count, or Bernoulli, where its absence does.
    words : int
        How many words, by mutual information with the class.

    Raises
    ------
    ValueError
        If `kind` is unknown.

    Examples
    --------
    >>> naive_bayes().steps[0]
    ('words', MutualInformationSelector())
    """
    check_choice("kind", kind, tuple(NAIVE_BAYES))
    steps = [("words", MutualInformationSelector(words)), ("classifier", NAIVE_BAYES[kind]())]
    return Pipeline(steps)


def linear_svm(
    *,
    words: int = WORDS,
    weights: str = "log_tf_idf",
    normalise: bool = True,
    cost: float = 1.0,
    random_state: int = 0,
) -> Pipeline:
    """
    Return a linear SVM (hinge loss) on the most telling words; its scores are margins.

    Parameters
    ----------
    words : int
        How many words, by mutual information with the class.
    weights : {"binary", "tf", "log_tf", "tf_idf", "log_tf_idf"}
        What a word that occurs tf times weighs: 1, tf, 1 + ln tf; the last two times its idf.
    normalise : bool
        Whether documents get length 1. Without it long documents have large margins.
    cost : float
        C: what a margin short by one costs.
    random_state : int
        Orders the solver's steps; the same seed, the same margins.

    Raises
    ------
    ValueError
        If `weights` is unknown.

    Examples
    --------
    >>> [name for name, _ in linear_svm(weights="binary").steps]
    ['words', 'presence', 'weights', 'classifier']
    """
    check_choice("weights", weights, tuple(WEIGHTS))
    check_flag(normalise=normalise)
    steps: list[tuple[str, Any]] = [("words", MutualInformationSelector(words))]
    if weights == "binary":
        steps.append(("presence", Binarizer()))
    weighting = TfidfTransformer(norm="l2" if normalise else None, **WEIGHTS[weights])
    classifier = LinearSVC(loss="hinge", C=cost, random_state=random_state, max_iter=MOST_STEPS)
    return Pipeline([*steps, ("weights", weighting), ("classifier", classifier)])


def nearest_neighbours(
    *, words: int = WORDS, neighbours: int | None = None, threshold: float | str = 0.0
) -> Pipeline:
    """
    Return nearest neighbours on three times the most telling words; scores are summed cosines.

    The words are those of the one class. Bennett chooses them once for all classes of a corpus, by
    the largest mutual information with any of them, and errs less (on the ten largest topics of
    Reuters-21578 in 1.8 % of decisions, in place of 2.4 %): route `topics` to the first step, see
    `MutualInformationSelector.fit`.

    Parameters
    ----------
    words : int
        A third of how many words, by mutual information with the class.
    neighbours, threshold
        See `bayescal.text.NearestNeighbours`.

    Examples
    --------
    >>> nearest_neighbours().steps[0]
    ('words', MutualInformationSelector(k=900))
    """
    selector = MutualInformationSelector(NEIGHBOURS_WORDS * words)
    return Pipeline([("words", selector), ("classifier", NearestNeighbours(neighbours, threshold))])


def decision_tree(
    *, words: int = WORDS, penalty: float | None = None, random_state: int = 0
) -> Pipeline:
    """
    Return a decision tree on the most telling words; its scores are smoothed log-odds.

    Parameters
    ----------
    words : int
        How many words, by mutual information with the class.
    penalty, random_state
        See `bayescal.text.DecisionTree`.

    Examples
    --------
    >>> decision_tree().steps[-1]
    ('classifier', DecisionTree())
    """
    tree = DecisionTree(penalty, random_state)
    return Pipeline([("words", MutualInformationSelector(words)), ("classifier", tree)])


def make_classifier(name: str, *, words: int = WORDS, random_state: int = 0) -> Pipeline:
    """
    Return one of the classifiers by name, with its defaults.

    Parameters
    ----------
    name : {"naive_bayes", "bernoulli_naive_bayes", "linear_svm", "nearest_neighbours", \
"decision_tree"}
        Which.
    words : int
        How many words, by mutual information with the class; "nearest_neighbours" takes three
        times as many.
    random_state : int
        Of the SVM's solver, and of the tree's words that split equally well.

    Raises
    ------
    ValueError
        If `name` is unknown.

    Examples
    --------
    >>> make_classifier("linear_svm").steps[-1][1].loss
    'hinge'
    """
    check_choice("classifier", name, CLASSIFIERS)
    if name == "linear_svm":
        return linear_svm(words=words, random_state=random_state)
    if name == "nearest_neighbours":
        return nearest_neighbours(words=words)
    if name == "decision_tree":
        return decision_tree(words=words, random_state=random_state)
    return naive_bayes(name, words=words)

"""Nearest neighbours of documents, and Bennett's classifiers as pipelines on counts of words."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import Binarizer, normalize
from sklearn.svm import LinearSVC
from sklearn.utils.validation import check_is_fitted

from bayescal.support import validation
from bayescal.support.numerics import blocks_of
from bayescal.support.validation import Floats
from bayescal.text import word_models

BLOCK_ELEMENTS = 2**23  # similarities in memory at a time: 64 MB
# Of equally similar documents the earlier one is nearer, on every machine. The step is far above
# the rounding of a cosine and far below any difference that matters.
TIE = 1e-15


def nearest(similarity: Floats, count: int) -> NDArray[np.intp]:
    """Return the columns of the largest values of each row, the largest first."""
    farness = np.arange(similarity.shape[1]) * TIE - similarity
    if count < similarity.shape[1]:
        columns = np.argpartition(farness, count - 1, axis=1)[:, :count]
    else:
        columns = np.broadcast_to(np.arange(count), similarity.shape)
    order = np.argsort(np.take_along_axis(farness, columns, axis=1), axis=1)
    return np.take_along_axis(columns, order, axis=1)


def nearest_documents(queries: Any, documents: Any, count: int) -> tuple[Floats, NDArray[np.intp]]:
    """Return the cosines of each query's nearest documents and their rows, nearest first."""
    similarity = np.empty((queries.shape[0], count))
    rows = np.empty(similarity.shape, dtype=np.intp)
    features = documents.T.tocsr()
    for block in blocks_of(max(1, BLOCK_ELEMENTS // documents.shape[0]), queries.shape[0]):
        cosines = (queries[block] @ features).toarray()
        rows[block] = nearest(cosines, count)
        similarity[block] = np.take_along_axis(cosines, rows[block], axis=1)
    # Rounding may take the cosine of a document with itself beyond 1.
    return np.clip(similarity, -1.0, 1.0), rows


def default_neighbours(documents: int) -> int:
    """Return k = 2 ceil(log2 N) + 1, but at most N."""
    return min(2 * int(np.ceil(np.log2(documents))) + 1, documents)


class NearestNeighbours(word_models.WordsClassifier):
    """Score documents by the classes of the most similar documents, weighted by their similarity.

    s(d) = sum of cos(d, n) over positive neighbours n - the same sum over negative neighbours, with
    words weighted by tf log2(N/df). It is no log-odds, but 0 means that neither class is nearer.

    Parameters
    ----------
    neighbours : int, optional
        k, the number of neighbours that vote; by default 2 ceil(log2 N) + 1 of N documents.
    threshold : float
        Scores above it are predicted positive.

    Attributes
    ----------
    idf_ : array of shape (words,)
        log2(N/df); 0 for words of no fitted document.
    documents_ : sparse array of shape (documents, words)
        The weighted documents fitted, of length 1, or 0 without words.
    positive_ : array of shape (documents,) of bool
        Their classes.
    neighbours_, threshold_ : int, float
        The values used.

    References
    ----------
    Bennett's dissertation, section 5.1.3 and equation 5.20.

    Examples
    --------
    >>> counts = [[3, 0, 1], [2, 1, 0], [0, 2, 2], [0, 1, 3]]
    >>> model = NearestNeighbours(neighbours=1).fit(counts, ["in", "in", "out", "out"])
    >>> model.decision_function([[1, 0, 0], [0, 0, 0]]).round(2)
    array([-0.99,  0.  ])
    """

    only_counts = True

    def __init__(self, neighbours: int | None = None, threshold: float = 0.0) -> None:
        self.neighbours = neighbours
        self.threshold = threshold

    def _learn(self, counts: Any, positive: NDArray[np.bool_]) -> None:
        if self.neighbours is not None:
            validation.check_count("neighbours", self.neighbours)
        self.positive_, n = positive, positive.size
        frequency = np.asarray(word_models.presence(counts).sum(axis=0), dtype=np.float64)
        self.idf_ = np.log2(n / np.where(frequency > 0.0, frequency, n))
        self.documents_ = self.weigh(counts)
        wanted = default_neighbours(n) if self.neighbours is None else self.neighbours
        self.neighbours_ = min(wanted, n)
        self.threshold_ = validation.as_reals(self.threshold, "threshold").item()

    def kneighbors(self, X: Any, count: int | None = None) -> tuple[Floats, NDArray[np.intp]]:  # noqa: N803
        """Return the similarities of the nearest documents fitted and their rows, nearest first.

        Parameters
        ----------
        X : array or sparse matrix of shape (queries, words)
            How often each word occurs.
        count : int, optional
            Number of neighbours, at most the documents fitted; by default `neighbours_`.

        Returns
        -------
        tuple of arrays of shape (queries, count)
            Cosines from 0 to 1, 0 for documents without words, and rows of `documents_`.

        Raises
        ------
        ValueError
            If `count` is no positive whole number.
        """
        check_is_fitted(self, "documents_")
        if count is not None:
            validation.check_count("count", count)
        X = validation.validated(self, X, accept_sparse="csr", dtype=np.float64, reset=False)  # noqa: N806
        wanted = self.neighbours_ if count is None else min(count, self.positive_.size)
        return nearest_documents(self.weigh(X), self.documents_, wanted)

    def weigh(self, X: Any) -> Any:  # noqa: N803
        """Return the rows tf log2(N/df) of documents, sparse, of length 1 or 0."""
        weighted = sparse.csr_array(sparse.csr_array(X) @ sparse.diags_array(self.idf_))
        return sparse.csr_array(normalize(weighted))

    def _scores(self, counts: Any) -> Floats:
        """Return summed cosines of positive minus negative neighbours; (queries,)."""
        return self.vote(*nearest_documents(self.weigh(counts), self.documents_, self.neighbours_))

    def vote(self, similarity: Floats, rows: NDArray[np.intp]) -> Floats:
        """Return scores, (queries,), from the similarities and rows that `kneighbors` returns."""
        sign = np.where(self.positive_[rows[:, : self.neighbours_]], 1.0, -1.0)
        return np.asarray((similarity[:, : self.neighbours_] * sign).sum(axis=1))


WORDS = 300
# Arguments of TfidfTransformer for each weighting; log_tf is 1 + ln tf.
WEIGHTS: dict[str, dict[str, bool]] = {
    "binary": {"use_idf": False},
    "tf": {"use_idf": False},
    "log_tf": {"use_idf": False, "sublinear_tf": True},
    "tf_idf": {},
    "log_tf_idf": {"sublinear_tf": True},
}
MODELS: dict[str, type[word_models.WordsClassifier]] = {
    "naive_bayes": word_models.MultinomialNaiveBayes,
    "bernoulli_naive_bayes": word_models.BernoulliNaiveBayes,
    "nearest_neighbours": NearestNeighbours,
    "decision_tree": word_models.DecisionTree,
}
CLASSIFIERS = (
    "naive_bayes",
    "bernoulli_naive_bayes",
    "linear_svm",
    "nearest_neighbours",
    "decision_tree",
)
# Nearest neighbours use more words than the other classifiers.
NEIGHBOURS_WORDS = 3
# Unnormalised counts need far more steps of the solver than documents of length 1.
MOST_STEPS = 20_000


def linear_svm(
    *,
    words: int = WORDS,
    min_documents: int | None = None,
    weights: str = "log_tf_idf",
    normalise: bool = True,
    cost: float = 1.0,
    random_state: int = 0,
) -> Pipeline:
    """Return a linear SVM (hinge loss) on the most informative words; its scores are margins.

    Parameters
    ----------
    words, min_documents
        As in `make_classifier`.
    weights : {"binary", "tf", "log_tf", "tf_idf", "log_tf_idf"}
        The weight of a word that occurs tf times: 1, tf, 1 + ln tf; the last two times its idf.
    normalise : bool
        Whether documents get length 1. Without it long documents have large margins.
    cost : float
        C, the cost of a margin that is short by one.
    random_state : int
        Orders the solver's steps.

    Examples
    --------
    >>> [name for name, _ in linear_svm(weights="binary").steps]
    ['words', 'presence', 'weights', 'classifier']
    """
    validation.check_choice("weights", weights, tuple(WEIGHTS))
    selector = word_models.MutualInformationSelector(words, min_documents)
    steps: list[tuple[str, Any]] = [("words", selector)]
    if weights == "binary":
        steps.append(("presence", Binarizer()))
    validation.check_flag(normalise=normalise)
    weighting = TfidfTransformer(norm="l2" if normalise else None, **WEIGHTS[weights])
    classifier = LinearSVC(loss="hinge", C=cost, random_state=random_state, max_iter=MOST_STEPS)
    return Pipeline([*steps, ("weights", weighting), ("classifier", classifier)])


def make_classifier(
    name: str, *, words: int = WORDS, min_documents: int | None = None, random_state: int = 0
) -> Pipeline:
    """Return one of Bennett's classifiers on the most informative words.

    Its steps are "words", the selector, and last "classifier": one of this module's classes, whose
    parameters `set_params` changes, as in ``set_params(classifier__penalty=3.0)``.

    Parameters
    ----------
    name : {"naive_bayes", "bernoulli_naive_bayes", "linear_svm", "nearest_neighbours", \
"decision_tree"}
        Scores are log-odds by naive Bayes, which is multinomial (repetitions count) or Bernoulli
        (absent words count), margins by `linear_svm`, summed cosines by `NearestNeighbours`, and
        smoothed log-odds by `DecisionTree`.
    words : int
        Number of words, those of highest mutual information with the class; "nearest_neighbours"
        uses three times as many. Bennett chooses its words for all classes of a corpus, with fewer
        errors (1.8 % of decisions on the ten largest topics of Reuters-21578 instead of 2.4 %):
        route `topics` to the first step, see `MutualInformationSelector.fit`.
    min_documents : int, optional
        Words in fewer documents are left out; see `MutualInformationSelector`.
    random_state : int
        Orders the SVM's steps, and words that split a tree equally well.

    Raises
    ------
    ValueError
        If `name` is unknown, or `words` is no positive whole number.

    Examples
    --------
    >>> make_classifier("nearest_neighbours").steps
    [('words', MutualInformationSelector(k=900)), ('classifier', NearestNeighbours())]
    """
    validation.check_choice("classifier", name, CLASSIFIERS)
    validation.check_count("words", words)
    if name == "linear_svm":
        return linear_svm(words=words, min_documents=min_documents, random_state=random_state)
    words *= NEIGHBOURS_WORDS if name == "nearest_neighbours" else 1
    selector = word_models.MutualInformationSelector(words, min_documents)
    model = MODELS[name]()
    if name == "decision_tree":
        model.set_params(random_state=random_state)
    return Pipeline([("words", selector), ("classifier", model)])

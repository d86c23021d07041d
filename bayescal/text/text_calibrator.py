"""Cross-validated scores of documents, and TextCalibrator."""

from collections.abc import Iterable
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse, special
from sklearn.base import clone
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.model_selection import BaseCrossValidator, StratifiedKFold
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import check_is_fitted

from bayescal.calibrators.calibrated_classifier import CalibratedClassifier
from bayescal.calibrators.classifier.raw_scores import raw_scores as scores_by_column
from bayescal.calibrators.classifier.raw_scores import reads_texts
from bayescal.calibrators.classifier.targets import BINARY
from bayescal.fitting.curves.curves import prior_draws
from bayescal.support import validation
from bayescal.support.intervals import tails
from bayescal.support.labels import as_labels, encode_labels
from bayescal.support.validation import Floats
from bayescal.support.weighting import effective_weights
from bayescal.text.classifiers import WORDS, make_classifier

FOLDS = 5


def raw_scores(classifier: Any, documents: Any) -> Floats:
    """Return a fitted classifier's scores: margins, or log-odds taken in log space.

    `decision_function` if the classifier has one, else the difference of log probabilities: the
    probabilities themselves are 0 or 1 for a tenth of naive Bayes' documents.

    Parameters
    ----------
    classifier : fitted scikit-learn classifier or pipeline
        For two classes.
    documents : sequence or matrix of n documents
        Input of the classifier.

    Returns
    -------
    array of shape (n,)
        Larger for the last class in sorted order, the `positive` of a calibrator of these scores.

    Raises
    ------
    ValueError
        If there is not one finite score per document.

    Examples
    --------
    >>> from sklearn.naive_bayes import MultinomialNB
    >>> model = MultinomialNB().fit([[1, 0], [0, 1]], [0, 1])
    >>> raw_scores(model, [[0, 2000]]).round(1)  # its probability rounds to 1
    array([1386.3])
    """
    rows = validation.as_documents(documents, "documents")
    column = scores_by_column(classifier, rows, BINARY, 1)
    return validation.as_scores(column, f"scores of {type(classifier).__name__}")


def cross_val_scores(
    classifier: Any,
    documents: Any,
    labels: ArrayLike,
    *,
    folds: int | BaseCrossValidator = FOLDS,
    random_state: int = 0,
) -> Floats:
    """Return each document's score by a classifier fitted to the other folds.

    Put selection and weights of words into the classifier's pipeline, so that it learns them
    without the fold too. Scores of training documents are too far apart to calibrate anything.

    Parameters
    ----------
    classifier : scikit-learn classifier or pipeline
        Cloned for every fold.
    documents : array, sparse matrix or sequence of n documents
        Input of the classifier.
    labels : array-like of shape (n,)
        Two classes.
    folds : int or scikit-learn splitter
        An int means stratified folds of shuffled documents; five, as in the paper: leave-one-out
        skews the scores, and few folds make the classifier worse than the final one.
    random_state : int
        Shuffles the documents.

    Raises
    ------
    ValueError
        If a class has fewer documents than folds, or the splitter leaves documents without a score
        or a training set without one of the classes.

    Examples
    --------
    >>> from sklearn.naive_bayes import MultinomialNB
    >>> counts, labels = [[2, 0], [1, 1], [0, 3], [0, 1], [3, 1], [1, 2]], [0, 0, 1, 1, 0, 1]
    >>> cross_val_scores(MultinomialNB(), counts, labels, folds=3).shape
    (6,)
    """
    _, positive = encode_labels(labels, name="labels")
    values = as_labels(labels, "labels").reshape(positive.size)
    rows = validation.as_documents(documents, "documents")
    scores = np.full(positive.size, np.nan)
    check_folds(folds, positive)
    for train, test in splitter(folds, random_state).split(rows, values):
        if np.unique(values[train]).size < 2:
            raise ValueError(
                "every fold must leave documents of both classes to train on, got one that leaves"
                f" {values[train].tolist()[0]!r} only: take stratified or fewer folds."
            )
        model = clone(classifier).fit(_safe_indexing(rows, train), values[train])
        scores[test] = raw_scores(model, _safe_indexing(rows, test))
    if np.isnan(scores).any():
        raise ValueError(
            "folds must hold every document once, got"
            f" {int(np.isnan(scores).sum())} documents in none: take a splitter of all documents."
        )
    return scores


def splitter(folds: int | BaseCrossValidator, random_state: int) -> BaseCrossValidator:
    """Return the splitter: `folds` itself, or stratified folds of shuffled documents."""
    if hasattr(folds, "split"):
        return folds
    return StratifiedKFold(folds, shuffle=True, random_state=random_state)


def check_folds(folds: int | BaseCrossValidator, labels: NDArray[Any]) -> None:
    """Raise ValueError unless every class has a document for each of the folds."""
    given: Any = folds
    if hasattr(given, "split") and not isinstance(given, str):  # text can be split too
        return
    validation.check_count("folds", given)
    fewest = int(np.unique(labels, return_counts=True)[1].min())
    if not 2 <= given <= fewest:
        raise ValueError(
            f"folds must be from 2 to {fewest}, the documents of the rarest class, so that each"
            f" fold has one; got {folds}."
        )


BASE_DRAWS = 10_000  # for the base rate: ends of its intervals to 1 % of their width


class UnknownWordsWarning(UserWarning):
    """Documents hold no word that the classifier knows; their probability is the base rate."""


class TextCalibrator(CalibratedClassifier):
    """Classify documents and calibrate: a `CalibratedClassifier` of counts of words.

    The calibrator is fitted to cross-validated scores, the selection of words included; new
    documents are scored by the classifier fitted to all. A new document without a known word gets
    the base rate (n_c + 1)/(n + classes), or `prior`, with its band.

    Parameters
    ----------
    classifier : str or scikit-learn classifier
        A name that `make_classifier` takes, for two classes; or your own classifier or pipeline
        for sparse counts of words. `CalibratedClassifier` takes pipelines that read texts.
    words : int
        Number of words for the named classifiers, by mutual information with the class.
    min_documents : int, optional
        The named classifiers leave out words in fewer documents; see `MutualInformationSelector`.
    folds : int or scikit-learn splitter
        An int means stratified folds of shuffled documents; every class needs as many documents.
    calibrator : object or str, optional
        See `CalibratedClassifier`; by default `ScoreCalibrator()`.
    random_state : int
        Seeds folds, solver and posterior.
    positive : label, optional
        The positive one of two classes; see `ScoreCalibrator`.

    Attributes
    ----------
    classes_, scores_, calibrated_classifiers_, posterior_, diagnostics_
        See `CalibratedClassifier`.
    vectorizer_ : sklearn.feature_extraction.text.CountVectorizer
        Counts words of at least two letters or digits, in lower case.

    Examples
    --------
    >>> texts = ["corn prices up", "corn harvest", "oil prices up", "oil wells"] * 5
    >>> labels = ["corn", "corn", "oil", "oil"] * 5
    >>> calibrator = TextCalibrator().fit(texts, labels)
    >>> calibrator.predict(["a corn field", "an oil field"]).tolist()
    ['corn', 'oil']
    """

    ensemble = False
    n_jobs = None

    def __init__(
        self,
        classifier: Any = "linear_svm",
        *,
        words: int = WORDS,
        min_documents: int | None = None,
        folds: int | BaseCrossValidator = FOLDS,
        calibrator: Any = None,
        random_state: int = 0,
        positive: Any = None,
    ) -> None:
        self.classifier = classifier
        self.words = words
        self.min_documents = min_documents
        self.folds = folds
        self.calibrator = calibrator
        self.random_state = random_state
        self.positive = positive

    def fit(
        self,
        X: Iterable[str],
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        inclusion: ArrayLike | None = None,
        clusters: ArrayLike | None = None,
        **params: Any,
    ) -> Self:
        """Fit the classifier to all documents, and the calibrator to cross-validated scores.

        Parameters
        ----------
        X : iterable of n str
            Documents; some may hold no word.
        y : array-like of shape (n,)
            Classes.
        sample_weight, inclusion, clusters, **params
            See `CalibratedClassifier.fit`.

        Raises
        ------
        ValueError
            If an argument is not as described, a class has fewer documents than folds, or no
            document holds a word.

        Warns
        -----
        UnknownWordsWarning
            If some documents hold no word, or more than half hold none of the words chosen.
        """
        if not isinstance(self.classifier, str) and reads_texts(self.classifier):
            raise ValueError(
                "classifier must take counts of words, which TextCalibrator makes of texts, got a"
                f" {type(self.classifier).__name__} that reads texts itself: calibrate it by"
                " CalibratedClassifier(classifier), which takes the same documents."
            )
        documents, labels = _as_documents(X), _as_labels(y)
        validation.check_same_length("X", len(documents), "y", labels.size)
        vectorizer = CountVectorizer()
        counts = _count_words(vectorizer, documents)
        classes = np.unique(labels).size
        if classes > 2 and isinstance(self.classifier, str):
            raise ValueError(
                f"classifier {self.classifier!r} is for two classes, got {classes}: give a"
                " classifier of your own, such as OneVsRestClassifier(linear_svm())."
            )
        if classes > 1:  # the fit below reports a single class
            check_folds(self.folds, labels)
        super().fit(counts, labels, sample_weight, inclusion, clusters, **params)
        weight = effective_weights(sample_weight, inclusion, labels.size)
        weight = np.ones(labels.size) if weight is None else weight
        self.vectorizer_ = vectorizer
        # Parameters of the Dirichlet posterior of the classes' shares, under a uniform prior.
        self._shares = np.array([1.0 + weight[labels == each].sum() for each in self.classes_])
        if isinstance(self.classifier, str):
            self._warn_of_unused(counts)
        return self

    def predict_log_proba(self, X: Iterable[str], prior: Any = None) -> Floats:
        """Return natural logarithms of `predict_proba`, with an `UnknownWordsWarning` if due."""
        counts, unknown = self._counted(X)
        out = np.array(super().predict_log_proba(counts, prior))
        out[unknown] = np.log(self._base_rate(prior))
        return out

    def decision_function(self, X: Iterable[str], prior: Any = None) -> Floats:
        """Return calibrated log-odds; see `CalibratedClassifier` and `predict_log_proba`."""
        counts, unknown = self._counted(X)
        out = np.array(super().decision_function(counts, prior))
        base = special.logit(self._base_rate(prior))
        out[unknown] = base if out.ndim == 2 else base[1]
        return out

    def predict_interval(
        self, X: Iterable[str], level: float = 0.9, kind: str = "pointwise", prior: Any = None
    ) -> Floats:
        """Return intervals, for the base rate equal-tailed; see `CalibratedClassifier`."""
        counts, unknown = self._counted(X)
        out = np.array(super().predict_interval(counts, level, kind, prior))
        if unknown.any():
            shares = tails(level)
            ends = np.quantile(self._base_draws(BASE_DRAWS, prior), shares, axis=0).T
            out[unknown] = ends if out.ndim == 3 else ends[self._positive_column]
        return out

    def sample_proba(
        self,
        X: Iterable[str],
        draws: int | None = None,
        random_state: Any = None,
        prior: Any = None,
    ) -> Floats:
        """Return draws of probabilities; see `CalibratedClassifier` and `predict_log_proba`."""
        counts, unknown = self._counted(X)
        out = np.array(super().sample_proba(counts, draws, random_state, prior))
        if unknown.any():
            base = self._base_draws(len(out), prior)
            base = base if out.ndim == 3 else base[:, self._positive_column]
            out[:, unknown] = base[:, None]
        return out

    def score_documents(self, X: Iterable[str]) -> Floats:
        """Return the classifier's raw scores of new documents, shape (n,) or (n, columns).

        Documents without a word of those fitted all have the same score; an UnknownWordsWarning
        counts them. Raises ValueError if a document is no text.
        """
        counts, _ = self._counted(X, SAME_SCORE)
        return self._of_columns(self.problem_scores(counts))

    @property
    def cv(self) -> BaseCrossValidator:
        """The folds, as `CalibratedClassifier` takes them."""
        return splitter(self.folds, self.random_state)

    def _estimator(self) -> Any:
        if isinstance(self.classifier, str):
            return make_classifier(
                self.classifier,
                words=self.words,
                min_documents=self.min_documents,
                random_state=self.random_state,
            )
        return self.classifier

    def _features(self, X: Any) -> Any:
        """Return counts of known words."""
        return X if sparse.issparse(X) else self._counted(X)[0]

    def _counted(
        self, X: Iterable[str], answer: str = "their probability is the base rate"
    ) -> tuple[Any, NDArray[np.bool_]]:
        check_is_fitted(self, "vectorizer_")
        return count_known(self.vectorizer_, X, answer)

    def _warn_of_unused(self, counts: Any) -> None:
        """Warn if more than half of the documents fitted hold none of the chosen words."""
        chosen = self._pairs()[0].estimator.named_steps["words"]
        unused = int((chosen.transform(counts).getnnz(axis=1) == 0).sum())
        if 2 * unused > counts.shape[0]:
            validation.warn_user(
                f"{unused} of {counts.shape[0]} documents fitted hold none of the words chosen"
                f" ({chosen.get_support().sum()} of {counts.shape[1]}), and have the same"
                " probability: fit more documents, lower min_documents or raise words.",
                UnknownWordsWarning,
            )

    @property
    def _positive_column(self) -> int:
        """The position in `classes_` of the class of intervals and draws."""
        return 0 if self._turned else 1

    def _base_rate(self, prior: Any) -> Floats:
        """Return the share of each class, in the order of `classes_`."""
        if prior is None:
            return np.asarray(self._shares / self._shares.sum())
        return np.asarray(self._base_draws(BASE_DRAWS, prior).mean(axis=0))

    def _base_draws(self, size: int, prior: Any) -> Floats:
        """Return draws of the share of each class, (size, classes)."""
        if prior is None:
            return np.random.default_rng(0).dirichlet(self._shares, size)
        of_columns = self._priors(prior)
        if len(of_columns) > 1:
            return np.tile(np.asarray(of_columns, dtype=np.float64), (size, 1))
        out = np.empty((size, 2))
        out[:, self._positive_column] = prior_draws(of_columns[0], size)
        out[:, 1 - self._positive_column] = 1.0 - out[:, self._positive_column]
        return out

    def __sklearn_tags__(self) -> Any:
        """Tell scikit-learn that texts come in."""
        tags = super().__sklearn_tags__()
        tags.input_tags.string, tags.input_tags.two_d_array = True, False
        return tags


SAME_SCORE = "they have the same score"


def count_known(
    vectorizer: CountVectorizer, texts: Iterable[str], answer: str
) -> tuple[Any, NDArray[np.bool_]]:
    """Return counts of known words, and True for documents that hold none, which are warned of."""
    counts = vectorizer.transform(_as_documents(texts))
    unknown = counts.getnnz(axis=1) == 0
    if unknown.any():
        advice = " Are they in the language of the documents fitted?" if unknown.all() else ""
        validation.warn_user(
            f"{unknown.sum()} of {unknown.size} documents hold no word of the documents fitted"
            f" (the first is number {unknown.argmax() + 1}): {answer}.{advice}",
            UnknownWordsWarning,
        )
    return counts, unknown


def _as_documents(texts: Iterable[str]) -> list[str]:
    if isinstance(texts, str):
        raise ValueError("X must be a sequence of documents, got one str: put it into a list.")
    if hasattr(texts, "columns"):
        names = ", ".join(map(repr, texts.columns))
        raise ValueError(f"X must hold documents, got a table: pass one of its columns, {names}.")
    if not isinstance(texts, Iterable) or getattr(texts, "ndim", 1) == 0:
        raise ValueError(f"X must be a sequence of documents, got {type(texts).__name__}.")
    # The items of a pyarrow array are no str themselves.
    documents = texts.to_pylist() if hasattr(texts, "to_pylist") else list(texts)
    if not documents:
        raise ValueError("X must hold at least one document, got none.")
    for number, document in enumerate(documents, start=1):
        if not isinstance(document, str):
            raise ValueError(
                f"X must hold documents of type str, got {type(document).__name__} as document"
                f" {number}: decode bytes, and leave missing ones out."
            )
    return documents


def _as_labels(y: ArrayLike) -> NDArray[Any]:
    labels = as_labels(y, "y")
    if labels.ndim != 1:
        raise ValueError(
            f"y must have shape (n,), one class per document, got shape {labels.shape}: of several"
            " labels per document put make_pipeline(CountVectorizer(), ...) into a"
            " CalibratedClassifier."
        )
    return labels


def _count_words(vectorizer: CountVectorizer, documents: list[str]) -> Any:
    """Return counts of the words of each document; fit the vectorizer to them."""
    words_of = vectorizer.build_analyzer()
    empty = [k for k, document in enumerate(documents, start=1) if not words_of(document)]
    if len(empty) == len(documents):
        raise ValueError(
            f"X must hold documents with words, got none in any of {len(documents)}: words have"
            " two letters or digits at least."
        )
    if empty:
        validation.warn_user(
            f"{len(empty)} of {len(documents)} documents hold no word (the first is number"
            f" {empty[0]}): they are fitted by their labels alone; leave out those without text.",
            UnknownWordsWarning,
        )
    return vectorizer.fit_transform(documents)

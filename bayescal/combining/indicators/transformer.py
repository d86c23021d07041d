"""ReliabilityIndicators: features of documents that predict how reliable each classifier is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.utils import ClassifierTags
from sklearn.utils.validation import check_is_fitted, check_non_negative

from bayescal.calibrators.classifier.raw_scores import last_step, read_classifiers
from bayescal.combining.indicators.all_indicators import (
    AllIndicators,
    Member,
    scores_of,
    task_of,
    vocabulary_of,
)
from bayescal.support.validation import Floats, check_choice, check_flag, encode_labels, validated

# Documents that the best classifier is chosen on: the neighbours of ten thousand would take longer
# than everything else together.
JUDGED_ON = 2000


class ReliabilityIndicators(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """
    Compute features of documents that predict how reliable classifiers are on them.

    Bennett's reliability indicators: how much information the document holds and how much of it
    selection of words takes away, how a classifier's score changes when the document changes a
    little, and how the classifiers vote. A combination of classifiers takes them as features beside
    the scores. With all five kinds of classifiers of `bayescal.text` there are 70.

    Parameters
    ----------
    classifiers : list of (str, classifier)
        Binary classifiers or pipelines, with decision_function or predict_proba. Those of
        `bayescal.text.make_classifier`, and scikit-learn's MultinomialNB, BernoulliNB,
        KNeighborsClassifier (by cosines, or in Euclidean space with uniform weights), LinearSVC,
        SVC(kernel="linear") and DecisionTreeClassifier, alone or at the end of a pipeline, have
        indicators of their own; the others only vote.
    text : bool
        Whether X counts words. If not, X may hold any numbers, and indicators of documents' words
        are left out.
    prefit : bool
        Whether the classifiers are fitted. `fit` then takes vocabularies, support vectors, means
        and numbers from its documents, which should be those that the classifiers were fitted on.
    task : bool
        Whether to add three values that are the same for all documents: the number of training
        documents, the share of positives and the number of support vectors.
    thresholds : sequence of float, optional
        The score above which each classifier votes for the positive class. By default a
        classifier's own `threshold_` if it has one, else 0.
    best : str, optional
        The classifier that the votes of all are compared with. By default the one of fewest errors
        on the documents given to `fit`, of which at most 2,000, evenly chosen, are looked at. This
        favours classifiers that know them by heart; better name the best of a cross-validation.

    Attributes
    ----------
    classes_ : array of shape (2,)
        The negative and the positive class.
    classifiers_ : list of (str, classifier)
        Fitted.
    best_ : str
        See `best`.
    thresholds_ : array of shape (classifiers,)
        See `thresholds`.

    References
    ----------
    Bennett's dissertation, chapter 5; the names are those of its section 5.2.

    Examples
    --------
    >>> from bayescal.text import MultinomialNaiveBayes, DecisionTree
    >>> counts, y = [[3, 0, 1], [2, 1, 0], [0, 2, 2], [0, 1, 3]], [1, 1, 0, 0]
    >>> classifiers = [("naive_bayes", MultinomialNaiveBayes()), ("tree", DecisionTree())]
    >>> indicators = ReliabilityIndicators(classifiers, text=False).fit(counts, y)
    >>> names = indicators.get_feature_names_out()
    >>> values = dict(zip(names, indicators.transform([[1, 1, 0]])[0].round(2).tolist()))
    >>> values["UnigramMeanShift"], values["PercentPredictingPositive"]
    (1.03, 0.5)
    """

    def __init__(
        self,
        classifiers: Sequence[tuple[str, Any]],
        *,
        text: bool = True,
        prefit: bool = False,
        task: bool = False,
        thresholds: Sequence[float] | None = None,
        best: str | None = None,
    ) -> None:
        self.classifiers = classifiers
        self.text = text
        self.prefit = prefit
        self.task = task
        self.thresholds = thresholds
        self.best = best

    def fit(self, X: Any, y: ArrayLike) -> Self:  # noqa: N803
        """
        Fit the classifiers, and learn what the indicators need of them and of the documents.

        Parameters
        ----------
        X : array or sparse matrix of shape (documents, features)
            How often each word occurs, before any selection of words; or any features.
        y : array-like of shape (documents,)
            Labels, two classes, both present.

        Raises
        ------
        ValueError
            If an argument is not as described.
        """
        read_classifiers(self.classifiers)
        check_flag(text=self.text, prefit=self.prefit, task=self.task)
        X, y = validated(self, X, y, accept_sparse="csr", dtype=np.float64)  # noqa: N806
        self.classes_, positive = encode_labels(y)
        if self.text:
            check_non_negative(X, f"{type(self).__name__}.fit with text=True")
        self.classifiers_ = [
            (name, self._fitted(name, each, X, y)) for name, each in self.classifiers
        ]
        members = [Member.of(*pair, X, positive) for pair in self.classifiers_]
        self.thresholds_ = self._vote_thresholds()
        self.best_ = self._best(members, X, positive)
        self._all = AllIndicators(
            members,
            vocabulary_of(members, X, positive) if self.text else None,
            self.thresholds_,
            [member.name for member in members].index(self.best_),
            task_of(members, positive) if self.task else None,
        )
        return self

    def classifier_scores(self, X: Any) -> Floats:  # noqa: N803
        """
        Return the scores of all classifiers; shape (documents, classifiers).

        Parameters
        ----------
        X : array or sparse matrix of shape (documents, features)
            As in `fit`.

        Returns
        -------
        array of shape (documents, classifiers)
            decision_function, or the log-odds of predict_proba. These are kept within twice the
            farthest finite ones of the N training documents, and at least within ln(N + 1): those
            of a tree's pure leaves are infinite.

        Raises
        ------
        ValueError
            If a classifier gives nan or an infinite score, by its name.
        """
        validated = self._validated(X)
        return scores_of(self._all.members, validated)

    def transform(self, X: Any) -> Floats:  # noqa: N803
        """
        Return the indicators of documents; shape (documents, indicators).

        Parameters
        ----------
        X : array or sparse matrix of shape (documents, features)
            As in `fit`.
        """
        return self.scores_and_indicators(X)[1]

    def scores_and_indicators(self, X: Any) -> tuple[Floats, Floats]:  # noqa: N803
        """
        Return the results of `classifier_scores` and of `transform` together, which saves time.

        Parameters
        ----------
        X : array or sparse matrix of shape (documents, features)
            As in `fit`.
        """
        validated = self._validated(X)
        return self._all.scores_and_indicators(validated)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """
        Return the names of the indicators, in the order of `transform`'s columns.

        Those of a classifier are named after it, "linear_svm__signedNNSV", where several of its
        kind are combined.

        Parameters
        ----------
        input_features : ignored
            There for scikit-learn.
        """
        check_is_fitted(self, "classes_")
        return np.array(list(self._all.names()), dtype=object)

    def __sklearn_tags__(self) -> Any:
        """Declare the inputs: features, sparse or not, and labels of two classes."""
        tags = super().__sklearn_tags__()
        tags.classifier_tags = ClassifierTags(multi_class=False)
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = self.text
        tags.target_tags.required = True
        return tags

    def _validated(self, X: Any) -> Any:  # noqa: N803
        check_is_fitted(self, "classes_")
        X = validated(self, X, accept_sparse="csr", dtype=np.float64, reset=False)  # noqa: N806
        if self.text:
            check_non_negative(X, f"{type(self).__name__} with text=True")
        return X

    def _fitted(self, name: str, classifier: Any, X: Any, y: Any) -> Any:  # noqa: N803
        if not self.prefit:
            return clone(classifier).fit(X, y)
        check_is_fitted(classifier)
        if not np.array_equal(classifier.classes_, np.sort(self.classes_)):
            raise ValueError(
                f"classifier {name!r} must have been fitted to the classes"
                f" {self.classes_.tolist()}, got {np.asarray(classifier.classes_).tolist()}."
            )
        return classifier

    def _vote_thresholds(self) -> Floats:
        last = [last_step(each)[0] for _, each in self.classifiers_]
        if self.thresholds is None:
            return np.array([getattr(each, "threshold_", 0.0) for each in last])
        thresholds = np.asarray(self.thresholds, dtype=np.float64)
        if thresholds.shape != (len(last),) or not np.isfinite(thresholds).all():
            raise ValueError(
                f"thresholds must hold a number for each of {len(last)} classifiers, got"
                f" {self.thresholds!r}."
            )
        return thresholds

    def _best(self, members: list[Member], X: Any, positive: NDArray[np.bool_]) -> str:  # noqa: N803
        names = tuple(member.name for member in members)
        if self.best is not None:
            check_choice("best", self.best, names)
            return self.best
        rows = np.unique(np.linspace(0, positive.size - 1, JUDGED_ON).astype(np.intp))
        taken = scores_of(members, X[rows]) > self.thresholds_
        return names[int((taken == positive[rows, None]).mean(axis=0).argmax())]

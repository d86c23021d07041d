"""PooledCombiner: one combiner of classifiers' scores for many tasks, specialised to each."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from itertools import compress
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from bayescal.combining.combiners.measures import MEASURES, best_threshold
from bayescal.combining.nested import Gaps
from bayescal.combining.tasks import metaclassifier as learning
from bayescal.combining.tasks.tree import Tree
from bayescal.fitting.curves.curves import INTERVALS, interval_of_draws
from bayescal.support import validation
from bayescal.support.labels import sorted_labels
from bayescal.support.numerics import probabilities, probability
from bayescal.support.validation import Floats, Integers, generator
from bayescal.text.word_models import DecisionTree

if TYPE_CHECKING:
    import pandas as pd


def read_metaclassifier(metaclassifier: Any) -> learning.Metaclassifier:
    """Return the metaclassifier that the parameter names."""
    if isinstance(metaclassifier, learning.Metaclassifier):
        return metaclassifier
    if isinstance(metaclassifier, str):
        validation.check_choice("metaclassifier", metaclassifier, ("weights", "tree"))
        return Tree(DecisionTree()) if metaclassifier == "tree" else learning.TaskWeights()
    if hasattr(metaclassifier, "get_n_leaves") or isinstance(metaclassifier, DecisionTree):
        return Tree(metaclassifier)
    raise ValueError(
        f"metaclassifier must be 'weights', 'tree' or a decision tree, got {metaclassifier!r}: fit"
        " a classifier that is the same for all tasks to scores standardised in each."
    )


@dataclass(eq=False, repr=False)
class PooledCombiner(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Combine classifiers' scores in many tasks, learning from the labels of all tasks.

    A task is a binary problem: is a document of a topic? Its inputs are held-out scores of
    classifiers, and indicators of their reliability, the same columns in all tasks. Inputs are
    normalised within each task, one metaclassifier is fitted to the documents of all tasks, and
    it is then specialised to each task by the task's own labels (Bennett's LABEL). A task with few
    positives borrows from the others; one without labels depends on them alone. Save a fitted
    combiner by pickle or joblib.

    Parameters
    ----------
    metaclassifier : "weights", "tree" or decision tree
        "weights": hierarchical logistic regression, whose weights differ by task.
        "tree": a decision tree of all tasks; so is a scikit-learn decision tree. Its leaves are
        specialised: how many documents the other tasks are worth to a task is learned from how far
        they differ at the leaf.
    cv : int
        Number of folds for scores and thresholds.
    allow_missing : bool
        Whether scores may be nan, where a classifier did not score a document. They count as the
        task's mean, and a column that marks them is one more input.
    random_state : int, numpy Generator, RandomState or None
        Seeds folds and draws.

    Attributes
    ----------
    classes_ : array of shape (2,)
        The negative and the positive class.
    tasks_ : array of shape (tasks,)
        Names of the tasks fitted, in sorted order.
    scores_ : array of shape (n,)
        Held-out log-odds of the documents fitted.
    thresholds_ : dict of str to array of shape (tasks + 1,)
        By measure, the threshold on P(+) that is best on held-out documents of each task; the last
        one, for added tasks, on documents of all tasks.
    n_features_in_ : int
        Number of inputs.

    References
    ----------
    P. N. Bennett, Building Reliable Metaclassifiers for Text Learning, 2006, chapter 8.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> task = np.repeat(["corn", "wheat", "rye"], 200)
    >>> y = rng.random(600) < 0.2
    >>> scores = rng.normal(2.0 * y[:, None], 1.0, (600, 2))
    >>> combiner = PooledCombiner(random_state=0).fit(scores, y, task)
    >>> combiner.predict_proba(scores[:2], task[:2]).shape
    (2, 2)

    A task without labels:

    >>> combiner = combiner.add_tasks(scores[:50], ["oats"] * 50)
    >>> combiner.predict_interval(scores[:50], ["oats"] * 50, level=0.9).shape
    (50, 2)
    """

    metaclassifier: Any = "weights"
    _: KW_ONLY
    cv: int = 5
    allow_missing: bool = False
    random_state: Any = None

    def fit(self, X: Any, y: ArrayLike, task: ArrayLike) -> Self:
        """Fit the metaclassifier to all tasks, and specialise it to each.

        Parameters
        ----------
        X : array-like of shape (n, columns)
            Held-out scores, and indicators.
        y : array-like of shape (n,)
            Labels, two classes, both present in every task.
        task : array-like of shape (n,)
            The name of each document's task.

        Raises
        ------
        ValueError
            If an argument is not as described, or a task has one class only; an earlier fit is
            kept.
        """
        kind = read_metaclassifier(self.metaclassifier)
        learning.check_folds(self.cv)
        columns = validation.as_table(X, estimator=self, ensure_all_finite="allow-nan")
        validation.check_same_length("y", len(validation.as_array(y, "y")), "X", len(columns))
        classes, codes = sorted_labels(y)
        positive = codes == 1
        names, code = learning.read_task_names(task, len(columns))
        learning.check_both_classes(names, code, positive)
        rng = generator(self.random_state)
        tasks = learning.KnownTasks.of(columns, names, code)
        own = learning.normalised(columns, code, tasks.scales)
        validation.check_flag(allow_missing=self.allow_missing)
        gaps = Gaps.of(own, allowed=self.allow_missing)
        gaps.check(own, range(own.shape[1]))
        data = learning.TaskData(gaps.filled(own), positive, code, names.size)
        fold = learning.deal_folds(code, positive, self.cv, rng)
        model = kind.fit(data, rng)
        held_out = kind.held_out(data, fold, model, rng)
        # Last, so that a fit that is refused leaves the one before as it was.
        validation.validated(self, X, skip_check_array=True)
        self.classes_, self.tasks_ = classes, names
        self._tasks, self._gaps, self._model = tasks, gaps, model
        self.scores_ = held_out
        p = probability(held_out)
        rows = [*(data.task == k for k in range(data.tasks)), np.full(p.size, True)]
        self.thresholds_ = {
            each: np.array([best_threshold(each, p[own], data.positive[own]) for own in rows])
            for each in MEASURES
        }
        return self

    def add_tasks(self, X: Any, task: ArrayLike) -> Self:
        """Add tasks without labels, with the scale of these documents' inputs.

        X and `task` are as in `fit`. Raises ValueError if a task is known already, or has a single
        document.
        """
        check_is_fitted(self, "tasks_")
        self._tasks = self._tasks.with_added(self._columns(X), task)
        return self

    def decision_function(self, X: Any, task: ArrayLike) -> Floats:
        """Return natural log-odds of the positive class, shape (n,).

        Parameters
        ----------
        X : array-like of shape (n, columns)
            Scores and indicators.
        task : array-like of shape (n,)
            Tasks that were fitted or added.

        Raises
        ------
        ValueError
            If a task was neither fitted nor added.
        """
        columns, code = self._read(X, task)
        return self._model.log_odds(columns, code)

    def predict_proba(self, X: Any, task: ArrayLike) -> Floats:
        """Return probabilities of both classes, shape (n, 2); see `decision_function`."""
        return probabilities(self.decision_function(X, task))

    def predict(self, X: Any, task: ArrayLike) -> NDArray[Any]:
        """Return the likelier class of each document; arguments as in `decision_function`."""
        taken = self.decision_function(X, task) > 0.0
        return np.asarray(self.classes_[taken.astype(np.intp)])

    def decide(self, X: Any, task: ArrayLike, measure: str) -> NDArray[np.bool_]:
        """Return decisions by the thresholds that are best by a measure; True for positive.

        X and `task` are as in `fit`, `measure` as in `CombinedClassifier.decide`.
        """
        validation.check_choice("measure", measure, tuple(MEASURES))
        columns, code = self._read(X, task)
        proba = probability(self._model.log_odds(columns, code))
        return np.asarray(proba >= self.thresholds_[measure][code])

    def predict_interval(
        self, X: Any, task: ArrayLike, level: float = 0.9, kind: str = "pointwise"
    ) -> Floats:
        """Return posterior intervals of P(+), shape (n, 2).

        They account for the uncertainty of the tasks' leaves or weights, and of their population;
        not for that of the tree itself. X and `task` are as in `fit`, `level` and `kind` as in
        `CombinedClassifier.predict_interval`, like errors.
        """
        validation.check_fraction(level=level)
        validation.check_choice("kind", kind, INTERVALS)
        return interval_of_draws(self.sample_proba(X, task), level, kind)

    def sample_proba(self, X: Any, task: ArrayLike) -> Floats:
        """Return posterior draws of P(+), shape (draws, n).

        X and `task` are as in `fit`.
        """
        columns, code = self._read(X, task)
        return probability(self._model.sample(columns, code))

    def population(self, level: float = 0.9) -> pd.DataFrame:
        """Return the posterior of the population of tasks.

        Parameters
        ----------
        level : float
            Probability of the equal-tailed intervals.

        Returns
        -------
        pandas.DataFrame
            For a tree a row for each leaf: tasks, documents, positives; p, the share of positives
            in the population, and m, how many documents it is worth, with intervals. For "weights"
            a row for the intercept, each input, and tau, the standard deviation of tasks.

        Raises
        ------
        ValueError
            If the level is out of range.
        """
        check_is_fitted(self, "tasks_")
        validation.check_fraction(level=level)
        names = list(map(str, getattr(self, "feature_names_in_", range(self.n_features_in_))))
        gaps = [f"no {name}" for name in compress(names, self._gaps.known)]
        return self._model.population([*names, *gaps], level)

    def _read(self, X: Any, task: ArrayLike) -> tuple[Floats, Integers]:
        check_is_fitted(self, "tasks_")
        columns, code = self._tasks.read(self._columns(X), task)
        self._gaps.check(columns, range(columns.shape[1]))
        return self._gaps.filled(columns), code

    def _columns(self, X: Any) -> Floats:
        columns: Floats = validation.validated(
            self, X, dtype=np.float64, reset=False, ensure_all_finite="allow-nan"
        )
        return columns

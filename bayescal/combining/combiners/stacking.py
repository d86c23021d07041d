"""Stacking: a scikit-learn classifier of the inputs, cross-validated for its thresholds.

With indicators it is STRIVE ("stacked reliability indicator variable ensemble", Bennett's
dissertation, chapter 7). The kernels of STRIVE-S Local (section 7.2.2) let the weights of the base
scores depend on the inputs: K(x, z) = (<x, z> + 1) (<Px, Pz> + 1), where P selects the base scores.
"selected_kernel" keeps in the first factor the inputs that a decision tree uses. Inputs have mean 0
and standard deviation 1; the dissertation's experiments divided by sqrt(E x^2) by mistake (section
7.1.4).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import has_fit_parameter

from bayescal.calibrators.classifier.raw_scores import raw_scores
from bayescal.calibrators.classifier.targets import BINARY
from bayescal.combining.combiners.voting import Combined, Combiner
from bayescal.combining.nested import FiniteEnds, Gaps, Inputs, Labelled, seeded_clone
from bayescal.support.validation import Floats
from bayescal.text.word_models import DecisionTree

# (mean squared length of inputs, number of scores, which come first, seed) -> unfitted classifier.
Make = Callable[[float, int, int], Any]


@dataclass(frozen=True)
class Model:
    """A fitted classifier of inputs."""

    classifier: Any
    scaler: StandardScaler | None
    gaps: Gaps

    def score(self, inputs: Inputs) -> Floats:
        """Return scores of documents."""
        columns = inputs.filled(self.gaps).matrix
        columns = columns if self.scaler is None else self.scaler.transform(columns)
        return raw_scores(self.classifier, columns, BINARY, 1)[:, 0]


@dataclass(frozen=True)
class Stacked(Combined):
    """A fitted classifier of inputs, with held-out scores."""

    model: Model  # fitted to all documents
    cross_validated: Floats = field(repr=False)  # (n,): scores by models of the other folds

    @property
    def held_out(self) -> Floats:
        """Return scores by models that were fitted to other documents."""
        return self._finite(self.cross_validated)

    def score(self, inputs: Inputs) -> Floats:
        """Return scores of documents."""
        return self._finite(self.model.score(inputs))

    @cached_property
    def _ends(self) -> FiniteEnds:
        return FiniteEnds.of(self.cross_validated[:, None])

    def _finite(self, scores: Floats) -> Floats:
        # Probabilities of 0 and 1 have infinite scores.
        return self._ends.finite(scores[:, None])[:, 0]


@dataclass(frozen=True)
class Stacking(Combiner):
    """Stacking by a classifier."""

    make: Make
    normalise: bool = True  # whether inputs are standardised
    gives_log_odds: bool = False
    takes_weights: bool = True

    def fit(
        self, problems: Sequence[Labelled], rng: np.random.Generator, n_jobs: int | None
    ) -> Sequence[Combined]:
        """Return a classifier of each problem, with cross-validated scores."""
        jobs = []
        for labelled in problems:
            parts = [np.arange(labelled.positive.size), *(train for train, _ in labelled.splits())]
            seeds = rng.integers(2**31, size=len(parts)).tolist()
            jobs += [
                delayed(self.fit_model)(labelled.take(rows), seed)
                for rows, seed in zip(parts, seeds, strict=True)
            ]
        models = iter(Parallel(n_jobs=n_jobs)(jobs))
        return [_stacked(labelled, models) for labelled in problems]

    def fit_model(self, labelled: Labelled, seed: int) -> Model:
        """Return the classifier fitted to some documents."""
        gaps, weight = Gaps.of(labelled.inputs.scores), labelled.weight
        columns = labelled.inputs.filled(gaps).matrix
        scaler = StandardScaler() if self.normalise else None
        if scaler is not None:
            columns = scaler.fit_transform(columns, sample_weight=weight)
        length = mean_square_length(columns, weight)
        classifier = self.make(length, labelled.inputs.scores.shape[1], seed)
        params = {} if weight is None else {"sample_weight": weight}
        fitted = classifier.fit(columns, labelled.positive.astype(np.int64), **params)
        return Model(fitted, scaler, gaps)


def of_classifier(classifier: Any, *, normalise: bool) -> Stacking:
    """Return stacking by a classifier of the user's own; clones of it are fitted."""
    return Stacking(
        lambda length, scores, seed: seeded_clone(classifier, lambda: seed),
        normalise,
        # A decision_function may be margins; without one raw scores are log-odds of probabilities.
        gives_log_odds=not hasattr(classifier, "decision_function"),
        takes_weights=has_fit_parameter(classifier, "sample_weight"),
    )


def mean_square_length(columns: Floats, weight: Floats | None = None) -> float:
    """Return the mean of <x, x> over documents."""
    return float(np.average((columns**2).sum(axis=1), weights=weight))


def _stacked(labelled: Labelled, models: Any) -> Stacked:
    model = next(models)
    scores = np.empty(labelled.positive.size)
    for _, held in labelled.splits():
        scores[held] = next(models).score(labelled.inputs.take(held))
    return Stacked(labelled, model, scores)


CACHE = 500.0  # megabytes of kernel values
MOST_STEPS = 2000
# Smaller inner products, as of inputs that differ by rounding alone, are 0 to libsvm, which then
# does not end with a C to match.
SHORTEST = 1e-12


def linear_svc(length: float, seed: int) -> SVC:
    """Return an unfitted linear SVM with C = 1 / mean <x, x>, as in SVM-light, and a free bias."""
    cost = 1.0 / length if length > SHORTEST else 1.0
    return SVC(kernel="linear", C=cost, cache_size=CACHE, random_state=seed)


def product_features(columns: Floats, other: Floats) -> Floats:
    """Return features whose inner products are (<x, z> + 1) (<x', z'> + 1)."""
    one = np.ones((len(columns), 1))
    left, right = np.hstack([columns, one]), np.hstack([other, one])
    return np.asarray((left[:, :, None] * right[:, None, :]).reshape(len(columns), -1))


class LocalKernelSVM(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """The SVM of STRIVE-S Local's kernel, by its explicit features."""

    def __init__(self, scores: int = 1, select: bool = False, random_state: int = 0) -> None:
        self.scores = scores
        self.select = select
        self.random_state = random_state

    def fit(self, X: Floats, y: Any, sample_weight: Floats | None = None) -> Self:
        """Choose the columns, and fit the SVM."""
        self.classes_ = np.unique(y)
        self.columns_: NDArray[np.intp] = np.arange(X.shape[1])
        if self.select:
            used = DecisionTree(random_state=self.random_state).fit(X, y).tree_.tree_.feature
            self.columns_ = np.unique(used[used >= 0])
        features = self._features(X)
        length = mean_square_length(features, sample_weight)
        self.svm_ = linear_svc(length, self.random_state).fit(features, y, sample_weight)
        return self

    def decision_function(self, X: Floats) -> Floats:
        """Return margins, shape (n,)."""
        return np.asarray(self.svm_.decision_function(self._features(X)))

    def _features(self, X: Floats) -> Floats:
        return product_features(X[:, self.columns_], X[:, : self.scores])


# Ways to stack by name, as arguments of `Stacking` beside `normalise`.
STACKING: dict[str, partial[Stacking]] = {
    # Stack-D and STRIVE-D, with smoothed log-odds at the leaves.
    "tree": partial(
        Stacking,
        lambda length, scores, seed: DecisionTree(random_state=seed),
        gives_log_odds=True,
        takes_weights=False,
    ),
    # Stack-S and STRIVE-S; scores are margins.
    "linear_svm": partial(Stacking, lambda length, scores, seed: linear_svc(length, seed)),
    "logistic": partial(
        Stacking,
        lambda length, scores, seed: LogisticRegression(max_iter=MOST_STEPS),
        gives_log_odds=True,
    ),
    # Finer scores than a single tree's. Early stopping would set aside documents, which may be few.
    "boosting": partial(
        Stacking,
        lambda length, scores, seed: HistGradientBoostingClassifier(
            max_iter=100,
            learning_rate=0.05,
            max_leaf_nodes=8,
            early_stopping=False,
            random_state=seed,
        ),
        gives_log_odds=True,
    ),
    "local_kernel": partial(
        Stacking, lambda length, scores, seed: LocalKernelSVM(scores, random_state=seed)
    ),
    "selected_kernel": partial(
        Stacking, lambda length, scores, seed: LocalKernelSVM(scores, True, seed)
    ),
}

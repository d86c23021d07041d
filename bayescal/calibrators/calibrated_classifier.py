"""CalibratedClassifier: any scikit-learn classifier, its probabilities calibrated, with bands."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin
from sklearn.frozen import FrozenEstimator
from sklearn.utils import get_tags, validation
from sklearn.utils.validation import has_fit_parameter

from bayescal.calibrators.classifier import ensemble, folds, score_maps, targets
from bayescal.calibrators.classifier.ensemble import CalibratedPair
from bayescal.calibrators.classifier.fitted_classifier import FittedClassifier, explains_method
from bayescal.calibrators.classifier.raw_scores import check_scoring
from bayescal.calibrators.classifier.targets import BINARY, MULTICLASS, MULTILABEL
from bayescal.calibrators.classifier.wrappers import ProbabilityMatrix
from bayescal.calibrators.estimator import Exported, FittedHTML, curves_html
from bayescal.calibrators.multiclass_calibrator import MulticlassCalibrator
from bayescal.calibrators.topic_calibrator import TopicCalibrator
from bayescal.fitting.curves.curves import blocks, interval_of_draws
from bayescal.fitting.problems.problem import FittedProblem, Problems
from bayescal.fitting.results.calibration import KINDS
from bayescal.fitting.results.diagnostics import Diagnostics
from bayescal.support import validation as checks
from bayescal.support.lazy import BAND, DRAW, KLASS, ROW, rowwise
from bayescal.support.validation import Floats, generator
from bayescal.support.weighting import effective_weights, either_weights, read_clusters

if TYPE_CHECKING:
    import pandas as pd

# Draws for intervals of several classes, which cannot be interpolated in a table since each draw is
# normalised. The ends of a 90 % interval err by a thirtieth of its width; 4,000 draws take four
# times as long and halve the error.
INTERVAL_DRAWS = 1000
PROBABILITIES = "probabilities"  # the estimator is a `ProbabilityMatrix`
ESTIMATOR = "estimator"  # the classifier's name in metadata routing


@explains_method
@dataclass(eq=False, repr=False)
class CalibratedClassifier(
    FittedHTML,
    Exported,
    FittedClassifier,
    ClassifierMixin,  # type: ignore[misc]
    MetaEstimatorMixin,  # type: ignore[misc]
    BaseEstimator,  # type: ignore[misc]
):
    """Calibrate a classifier on scores of documents that it was not trained on.

    This is the counterpart of `sklearn.calibration.CalibratedClassifierCV`, with a posterior. The
    classifier's raw scores (decision_function; else log-odds of predict_proba, never rounded to 0
    or 1) are calibrated, by default by a `ScoreCalibrator`. A `MulticlassCalibrator` calibrates
    more than two classes together; any other calibrator calibrates each class against the rest, and
    each posterior draw is divided by its sum [1]_; priors follow [2]_. With several labels a
    document (y an array of 0 and 1) each label is calibrated by itself, or a `TopicCalibrator`
    pools all.

    Parameters
    ----------
    estimator : classifier or "probabilities", optional
        A classifier with decision_function or predict_proba; LinearSVC by default. One inside a
        `sklearn.frozen.FrozenEstimator` is not fitted again: all documents calibrate it, and `cv`
        and `ensemble` have no effect. "probabilities" calibrates given probabilities: X has a
        column for each class in sorted order, or named by its class, or for each label; with two
        classes the second column is enough.
    calibrator : object or str, optional
        None or "auto" is `MulticlassCalibrator(inference="auto")` for more than two classes, else
        `ScoreCalibrator()`; "one_vs_rest" is `ScoreCalibrator()` for each class. Alternatives are
        instances of these or of `TopicCalibrator`; scikit-learn's "sigmoid", "isotonic" or
        "temperature"; or any object with fit and predict_proba, or a predict that gives
        probabilities, on one column of scores, such as LogisticRegression. Copies are fitted, on
        labels 0 and 1. This package's calibrators with ``scores_are="auto"`` get "scores".
    cv : int, splitter or iterable of splits, optional
        How to split documents into folds; 5 stratified folds by default.
    ensemble : bool or "auto"
        False: the out-of-fold scores of all documents calibrate one classifier, trained on all.
        True or "auto": each fold has a classifier, calibrated on its test part; probabilities are
        averaged. Better for trees and other unstable classifiers, worse with few positives
        (docs/validation/ensembles.md).
    n_jobs : int, optional
        Processes that train folds and fit calibrators.
    random_state : int, numpy Generator, RandomState or None
        Seeds the calibrators; with None each keeps its own random_state.
    positive : label, optional
        The positive one of two classes; see `ScoreCalibrator`.

    Attributes
    ----------
    classes_ : array of shape (classes,), or list of arrays
        In sorted order, whatever `positive`; with several labels [0, 1] for each.
    scores_ : array of shape (n,) or (n, columns)
        The raw scores used for calibration, from classifiers not trained on the documents: of two
        classes for the positive one, else one for each class or label; nan for documents that no
        fold tested.
    labels_ : array of shape (labels,)
        Names of the labels: the columns if y is a DataFrame, else 0, 1, ...
    calibrated_classifiers_ : list
        Pairs of a fitted `estimator` and its `calibrators`: one pair, or one for each fold.
    posterior_ : xarray.DataTree
        The calibrator's tree; with several classes, labels or folds it has a branch for each.
    n_features_in_, feature_names_in_
        The attributes of the estimator, if it has them.

    Examples
    --------
    >>> from bayescal import CalibratedClassifier
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.svm import LinearSVC
    >>> X, y = make_classification(n_samples=200, weights=[0.8], random_state=0)
    >>> classifier = CalibratedClassifier(LinearSVC(), random_state=0).fit(X[:150], y[:150])
    >>> classifier.predict_proba(X[150:]).shape
    (50, 2)
    >>> lower, upper = classifier.predict_interval(X[150:], level=0.9).T
    >>> bool((lower < upper).all())
    True

    References
    ----------
    .. [1] B. Zadrozny and C. Elkan, Transforming classifier scores into accurate multiclass
       probability estimates, KDD 2002.
    .. [2] M. Saerens, P. Latinne and C. Decaestecker, Adjusting the outputs of a classifier to new
       a priori probabilities, Neural Computation 2002.
    """

    estimator: Any = None
    calibrator: Any = None
    _: KW_ONLY
    cv: Any = 5
    ensemble: bool | str = False
    n_jobs: int | None = None
    random_state: Any = None
    positive: Any = None

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: ArrayLike | None = None,
        inclusion: ArrayLike | None = None,
        clusters: ArrayLike | None = None,
        **params: Any,
    ) -> Self:
        """Fit the classifier and calibrate it.

        Parameters
        ----------
        X : array-like, sparse matrix, DataFrame or list of n documents
            Documents in the form that the classifier takes.
        y : array-like of shape (n,) or (n, labels)
            Classes, or 0 and 1 for each label.
        sample_weight : array-like of shape (n,), optional
            Weights for the calibrators and the classifier, of a pipeline for its last step; `fit`
            warns of a classifier that takes none. With metadata routing, for the classifier only
            if it requests them.
        inclusion : array-like of shape (n,), optional
            The probability that each document was labelled; see `ScoreCalibrator.fit`. The
            classifier gets weights 1 / inclusion that sum to the effective sample size.
        clusters : array-like of shape (n,), optional
            Which documents belong together, see `ScoreCalibrator.fit`. Folds keep clusters
            together, and each calibrator counts documents by the design effect.
        **params
            Metadata. Without routing `groups` goes to the splitter, and all else to the classifier.

        Raises
        ------
        ValueError
            If an argument is not as described; if a class, or every label, lacks documents in a
            part of a fold; if one of two classes has a single document; or if the classifier or the
            calibrator takes no weights and there are some.

        Warns
        -----
        UserWarning
            If a class or label cannot be calibrated: a label that never varies, a class without
            documents, too few to train and hold one out, or none of one side in a part of a fold.
            With k positives among n documents its probability is (k + 1)/(n + 2) at any score.
        """
        X, estimator = checks.as_documents(X), self._estimator()
        known = None
        if isinstance(estimator, ProbabilityMatrix):
            estimator = FrozenEstimator(estimator.fit(X, y))
        if isinstance(estimator, FrozenEstimator):
            known = getattr(estimator, "classes_", None)
        target = targets.read_target(y, validation._num_samples(X), self.positive, known)
        check_scoring(estimator, target.kind)
        if not isinstance(self.ensemble, bool | np.bool_) and self.ensemble != "auto":
            raise ValueError(f"ensemble must be True, False or 'auto', got {self.ensemble!r}.")
        weight = either_weights(sample_weight, inclusion, len(target.y))
        named = None
        if clusters is not None:
            names, code = read_clusters(clusters, len(target.y), "y")
            named = names[code]
        weights = None
        if weight is not None:
            weights = "sample_weight" if inclusion is None else "inclusion"
        calibrator = score_maps.read_calibrator(self.calibrator, target.kind, weights)
        if named is not None and not has_fit_parameter(calibrator, "clusters"):
            raise ValueError(
                f"calibrator {type(calibrator).__name__} takes no clusters: give ScoreCalibrator(),"
                " or MulticlassCalibrator() for several classes."
            )
        pooled = isinstance(calibrator, TopicCalibrator | MulticlassCalibrator)
        if not isinstance(estimator, FrozenEstimator):
            target = replace(target, fewest=2)
        elif pooled:
            target = replace(target, population=True)
        fit_params, split_params = folds.route(
            self,
            {ESTIMATOR: estimator},
            effective_weights(sample_weight, inclusion, len(target.y)),
            params,
            called="{name} {kind}",
            others="the calibrators",
        )
        target, columns, parts = folds.score_held_out(
            estimator,
            folds.TrainingDocuments(X, target, fit_params[ESTIMATOR]),
            self.cv,
            split_params,
            # scikit-learn's "auto" means True, since a frozen estimator has no folds.
            ensemble=bool(self.ensemble),
            pooled=pooled,
            clusters=named,
            n_jobs=self.n_jobs,
        )
        self.calibrated_classifiers_ = ensemble.calibrate(
            parts,
            calibrator,
            target,
            weight,
            weights=weights,
            clusters=named,
            columns=columns,
            random_state=self.random_state,
            n_jobs=self.n_jobs,
        )
        self._set_target(target, self.calibrated_classifiers_[0].estimator)
        self.scores_ = self._of_columns(folds.place_scores(parts, target))
        return self

    @rowwise(ROW, KLASS)
    def predict_proba(self, X: Any, prior: Any = None) -> Floats:
        """Return probabilities of all classes, in the order of `classes_`, or of each label.

        Parameters
        ----------
        X : array-like, sparse matrix, DataFrame or list of n documents
            Documents in the form that the classifier takes.
        prior : float, distribution, sequence, mapping or Series, optional
            For two classes, the share of positives among the documents to predict, see
            `ScoreCalibrator.decision_function`, or the shares of both; else a share for each class
            or label, in the order of `classes_` or by name. With more than two classes each draw of
            P(c | x) is multiplied by q_c/r_c and normalised, with q the given shares and r those of
            the documents calibrated on.

        Returns
        -------
        array of shape (n, classes) or (n, labels)
        """
        return np.asarray(np.exp(self.predict_log_proba(X, prior)))

    @rowwise(ROW, KLASS)
    def predict_log_proba(self, X: Any, prior: Any = None) -> Floats:
        """Return logarithms of `predict_proba`, which stay finite where that rounds to 0 or 1."""
        return self._log_proba(X, prior)

    @rowwise(ROW, KLASS)
    def decision_function(self, X: Any, prior: Any = None) -> Floats:
        """Return calibrated natural log-odds: of `classes_[1]`, or of each class or label.

        If `positive` is the first of two classes, these are minus the log-odds of the positive
        class, as in `ScoreCalibrator.decision_function`. Arguments as in `predict_proba`; the shape
        is (n,) or (n, columns).
        """
        pairs = self._pairs()
        if self._kind == MULTICLASS:
            return ensemble.log_odds_of_classes(self._log_proba(X, prior))
        documents, priors = self._features(X), self._priors(prior)
        both = zip(*[pair.log_both(documents, priors) for pair in pairs], strict=True)
        negative, positive = (ensemble.mean_log_proba(list(side)) for side in both)
        # In scikit-learn larger values mean the second class in sorted order.
        return self._of_columns(negative - positive if self._turned else positive - negative)

    @rowwise(ROW, KLASS)
    def predict(self, X: Any, prior: Any = None) -> NDArray[Any]:
        """Return the likeliest class of each document; with several labels 1 where P > 1/2, else 0.

        Arguments as in `predict_proba`.
        """
        log_p = self.predict_log_proba(X, prior)
        if self._kind == MULTILABEL:
            return np.asarray(log_p > -np.log(2.0), dtype=np.int64)
        return np.asarray(np.asarray(self.classes_)[log_p.argmax(axis=1)])

    @rowwise(ROW, KLASS, BAND)
    def predict_interval(
        self, X: Any, level: float = 0.9, kind: str = "pointwise", prior: Any = None
    ) -> Floats:
        """Return posterior intervals of probabilities; lower and upper last.

        Intervals of P(+) of two classes have the shape (n, 2), else those of every class or label
        (n, columns, 2). For more than two classes, and for ensembles, they are quantiles of at most
        1,000 draws in single precision. X and `prior` are as in `predict_proba`, `level` and `kind`
        as in `ScoreCalibrator.predict_interval`; "simultaneous" is for two classes or several
        labels, and not for an ensemble. Raises ValueError if the calibrator has no posterior, or an
        argument is out of range.
        """
        checks.check_fraction(level=level)
        checks.check_choice("kind", kind, KINDS)
        pairs, scores, priors = self._pairs(), self._pair_scores(X), self._priors(prior)
        if len(pairs) == 1 and self._kind != MULTICLASS:
            return self._of_columns(pairs[0].score_map.interval(scores[0], level, kind, priors), 1)
        if kind == "simultaneous":
            raise ValueError(
                "kind='simultaneous' is a band for one curve: several classes and ensembles have"
                " none, use 'pointwise' or 'hdi'."
            )
        # One document shows the number of draws.
        size = len(ensemble.mean_draws(pairs, [one[:1] for one in scores], None, None, priors))
        some = INTERVAL_DRAWS if size > INTERVAL_DRAWS else None

        def ends(block: slice) -> Floats:
            # A document's draws do not depend on the block.
            rng = np.random.default_rng(0)
            draws = ensemble.mean_draws(pairs, [one[block] for one in scores], some, rng, priors)
            # Single precision sorts twice as fast; shortest intervals would have ties.
            draws = draws if kind == "hdi" else draws.astype(np.float32)
            return interval_of_draws(draws, level, kind)

        n, columns = scores[0].shape
        parts = [ends(block) for block in blocks((some or size) * columns, n)]
        return self._of_columns(np.concatenate(parts), 1)

    @rowwise(DRAW, ROW, KLASS)
    def sample_proba(
        self, X: Any, draws: int | None = None, random_state: Any = None, prior: Any = None
    ) -> Floats:
        """Return probabilities of posterior draws; with several classes each draw sums to 1.

        Draws of P(+) for two classes have the shape (draws, n), else draws of every class or label
        (draws, n, columns). X and `prior` are as in `predict_proba`, `draws` and `random_state` as
        in `ScoreCalibrator.sample_proba`. Raises ValueError if the calibrator has no posterior, or
        not so many draws.
        """
        rng = generator(random_state)
        pairs, scores = self._pairs(), self._pair_scores(X)
        return self._of_columns(ensemble.mean_draws(pairs, scores, draws, rng, self._priors(prior)))

    @property
    def posterior_(self) -> xr.DataTree:
        """The posterior of the calibrators."""
        trees = [pair.score_map.posterior() for pair in self._pairs()]
        if len(trees) == 1:
            return trees[0]
        return xr.DataTree(children={f"fold_{k + 1}": tree for k, tree in enumerate(trees)})

    @property
    def diagnostics_(self) -> Diagnostics | dict[str, Diagnostics]:
        """Diagnostics of the draws; for several calibrators by class, label or fold."""
        by_name: dict[str, Diagnostics] = {}
        for fold, pair in self._by_fold():
            alone = len(pair.calibrators) == 1
            names = [""] if alone else map(str, pair.score_map.names.tolist())
            for name, calibrator in zip(names, pair.calibrators, strict=True):
                if not hasattr(calibrator, "diagnostics_"):
                    raise AttributeError(score_maps.no_posterior(calibrator))
                by_name[_joined(name, fold)] = calibrator.diagnostics_
        return by_name.get("", by_name)

    def findings(self, level: float = 0.9) -> tuple[str, ...]:
        """Return `MulticlassCalibrator.findings` if one map fits all classes, else nothing."""
        checks.check_fraction(level=level)
        return tuple(
            f"{fold}: {text}" if fold else text
            for fold, pair in self._by_fold()
            if pair.score_map.of_all_classes
            for text in pair.calibrators[0].findings(level)
        )

    def fitted_problems(self) -> Problems:
        """Return the calibrators' fitted problems, for plots, reports and `bayescal.decisions`.

        For two classes one problem with an empty name; else one for each class or label, with the
        fold in its name if there are several. Raises AttributeError if a calibrator has no
        posterior, or is a `MulticlassCalibrator`, in which no class has a curve of its own score.
        """
        by_name: dict[str, FittedProblem] = {}
        for fold, pair in self._by_fold():
            for column, problem in pair.score_map.problems().items():
                binary = pair.kind == BINARY
                name = _joined("" if binary else column, fold)
                labels = pair.classes if binary else problem.labels
                by_name[name] = replace(problem, name=name, labels=labels)
        names = list(by_name)
        return Problems(names, lambda k: by_name[names[k]], by_topic=names != [""])

    def get_metadata_routing(self) -> Any:
        """Return the router of fit's metadata; see scikit-learn's guide."""
        return folds.router_of(self, {ESTIMATOR: self._estimator()})

    def __sklearn_tags__(self) -> Any:
        tags, inner = super().__sklearn_tags__(), get_tags(self._estimator())
        tags.input_tags = inner.input_tags
        if inner.classifier_tags is not None:
            tags.classifier_tags = inner.classifier_tags
        return tags

    def problem_scores(self, X: Any) -> Floats:
        """Return the scores of documents; see `FittedClassifier.problem_scores`."""
        if len(self._pairs()) > 1:
            raise ValueError(
                "an ensemble gives no single score of held-out documents: fit with ensemble=False."
            )
        return self._pair_scores(X)[0]

    def _summary(self, level: float) -> pd.DataFrame:
        import pandas as pd

        if not self._pairs()[0].score_map.of_all_classes:
            return super()._summary(level)
        tables: dict[str, pd.DataFrame] = {
            fold: pair.calibrators[0].summary(level) for fold, pair in self._by_fold()
        }
        return tables[""] if "" in tables else pd.concat(tables, names=["fold"])

    def _kept_columns(self) -> NDArray[np.bool_] | slice:
        return self._pairs()[0].score_map.kept

    def _features(self, X: Any) -> Any:
        """Return documents as the classifier takes them."""
        return checks.as_documents(X)

    def _estimator(self) -> Any:
        if isinstance(self.estimator, str) and self.estimator == PROBABILITIES:
            return ProbabilityMatrix()
        if self.estimator is not None:
            return self.estimator
        from sklearn.svm import LinearSVC

        default = LinearSVC(random_state=0)
        return default.set_fit_request(sample_weight=True) if folds.routing_enabled() else default

    def _pairs(self) -> list[CalibratedPair]:
        validation.check_is_fitted(self, "calibrated_classifiers_")
        return self.calibrated_classifiers_

    def _by_fold(self) -> list[tuple[str, CalibratedPair]]:
        """Return the pairs with the names of their folds, if there are several."""
        pairs = self._pairs()
        return [("" if len(pairs) == 1 else f"fold {k}", each) for k, each in enumerate(pairs, 1)]

    def _priors(self, prior: Any) -> score_maps.Priors:
        """Return the class prior of each column."""
        return ensemble.priors_of(self._kind, self._names, prior)

    def _pair_scores(self, X: Any) -> list[Floats]:
        """Return the scores of documents by each pair's classifier."""
        pairs, documents = self._pairs(), self._features(X)
        return [pair.scores(documents) for pair in pairs]

    def _log_proba(self, X: Any, prior: Any) -> Floats:
        """Return the log of the pairs' mean; subclasses override `predict_log_proba`."""
        pairs, documents = self._pairs(), self._features(X)
        priors = self._priors(prior)
        return ensemble.mean_log_proba([pair.log_proba(documents, priors) for pair in pairs])

    def _exported(self) -> Any:
        pairs = self._pairs()
        of_all = pairs[0].score_map.of_all_classes
        if len(pairs) > 1 or (self.several_classes and not of_all):
            raise ValueError(
                "an exported file has one map, but an ensemble, and classes each calibrated against"
                " the rest, have several: fit with ensemble=False and calibrator='auto'."
            )
        return pairs[0].calibrators[0] if of_all else self

    def _fitted_html(self) -> str | None:
        pair = self._pairs()[0]
        if pair.score_map.of_all_classes:
            shown: str | None = pair.calibrators[0]._fitted_html()
            return shown
        return curves_html(self, len(self.scores_))


def _joined(*names: str) -> str:
    return ", ".join(name for name in names if name)

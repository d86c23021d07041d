"""CombinedClassifier: several classifiers combined into one, with bands."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike, NDArray
from scipy.special import log_expit
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import _num_samples, check_is_fitted

from bayescal.calibrators.classifier import ensemble
from bayescal.calibrators.classifier.fitted_classifier import FittedClassifier
from bayescal.calibrators.classifier.folds import route, router_of
from bayescal.calibrators.classifier.raw_scores import read_classifiers
from bayescal.calibrators.classifier.targets import BINARY, MULTICLASS, MULTILABEL, read_target
from bayescal.calibrators.estimator import FittedHTML, chosen_draws, curves_html
from bayescal.combining.combination_problem import Combination
from bayescal.combining.combiners import read_combiner
from bayescal.combining.combiners.bayes import Bayesian
from bayescal.combining.combiners.measures import MEASURES
from bayescal.combining.nested import (
    BinaryProblem,
    Inputs,
    binary_problems,
    fit_nested,
    rates_of_few,
)
from bayescal.fitting.curves.curves import INTERVALS, interval_of_draws
from bayescal.fitting.problems.problem import Problems
from bayescal.fitting.results.tree import describe
from bayescal.support import validation, weighting
from bayescal.support.lazy import BAND, DRAW, KLASS, ROW, rowwise
from bayescal.support.numerics import probability
from bayescal.support.validation import Floats

if TYPE_CHECKING:
    import pandas as pd
    from sklearn.utils.metadata_routing import MetadataRouter

    from bayescal.fitting.results.diagnostics import Diagnostics

# Documents times problems at a time: with a thousand draws each, 64 MB.
BLOCK = 8_000


def _gives_probabilities(estimator: CombinedClassifier) -> bool:
    if not estimator._has_probabilities:
        raise AttributeError(
            f"combiner {estimator.combiner!r} gives scores and no probabilities: use 'bayes' or"
            " 'logistic', or calibrate it by CalibratedClassifier."
        )
    return True


@dataclass(eq=False, repr=False)
class CombinedClassifier(
    FittedHTML,
    FittedClassifier,
    ClassifierMixin,  # type: ignore[misc]
    MetaEstimatorMixin,  # type: ignore[misc]
    BaseEstimator,  # type: ignore[misc]
):
    """Combine classifiers by their scores of documents that they were not trained on.

    In each fold the base classifiers, and indicators of their reliability, are fitted to the
    training part and applied to the held-out part. A combiner is fitted to all held-out scores,
    and the base classifiers once more to all documents (stacking; with indicators Bennett's
    STRIVE). Each of several classes or labels is a binary problem of its own against the rest. One
    with fewer than two documents on a side is no problem: its base rate (k + 1)/(n + 2) answers.

    Parameters
    ----------
    classifiers : list of (str, classifier)
        What to combine; each has fit and decision_function or predict_proba.
    indicators : transformer, optional
        With fit(X, y) and transform(X), whose columns the combiner gets beside the scores, such as
        `bayescal.combining.indicators.ReliabilityIndicators`, which takes the classifiers fitted
        here if its own have the same names.
    combiner : str or classifier
        "bayes", the default: calibrated log-odds weighed by a Bayesian logistic model, with bands;
        "logistic" or any scikit-learn classifier: stacking by it, with probabilities by logistic
        regression, gradient boosting and classifiers without a `decision_function`.
    cv : int, splitter or iterable of splits
        A number of stratified folds, lowered to the number of documents of the rarer class.
    normalise : bool
        Whether to standardise the combiner's inputs, which linear combiners need.
    allow_missing : bool
        Whether classifiers may give nan for documents that they did not score. "bayes" estimates
        P(positive | no score) of each; stacking fills in the mean and adds a column of gaps. Only
        scores that some of the documents fitted lack may be missing later.
    measure : str, optional
        Measure that `predict` optimises for two classes and for labels: "error", "f1", "cost_1_10"
        (a missed positive costs ten times a false one) or "cost_10_1". By default the sign of
        `decision_function` decides.
    positive : label, optional
        Class of two that intervals, draws, decisions, `scores_` and reports are about; by default
        as in `ScoreCalibrator`.
    n_jobs : int, optional
        Processes.
    random_state : int, numpy Generator, RandomState or None
        Seeds combiner and calibrators; base classifiers keep their own.

    Attributes
    ----------
    classes_ : array of shape (classes,), or list of arrays
        In sorted order, whatever `positive`; with several labels [0, 1] for each.
    labels_ : array of shape (labels,)
        Names of y's columns if it is a DataFrame, else 0, 1, ...
    classifiers_ : list of dict of str to classifier
        The fitted base classifiers of each binary problem.
    base_scores_ : list of array of shape (n, classifiers)
        Held-out scores of each binary problem; nan for documents that no fold held out or the
        classifier did not score.
    scores_ : array of shape (n,) or (n, columns)
        Held-out combined scores of the documents fitted; log-odds if there are probabilities.
    thresholds_ : dict of str to array of shape (columns,)
        By measure, the best threshold on `scores_`, for costs of "bayes" Bayes' rule; nan where a
        base rate answers.
    design_effects_ : list of bayescal.inference.design_effect.DesignEffect or None
        The design effect of clusters in each binary problem; None without any.
    posterior_ : xarray.DataTree
        Draws of bias, weights and shifts, with a branch for each of several classes or labels.
    n_features_in_, feature_names_in_
        As in the first classifier.

    References
    ----------
    P. N. Bennett, Building Reliable Metaclassifiers for Text Learning, 2006, chapter 7.

    Examples
    --------
    >>> from bayescal import CombinedClassifier
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from sklearn.svm import LinearSVC
    >>> X, y = make_classification(n_samples=300, weights=[0.8], random_state=0)
    >>> pair = [("svm", LinearSVC()), ("naive_bayes", GaussianNB())]
    >>> combined = CombinedClassifier(pair, random_state=0).fit(X[:200], y[:200])
    >>> combined.predict_proba(X[200:]).shape
    (100, 2)
    >>> combined.predict_interval(X[200:], level=0.9).shape
    (100, 2)
    """

    classifiers: Sequence[tuple[str, Any]]
    _: KW_ONLY
    indicators: Any = None
    combiner: Any = "bayes"
    cv: Any = 5
    normalise: bool = True
    allow_missing: bool = False
    measure: str | None = None
    positive: Any = None
    n_jobs: int | None = None
    random_state: Any = None

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: ArrayLike | None = None,
        inclusion: ArrayLike | None = None,
        clusters: ArrayLike | None = None,
        **params: Any,
    ) -> Self:
        """Fit the base classifiers, in folds and to all documents, and the combiner.

        Parameters
        ----------
        X, y, sample_weight, **params
            As in `CalibratedClassifier.fit`, for all classifiers.
        inclusion : array-like of shape (n,), optional
            The probability that the document was labelled. A document of the smallest one counts as
            one, others as less, so that bands are no narrower than the weighted estimate varies.
        clusters : array-like of shape (n,), optional
            Which documents belong together, see `ScoreCalibrator.fit`. Folds keep clusters
            together, and combiners with probabilities, such as "bayes", count documents by the
            design effect of each binary problem, `design_effects_`.

        Raises
        ------
        ValueError
            If an argument is not as described, no class or label has two documents on either side,
            or an indicator gives nan, or a classifier without `allow_missing`.
        """
        classifiers = read_classifiers(self.classifiers)
        X, target = (validation.as_documents(X), read_target(y, _num_samples(X), self.positive))
        if self.measure is not None:
            validation.check_choice("measure", self.measure, tuple(MEASURES))
        validation.check_flag(allow_missing=self.allow_missing)
        if self.indicators is not None:
            methods = "fit", "transform"
            validation.check_instance("indicators", self.indicators, "a transformer", *methods)
        weight = weighting.either_weights(sample_weight, inclusion, len(target.y), as_evidence=True)
        if weight is not None and inclusion is not None:
            weight = weight / weight.max()
        named = None
        if clusters is not None:
            names, code = weighting.read_clusters(clusters, len(target.y), "y")
            named = names[code]
        combiner = read_combiner(
            self.combiner, normalise=self.normalise, weighted=weight is not None
        )
        fit_params, split_params = route(
            self,
            classifiers,
            sample_weight if inclusion is None else weight,
            params,
            called="classifier {name!r} ({kind})",
            others="the combiner",
        )
        targets = binary_problems(target)
        self._rates = rates_of_few(target, weight)
        self._columns = target.columns[self._kept_columns()].tolist()
        kept = [each for each, known in zip(targets, self._kept_columns(), strict=True) if known]
        problems = [
            BinaryProblem.of(problem, X, fit_params, self.cv, split_params, named)
            for problem in kept
        ]
        nested = fit_nested(
            classifiers, self.indicators, problems, weight, self.n_jobs, self.allow_missing
        )
        labelled, rng = [each.labelled for each in nested], validation.generator(self.random_state)
        self._combined = combiner.fit(labelled, rng, self.n_jobs)
        self.design_effects_ = None
        if named is not None and combiner.gives_log_odds and combiner.takes_weights:
            self.design_effects_ = [
                own.effect(combined.held_out, named, sampled=inclusion is not None)
                for own, combined in zip(nested, self._combined, strict=True)
            ]
            labelled = [
                each.divided_by(effect.factor)
                for each, effect in zip(labelled, self.design_effects_, strict=True)
            ]
            self._combined = combiner.fit(labelled, rng, self.n_jobs)
        self._members = [each.members for each in nested]
        self.classifiers_ = [members.classifiers for members in self._members]
        self._set_target(target, next(iter(self.classifiers_[0].values())))
        n, pairs = len(target.y), list(zip(nested, self._combined, strict=True))
        self.base_scores_ = [own.scatter(own.labelled.inputs.scores, n) for own, _ in pairs]
        held_out = np.stack([own.scatter(combined.held_out, n) for own, combined in pairs], axis=1)
        scores = self._every_column(held_out, np.nan)
        self.scores_ = self._of_columns(scores)
        self.thresholds_ = {
            name: self._every_column(
                np.array([each.thresholds[name] for each in self._combined]), np.nan
            )
            for name in MEASURES
        }
        return self

    @rowwise(ROW, KLASS)
    def decision_function(self, X: Any) -> Floats:
        """Return combined scores: (n,) of `classes_[1]`, or (n, columns) of each class or label.

        They are natural log-odds if the combiner has probabilities. X as in `fit`.
        """
        scores = self._scores(self._inputs(X))
        if self._kind == BINARY:
            return -scores[:, 0] if self._turned else scores[:, 0]
        if self._kind == MULTICLASS and self._has_probabilities:
            return ensemble.log_odds_of_classes(self._log_proba(scores))
        return scores

    @rowwise(ROW, KLASS)
    def predict(self, X: Any) -> NDArray[Any]:
        """Return the class of each document, or 0 and 1 for each label; X as in `fit`."""
        inputs, classes = self._inputs(X), self._names
        if self._kind == MULTICLASS:
            return np.asarray(classes[self._scores(inputs).argmax(axis=1)])
        measure = self.measure
        taken = self._scores(inputs) > 0.0 if measure is None else self._decide(inputs, measure)
        if self._kind == MULTILABEL:
            return np.asarray(taken, dtype=np.int64)
        return np.asarray(classes[taken[:, 0].astype(np.intp)])

    @rowwise(ROW, KLASS)
    def decide(self, X: Any, measure: str) -> NDArray[np.bool_]:
        """Return decisions by the thresholds that are best by a measure, (n,) or (n, columns).

        Parameters
        ----------
        X
            As in `fit`.
        measure : {"error", "f1", "cost_1_10", "cost_10_1"}
            Measure that the combiner's, or the voting classifiers', thresholds optimise.
        """
        validation.check_choice("measure", measure, tuple(MEASURES))
        return self._of_columns(self._decide(self._inputs(X), measure))

    @available_if(_gives_probabilities)  # type: ignore[untyped-decorator]
    @rowwise(ROW, KLASS)
    def predict_proba(self, X: Any) -> Floats:
        """Return probabilities of all classes, or of each label; X as in `fit`."""
        return np.asarray(np.exp(self.predict_log_proba(X)))

    @available_if(_gives_probabilities)  # type: ignore[untyped-decorator]
    @rowwise(ROW, KLASS)
    def predict_log_proba(self, X: Any) -> Floats:
        """Return natural logarithms of `predict_proba`; X as in `fit`."""
        log_p = self._log_proba(self._scores(self._inputs(X)))
        return log_p[:, ::-1] if self._turned else log_p

    @rowwise(ROW, KLASS, BAND)
    def predict_interval(self, X: Any, level: float = 0.9, kind: str = "pointwise") -> Floats:
        """Return posterior intervals of probabilities, as `CalibratedClassifier.predict_interval`.

        They account for the uncertainty of the calibration curves and of the weights; `kind` is
        "pointwise" for equal tails, or "hdi" for the shortest interval. Raises ValueError if the
        combiner has no posterior, or an argument is out of range.
        """
        validation.check_fraction(level=level)
        validation.check_choice("kind", kind, INTERVALS)
        inputs = self._inputs(X)
        n = len(inputs[0].scores)
        parts = [
            interval_of_draws(self._sample([own.take(rows) for own in inputs]), level, kind)
            for rows in np.array_split(np.arange(n), max(1, -(-n * len(inputs) // BLOCK)))
        ]
        return self._of_columns(np.concatenate(parts), 1)

    @rowwise(DRAW, ROW, KLASS)
    def sample_proba(self, X: Any, draws: int | None = None, random_state: Any = None) -> Floats:
        """Return probabilities of posterior draws, as `CalibratedClassifier.sample_proba`.

        Raises ValueError if the combiner has no posterior, or not so many draws.
        """
        out = self._sample(self._inputs(X))
        chosen = chosen_draws(draws, len(out), random_state)
        return self._of_columns(out if chosen is None else out[chosen])

    def weights(self, level: float = 0.9) -> pd.DataFrame:
        """Return the posterior of the classifiers' weights and of the bias, for "bayes".

        Parameters
        ----------
        level : float
            Probability of the equal-tailed interval.

        Returns
        -------
        pandas.DataFrame
            Columns mean, lower, upper; rows (problem, coefficient): "bias", the classifiers, the
            indicators by their `get_feature_names_out`, else "indicator 0", ...

        Raises
        ------
        ValueError
            If the combiner has no posterior.
        """
        import pandas as pd

        validation.check_fraction(level=level)
        tables = {name: each.coefficients(level) for name, each in self._combinations().items()}
        return pd.DataFrame(pd.concat(tables, names=["problem"]))

    @property
    def posterior_(self) -> xr.DataTree:
        """Draws of bias and weights; with several classes or labels a branch for each."""
        combinations = self._combinations(AttributeError)
        # A slash would open a path.
        trees = {name.replace("/", "|"): each.tree for name, each in combinations.items()}
        binary = self._kind == BINARY
        return next(iter(trees.values())) if binary else xr.DataTree(children=trees)

    @property
    def diagnostics_(self) -> Diagnostics | dict[str, Diagnostics]:
        """Diagnostics of the draws; with several classes or labels by their names."""
        combinations = self._combinations(AttributeError)
        by_name = {name: each.diagnostics for name, each in combinations.items()}
        return next(iter(by_name.values())) if self._kind == BINARY else by_name

    def fitted_problems(self) -> Problems:
        """Return the combinations as fitted problems, for plots, reports and `bayescal.decisions`.

        One problem for two classes, under the empty name; else one for each class or label. Its
        score is the combined log-odds, its curve that score's probability, and its band that of
        P(+) among documents of the score. Raises AttributeError if the combiner has no posterior.
        """
        combinations = list(self._combinations(AttributeError).values())
        names = [""] if self._kind == BINARY else [str(name) for name in self._columns]
        return Problems(
            names, lambda k: combinations[k].problem(names[k]), by_topic=self._kind != BINARY
        )

    def get_metadata_routing(self) -> MetadataRouter:
        """Return who may get which metadata of fit; see scikit-learn's guide."""
        return router_of(self, read_classifiers(self.classifiers))

    def problem_scores(self, X: Any) -> Floats:
        """Return the combined log-odds of documents; see `FittedClassifier.problem_scores`."""
        return self._combined_scores(self._inputs(X))

    def _fitted_html(self) -> str | None:
        # A combiner without posterior has no curve, so scikit-learn's display stays.
        combined = getattr(self, "_combined", [])
        if not combined or not all(isinstance(each, Bayesian) for each in combined):
            return None
        return curves_html(self, len(self.base_scores_[0]))

    @property
    def _has_probabilities(self) -> bool:
        return read_combiner(self.combiner, normalise=True, weighted=False).gives_log_odds

    def _inputs(self, X: Any) -> list[Inputs]:
        check_is_fitted(self, "classes_")
        documents = validation.as_documents(X)
        return [members.inputs(documents) for members in self._members]

    def _kept_columns(self) -> NDArray[np.bool_]:
        return np.asarray(np.isnan(self._rates[:, 0]), dtype=np.bool_)

    def _every_column(self, kept: NDArray[Any], others: Any) -> NDArray[Any]:
        """Return an array whose last axis has the kept columns and, in the rest, `others`."""
        out = np.empty((*kept.shape[:-1], len(self._rates)), dtype=kept.dtype)
        out[..., self._kept_columns()], out[..., ~self._kept_columns()] = kept, others
        return out

    @property
    def _log_odds_of_rates(self) -> Floats:
        alpha, beta = self._rates[~self._kept_columns()].T
        return np.asarray(np.log(alpha / beta))

    def _combined_scores(self, inputs: list[Inputs]) -> Floats:
        pairs = zip(self._combined, inputs, strict=True)
        return np.stack([combined.score(own) for combined, own in pairs], axis=1)

    def _scores(self, inputs: list[Inputs]) -> Floats:
        return self._every_column(self._combined_scores(inputs), self._log_odds_of_rates)

    def _decide(self, inputs: list[Inputs], measure: str) -> NDArray[np.bool_]:
        pairs = zip(self._combined, inputs, strict=True)
        taken = np.stack([combined.decide(own, measure) for combined, own in pairs], axis=1)
        limit = MEASURES[measure].log_odds or 0.0
        return self._every_column(taken, self._log_odds_of_rates > limit)

    def _log_proba(self, scores: Floats) -> Floats:
        return ensemble.log_proba_of(self._kind, log_expit(-scores), log_expit(scores))

    def _posteriors(self, error: type[Exception] = ValueError) -> list[Bayesian]:
        check_is_fitted(self, "classes_")
        posteriors = [each for each in self._combined if isinstance(each, Bayesian)]
        if len(posteriors) < len(self._combined):
            raise error(
                f"combiner {self.combiner!r} has no posterior, so no intervals, draws, plots or"
                " reports: use 'bayes'."
            )
        return posteriors

    def _combinations(self, error: type[Exception] = ValueError) -> dict[str, Combination]:
        """Return the Bayesian combinations by the names of their classes or labels."""
        posteriors = self._posteriors(error)
        labels = self._names if self._kind == BINARY else np.array([0, 1])
        classifiers = [name for name, _ in self.classifiers]
        params = self.get_params(deep=False) | {"classifiers": classifiers}
        return {
            name: Combination(
                each,
                classifiers,
                members.indicator_names(each.scale.low.size),
                labels,
                str(self.combiner),
                describe(type(self).__name__, params | {"problem": name}, labels),
            )
            for name, each, members in zip(
                map(str, self._columns), posteriors, self._members, strict=True
            )
        }

    def _sample(self, inputs: list[Inputs]) -> Floats:
        pairs = zip(self._posteriors(), inputs, strict=True)
        draws = np.stack([probability(each.sample(own)) for each, own in pairs], axis=2)
        alpha, beta = self._rates[~self._kept_columns()].T
        # A fixed seed: the draws are the same in every call.
        rates = np.random.default_rng(0).beta(alpha, beta, (len(draws), alpha.size))
        return ensemble.on_simplex(self._kind, self._every_column(draws, rates[:, None]))

"""The estimator for many topics, whose class densities share a population."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import ClassifierTags

from bayescal.calibrators.estimator import FittedEstimator, chosen_draws, picture_html
from bayescal.fitting.fitted_topics import FittedTopics, TopicParameters, fit_topic_scores
from bayescal.fitting.parts.combination import read_lapse
from bayescal.fitting.parts.part import COMBINATION
from bayescal.fitting.problems.problem import Problems
from bayescal.fitting.results import diagnostics
from bayescal.fitting.results.calibration import KINDS, Priors, TopicCurves
from bayescal.fitting.results.out_of_core import Last, read_lazily
from bayescal.fitting.results.topics import at_topic
from bayescal.fitting.results.tree import LIKELIHOOD
from bayescal.fitting.scores import Cells, read_cells
from bayescal.support.lazy import BAND, DRAW, ENDS, KLASS, ROW, as_given
from bayescal.support.parallel import workers
from bayescal.support.validation import Floats, check_choice, check_fraction, is_lazy

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

SHOWN = 12  # topics in a notebook


@dataclass(eq=False, repr=False)
class TopicCalibrator(FittedEstimator[FittedTopics], TopicParameters):
    """Calibrate the scores of many topics at once, so that topics with few positives borrow.

    P(+ | s, topic t) follows by Bayes' rule from class densities p(s | +, t) and p(s | -, t). Their
    modes, shares and widths are draws from a population for each class, which is estimated from
    all topics: topics with three positives borrow from the others, topics with hundreds hardly do.
    docs/prior.md shows how to start new topics from a history.

    Parameters
    ----------
    pooling : {"partial", "none", "complete"}
        "partial" fits the topics around a population, "none" every topic by itself, and "complete"
        one density for all topics.
    parts : {"auto", "combined", "densities"} or the name of a family
        The models of each topic's curve. "combined" weighs asymmetric Laplace and Gaussian
        densities around their populations, both recalibrated by one monotone curve for all topics,
        and monotone log-odds around their population; "densities" are asymmetric Laplace; the name
        of a family stands for its densities. "auto" is "combined" for partial pooling by "exact",
        else "densities".
    new_topics : {"population", "error"}
        How to predict for a topic that was not fitted: "population" treats it as a topic without
        documents, with wide bands (without pooling, by the priors alone); "error" raises.
    inference : {"exact", "nuts"} or bayescal.NUTS
        The fast engine, or PyMC's NUTS on the same model (models/topics.py), which takes minutes,
        for partial pooling and densities of one family. There is neither "mle" nor "map": the joint
        density of topics and their population is highest where the population has no width.
    prior_knowledge : dict, optional
        Hyperparameters of the priors that differ from the default. For pooling="partial", the
        keyword arguments of the program models/topics.py: location, log_scale, logit_share,
        log_concentration, log_shape and log_width of the densities, logit_rate and log_documents of
        the base rates, each the mean and the standard deviation of a normal prior, as in
        ``{"log_scale": (0.0, 0.5)}``; and centre and spread, the units of the scores. A combination
        also has intercept_location, log_intercept_scale, slope_location and log_slope_scale of its
        monotone log-odds, in the same form, and n_segments, the number of their straight pieces.
        With pooling="none" they are those of `Densities`, such as theta_scale, for every topic;
        with "complete" too, except that base rates keep logit_rate and log_documents.
    scores_are : {"auto", "scores", "log_odds", "probabilities"}
        Meaning of the scores; probabilities are calibrated by their log-odds. "auto" is "scores",
        with a warning if all of them lie in [0, 1].
    positive, point
        As in `ScoreCalibrator`.
    lapse : "auto" or float
        As in `ScoreCalibrator`, with one rate for all topics. Only the combination has lapses.
    draws, chains : int
        Number of posterior draws in each chain, and of chains; with "exact" nearly all draws are
        independent.
    random_state : int, numpy Generator, RandomState or None
        Seeds the engine; the same seed gives the same bits, whatever `n_jobs`.
    n_jobs : int, optional
        Workers of the current joblib backend that fit topics. None uses the settings of
        `joblib.parallel_config`, else all workers of the active dask.distributed client, else this
        process.
    memory : str, Path or joblib.Memory, optional
        A folder that caches fitted topics: a fit that was killed resumes from there if scores,
        parameters and seed are the same.

    Attributes
    ----------
    topics_ : array of shape (topics,)
        Names of the topics, in sorted order.
    classes_ : array of shape (2,)
        The labels in sorted order, as in the columns of `predict_proba`.
    flagged_ : dict
        Problems of single topics, by name: topics without documents of a class, for which the
        population stands in (documents of a topic whose scores are all equal do not count), and
        topics whose positives lie below their negatives, unlike in other topics.
    design_effect_ : bayescal.inference.design_effect.DesignEffect or None
        The design effect of clusters on all topics; None for a fit without any.
    score_problems_ : tuple of str
        Problems of the scores of all topics, and what to do; `fit` and `add_topics` also warn
        (`bayescal.ScoresWarning`).
    combination_ : pandas.DataFrame
        For each part of a combination, its weight for a topic without labels, its leave-one-out log
        score over all topics (elpd, in natural logarithms) and the standard error of its difference
        from the best. `posterior_["combination"]["weight"]` has each topic's own weights.
    population_ : TopicCalibrator
        The calibrator without its topics, from which `add_topics` starts new ones.
    posterior_ : xarray.DataTree
        Groups as in `ScoreCalibrator`, with the dimension topic: posterior (chain, draw, klass,
        topic), draws in raw score units, constant_data and maximum_likelihood; for a combination
        also groups of its other parts, and combination, their weights; with "nuts" sample_stats.
        Groups below population belong to a topic without documents, and hold hyperparameters.
        Groups whose names contain engine_draws are in the engine's own coordinates.
    diagnostics_ : bayescal.fitting.results.diagnostics.Diagnostics
        Quality of the draws of every part, and the topics whose draws are unreliable; with "nuts"
        also R-hat, effective sample sizes and divergences of topics and population.

    Examples
    --------
    >>> import numpy as np
    >>> from bayescal import TopicCalibrator
    >>> rng = np.random.default_rng(0)
    >>> labels = np.tile(np.repeat([0, 1], [20, 4]), 5)
    >>> topics = np.repeat(["corn", "crude", "earn", "grain", "ship"], 24)
    >>> scores = rng.normal(3.0 * labels, 1.0)
    >>> calibrator = TopicCalibrator(random_state=0).fit(scores, labels, topics)
    >>> calibrator.predict_proba([-1.0, 4.0], ["corn", "corn"])[:, 1].round(1)
    array([0., 1.])
    """

    _fit_type = FittedTopics

    # Both concern the machine that fits, and are not saved.
    _: KW_ONLY
    n_jobs: int | None = None
    memory: Any = None

    def fit(
        self,
        scores: Any,
        labels: Any = None,
        topics: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        inclusion: ArrayLike | None = None,
        *,
        clusters: ArrayLike | None = None,
    ) -> Self:
        """Fit all topics.

        Parameters
        ----------
        scores : array-like of shape (n,) or (documents, topics), DataFrame or DataArray
            Raw scores, larger for likelier positives. A DataFrame has the columns score, label and
            topic.
        labels : array-like of the shape of scores
            Two values; nan for documents without a label. None for a DataFrame.
        topics : array-like, optional
            The topic of each long score, all strings or all whole numbers; for wide scores the
            names of the columns.
        sample_weight : array-like of the shape of scores or (documents,), a number, optional
            As in `ScoreCalibrator.fit`, up to the Monte Carlo error of the combination's log
            scores. A weight for each score or row, or for each wide document in all its topics.
        inclusion : array-like of the same shapes, a number, optional
            As in `ScoreCalibrator.fit`: all parts are weighted, and only ratios within a topic
            matter. `add_topics` and histories need fits without it.
        clusters : array-like of shape (n,) or (documents,), optional
            Which documents belong together, as in `ScoreCalibrator.fit`: one name for each long
            score, or each wide document. Documents depend on each other within a topic; one design
            effect is estimated for all topics, and all are fitted twice. `add_topics` needs fits
            without it.
        """
        data = scores, labels, topics, sample_weight, inclusion, clusters
        with workers(self.n_jobs, self.memory):
            fitted = fit_topic_scores(self._parameters(), *data)
        self._fitted = fitted
        fitted.warn()
        return self

    def decision_function(
        self, scores: Any, topics: ArrayLike | None = None, prior: Priors | None = None
    ) -> Floats:
        """Return calibrated natural log-odds of `classes_[1]`, of the shape of the scores.

        As in `ScoreCalibrator.decision_function`, `classes_[1]` is the negative class if `positive`
        is the first in sorted order; `sample_proba`, `predict_interval` and the P(+) of wide scores
        always refer to the positive class.

        For dask arrays, and for xarray or DataFrames that hold them, this and the other methods
        return lazy results, which Dask computes block by block.

        Parameters
        ----------
        scores : array-like of shape (n,) or (documents, topics), DataFrame or DataArray
            Raw scores; a long DataArray may have the topics as coordinate "topic".
        topics : array-like, optional
            The topic of each score, as in `fit`.
        prior : float, array-like or frozen scipy.stats distribution, or mapping, optional
            P(+) among the documents to predict, as in `ScoreCalibrator.decision_function`: one for
            all topics, or a mapping from fitted topics.

        Raises
        ------
        ValueError
            If a topic was not fitted and `new_topics` is "error", or a prior is not inside (0, 1).
        """
        read = partial(TopicCurves.decision, prior=self._fit.checked(prior))
        return self._read(read, scores, topics)

    def predict_proba(
        self, scores: Any, topics: ArrayLike | None = None, prior: Priors | None = None
    ) -> Floats:
        """Return P of both classes, (n, 2), or P(+) of wide scores; see `decision_function`."""
        return self._of_both_classes(TopicCurves.proba, scores, topics, prior)

    def predict_log_proba(
        self, scores: Any, topics: ArrayLike | None = None, prior: Priors | None = None
    ) -> Floats:
        """Return natural logarithms of `predict_proba`, finite also where it rounds to 0."""
        return self._of_both_classes(TopicCurves.log_proba, scores, topics, prior)

    def predict_interval(
        self,
        scores: Any,
        topics: ArrayLike | None = None,
        level: float = 0.9,
        kind: str = "pointwise",
        prior: Priors | None = None,
    ) -> Floats:
        """Return the posterior interval of P(+|s); lower and upper last.

        Scores, topics and `prior` are as in `decision_function`, `level` and `kind` as in
        `ScoreCalibrator.predict_interval`. A simultaneous band covers the range of a topic's
        densities, since the calibrator does not keep scores.
        """
        check_fraction(level=level)
        check_choice("kind", kind, KINDS)
        read = partial(TopicCurves.interval, level=level, kind=kind, prior=self._fit.checked(prior))
        return self._read(read, scores, topics, (BAND, ENDS))

    def sample_proba(
        self,
        scores: Any,
        topics: ArrayLike | None = None,
        draws: int | None = None,
        random_state: Any = None,
        prior: Priors | None = None,
    ) -> Floats:
        """Return P_k(+|s) of posterior draws k; of the shape of the scores, draws first.

        Scores, topics and `prior` are as in `decision_function`, other arguments as in
        `ScoreCalibrator.sample_proba`.
        """
        size = self._fit.curves.draws
        index = chosen_draws(draws, size, random_state)
        read = partial(_draws_last, index=index, prior=self._fit.checked(prior))
        last = DRAW, list(range(size if index is None else index.size))
        answer: Any = self._read(read, scores, topics, last)
        named = hasattr(answer, "coords")
        first: Floats = answer.transpose(DRAW, ...) if named else np.moveaxis(answer, -1, 0)
        return first

    def add_topics(
        self,
        scores: Any,
        labels: Any = None,
        topics: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Add topics around the fitted population, each as if it were the only new one.

        A new topic's posterior equals that of a fit to this topic and to all topics behind the
        population. Its documents update its own parameters and the weights of the population's
        draws. The new topics do not inform each other, and `population_` is unchanged: a joint fit
        to all documents, where they are at hand, learns more.

        Arguments are as in `fit`; one of the two classes may be missing. Raises ValueError if a
        topic was fitted already, its name has another type than the other names, or a label is none
        of `classes_`. A ConvergenceWarning says if draws are unreliable.
        """
        fitted = self._fit
        with workers(self.n_jobs, self.memory):
            self._fitted = fitted.extended(scores, labels, topics, sample_weight)
        self._fitted.warn(added=slice(fitted.names.size, None))
        return self

    def summary(self, level: float = 0.9) -> pd.DataFrame:
        """Return mode and sides of each topic: unpooled, pooled, and of the population.

        Rows (topic, class, parameter); columns documents, unpooled (maximum likelihood of the topic
        by itself), pooled (posterior mean), lower and upper (its interval) and population (the
        median of topics without documents), in raw score units. An exponential side is the mean
        distance of its scores from the mode, a Gaussian one is sigma. Intervals have probability
        `level`. A ConvergenceWarning says if draws of a part are unreliable; see `diagnostics_`.
        """
        fitted = self._fit
        check_fraction(level=level)
        diagnostics.warn_of_problems(fitted.diagnostics_.problems)
        return diagnostics.topic_table(fitted.results.groups, fitted.classes, level)

    @property
    def topics_(self) -> NDArray[Any]:
        """Names of the topics, in sorted order, those added last."""
        return self._fit.names

    @property
    def diagnostics_(self) -> diagnostics.Diagnostics:
        """Quality of the draws of all topics, and what to do about it."""
        return self._fit.diagnostics_

    @property
    def score_problems_(self) -> tuple[str, ...]:
        """Problems of the scores of all topics, and what to do."""
        return self._fit.score_problems_

    @property
    def flagged_(self) -> dict[Any, str]:
        """Problems of single topics, by name."""
        return self._fit.flagged

    @property
    def families_(self) -> tuple[str, ...]:
        """The families of densities fitted; `summary` and class densities are of the first."""
        return tuple(each.name for each in self._fit.families)

    @property
    def combination_(self) -> pd.DataFrame:
        """The parts of the combination: weight of the population, and the log scores behind it."""
        groups = self._fit.results.groups
        if COMBINATION not in groups:
            raise AttributeError(f"parts={self.parts!r} are not combined; use 'combined'.")
        return at_topic(groups, None)[COMBINATION].to_dataframe()

    @property
    def lapse_(self) -> Floats:
        """Posterior draws of the lapse rate of all topics, shape (draws,); all 0 of no lapses."""
        drawn = read_lapse(self._fit.results.groups)
        return np.zeros(self._fit.curves.draws) if drawn is None else drawn

    @property
    def population_(self) -> TopicCalibrator:
        """The calibrator without its topics: the prior of further topics.

        It holds the population, the weights of the parts and the lapse rate, but no name, document
        or draw of any topic. Raises AttributeError unless pooling is "partial".
        """
        return self._of(self._fit.population())

    def fitted_problems(self) -> Problems:
        """Return the problem of each topic, by name, for plots and reports."""
        return self._fit.fitted_problems(strict=self._strict)

    def __sklearn_tags__(self) -> Any:
        """Return scikit-learn's tags: scores and labels, long or wide (documents, topics)."""
        tags = super().__sklearn_tags__()
        tags.estimator_type = "classifier"
        tags.classifier_tags = ClassifierTags(multi_class=False, multi_label=True)
        tags.input_tags.one_d_array = True
        # Labels are missing where a DataFrame holds them.
        tags.target_tags.required = False
        tags.target_tags.two_d_labels = tags.target_tags.multi_output = True
        return tags

    @property
    def _strict(self) -> bool:
        """True if topics that were not fitted raise an error."""
        return self.new_topics == "error"

    def _fitted_html(self) -> str | None:
        fitted = self._fit
        documents = fitted.results.groups[LIKELIHOOD]["total_weight"].transpose("klass", "topic")
        fewest = np.argsort(documents.values[1], kind="stable")[:SHOWN]
        size, positive = fitted.names.size, fitted.classes[1]
        head = f"TopicCalibrator fitted to {documents.values.sum():,.0f} documents of {size:,}"
        notes = [f"Pooling: {fitted.parameters.pooling}."]
        if fitted.flagged:
            notes.append(f"{len(fitted.flagged):,} topics have warnings (flagged_).")
        if size > SHOWN:
            notes.append(f"Shown: the {SHOWN} with fewest of class {positive}.")
        notes += [*fitted.score_problems_, *fitted.diagnostics_.problems]
        title = f"Mode of the scores of class {positive} in each topic"
        draw = partial(self._draw, topics=fitted.names[fewest].tolist()) if size else None
        return picture_html(f"{head} topics", notes, title, draw, 1.6 + 0.24 * fewest.size)

    def _draw(self, ax: Axes, topics: list[Any]) -> None:
        from bayescal.plots import TopicForestDisplay

        TopicForestDisplay.from_estimator(self, topics=topics, ax=ax)

    def _of_both_classes(
        self, read: Callable[..., Floats], scores: Any, topics: Any, prior: Priors | None
    ) -> Floats:
        """Return values of both classes in sorted order; of wide scores P(+) alone."""
        read = partial(read, prior=self._fit.checked(prior))
        wide = getattr(scores, "ndim", 1) == 2 and not hasattr(scores, "columns")
        last = None if wide else (KLASS, self.classes_.tolist())
        return self._read(read, scores, topics, last)

    def _read(
        self, read: Callable[..., Floats], scores: Any, topics: Any, last: Last | None = None
    ) -> Floats:
        """Return values of the topics' curves, in the form of the scores."""
        curves, read = self._fit.curves, partial(read, strict=self._strict)
        if is_lazy(scores, topics):
            values = read_lazily(curves, read, scores, topics, last)
        else:
            values = read(curves, read_cells(scores, topics))
        dims, ends = ((ROW,), {}) if last is None else ((ROW, last[0]), dict([last]))
        given: Floats = as_given(scores, values, dims, ends, slice(values.ndim - len(ends)))
        return given


def _draws_last(curves: TopicCurves, cells: Cells, **options: Any) -> Floats:
    """Return probabilities of draws, on the last axis."""
    return np.moveaxis(curves.sample(cells, **options), 0, -1)

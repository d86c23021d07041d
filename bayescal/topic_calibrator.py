"""The estimator for many topics: their class densities around those of a population."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from bayescal.bayes import probability
from bayescal.engines.pooled.engine import POOLINGS, add_topics, fit_topics
from bayescal.families import FAMILIES, Family
from bayescal.randomness import generator
from bayescal.results import provenance, storage
from bayescal.results.topic_curves import TopicCurves
from bayescal.results.topics import (
    build_topics,
    join_topics,
    read_population,
    read_scale,
    topic_table,
)
from bayescal.robust import centre_and_spread
from bayescal.topic_scores import TopicScores, read_cells, read_topics
from bayescal.validation import Floats, check_choice, check_count, check_fraction

if TYPE_CHECKING:
    import pandas as pd

FAMILY_NAMES = ("gaussian", "laplace", "asymmetric_laplace", "asymmetric_gaussian")
NEW_TOPICS = ("population", "error")
GOOD_K = 0.7


class TopicCalibrator(BaseEstimator):  # type: ignore[misc]
    """
    Calibrate the scores of many topics at once, each topic's densities around a population's.

    P(+ | s, topic t) by Bayes' rule with class densities p(s | +, t), p(s | -, t) whose modes,
    shares and widths are draws from populations, one for either class, which all topics inform:
    topics with three positives borrow from the others, topics with hundreds hardly do.

    Parameters
    ----------
    pooling : {"partial", "none", "complete"}
        Around a population; every topic by itself; one density for all topics.
    family : {"asymmetric_laplace", "laplace", "gaussian", "asymmetric_gaussian"}
        Of the densities.
    new_topics : {"population", "error"}
        What predictions for a topic that was not fitted do: answer as the population would, with
        wide bands, or raise.
    draws, chains : int
        Posterior draws a chain, and chains; all draws are independent but for few repeated ones.
    random_state : int, numpy Generator, RandomState or None
        Seeds the engine; the same seed gives the same bits.

    Attributes
    ----------
    topics_ : array of shape (topics,)
        Names in sorted order.
    classes_ : array of shape (2,)
        The labels in sorted order; the second is the positive class.
    flagged_ : dict
        Topics that lack documents of a class, by name: the population answers for what is missing.
        Scores of a topic that are all the same do not count.
    posterior_ : xarray.DataTree
        Groups posterior (chain, draw, klass, topic), population and topics.

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

    def __init__(
        self,
        pooling: str = "partial",
        family: str = "asymmetric_laplace",
        *,
        new_topics: str = "population",
        draws: int = 1000,
        chains: int = 4,
        random_state: Any = None,
    ) -> None:
        self.pooling = pooling
        self.family = family
        self.new_topics = new_topics
        self.draws = draws
        self.chains = chains
        self.random_state = random_state

    def fit(self, scores: Any, labels: Any = None, topics: ArrayLike | None = None) -> Self:
        """
        Fit all topics.

        Parameters
        ----------
        scores : array-like of shape (n,) or (documents, topics), DataFrame or DataArray
            Raw scores, larger for likelier positives. A DataFrame has the columns score, label and
            topic.
        labels : array-like of the shape of scores
            Two values; nan for documents without a label. None for a DataFrame.
        topics : array-like, optional
            The topic of each long score: all strings or all whole numbers. Of (documents, topics)
            the names of the columns.

        Raises
        ------
        ValueError
            If an argument is not as described.
        """
        check_choice("pooling", self.pooling, POOLINGS)
        check_choice("family", self.family, FAMILY_NAMES)
        check_choice("new_topics", self.new_topics, NEW_TOPICS)
        check_count("draws", self.draws)
        check_count("chains", self.chains)
        data, rng = read_topics(scores, labels, topics), generator(self.random_state)
        pooling, scale = self._pooling_of(data), centre_and_spread(data.score)
        # Scores that are all the same ask for densities of no width, and others' of less.
        shaped = data if pooling == "none" else data.without(data.constant())
        found = fit_topics(
            (shaped.of_class(False), shaped.of_class(True)),
            self._family,
            rng,
            draws=self.draws * self.chains,
            pooling=pooling,
            scale=scale,
        )
        tree = build_topics(
            found,
            data.names,
            _counts(shaped),
            self._apart(shaped),
            chains=self.chains,
            scale=scale,
            attrs=provenance.describe(self.get_params(deep=False), data.classes),
        )
        self._set_results(tree, data.classes)
        self._warn()
        return self

    def decision_function(self, scores: Any, topics: ArrayLike | None = None) -> Floats:
        """
        Return calibrated natural log-odds of the positive class, of the shape of the scores.

        Parameters
        ----------
        scores : array-like of shape (n,) or (documents, topics), DataFrame or DataArray
            Raw scores.
        topics : array-like, optional
            As in `fit`.

        Raises
        ------
        ValueError
            If a topic was not fitted and `new_topics` is "error".
        """
        return self._curves().log_odds(read_cells(scores, topics))

    def predict_proba(self, scores: Any, topics: ArrayLike | None = None) -> Floats:
        """
        Return probabilities of both classes, shape (n, 2); of (documents, topics) P(+) alone.

        Parameters
        ----------
        scores : array-like of shape (n,) or (documents, topics), DataFrame or DataArray
            Raw scores.
        topics : array-like, optional
            As in `fit`.
        """
        log_odds = self.decision_function(scores, topics)
        if log_odds.ndim == 2:
            return probability(log_odds)
        return np.stack([probability(-log_odds), probability(log_odds)], axis=1)

    def predict_interval(
        self, scores: Any, topics: ArrayLike | None = None, level: float = 0.9
    ) -> Floats:
        """
        Return the pointwise equal-tailed posterior interval of P(+|s); lower and upper last.

        Parameters
        ----------
        scores : array-like of shape (n,) or (documents, topics), DataFrame or DataArray
            Raw scores.
        topics : array-like, optional
            As in `fit`.
        level : float
            Posterior probability of the interval at each score, between 0 and 1.
        """
        check_fraction(level=level)
        return self._curves().interval(read_cells(scores, topics), level)

    def sample_proba(
        self,
        scores: Any,
        topics: ArrayLike | None = None,
        draws: int | None = None,
        random_state: Any = None,
    ) -> Floats:
        """
        Return P_k(+|s) of posterior draws k; of the shape of the scores, draws first.

        Parameters
        ----------
        scores : array-like of shape (n,) or (documents, topics), DataFrame or DataArray
            Raw scores.
        topics : array-like, optional
            As in `fit`.
        draws : int, optional
            So many draws chosen at random without replacement; all, in their order, by default.
        random_state : int, Generator, RandomState or None
            Chooses the draws.

        Raises
        ------
        ValueError
            If `draws` is not between 1 and the number of draws.
        """
        curves = self._curves()
        if draws is None:
            return curves.sample(read_cells(scores, topics))
        if not 1 <= draws <= curves.draws:
            raise ValueError(f"draws must be from 1 to {curves.draws}, got {draws}.")
        index = generator(random_state).choice(curves.draws, draws, replace=False)
        return curves.sample(read_cells(scores, topics), index)

    def add_topics(self, scores: Any, labels: Any = None, topics: ArrayLike | None = None) -> Self:
        """
        Add topics without refitting the population: it informs them, they do not inform it.

        Parameters
        ----------
        scores, labels, topics
            As in `fit`; the labels' values must be those fitted.

        Raises
        ------
        ValueError
            If a topic is there already, or the labels are not those fitted.
        """
        check_is_fitted(self, "posterior_")
        data = read_topics(scores, labels, topics)
        if known := sorted(set(data.names.tolist()) & set(self.topics_.tolist())):
            raise ValueError(f"topics {', '.join(map(repr, known))} are fitted already: fit again.")
        if data.classes.tolist() != self.classes_.tolist():
            raise ValueError(
                f"labels must be {self.classes_.tolist()}, got {data.classes.tolist()}."
            )
        found = add_topics(
            (data.of_class(False), data.of_class(True)),
            self._family,
            read_population(self.posterior_),
            generator(self.random_state),
            read_scale(self.posterior_),
        )
        tree = join_topics(self.posterior_, found, data.names, _counts(data), self._apart(data))
        self._set_results(tree, self.classes_)
        return self

    def summary(self, level: float = 0.9) -> pd.DataFrame:
        """
        Return mode and sides of each topic: apart, pooled, and of the population.

        Rows (topic, class, parameter); columns documents, apart (maximum likelihood of the topic by
        itself), pooled (posterior mean), lower and upper (its interval) and population (the median
        of topics without documents), in raw score units.

        Parameters
        ----------
        level : float
            Posterior probability of the intervals, between 0 and 1.
        """
        check_is_fitted(self, "posterior_")
        check_fraction(level=level)
        return topic_table(self.posterior_, self.classes_, level)

    def save(self, path: str | Path) -> Path:
        """Write the fitted calibrator to a netCDF file; `TopicCalibrator.load` reads it."""
        check_is_fitted(self, "posterior_")
        return storage.write_tree(self.posterior_, path)

    @classmethod
    def load(cls, path: str | Path) -> TopicCalibrator:
        """
        Read a fitted calibrator that `save` wrote.

        Raises
        ------
        FileNotFoundError
            If there is no such file.
        ValueError
            If it was not written by a TopicCalibrator, or by a later version of bayescal.
        """
        tree = storage.read_tree(path)
        if "population" not in tree:
            raise ValueError(f"{path} holds no topics: bayescal.load reads it.")
        parameters, classes = provenance.read(tree)
        calibrator = cls(**parameters)
        calibrator._set_results(tree, classes)
        return calibrator

    @property
    def _family(self) -> Family:
        return FAMILIES[self.family]

    def _pooling_of(self, data: TopicScores) -> str:
        if self.pooling == "partial" and data.names.size == 1:
            warnings.warn(
                "one topic makes no population: it is fitted by itself, as pooling='none' would.",
                stacklevel=3,
            )
            return "none"
        return self.pooling

    def _apart(self, data: TopicScores) -> Floats:
        """Return maximum likelihood of each topic by itself, (2, 3, topics); nan for no scores."""
        out = np.full((2, 3, data.names.size), np.nan)
        for k, positive in enumerate((False, True)):
            family = self._family.of_class(positive)
            for t, scores in enumerate(data.of_class(positive)):
                if scores.size:
                    values = family.fit(scores).parameters.values()
                    out[k, :, t] = family.sides(*map(np.asarray, values))
        return out

    def _set_results(self, tree: xr.DataTree, classes: NDArray[Any]) -> None:
        self.posterior_, self.classes_ = tree, classes
        self.topics_: NDArray[Any] = tree["topics"].to_dataset()["topic"].values
        documents = tree["topics"]["documents"].transpose("topic", "klass").values
        self.flagged_ = {
            name: f"no documents of class {', '.join(map(repr, classes[counts == 0].tolist()))}"
            for name, counts in zip(self.topics_.tolist(), documents, strict=True)
            if not counts.all()
        }

    def _warn(self) -> None:
        """Warn of what the user can act on."""
        topics = self.posterior_["topics"]
        if not int(topics["resolved"]) or float(topics["pareto_k"].max()) > GOOD_K:
            warnings.warn(
                "the population's posterior was not resolved (Pareto k"
                f" {float(topics['pareto_k'].max()):.2f}, good below {GOOD_K}): compare with"
                " pooling='none', or leave out topics whose scores are unlike the others'.",
                stacklevel=3,
            )

    def _curves(self) -> TopicCurves:
        check_is_fitted(self, "posterior_")
        return TopicCurves(self.posterior_, self._family, strict=self.new_topics == "error")


def _counts(data: TopicScores) -> NDArray[np.intp]:
    return np.stack([data.counts(False), data.counts(True)])

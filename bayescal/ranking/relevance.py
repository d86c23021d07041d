"""Calibrate a ranker's scores to P(relevant), and predict the quality of unjudged rankings."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import KW_ONLY, asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from bayescal.calibrators.topic_calibrator import TopicCalibrator
from bayescal.decisions.thresholds import stopping_rank
from bayescal.ranking import drawn_relevance as drawing
from bayescal.ranking import queries as grouping
from bayescal.ranking.drawn_relevance import RankingSummary, Wanted
from bayescal.ranking.relevance_report import write_relevance_report
from bayescal.support import score_checks, validation
from bayescal.support.files import check_target
from bayescal.support.validation import Floats, Integers, generator

if TYPE_CHECKING:
    import pandas as pd

UNITS = ("query", "score")


@dataclass(eq=False, repr=False)
class RelevanceCalibrator(BaseEstimator):  # type: ignore[misc]
    """P(relevant) with bands for documents of queries without judgements.

    A ranker's scores only order documents within a query. So scores are taken less their query's
    median, in units of their query's spread, and calibrated with queries as topics
    (`TopicCalibrator`): every query has class densities, log-odds and a base rate from a
    population, which describes the next query. Its draws vary as queries do, so that counts of
    relevant documents, recall and average precision of a new query have calibrated intervals. Store
    a fitted one by pickle or joblib.

    Parameters
    ----------
    calibrator : TopicCalibrator, optional
        An unfitted one, with partial pooling; by default ``TopicCalibrator(random_state=...)``.
    units : {"query", "score"}
        Take scores in units of their query, or unchanged.
    relevance_threshold : float, optional
        The least relevant grade; needed for more than two grades.
    random_state : int, Generator, RandomState or None
        Seeds the default calibrator, and labels drawn by `when_to_stop` and other methods.

    Attributes
    ----------
    calibrator_ : TopicCalibrator
        Fitted to the queries; its topics are positions in `queries_`.
    queries_ : list
        Identifiers of the queries fitted.
    grades_ : array of shape (grades,)
        The grades fitted, rising.
    relevance_threshold_ : float
        The least relevant grade.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> qid = np.repeat(np.arange(8), 60)
    >>> relevant = rng.random(480) < 0.2
    >>> scores = 2.0 * relevant + rng.normal(size=480) + 10.0 * qid
    >>> quick = TopicCalibrator(draws=100, random_state=0)
    >>> calibrator = RelevanceCalibrator(quick, random_state=0).fit(scores, relevant, qid)
    >>> calibrator.predict_proba(scores[:2] + 500.0, qid[:2]).shape
    (2, 2)
    >>> stops = calibrator.when_to_stop(scores[:60], qid[:60], recall=0.8, probability=0.9)
    >>> list(stops.columns)
    ['documents', 'relevant', 'stop', 'missed']
    """

    calibrator: TopicCalibrator | None = None
    _: KW_ONLY
    units: str = "query"
    relevance_threshold: float | None = None
    random_state: Any = None

    def fit(self, scores: ArrayLike, y: ArrayLike, qid: Any) -> Self:
        """Fit the calibrator to judged documents of queries that the ranker was not trained on.

        Parameters
        ----------
        scores : array-like of shape (documents,)
            Raw scores of all documents that the ranker ranks for each query.
        y : array-like of shape (documents,)
            Relevance: two grades, the larger one relevant, or more with `relevance_threshold`.
        qid : sequence of shape (documents,) of hashable values
            The query of each document, in any order.

        Raises
        ------
        ValueError
            If an argument is not as described, or all documents have the same relevance.

        Warns
        -----
        ScoresWarning
            If relevant documents have smaller scores, or each query has a single document.
        """
        validation.check_choice("units", self.units, UNITS)
        calibrator = drawing.read_calibrator(self.calibrator, self.random_state)
        values = validation.as_scores(scores)
        grades = grouping.as_grades(y, values.size)
        threshold = grouping.relevance_threshold_of(grades, self.relevance_threshold)
        relevant = grades >= threshold
        if relevant.all() or not relevant.any():
            raise ValueError(
                "y must hold documents that are relevant and others that are not, got"
                f" {relevant.sum()} of {relevant.size} with grade {threshold:g} or more: look at"
                " relevance_threshold."
            )
        queries = grouping.group_by_query(qid, values.size, "scores")
        in_units, lone = self._in_units(values, queries)
        with score_checks.without_scores_warnings():
            self.calibrator_ = calibrator.fit(in_units, relevant, topics=queries.code)
        self.queries_, self.grades_ = queries.names, np.unique(grades)
        self.relevance_threshold_ = threshold
        problems = drawing.query_problems(self.calibrator_, in_units, relevant, queries)
        score_checks.warn_of_scores(*lone, *problems)
        return self

    def predict_proba(self, scores: ArrayLike, qid: Any) -> Floats:
        """Return P(not relevant) and P(relevant) of documents of new queries, shape (documents, 2).

        Parameters
        ----------
        scores : array-like of shape (documents,)
            Raw scores of all documents that are ranked for each query; they set its units.
        qid : sequence of shape (documents,) of hashable values
            The query of each document.

        Raises
        ------
        ValueError
            If an argument is not as described, here and in the methods below.

        Warns
        -----
        ScoresWarning
            If scores are in units of queries, of which each of several has a single document.
        """
        values, new, _ = self._as_new(scores, qid)
        return self.calibrator_.predict_proba(values, new)

    def predict_interval(self, scores: ArrayLike, qid: Any, level: float = 0.9) -> Floats:
        """Return the posterior interval of P(relevant) of each document, (documents, 2)."""
        values, new, _ = self._as_new(scores, qid)
        return self.calibrator_.predict_interval(values, new, level)

    def sample_proba(
        self, scores: ArrayLike, qid: Any, draws: int | None = None, random_state: Any = None
    ) -> Floats:
        """Return draws of P(relevant), (draws, documents), each by a curve of a new query."""
        values, new, _ = self._as_new(scores, qid)
        return self.calibrator_.sample_proba(values, new, draws, random_state)

    def when_to_stop(
        self, scores: ArrayLike, qid: Any, *, recall: float = 0.8, probability: float = 0.9
    ) -> pd.DataFrame:
        """Return the number of documents to read from the top of each query for the wanted recall.

        Parameters
        ----------
        scores, qid
            As in `predict_proba`.
        recall : float
            Share of the query's relevant documents to read.
        probability : float
            Posterior probability of reaching that recall.

        Returns
        -------
        pandas.DataFrame
            A row for each query, in order of first appearance: documents and relevant, the numbers
            of documents and (expected) of relevant ones; stop, the number to read; missed, the
            expected number of relevant ones among the rest.
        """
        validation.check_share(recall=recall)
        validation.check_fraction(probability=probability)

        def of_query(relevant: NDArray[np.bool_]) -> tuple[float, ...]:
            stop = stopping_rank(relevant, recall, probability)
            mean = relevant.mean(axis=0)
            return relevant.shape[1], float(mean.sum()), stop, float(mean[stop:].sum())

        table = self._by_query(of_query, scores, qid, ["documents", "relevant", "stop", "missed"])
        return table.astype({"documents": int, "stop": int})

    def expected_average_precision(
        self, scores: ArrayLike, qid: Any, *, level: float = 0.9
    ) -> pd.DataFrame:
        """Predict the average precision of each query, given that some document is relevant.

        Among the documents ranked: relevant documents that were not retrieved do not count. With
        few judged queries the mean tends to be too low (docs/validation/expected_precision.md).

        Columns mean, lower and upper, an equal-tailed interval of probability `level`, by query.
        """
        validation.check_fraction(level=level)
        return self._intervals(drawing.average_precision_of, scores, qid, level)

    def relevant_below(
        self, scores: ArrayLike, qid: Any, *, rank: int, level: float = 0.9
    ) -> pd.DataFrame:
        """Return the number of relevant documents below a rank, those missed by reading that far.

        Parameters
        ----------
        scores, qid
            As in `predict_proba`.
        rank : int
            Number of documents read.
        level : float
            Posterior probability of the interval.

        Returns
        -------
        pandas.DataFrame
            mean, lower and upper (an equal-tailed interval) by query.
        """
        validation.check_count("rank", rank)
        validation.check_fraction(level=level)

        def missed(relevant: NDArray[np.bool_]) -> Floats:
            return np.asarray(relevant[:, rank:].sum(axis=1), dtype=np.float64)

        return self._intervals(missed, scores, qid, level)

    def read(
        self,
        scores: ArrayLike,
        qid: Any,
        *,
        recall: float = 0.8,
        probability: float = 0.9,
        level: float = 0.9,
    ) -> dict[Hashable, RankingSummary]:
        """Return the posterior summary of each query's ranking, which `report` and plots show.

        Arguments as in `when_to_stop`; `level` is the posterior probability of all intervals.
        Queries are in order of first appearance.
        """
        validation.check_share(recall=recall)
        validation.check_fraction(probability=probability, level=level)
        values, new, queries = self._as_new(scores, qid)
        point = self.calibrator_.predict_proba(values, new)[:, 1]
        interval = self.calibrator_.predict_interval(values, new, level)
        wanted = Wanted(recall, probability, level)
        drawn = drawing.drawn_queries(
            self.calibrator_, values, queries, generator(self.random_state)
        )
        return {
            name: drawing.read_ranking(
                document, point[document], interval[document], relevant, wanted
            )
            for name, document, relevant in drawn
        }

    def report(
        self,
        path: str | Path,
        scores: ArrayLike,
        qid: Any,
        y: ArrayLike | None = None,
        *,
        recall: float = 0.8,
        probability: float = 0.9,
        level: float = 0.9,
        title: str | None = None,
    ) -> Path:
        """Write a report of rankings: one HTML file that needs no network.

        It shows for each query the documents to read and the relevant ones missed, P(relevant) and
        recall by rank with bands, and judged documents beside these predictions.

        Parameters
        ----------
        path : str or Path
            The file to write or replace, in an existing folder; returned.
        scores, qid, recall, probability, level
            As in `read`.
        y : array-like of shape (documents,), optional
            Relevance of the documents, in the grades that were fitted; with `relevance_threshold`
            other grades are allowed.
        title : str, optional
            Title of the page.

        Raises
        ------
        ValueError
            If an argument is not as described; then nothing is written.
        FileNotFoundError, OSError
            If there is no such folder, or the file cannot be written.
        """
        target = check_target(path)
        wanted = Wanted(recall, probability, level)
        readings = self.read(scores, qid, **asdict(wanted))
        return write_relevance_report(
            target,
            readings,
            self._relevant(y, sum(reading.document.size for reading in readings.values())),
            self.calibrator_.posterior_,
            fitted=len(self.queries_),
            wanted=wanted,
            title=title,
        )

    def _relevant(self, y: ArrayLike | None, documents: int) -> NDArray[np.bool_] | None:
        """Return the mask of documents judged relevant, (documents,); None without judgements."""
        if y is None:
            return None
        grades = grouping.match_grades(
            y, documents, self.grades_, only=self.relevance_threshold is None
        )
        return np.asarray(grades >= self.relevance_threshold_)

    def _in_units(
        self, values: Floats, queries: grouping.Queries
    ) -> tuple[Floats, tuple[str, ...]]:
        """Return scores in their units, and problems of finding these."""
        if self.units == "score":
            return values, ()
        return grouping.standardise(values, queries), drawing.lone_documents(queries)

    def _as_new(self, scores: ArrayLike, qid: Any) -> tuple[Floats, Integers, grouping.Queries]:
        """Return scores in their units, topics without a fit, and the queries."""
        check_is_fitted(self, "calibrator_")
        values = validation.as_scores(scores)
        queries = grouping.group_by_query(qid, values.size, "scores")
        in_units, problems = self._in_units(values, queries)
        score_checks.warn_of_scores(*problems)
        return in_units, np.full(values.size, drawing.NEW), queries

    def _intervals(
        self,
        measure: Callable[[NDArray[np.bool_]], Floats],
        scores: ArrayLike,
        qid: Any,
        level: float,
    ) -> pd.DataFrame:
        """Return mean and interval of a measure of the labels drawn for each query."""

        def of_query(relevant: NDArray[np.bool_]) -> tuple[float, float, float]:
            found = drawing.estimate(measure(relevant), level)
            return found.value, found.lower, found.upper

        return self._by_query(of_query, scores, qid, ["mean", "lower", "upper"])

    def _by_query(
        self,
        summarise: Callable[[NDArray[np.bool_]], tuple[float, ...]],
        scores: ArrayLike,
        qid: Any,
        columns: list[str],
    ) -> pd.DataFrame:
        """Summarise labels drawn for each query's documents, best first."""
        import pandas as pd

        values, _, queries = self._as_new(scores, qid)
        drawn = drawing.drawn_queries(
            self.calibrator_, values, queries, generator(self.random_state)
        )
        index = pd.Index(queries.names, name="query", tupleize_cols=False)
        return pd.DataFrame([summarise(relevant) for _, _, relevant in drawn], index, columns)

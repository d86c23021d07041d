"""OrdinalCalibrator: from one classifier's scores to the probabilities of ordered grades."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin

from bayescal.calibrators.estimator import (
    FittedEstimator,
    SharedKnowledge,
    chosen_draws,
    curves_html,
)
from bayescal.calibrators.score_calibrator import ScoreCalibrator
from bayescal.fitting.fitted_grades import FittedGrades, GradeParameters, fit_grades
from bayescal.fitting.problems.problem import Problems, summary_of
from bayescal.fitting.results.calibration import KINDS
from bayescal.support.lazy import BAND, DRAW, KLASS, ROW, rowwise
from bayescal.support.validation import Floats, as_scores, check_choice, check_fraction

if TYPE_CHECKING:
    import pandas as pd

REACHED = "grade"  # dimension of answers about the grades above the lowest


class OrdinalCalibrator(
    SharedKnowledge,
    ClassifierMixin,  # type: ignore[misc]
    FittedEstimator[FittedGrades],
    GradeParameters,
):
    r"""Calibrate the scores of documents with ordered grades, such as relevance 0 to 3 or stars.

    One score stands for all grades. With grades g_0 < g_1 < ... < g_K, stage k is a
    `ScoreCalibrator` of P(grade >= g_k | score, grade >= g_(k-1)), fitted to the documents of grade
    g_(k-1) or above, and

        P(grade >= g_k | score) = prod_(j <= k) P(grade >= g_j | score, grade >= g_(j-1)),

    a continuation-ratio model with a free curve in each stage. The likelihood is a product over
    stages, so that independent posterior draws of the stages are draws of the joint posterior, and
    P(grade >= g_k) never exceeds P(grade >= g_(k-1)), draw by draw.

    Parameters
    ----------
    parts, scores_are, prior_knowledge, units, lapse, draws, chains
        Those of every stage; see `ScoreCalibrator`. The first stage decides what scores are if
        `scores_are` is "auto".
    inference : {"auto", "exact", "nuts"} or bayescal.NUTS
        See `ScoreCalibrator`; inferences without draws are rejected.
    point : {"predictive", "mean", "median"}
        The point estimate of every stage, whose product `predict_proba` returns; see
        `ScoreCalibrator`.
    grades : sequence, optional
        The grades from the lowest to the highest. Numbers need none: their order is that of size.
    random_state : int, numpy Generator, RandomState or None
        Seeds the engines; the same seed gives the same bits.

    Attributes
    ----------
    classes_ : array of shape (K + 1,)
        The grades, lowest first. Words are not in sorted order, which scikit-learn's scorers of
        probabilities assume: give these scorers grades as numbers.
    stages_ : dict of str to ScoreCalibrator
        The fitted stages, named by the grade that they reach, such as ">= 2"; their attributes,
        such as `diagnostics_` and `design_effect_`, describe one stage.
    posterior_ : xarray.DataTree
        A branch for each stage, stage_1 to stage_K, as `ScoreCalibrator.posterior_`.

    References
    ----------
    S. E. Fienberg, *The analysis of cross-classified categorical data*, 1980, section 6.6
    (continuation ratios).

    Examples
    --------
    >>> import numpy as np
    >>> from bayescal import OrdinalCalibrator
    >>> rng = np.random.default_rng(0)
    >>> scores = rng.normal(size=200)
    >>> y = np.digitize(scores + rng.logistic(size=200) / 2.0, [0.0, 1.0])  # grades 0, 1, 2
    >>> calibrator = OrdinalCalibrator(random_state=0).fit(scores, y)
    >>> calibrator.predict_proba([-2.0, 0.5, 3.0]).round(1)
    array([[0.9, 0. , 0. ],
           [0.3, 0.4, 0.3],
           [0. , 0. , 1. ]])
    >>> calibrator.expected_gain([0.5]).round(1).tolist()
    [1.0]
    """

    _fit_type = FittedGrades

    def fit(
        self,
        scores: ArrayLike,
        y: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        inclusion: ArrayLike | None = None,
        *,
        clusters: ArrayLike | None = None,
    ) -> Self:
        """Fit the calibrator to scores and graded labels.

        Parameters
        ----------
        scores : array-like of shape (n,) or (n, 1)
            Raw scores, larger for higher grades; from documents the classifier was not trained on.
        y : array-like of shape (n,)
            The grade of each document: 2 to 20 distinct ones, each with a document at least.
        sample_weight, inclusion, clusters : array-like of shape (n,), optional
            See `ScoreCalibrator.fit`; every stage gets those of its documents.

        Raises
        ------
        ValueError
            If an argument is not as described, or y holds words and `grades` is None.

        Warns
        -----
        ScoresWarning
            If the scores of a stage have problems.
        ConvergenceWarning
            If posterior draws of a stage are unreliable.
        """
        data = scores, y, sample_weight, inclusion, clusters
        self._fitted = fit_grades(self._parameters(), *data)
        return self

    @rowwise(ROW, KLASS)
    def predict_proba(self, scores: ArrayLike) -> Floats:
        """Return P(grade | score), shape (n, K + 1), in the order of `classes_`."""
        return self._fit.probabilities(scores)

    @rowwise(ROW)
    def predict(self, scores: ArrayLike) -> NDArray[Any]:
        """Return the likeliest grade; for the median one see `bayescal.decisions.decide`."""
        return np.asarray(self.classes_[self._fit.probabilities(scores).argmax(axis=1)])

    @rowwise(ROW, REACHED)
    def exceedance(self, scores: ArrayLike) -> Floats:
        """Return P(grade >= g_k | score) for k = 1, ..., K, shape (n, K); never rising with k."""
        p = self._fit.probabilities(scores)
        return np.asarray(np.cumsum(p[:, :0:-1], axis=1)[:, ::-1])

    @rowwise(ROW, REACHED, BAND)
    def predict_interval(
        self, scores: ArrayLike, level: float = 0.9, kind: str = "pointwise"
    ) -> Floats:
        """Return posterior intervals of `exceedance`, shape (n, K, 2): lower and upper.

        `level` and `kind` are as in `ScoreCalibrator.predict_interval`; "simultaneous" is a band
        for the whole curve of each grade.
        """
        check_fraction(level=level)
        check_choice("kind", kind, KINDS)
        each = [own.interval(scores, level, kind) for own in self._fit.reached]
        return np.stack(each, axis=1)

    @rowwise(DRAW, ROW, KLASS)
    def sample_proba(
        self, scores: ArrayLike, draws: int | None = None, random_state: Any = None
    ) -> Floats:
        """Return P(grade | score) of posterior draws, shape (draws, n, K + 1).

        `bayescal.decisions` takes them, such as ``decide(calibrator.sample_proba(scores), costs)``.
        `draws` and `random_state` are as in `ScoreCalibrator.sample_proba`.
        """
        fitted = self._fit
        index = chosen_draws(draws, fitted.curves[0].posterior.size, random_state)
        return fitted.sample(scores, index)

    @rowwise(ROW)
    def expected_gain(self, scores: ArrayLike, gain: ArrayLike | None = None) -> Floats:
        """Return the expected gain of each score, shape (n,), by which to rank.

        Parameters
        ----------
        scores : array-like of shape (n,)
            Raw scores.
        gain : array-like of shape (K + 1,) or mapping, optional
            The gain of each grade, in the order of `classes_` or by grade, such as
            ``2.0**grades - 1.0`` as in NDCG. By default the grade itself: the expected grade. Words
            count as 0, 1, ..., K.

        Raises
        ------
        ValueError
            If gains are not as described, or not finite.
        """
        return np.asarray(self._fit.probabilities(scores) @ self._gains(gain))

    @rowwise(ROW, BAND)
    def gain_interval(
        self,
        scores: ArrayLike,
        level: float = 0.9,
        kind: str = "pointwise",
        gain: ArrayLike | None = None,
    ) -> Floats:
        """Return posterior intervals of `expected_gain`, shape (n, 2): lower and upper.

        `scores` and `gain` are as in `expected_gain`, `level` and `kind` as in `predict_interval`.
        """
        check_fraction(level=level)
        check_choice("kind", kind, KINDS)
        gains = self._gains(gain)
        least, reach = gains.min(), np.ptp(gains)
        share = self._fit.expecting((gains - least) / reach)
        return np.asarray(least + reach * share.interval(scores, level, kind))

    def summary(self, level: float = 0.9) -> pd.DataFrame:
        """Return every parameter of every stage; see `ScoreCalibrator.summary`."""
        check_fraction(level=level)
        return summary_of(self.fitted_problems(), level)

    def fitted_problems(self) -> Problems:
        """Return P(grade >= g_k | score) for each k, named such as ">= 2", for plots and reports.

        Held-out labels of these problems are booleans, y >= g_k.
        """
        return self._fit.fitted_problems()

    @property
    def classes_(self) -> NDArray[Any]:
        """The grades, lowest first."""
        return self._fit.classes

    @property
    def stages_(self) -> dict[str, ScoreCalibrator]:
        """The fitted stages by the grade that they reach."""
        fitted = self._fit
        calibrators = map(ScoreCalibrator._of, fitted.stages)
        return dict(zip(fitted.events, calibrators, strict=True))

    def _gains(self, gain: Any) -> Floats:
        """Return the gains of the grades as an array."""
        grades = self.classes_
        if gain is None:
            gain = grades if grades.dtype.kind in "biuf" else np.arange(grades.size)
        if isinstance(gain, Mapping):
            if set(gain) != set(grades.tolist()):
                raise ValueError(f"gain must have the grades {grades.tolist()}, got {list(gain)}.")
            gain = [gain[grade] for grade in grades.tolist()]
        gains = as_scores(gain, "gain")
        if gains.size != grades.size:
            raise ValueError(
                f"gain must hold {grades.size} numbers, one a grade, got {gains.size}."
            )
        if not np.ptp(gains):
            raise ValueError(f"gain must differ between grades, got {gains[0]:g} for all.")
        return gains

    def _fitted_html(self) -> str | None:
        fitted = self._fit
        notes = *fitted.problems("score_problems_"), *fitted.problems("draw_problems")
        return curves_html(self, fitted.documents(1).score.size, notes)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.one_d_array, tags.input_tags.two_d_array = True, False
        return tags

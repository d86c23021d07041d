"""MulticlassCalibrator: from the scores of several exclusive classes to their probabilities."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin

from bayescal.calibrators.estimator import FittedEstimator, chosen_draws, picture_html
from bayescal.decisions import expected_cost
from bayescal.decisions.expected_cost import Decisions
from bayescal.decisions.selective import set_threshold, sets_above
from bayescal.fitting.curves.curves import INTERVALS, interval_of_draws
from bayescal.fitting.fitted_classes import ClassParameters, FittedClasses, fit_multiclass
from bayescal.fitting.results.diagnostics import class_table, warn_of_problems
from bayescal.support.lazy import BAND, DRAW, KLASS, ROW, rowwise
from bayescal.support.validation import Floats, check_choice, check_fraction

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from bayescal.fitting.results.diagnostics import Diagnostics

MARGINAL, DOCUMENT = SETS = ("marginal", "document")


@dataclass(frozen=True)
class TopClasses:
    """The class of the largest probability of each document.

    Attributes
    ----------
    label : array of shape (n,)
        The class.
    probability : array of shape (n,)
        Its posterior mean probability.
    interval : array of shape (n, 2)
        Its equal-tailed posterior interval.
    probability_likeliest : array of shape (n,)
        Posterior probability that no other class has a larger probability.
    """

    label: NDArray[Any]
    probability: Floats
    interval: Floats
    probability_likeliest: Floats


class MulticlassCalibrator(
    ClassifierMixin,  # type: ignore[misc]
    FittedEstimator[FittedClasses],
    ClassParameters,
):
    r"""Calibrate the scores of several exclusive classes by one Bayesian map.

    Scores are logits, margins, log-probabilities or probabilities, one for each class. Logits and
    margins have no unit: they are multiplied by a factor, so that the typical gap between the two
    largest is 10. With u the log-softmax, g = -u, and r the typical gap between the two largest u,

        e0_k  = -G h(g_k / r) / h(1),   h(x) = ((1 + x)^lambda - 1) / lambda
        e_k   = e0_k + c q_k,           q = -log(1 - softmax(e0)),   l = log softmax(e)
        eta_k = e_k + b_k + v_k s(l_k) + w_k s(q_k) + sum_{j != k} M_kj s(l_j)
        P(k | scores) = (1 - eps) softmax(eta)_k + eps / K

    with s a feature centred and scaled class by class. G, lambda and c correct over-confidence
    that all classes share; b, v, w and M correct single classes and confusions of two; eps is the
    share of labels unrelated to the scores. All have priors learned from other problems, and the
    scales of b, v, w and M are learned from the labels. Probabilities are means of posterior
    draws.

    Parameters
    ----------
    scores_are : {"auto", "scores", "probabilities"}
        "scores" are real numbers, of which only differences within a document matter, and a
        constant factor does not; log-probabilities, whose exponentials sum to 1, keep their unit.
        Of "probabilities" the logarithms are used; 0 counts as
        half the smallest probability above 0. "auto" takes scores for probabilities if all lie in
        [0, 1] and those of each document sum to 1; if some do not, or later scores are of the other
        kind, it warns or raises ValueError.
    exchangeable : bool
        Whether the meaning of columns differs by document, such as the answers A to D to a
        question. Only G, lambda, c and eps are then learned. Documents may have different numbers
        of options: pass a list of sequences, or pad rows with nan.
    position_bias : bool
        For `exchangeable`, whether each position has a bias b. Positions beyond those fitted draw
        theirs from the population of positions.
    prior_knowledge : dict, optional
        Hyperparameters of the prior that differ from those learned from other problems: gain (a, b,
        sd), log G ~ Normal(a + b log min(r, 10), sd^2); warp and asymmetry, the mean and standard
        deviation of lambda and of c; lapse, the two parameters of the Beta prior of eps; and
        scales, a dict of the typical sizes of bias (0.25), slope (0.12), certainty (0.12) and
        confusion (0.05).
    inference : {"chains", "variational", "auto"}
        "chains" of Hamiltonian Monte Carlo; "variational": draws from a normal approximation of the
        posterior, in a fraction of the time; "auto": chains for at most 2,000 documents times
        classes, where a normal approximation loses most and saves least, else "variational". With
        more than 200,000 documents times classes, or 50 classes, all are a normal approximation
        class by class around the mode.
    draws : int
        Posterior draws of each chain.
    chains : int
        Number of chains, at least 2.
    random_state : int, Generator, RandomState or None
        Seeds the draws.

    Attributes
    ----------
    classes_ : array of shape (K,)
        The classes, in the order of the columns.
    posterior_ : xarray.DataTree
        Draws with dimensions chain, draw, klass and klass_to: log_gain (log G), warp (lambda),
        asymmetry (c), lapse (eps), bias (b), slope (v), certainty (w), confusion (M; row klass
        gets s(l) of klass_to) and scale, the standard deviation of each block of coefficients.
    design_effect_ : bayescal.inference.design_effect.DesignEffect or None
        The design effect of clusters; None for a fit without any.
    diagnostics_ : bayescal.fitting.results.diagnostics.Diagnostics
        R-hat and effective sample sizes, and what to do about them.

    Notes
    -----
    With more than 20 classes, confusions are with the first ten principal components of l. An
    option with the score -inf is excluded: its probability is 0.

    References
    ----------
    C. Guo et al., *On calibration of modern neural networks*, ICML 2017 (temperature, vector and
    matrix scaling). E. Berta et al., *Structured matrix scaling for multi-class calibration*,
    arXiv:2511.03685.

    Examples
    --------
    >>> import numpy as np
    >>> from bayescal import MulticlassCalibrator
    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(3, size=200)
    >>> scores = 5.0 * (rng.normal(size=(200, 3)) + 2.0 * np.eye(3)[y])
    >>> calibrator = MulticlassCalibrator(random_state=0).fit(scores, y)
    >>> calibrator.predict_proba([[5.0, 0.0, 0.0]]).round(1)
    array([[0.8, 0.1, 0.1]])
    >>> calibrator.predict_top([[50.0, 0.0, 0.0]]).probability_likeliest.round(1).tolist()
    [1.0]
    >>> calibrator.findings()[0][:30]
    'The scores are over-confident:'
    """

    _fit_type = FittedClasses

    def fit(
        self,
        scores: Any,
        y: ArrayLike | None = None,
        classes: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        inclusion: ArrayLike | None = None,
        clusters: ArrayLike | None = None,
    ) -> Self:
        """Fit the map to scores and labels.

        Parameters
        ----------
        scores : array-like or table of shape (n, K)
            A score for each class; larger means likelier. Use documents that the classifier was
            not trained on. -inf excludes an option of a document.
        y : array-like of shape (n,)
            The class of each document. Some classes may have no document.
        classes : array-like of shape (K,), optional
            The classes, in the order of the columns; a table's columns with these names in any
            order. By default the names of a table's columns if these are the labels' names, else
            the sorted labels if there are K, else 0 to K - 1 for labels that are such positions.
        sample_weight : array-like of shape (n,), optional
            A weight of 2 equals repeating the document, and 0 leaving it out.
        inclusion : array-like of shape (n,), optional
            The probability that each document had to be labelled, above 0 and at most 1, where it
            differs. Documents get weights 1 / inclusion, scaled to sum to Kish's effective sample
            size.
        clusters : array-like of shape (n,), optional
            Which documents belong together, as in `ScoreCalibrator.fit`. The map is fitted twice:
            residuals of the first fit give `design_effect_`, one for all classes.

        Raises
        ------
        ValueError
            If an argument is not as described, or a label is no class or an excluded option.

        Warns
        -----
        ConvergenceWarning
            If the chains disagree; see `diagnostics_`.
        ScoresWarning
            If scores look like probabilities, but do not sum to 1.
        """
        data = scores, y, classes, sample_weight, inclusion, clusters
        self._fitted = fit_multiclass(self._parameters(), *data)
        return self

    def update(
        self,
        scores: Any,
        labels: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        forgetting: float = 1.0,
        clusters: ArrayLike | None = None,
    ) -> Self:
        """Learn from further labelled documents.

        The map is fitted to all documents so far, with priors in the unit r of the first fit.

        Parameters
        ----------
        scores, labels, sample_weight
            New documents, as in `fit`.
        forgetting : float
            A number in (0, 1] by which the weights of all earlier documents are multiplied.
        clusters : array-like of shape (n,), optional
            The clusters of the new documents, as in `ScoreCalibrator.update`.

        Raises
        ------
        ValueError
            If an argument is not as described. The calibrator is then unchanged.
        """
        data = scores, labels, sample_weight, forgetting, clusters
        self._fitted = self._fit.updated(self._parameters(), *data)
        warn_of_problems(self._fitted.problems)
        return self

    @rowwise(ROW, KLASS, classes=True)
    def predict_proba(self, scores: Any, prior: Any = None) -> Floats:
        """Return the posterior mean probability of each class, shape (n, K).

        Parameters
        ----------
        scores : array-like or table of shape (n, K)
            Scores, of the same kind as those fitted.
        prior : array-like of shape (K,) or (draws, K), or mapping, optional
            The class shares among these documents, where they differ from the fitted ones: each
            draw's probabilities are multiplied by new over old shares and normalised (Bayes' rule).
            A mapping goes from classes to shares. A row for each posterior draw carries the
            uncertainty of the shares into every band. It assumes label shift: scores of each class
            are distributed as before. If the case mix changed and P(class | scores) is as it was,
            pass none.

        Raises
        ------
        ValueError
            If scores are not as described, or shares are negative or do not sum to 1.
        """
        fitted = self._fit
        return fitted.map.mean(fitted.read(scores), fitted.tilt(prior))

    @rowwise(ROW, classes=True)
    def predict(self, scores: Any, prior: Any = None) -> NDArray[Any]:
        """Return the likeliest class of each document; parameters as `predict_proba`."""
        p = self.predict_proba(scores, prior)
        return np.asarray(self._fit.labels(p.shape[1])[p.argmax(axis=1)])

    @rowwise(ROW, KLASS, classes=True)
    def predict_log_proba(self, scores: Any, prior: Any = None) -> Floats:
        """Return natural logarithms of `predict_proba`; -inf for excluded options."""
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(scores, prior))

    @rowwise(ROW, KLASS, BAND, classes=True)
    def predict_interval(
        self, scores: Any, level: float = 0.9, kind: str = "pointwise", prior: Any = None
    ) -> Floats:
        """Return the posterior interval of each probability, shape (n, K, 2): lower and upper.

        Scores and `prior` are as in `predict_proba`, `level` and `kind` ("pointwise" or "hdi") as
        in `ScoreCalibrator.predict_interval`.
        """
        check_fraction(level=level)
        check_choice("kind", kind, INTERVALS)
        fitted = self._fit
        log_p = fitted.read(scores)
        out = np.empty((*log_p.shape, 2))
        for part, p in fitted.map.blocks(log_p, fitted.tilt(prior)):
            out[part] = np.swapaxes(interval_of_draws(p, level, kind), 0, 1)
        return out

    @rowwise(DRAW, ROW, KLASS, classes=True)
    def sample_proba(
        self, scores: Any, draws: int | None = None, random_state: Any = None, prior: Any = None
    ) -> Floats:
        """Return probabilities of posterior draws, shape (draws, n, K), for `bayescal.decisions`.

        Scores and `prior` are as in `predict_proba`, other arguments as in
        `ScoreCalibrator.sample_proba`.
        """
        fitted = self._fit
        size = fitted.map.size
        chosen = chosen_draws(draws, size, random_state)
        log_p = fitted.read(scores)
        out = np.empty((size if chosen is None else chosen.size, *log_p.shape))
        for part, p in fitted.map.blocks(log_p, fitted.tilt(prior), chosen):
            out[:, part] = np.swapaxes(p, 1, 2)
        return out

    @rowwise(ROW, BAND, classes=True)
    def predict_top(self, scores: Any, level: float = 0.9, prior: Any = None) -> TopClasses:
        """Return the likeliest class of each document, its probability and band.

        Scores and `prior` are as in `predict_proba`; `level` is the probability of the band.
        """
        check_fraction(level=level)
        fitted = self._fit
        log_p = fitted.read(scores)
        n = len(log_p)
        best, probability = np.empty(n, dtype=np.intp), np.empty(n)
        interval, likeliest = np.empty((n, 2)), np.empty(n)
        for part, p in fitted.map.blocks(log_p, fitted.tilt(prior)):
            mean = p.mean(axis=0)
            best[part] = mean.argmax(axis=0)
            at = np.arange(mean.shape[1])
            own = p[:, best[part], at]
            probability[part] = mean[best[part], at]
            interval[part] = interval_of_draws(own, level, "pointwise")
            likeliest[part] = (own >= p.max(axis=1)).mean(axis=0)
        return TopClasses(fitted.labels(log_p.shape[1])[best], probability, interval, likeliest)

    @rowwise(ROW, KLASS, classes=True)
    def predict_set(
        self, scores: Any, coverage: float = 0.9, kind: str = MARGINAL
    ) -> NDArray[np.bool_]:
        """Return sets of classes that hold the true one with a given probability, shape (n, K).

        Parameters
        ----------
        scores : array-like or table of shape (n, K)
            Scores, of the same kind as those fitted.
        coverage : float
            Expected share of documents whose set holds the true class.
        kind : {"marginal", "document"}
            "marginal": the likeliest class, and all classes above one threshold, chosen so that the
            expected coverage of documents like those fitted is `coverage`. "document": for each
            document the fewest classes whose probabilities sum to at least `coverage`; these sets
            are larger.
        """
        check_fraction(coverage=coverage)
        check_choice("kind", kind, SETS)
        fitted = self._fit
        p = fitted.map.mean(fitted.read(scores))
        if kind == DOCUMENT:
            order = np.argsort(-p, axis=1)
            sorted_p = np.take_along_axis(p, order, axis=1)
            before = np.cumsum(sorted_p, axis=1) - sorted_p
            out = np.zeros(p.shape, dtype=np.bool_)
            np.put_along_axis(out, order, before < coverage, axis=1)
            return out
        data = fitted.documents()
        known = fitted.map.mean(data.scores.log_p)
        return sets_above(p, set_threshold(known, coverage, data.weight))

    @rowwise(ROW, BAND, classes=True)
    def decide(
        self, scores: Any, costs: ArrayLike, *, level: float = 0.9, prior: Any = None
    ) -> Decisions:
        """Return the decision of the least expected cost for each document.

        Parameters
        ----------
        scores, prior
            See `predict_proba`.
        costs : array-like of shape (decisions, K)
            costs[d, k] is the cost of decision d where the class is k. The first K decisions are
            the classes; a further row may be abstaining (`bayescal.decisions.with_abstention`).
        level : float
            Posterior probability of the band of the expected cost.

        Returns
        -------
        bayescal.decisions.Decisions
            decision (rows of `costs`), expected_cost and cost_interval, probability_optimal, and
            expected_regret.
        """
        fitted = self._fit
        log_p = fitted.read(scores)
        parts = [
            expected_cost.decide(np.swapaxes(p, 1, 2), costs, level=level)
            for _, p in fitted.map.blocks(log_p, fitted.tilt(prior))
        ]
        columns = zip(*(vars(part).values() for part in parts), strict=True)
        return Decisions(*map(np.concatenate, columns))

    def summary(self, level: float = 0.9) -> pd.DataFrame:
        """Return posterior medians and intervals of the shared parameters and of each class.

        Rows are (parameter, class, other class); columns are median, and lower and upper ends of
        equal-tailed intervals of probability `level`.
        """
        check_fraction(level=level)
        warn_of_problems(self._fit.problems)
        return class_table(self._fit.results.groups, level)

    def findings(self, level: float = 0.9) -> tuple[str, ...]:
        """Return sentences on over-confidence and the classes that the fitted scores confuse most.

        With `exchangeable` there are no classes to confuse. Intervals have probability `level`.
        A sentence names a normal approximation, where bands rest on one.
        """
        check_fraction(level=level)
        return self._fit.findings(level)

    def _fitted_html(self) -> str | None:
        label, title = self._fit.documents().label, "Documents fitted, and the numbers expected"
        head = f"MulticlassCalibrator fitted to {label.size:,} documents of {self.classes_.size}"
        head += " positions" if self.exchangeable else " classes"
        return picture_html(head, [*self._fit.problems, *self.findings()], title, self._draw)

    def _draw(self, ax: Axes) -> None:
        from bayescal.plots import ConfusionDisplay

        data = self._fit.documents()
        p, names = self._fit.map.mean(data.scores.log_p), self.classes_
        ConfusionDisplay.from_predictions(names[data.label], p, classes=names, ax=ax)

    @property
    def classes_(self) -> NDArray[Any]:
        """The classes, in the order of the columns."""
        return self._fit.classes

    @property
    def several_classes(self) -> bool:
        """True: each document has one of several classes."""
        return True

    @property
    def scores_are_(self) -> str:
        """Meaning of the scores, with "auto" resolved."""
        return self._fit.scores_are

    @property
    def share_(self) -> Floats:
        """The posterior mean share of each class among the documents fitted, shape (K,)."""
        return self._fit.share

    @property
    def diagnostics_(self) -> Diagnostics:
        """Quality of the posterior draws, and what to do about it."""
        return self._fit.diagnostics_

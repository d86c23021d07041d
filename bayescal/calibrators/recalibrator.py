"""Recalibrator: another model's probabilities recalibrated, with shrinkage to no change."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bayescal.calibrators.estimator import ScoreEstimator, chosen_draws, curves_html
from bayescal.fitting.curves.curves import Prior
from bayescal.fitting.fitted_recalibration import (
    FittedRecalibration,
    RecalibrationParameters,
    fit_recalibration,
    read_sites,
)
from bayescal.fitting.problems.problem import Problems, summary_of
from bayescal.fitting.results.calibration import KINDS, Calibration
from bayescal.metrics.inputs import as_probabilities
from bayescal.support.lazy import BAND, DRAW, KLASS, ROW, rowwise
from bayescal.support.numerics import probabilities
from bayescal.support.validation import Floats, check_choice, check_fraction

if TYPE_CHECKING:
    import pandas as pd

    from bayescal.fitting.engines.point_estimates import ClassFits


class Recalibrator(ScoreEstimator[FittedRecalibration], RecalibrationParameters):
    r"""Recalibrate another model's probabilities, with shrinkage towards no change.

    With l = logit(p) of a given probability, natural, the recalibrated log-odds are

        l + a + (b - 1) (l - m) + g(l),

    with a shift a, a slope b around a pivot m and a bend g, a Gaussian process. Four models,
    "as is" (nothing is free), "shift", "slope" and "full", have prior probabilities .4, .3, .2 and
    .1 and normal priors of several scales: 17 logistic regressions with the offset l, averaged by
    their evidence. Ten labels change little; a thousand dominate the prior.

    Parameters
    ----------
    pooling : {"complete", "partial"}
        "complete" fits one curve to all documents. "partial" gives each site its own shift and
        slope, normally distributed over sites; a new site is predicted from that population.
    refit : {"auto", "always", "never"}
        Whether to weigh a fifth model, a calibration of l from scratch
        (``ScoreCalibrator(prior_knowledge="vague")``), against the average, by the log score of
        five-fold cross-validation, with prior odds of 1 : 9. It helps if the domain changed so much
        that the old probabilities are mere scores. "auto" does so with at least 20 documents of the
        rarer class and pooling="complete".
    positive : label, optional
        The class of the probabilities `p`; by default as in `ScoreCalibrator`.
    draws : int
        Number of independent posterior draws.
    random_state : int, numpy Generator, RandomState or None
        Seeds the draws; the same seed gives the same bits.

    Attributes
    ----------
    classes_ : array of shape (2,)
        The labels in sorted order, as in the columns of `predict_proba`.
    model_probability_ : dict of str to float
        Posterior probabilities of the four models; not with pooling="partial".
    refit_weight_ : float
        Weight of the fifth model; 0 without a comparison.
    sites_ : list or None
        Names of the sites fitted.
    design_effect_ : bayescal.inference.design_effect.DesignEffect or None
        The design effect of clusters; None for a fit without any.
    posterior_ : xarray.DataTree
        Draws of shift, slope and bend, in ArviZ's schema.

    References
    ----------
    Y. Vergouwe et al., *A closed testing procedure to select an appropriate method for updating
    prediction models*, Statistics in Medicine 2017. A. P. Guthrie and C. T. Franck,
    *Boldness-recalibration for binary event predictions*, The American Statistician 2024.

    Examples
    --------
    >>> import numpy as np
    >>> from bayescal.monitoring import Recalibrator
    >>> rng = np.random.default_rng(0)
    >>> p = rng.uniform(0.02, 0.5, 400)
    >>> y = rng.random(400) < p / (p + 2.0 * (1.0 - p))  # true odds are half of p's
    >>> again = Recalibrator(random_state=0).fit(p, y)
    >>> again.predict_proba([0.1, 0.5])[:, 1].round(2).tolist()
    [0.06, 0.35]
    >>> max(again.model_probability_, key=again.model_probability_.get)
    'shift'
    """

    _fit_type = FittedRecalibration

    def fit(
        self,
        p: ArrayLike,
        y: ArrayLike,
        sites: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        *,
        inclusion: ArrayLike | None = None,
        clusters: ArrayLike | None = None,
    ) -> Self:
        """Fit to labelled documents.

        Parameters
        ----------
        p : array-like of shape (n,)
            Given probabilities of the positive class. 0 and 1 count as log-odds of -20 and 20.
        y : array-like of shape (n,)
            Labels of two classes. One class alone is allowed if labels are 0 and 1 or booleans.
        sites : array-like of shape (n,), optional
            The site of each document, for pooling="partial".
        sample_weight : array-like of shape (n,), optional
            How many documents each counts for.
        inclusion : array-like of shape (n,), optional
            The probability that each document had to be labelled, as in `MulticlassCalibrator.fit`.
            Omit it where documents were chosen by `p` alone: the fit is of labels given `p`, and
            weights would only widen its bands.
        clusters : array-like of shape (n,), optional
            Which documents belong together, as in `ScoreCalibrator.fit`; one design effect counts
            for all sites. Folds that compare "fit again" keep clusters together.
        """
        data = p, y, sites, sample_weight, inclusion, clusters
        self._fitted = fit_recalibration(self._parameters(), *data)
        return self

    @rowwise(ROW)
    def decision_function(
        self, p: ArrayLike, sites: ArrayLike | None = None, prior: Prior | None = None
    ) -> Floats:
        """Return recalibrated natural log-odds of `classes_[1]`, shape (n,).

        Parameters
        ----------
        p : array-like of shape (n,)
            Given probabilities.
        sites : array-like of shape (n,), optional
            The site of each document, for pooling="partial"; without it, all are of a new site.
        prior : float, array-like or frozen scipy.stats distribution, optional
            P(+) of the documents, if it differs from the fitted one; see
            `ScoreCalibrator.decision_function`.
        """
        log_odds = self._by_site(
            lambda own, part: own.log_odds(part, "predictive"), p, sites, prior
        )
        return -log_odds if self._fit.turned else log_odds

    @rowwise(ROW, KLASS)
    def predict_proba(
        self, p: ArrayLike, sites: ArrayLike | None = None, prior: Prior | None = None
    ) -> Floats:
        """Return recalibrated probabilities of both classes, (n, 2); see `decision_function`."""
        return probabilities(self.decision_function(p, sites, prior))

    @rowwise(ROW)
    def predict(
        self, p: ArrayLike, sites: ArrayLike | None = None, prior: Prior | None = None
    ) -> NDArray[Any]:
        """Return the likelier class of each document; parameters as `decision_function`."""
        second = self.decision_function(p, sites, prior) > 0.0
        return np.asarray(self.classes_[second.astype(np.intp)])

    @rowwise(ROW, BAND)
    def predict_interval(
        self,
        p: ArrayLike,
        level: float = 0.9,
        kind: str = "pointwise",
        sites: ArrayLike | None = None,
        prior: Prior | None = None,
    ) -> Floats:
        """Return the posterior interval of the recalibrated P(+); shape (n, 2), lower and upper.

        This is the band of the average, which shrinks to the old probabilities; `audit` draws the
        band of the labels alone. `level` and `kind` are as in `ScoreCalibrator.predict_interval`,
        other arguments as in `decision_function`.
        """
        check_fraction(level=level)
        check_choice("kind", kind, KINDS)
        return self._by_site(lambda own, part: own.interval(part, level, kind), p, sites, prior)

    @rowwise(DRAW, ROW)
    def sample_proba(
        self,
        p: ArrayLike,
        draws: int | None = None,
        random_state: Any = None,
        prior: Prior | None = None,
        sites: ArrayLike | None = None,
    ) -> Floats:
        """Return posterior draws of the recalibrated P(+); shape (draws, n).

        `draws` and `random_state` are as in `ScoreCalibrator.sample_proba`, other arguments as in
        `decision_function`.
        """
        total = self._fit.parameters.draws
        index = chosen_draws(draws, total, random_state)
        index = np.arange(total) if index is None else index
        return self._by_site(lambda own, part: own.take(index).sample(part).T, p, sites, prior).T

    @property
    def model_probability_(self) -> dict[str, float]:
        """Probabilities of the four models given the labels."""
        group = self._fit.groups.get("models")
        if group is None:
            raise AttributeError("pooling='partial' compares no models: use pooling='complete'.")
        names, values = group["kind"].values.tolist(), group["probability"].values.tolist()
        return dict(zip(names, values, strict=True))

    @property
    def refit_weight_(self) -> float:
        """Weight of the calibration from scratch."""
        return self._fit.refit_weight

    @property
    def sites_(self) -> list[Any] | None:
        """Names of the sites fitted; None without pooling."""
        return self._fit.sites

    @property
    def mle_(self) -> ClassFits:
        """The counts of both classes and the class prior; there are no densities."""
        return self._fit.calibration().fits

    def summary(self, level: float = 0.9) -> pd.DataFrame:
        """Return posterior mean and interval of shift and slope, of each site if there are any."""
        check_fraction(level=level)
        return summary_of(self.fitted_problems(), level)

    def fitted_problems(self) -> Problems:
        """Return the fitted problem, or one for each site, for plots and reports."""
        return self._fit.fitted_problems()

    def _by_site(
        self,
        read: Callable[[Calibration, Floats], Floats],
        p: ArrayLike,
        sites: ArrayLike | None,
        prior: Prior | None,
    ) -> Floats:
        """Return values of each document, documents first, by its site's calibration."""
        fitted, values = self._fit, as_probabilities(p, "p")
        if sites is None:
            return read(fitted.calibration(None).with_prior(prior), values)
        if fitted.sites is None:
            raise ValueError("sites must be None, for none were fitted: use pooling='partial'.")
        names, code = read_sites(sites, values.size)
        known = {name: k for k, name in enumerate(fitted.sites)}
        parts = []
        order = np.argsort(code, kind="stable")
        for j, name in enumerate(names.tolist()):
            own = fitted.calibration(known.get(name)).with_prior(prior)
            parts.append(read(own, values[code == j]))
        answers = np.concatenate(parts)
        out = np.empty_like(answers)
        out[order] = answers
        return out

    def _fitted_html(self) -> str | None:
        documents = self.posterior_["observed_data"].sizes["document"]
        return curves_html(self, documents, self._fit.problems)

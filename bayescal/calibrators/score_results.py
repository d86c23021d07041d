"""ScoreResults: attributes and tables of a fitted ScoreCalibrator, without its predictions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike

from bayescal.calibrators.estimator import ScoreEstimator
from bayescal.fitting.engines.point_estimates import ClassFits
from bayescal.fitting.fitted_scores import FittedScores, draw_prior, prequential_table
from bayescal.fitting.parts.combination import read_lapse
from bayescal.fitting.parts.part import COMBINATION, flat
from bayescal.fitting.results import diagnostics
from bayescal.fitting.results.arviz_groups import GROUPS, PRIOR_PREDICTIVE, with_arviz_groups
from bayescal.fitting.settings import ScoreParameters, read_options
from bayescal.support.validation import Floats, check_choice, check_count, check_fraction, generator

if TYPE_CHECKING:
    import pandas as pd


class ScoreResults(ScoreEstimator[FittedScores], ScoreParameters):
    """The attributes and tables of a fitted `ScoreCalibrator`."""

    _fit_type = FittedScores

    def class_densities(self, scores: ArrayLike, level: float = 0.9) -> xr.Dataset:
        """Return the densities of both classes at scores, for plots and checks.

        Parameters
        ----------
        scores : array-like of shape (n,) or (n, 1)
            Raw scores.
        level : float
            Probability of the pointwise posterior interval.

        Returns
        -------
        xarray.Dataset
            Densities per unit of score, with dimensions klass and score: `mle`, and where there is
            a posterior `predictive`, `lower` and `upper`.
        """
        calibration = self._fit.calibration
        check_fraction(level=level)
        return calibration.densities(scores, level)

    def summary(self, level: float = 0.9) -> pd.DataFrame:
        """Return every parameter by class: maximum likelihood beside the posterior.

        Both are in raw score units (for probabilities, in units of their log-odds). Warped
        densities, and several families, share no parameters: their rows are the mode of each
        draw's density of raw scores, and left_width and right_width, the distances from the mode
        beyond which 1/e, 37 %, of the scores on that side lie (1/rate for an exponential side, 0.90
        sigma for a Gaussian one). Rows of log-odds fits are their values at the knots and at the
        ends of the scores fitted.

        Parameters
        ----------
        level : float
            Probability of the equal-tailed posterior interval.

        Returns
        -------
        pandas.DataFrame
            A row for each class and parameter, with columns mle and guard; where there is a
            posterior also median, lower, upper, rhat and ess_bulk; for inference "map" also map.
            There is no mean: widths may have none where warps make tails heavy. guard names what
            moved mle off the likelihood's optimum: "scale_floor", a lower bound of scales;
            "add_one", Bennett's class prior (positives + 1)/(documents + 2). "exact" has
            independent draws, with ess_bulk their number, and rhat nan.

        Warns
        -----
        ConvergenceWarning
            If the draws of any part are unreliable; see `diagnostics_`.
        """
        fitted = self._fit
        check_fraction(level=level)
        diagnostics.warn_of_problems(fitted.draw_problems)
        return diagnostics.parameter_table(flat(fitted.tree), fitted.classes, level)

    @property
    def inference_(self) -> str:
        """The name of the inference, "auto" resolved."""
        return self._fit.inference

    @property
    def mle_(self) -> ClassFits:
        """The maximum-likelihood fits of both classes."""
        return self._fit.mle

    @property
    def diagnostics_(self) -> diagnostics.Diagnostics | None:
        """Quality of the posterior draws, and what to do about it; None without draws."""
        return self._fit.diagnostics_

    @property
    def score_problems_(self) -> tuple[str, ...]:
        """Problems of the scores fitted, and what to do."""
        return self._fit.score_problems_

    @property
    def posterior_(self) -> xr.DataTree:
        """The tree of results, where it holds a posterior."""
        if not self._fit.results.has_posterior:
            raise AttributeError(
                f"inference={self.inference_!r} has no posterior; fit with inference='exact'."
            )
        return self.results_

    def to_arviz(
        self, groups: Sequence[str] = GROUPS, *, draws: int = 1000, random_state: Any = None
    ) -> Any:
        """Return `posterior_` with groups for ArviZ's loo, compare and predictive checks.

        Parameters
        ----------
        groups : sequence of {"log_likelihood", "prior", "prior_predictive", "posterior_predictive"}
            Groups to compute and add. log_likelihood has the variable label, log P(y | s) of every
            document by every draw. prior has draws of the posterior's variables from their prior,
            in one chain. posterior_predictive has replicates of label given each document's score
            and, for class densities, of score given its label; prior_predictive, not a default, has
            the same by draws of the prior of one family or program.
        draws : int
            Largest number of posterior draws in the groups, evenly chosen. With 8 bytes a value,
            1,000 draws for 20,000 documents take 160 MB in each group.
        random_state : int, numpy Generator, RandomState or None
            Seeds the draws of the prior and of the replicates.

        Returns
        -------
        xarray.DataTree, or arviz.InferenceData before ArviZ 1.0
            As the installed ArviZ takes it; `arviz_stats` and `arviz_plots` take both.

        Raises
        ------
        AttributeError
            If there is no posterior.
        ValueError
            If an argument is not as described; for log_likelihood if documents were weighted, since
            a weighted document cannot be left out as one; or for prior_predictive with several
            parts or a curve whose parameters are not in the posterior.

        Notes
        -----
        ``arviz_stats.loo`` of the tree is the log score of labels left out: sum over documents of
        log P(y_i | s_i, all others). A document left out keeps its score and loses its label, so
        that all families compare. In a combination, one number for each part and document shifts
        the log likelihoods, so that a document left out does not change the parts' weights; see
        `bayescal.calibrators.leave_one_out`.

        Examples
        --------
        >>> from arviz_stats import loo
        >>> from bayescal import ScoreCalibrator
        >>> rng = np.random.default_rng(0)
        >>> y = rng.random(200) < 0.5
        >>> fitted = ScoreCalibrator("gaussian", random_state=0).fit(rng.normal(2.0 * y), y)
        >>> tree = fitted.to_arviz(["log_likelihood"])
        >>> bool(-0.6 < loo(tree).elpd / 200 < -0.2)  # nats per document
        True
        """
        tree = self.posterior_
        check_count("draws", draws)
        for group in groups:
            check_choice("groups", group, (*GROUPS, PRIOR_PREDICTIVE))
        options = replace(read_options(self._parameters()), rng=generator(random_state))
        prior = partial(draw_prior, options, flat(tree))
        return with_arviz_groups(tree, groups, draws, options.rng, prior)

    @property
    def units_(self) -> dict[str, float]:
        """Centre and spread of the scores first fitted, which priors are in units of."""
        calibration = self._fit.calibration
        return {"centre": calibration.centre, "spread": calibration.spread}

    @property
    def prequential_(self) -> pd.DataFrame:
        """Predictive scores of each update's documents before the update, a row per update."""
        return prequential_table(self._fit.results.groups)

    @property
    def log_evidence_(self) -> dict[str, float]:
        """The log evidence of each class, by the labels' text."""
        return diagnostics.log_evidence(self._fit.evidence(), self._fit.classes)

    @property
    def family_weight_(self) -> pd.DataFrame:
        """The weight of each family, a row for each class."""
        return diagnostics.family_weight(self._fit.evidence(), self._fit.classes)

    @property
    def family_probability_(self) -> pd.DataFrame:
        """The posterior probability of each family, a row for each class."""
        return diagnostics.family_probability(self._fit.evidence(), self._fit.classes)

    @property
    def warp_weight_(self) -> pd.Series[float]:
        """The weight of each warp, by its c in score units."""
        return diagnostics.warp_weight(self._fit.evidence())

    @property
    def combination_(self) -> pd.DataFrame:
        """The parts of the combination: weight, and the log scores behind it."""
        groups = self._fit.results.groups
        if COMBINATION not in groups:
            raise AttributeError(f"parts={self.parts!r} are not combined; use 'combined'.")
        return groups[COMBINATION].to_dataframe()

    @property
    def lapse_(self) -> Floats:
        """Posterior draws of the lapse rate, shape (draws,); all 0 where there are no lapses."""
        drawn = read_lapse(self._fit.results.groups)
        if drawn is not None:
            return drawn
        checked = self.diagnostics_
        return np.zeros(self.draws * self.chains if checked is None else checked.draws)

    @property
    def monotone_probability_(self) -> float:
        """P(log-odds never fall | data), the share of such draws before any condition."""
        return float(self._fit.evidence()["monotone"])

"""ScoreCalibrator: from one classifier's raw scores to probabilities with posterior bands."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import log_expit
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from bayescal.bayes import probability
from bayescal.curves.class_prior import Prior
from bayescal.engines.data import read_binary_scores
from bayescal.families import ScaleFloorOption
from bayescal.fitted.problem import Problems
from bayescal.fitted.score_problem import read_score_problem
from bayescal.html.jupyter import FittedHTML
from bayescal.parts.places import COMBINATION, model_name, places
from bayescal.randomness import generator
from bayescal.results import averages, diagnostics, provenance, storage, summaries
from bayescal.results.arviz_groups import GROUPS, with_arviz_groups
from bayescal.results.calibration import KINDS, read_calibration
from bayescal.results.representations import calibrator_html
from bayescal.results.tree import Results
from bayescal.score_checks import score_problems, warn_of_scores
from bayescal.score_fitting import draw_prior, fit_results
from bayescal.settings import AUTO, DEPRECATED, read_settings, resolve_inference, resolve_scores
from bayescal.validation import Floats, check_choice, check_count, check_fraction

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

NAME = "ScoreCalibrator"  # what files say made them


class ScoreCalibrator(FittedHTML, ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """
    Calibrate the raw scores of a binary classifier.

    The scores of each class get a density p(s|class); Bayes' rule turns the two and the class
    prior into log-odds(s) = logit P(+) + log p(s|+) - log p(s|-). Beside it log-odds that rise with
    the score are fitted to the labels directly; by default both are combined. With inference
    "exact" or "nuts" the parameters have a posterior, and so has every probability.

    Parameters
    ----------
    family : str
        Of the class densities: one of `bayescal.families.FAMILIES`; "average", a mixture of all
        but the hybrid, each class with weights of its own; or "auto", a mixture of Gaussian and
        asymmetric Laplace densities for inference "exact", else "asymmetric_laplace".
    inference : {"auto", "exact", "nuts", "map", "mle"}
        Independent posterior draws, in milliseconds; the same posterior by PyMC's NUTS, also for
        programs of your own; the posterior mode; or Bennett's maximum likelihood. "auto" is "nuts"
        where a program is given, else "exact".
    parts : str or sequence of str
        What the curve is made of: "densities", Bayes' rule with densities of both classes;
        "monotone", log-odds that rise in straight pieces, fitted to the labels directly;
        "logistic", their case of one slope; "recalibrated", log-odds that rise with those of the
        densities; "identity", scores that are log-odds as they are; several of these, or
        "combined", all of them but the last unless `scores_are` says so. Several parts are weighed
        by leave-one-out predictive performance (stacking). "auto" is "densities" where a family or
        a program is given and for inferences other than "exact", else "combined".
    program : str or Path, optional
        A model program for "nuts" and "map": a name from `bayescal.programs.available()` or the
        path of a .py file, which is run. Defaults to the program named like the family.
    hyperparameters : dict, optional
        Keyword arguments of the program's `model`, such as theta_scale; see models/. n_segments=3
        makes monotone log-odds three straight pieces (Bennett's future work); by default there are
        9 to 17, by the size of the rarer class.
    candidates : {"exact", "bennett"}
        Modes that maximum likelihood tries.
    scale_floor : "auto", float or None
        Floor of the maximum-likelihood scales in score units; None switches it off.
    scores_are : {"auto", "scores", "log_odds", "probabilities"}
        What the scores are. Log-odds, and probabilities by their log-odds, may be right as they
        are: then the identity, "do not calibrate", joins the combination as a part. "auto" is
        "scores", with a warning if all of them lie in [0, 1].
    positive : label, optional
        The positive class, for which larger scores stand; by default the second in sorted order.
        Where it is the first, scorers of scikit-learn, which take the second for positive, would
        score the wrong class in silence: give them y == positive as labels.
    warp : "auto", "none", "average" or float
        Whether x = m + c asinh((s - m)/c), which draws in heavy tails, stands for the scores: not;
        averaged over c = inf, 10, 3 and 1 spreads; or c in spreads. "auto" averages densities of
        several families, and lets the labels choose for "monotone".
    averaging : {"auto", "stacking", "evidence"}
        How families and warps are weighed: by the leave-one-out predictive density of their
        mixture, or by their posterior probabilities. "auto" is stacking, which measured better on
        real scores, but evidence where other parts follow densities or are weighed with them.
    monotone : bool
        Condition the posterior on log-odds that never fall; for "exact".
    point : {"predictive", "mean", "median"}, optional
        What `predict_proba` returns given a posterior: Bayes' rule with the posterior predictive
        densities, P(+ | s, data); or the posterior mean or median of the curve at s. By default
        "predictive", or with monotone=True "mean", which cannot fall either.
    draws, chains : int
        Posterior draws per chain, and chains; for "exact" all draws are independent.
    sampler_options : dict, optional
        Further arguments of pm.sample: tune, target_accept, cores, nuts_sampler, ...
    random_state : int, numpy Generator, RandomState or None
        Seeds the engines; the same seed gives the same bits.
    progressbar : bool
        Whether the sampler shows its progress.
    guard
        The former name of `scale_floor`; do not use it.

    Attributes
    ----------
    classes_ : array of shape (2,)
        The negative and the positive class: the labels in sorted order unless `positive` is the
        first of them.
    score_problems_ : tuple of str
        What is wrong with the scores fitted and what to do: positives that lie below negatives,
        scores of which next to nothing is learnt, scores that look like probabilities. Empty when
        nothing is; `fit` warns of the same (`bayescal.score_checks.ScoresWarning`).
    inference_ : str
        What `inference` stands for, "auto" resolved.
    mle_ : bayescal.engines.maximum_likelihood.ClassFits
        The maximum-likelihood fits of both classes, for every inference.
    posterior_ : xarray.DataTree
        In ArviZ's schema, for "exact" and "nuts". The group posterior holds draws in raw score
        units: the parameters of one family; of warped densities and of several families mode,
        left_width and right_width, as in `summary`; of log-odds fits their values at some
        scores (log_odds). Parts of a combination have groups of their own, and the groups whose
        names hold engine_draws and engine_constants have the engines' own coordinates. Beside
        them are observed_data, constant_data, maximum_likelihood, evidence of "exact" and
        sample_stats of "nuts".
    log_evidence_ : dict of str to float
        For "exact": natural log of the density of each class's scores under the family, all
        parameters integrated out; for several families or warps that of their equal mixture.
    family_weight_ : pandas.DataFrame
        For "exact": of each class, the weight of each family: by `averaging` its share in the
        stack or its posterior probability.
    family_probability_ : pandas.DataFrame
        For "exact": of each class, the posterior probability of each family, all alike a priori.
    warp_weight_ : pandas.Series
        For "exact": the weight of each warp, by its c in score units.
    monotone_probability_ : float
        P(log-odds of the class densities never fall | data), before any condition.
    combination_ : pandas.DataFrame
        For "combined": of each part the weight, its leave-one-out log score (elpd, natural
        logarithm) and the standard error of its difference to the best.
    results_ : xarray.DataTree
        The same tree for every inference, without posterior where there is none.
    diagnostics_ : bayescal.results.diagnostics.Diagnostics or None
        R-hat, effective sample sizes, divergences, and what to do about them.

    Examples
    --------
    >>> import numpy as np
    >>> from bayescal import ScoreCalibrator
    >>> scores, labels = np.array([-3.0, -2.0, -1.0, 0.5, 1.0, 2.0]), [0, 0, 0, 1, 0, 1]
    >>> calibrator = ScoreCalibrator(inference="mle").fit(scores, labels)
    >>> calibrator.predict_proba([-4.0, 3.0]).round(2)
    array([[0.82, 0.18],
           [0.31, 0.69]])
    """

    def __init__(
        self,
        family: str = "auto",
        inference: str = "auto",
        *,
        parts: str | Sequence[str] = "auto",
        program: str | Path | None = None,
        hyperparameters: Mapping[str, float] | None = None,
        scores_are: str = "auto",
        positive: Any = None,
        warp: str | float = "auto",
        averaging: str = "auto",
        monotone: bool = False,
        candidates: str = "exact",
        scale_floor: ScaleFloorOption = "auto",
        point: str | None = None,
        draws: int = 1000,
        chains: int = 4,
        sampler_options: Mapping[str, Any] | None = None,
        random_state: Any = None,
        progressbar: bool = False,
        guard: Any = DEPRECATED,
    ) -> None:
        self.family = family
        self.inference = inference
        self.parts = parts
        self.program = program
        self.hyperparameters = hyperparameters
        self.scores_are = scores_are
        self.positive = positive
        self.warp = warp
        self.averaging = averaging
        self.monotone = monotone
        self.candidates = candidates
        self.scale_floor = scale_floor
        self.point = point
        self.draws = draws
        self.chains = chains
        self.sampler_options = sampler_options
        self.guard = guard
        self.random_state = random_state
        self.progressbar = progressbar

    def fit(self, scores: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """
        Fit the densities of both classes.

        Parameters
        ----------
        scores : array-like of shape (n,) or (n, 1)
            Raw scores, larger for likelier positives; from documents the classifier was not
            trained on (cross-validated scores).
        y : array-like of shape (n,)
            Labels, two classes, both present.
        sample_weight : array-like of shape (n,), optional
            A weight of 2 equals repeating the document, a weight of 0 leaving it out: weights are
            powers of the likelihood. With "mle" that holds to rounding; where draws are made it
            holds to their Monte Carlo error, by which two seeds differ too: of 4,000 draws a
            standard deviation of 0.005 in probability or less for the default. Families that are
            stacked learn their weights from 256 scores of a class, and the combination from 20,000
            documents; of more than that other ones are taken when documents are repeated, which
            has moved probabilities of "average" by 0.01.

        Raises
        ------
        ValueError
            If an argument is not as described; nothing is changed then.

        Warns
        -----
        ScoresWarning
            Of what `score_problems_` says.
        ConvergenceWarning
            Of what `diagnostics_` says.
        """
        settings = read_settings(self)
        scores_are = resolve_scores(self.scores_are)
        data, classes = read_binary_scores(scores, y, sample_weight, scores_are, self.positive)
        attrs = provenance.describe(NAME, self._parameters(), classes)
        self._set_results(fit_results(settings, data, attrs), classes)
        diagnostics.warn_of_problems(self.diagnostics_)
        warn_of_scores(self.score_problems_)
        return self

    def decision_function(self, scores: ArrayLike, prior: Prior | None = None) -> Floats:
        """
        Return calibrated natural log-odds of the positive class, shape (n,).

        More than 2,048 scores are read off a table of the posterior's curve, within 1e-4 in
        probability; with "mle" and "map" all are evaluated.

        Parameters
        ----------
        scores : array-like of shape (n,) or (n, 1)
            Raw scores.
        prior : float, array-like or frozen scipy.stats distribution, optional
            P(+) of the population predicted for, if it is not that of the data fitted: a number,
            draws of one, or a distribution on (0, 1) whose uncertainty the band then shows.

        Raises
        ------
        ValueError
            If `prior` is not inside (0, 1).
        """
        check_is_fitted(self, "classes_")
        return self._calibration.with_prior(prior).log_odds(scores, self._point)

    def predict_proba(self, scores: ArrayLike, prior: Prior | None = None) -> Floats:
        """
        Return probabilities of both classes, in the order of `classes_`; shape (n, 2).

        Parameters
        ----------
        scores : array-like of shape (n,) or (n, 1)
            Raw scores.
        prior : float, array-like or frozen scipy.stats distribution, optional
            See `decision_function`.
        """
        log_odds = self.decision_function(scores, prior)
        out = np.empty((log_odds.size, 2))
        out[:, 1] = probability(log_odds)
        # Not 1 - P(+): that is 0 for every P(+) beyond 1 - 1e-16.
        out[:, 0] = probability(np.negative(log_odds, out=log_odds))
        return out

    def predict_log_proba(self, scores: ArrayLike, prior: Prior | None = None) -> Floats:
        """
        Return natural logarithms of `predict_proba`, which stay finite where that rounds to 0.

        Parameters
        ----------
        scores : array-like of shape (n,) or (n, 1)
            Raw scores.
        prior : float, array-like or frozen scipy.stats distribution, optional
            See `decision_function`.
        """
        log_odds = self.decision_function(scores, prior)
        return np.asarray(log_expit(np.stack([-log_odds, log_odds], axis=1)))

    def predict(self, scores: ArrayLike, prior: Prior | None = None) -> NDArray[Any]:
        """
        Return the likelier class of each score; the negative one where both are equal.

        Parameters
        ----------
        scores : array-like of shape (n,) or (n, 1)
            Raw scores.
        prior : float, array-like or frozen scipy.stats distribution, optional
            See `decision_function`.
        """
        log_odds = self.decision_function(scores, prior)
        likelier: NDArray[Any] = self.classes_[(log_odds > 0.0).astype(np.intp)]
        return likelier

    def predict_interval(
        self,
        scores: ArrayLike,
        level: float = 0.9,
        kind: str = "pointwise",
        prior: Prior | None = None,
    ) -> Floats:
        """
        Return the posterior interval of P(+|s); shape (n, 2), lower and upper.

        More than 2,048 scores are read off a table of the interval, within 1e-4 in probability
        ("hdi": all are evaluated).

        Parameters
        ----------
        scores : array-like of shape (n,) or (n, 1)
            Raw scores.
        level : float
            Posterior probability, between 0 and 1: of the interval at each score; for
            "simultaneous", that the whole curve lies within the band.
        kind : {"pointwise", "hdi", "simultaneous"}
            Equal tails at each score; the shortest interval at each score; or a band for the
            curve between the smallest and the largest score fitted, of equal tails at each.
        prior : float, array-like or frozen scipy.stats distribution, optional
            See `decision_function`.

        Raises
        ------
        ValueError
            If an argument is out of range, or inference is "mle" or "map", which know no interval.
        """
        check_fraction(level=level)
        check_choice("kind", kind, KINDS)
        self._posterior_draws("predict_interval")
        return self._calibration.with_prior(prior).interval(scores, level, kind)

    def sample_proba(
        self,
        scores: ArrayLike,
        draws: int | None = None,
        random_state: Any = None,
        prior: Prior | None = None,
    ) -> Floats:
        """
        Return P_k(+|s) of posterior draws k; shape (draws, n).

        Parameters
        ----------
        scores : array-like of shape (n,) or (n, 1)
            Raw scores.
        draws : int, optional
            So many draws chosen at random without replacement; all, in their order, by default.
        random_state : int, Generator, RandomState or None
            Chooses the draws.
        prior : float, array-like or frozen scipy.stats distribution, optional
            See `decision_function`.

        Raises
        ------
        ValueError
            If `draws` is not between 1 and the number of draws, or there is no posterior.
        """
        size = self._posterior_draws("sample_proba")
        calibration = self._calibration.with_prior(prior)
        if draws is not None:
            if not 1 <= draws <= size:
                raise ValueError(f"draws must be from 1 to {size}, got {draws}.")
            calibration = calibration.take(
                generator(random_state).choice(size, draws, replace=False)
            )
        return calibration.sample(scores)

    def class_densities(self, scores: ArrayLike, level: float = 0.9) -> xr.Dataset:
        """
        Return the densities of both classes at scores, for plots and checks.

        Parameters
        ----------
        scores : array-like of shape (n,) or (n, 1)
            Raw scores.
        level : float
            Probability of the pointwise posterior interval.

        Returns
        -------
        xarray.Dataset
            Dimensions klass and score: `mle`, and with a posterior `predictive`, `lower`,
            `upper`; per unit of score.
        """
        check_is_fitted(self, "classes_")
        check_fraction(level=level)
        return self._calibration.densities(scores, level)

    def summary(self, level: float = 0.9) -> pd.DataFrame:
        """
        Return every parameter by class: maximum likelihood beside the posterior.

        Both are in raw score units (of probabilities in units of their log-odds). Densities that
        are warped or of several families have no parameter in common; the rows of these are the
        mode of each draw's density of raw scores, and left_width and right_width, the distances
        from the mode beyond which 1/e, 37 %, of the scores on that side of it lie. Of an
        exponential side that is its mean distance, 1/rate; of a Gaussian one 0.90 sigma.
        Log-odds fits have rows of their values where their slope changes and at the ends of the
        scores fitted, beside those by maximum likelihood.

        Parameters
        ----------
        level : float
            Probability of the equal-tailed posterior interval.

        Returns
        -------
        pandas.DataFrame
            Rows (class, parameter); columns mle, guard, and with a posterior its median, lower and
            upper end of the interval, rhat and ess_bulk; with inference "map", map. There is no
            mean: that of a width may not exist where warps make tails heavy. guard names what
            moved an mle off the likelihood's optimum: "scale_floor" under a degenerate scale,
            "add_one" in the class prior, (positives + 1)/(documents + 2) as Bennett has it, not
            positives/documents.

        Warns
        -----
        ConvergenceWarning
            If the draws of any part are not to be trusted; see `diagnostics_`.
        """
        check_is_fitted(self, "classes_")
        check_fraction(level=level)
        diagnostics.warn_of_problems(self.diagnostics_)
        return summaries.parameter_table(self.results_, self.classes_, level)

    @property
    def results_(self) -> xr.DataTree:
        """The tree of results for every inference, without posterior where there is none."""
        check_is_fitted(self, "classes_")
        return self._results.tree

    @property
    def posterior_(self) -> xr.DataTree:
        """The tree of results, where it holds a posterior."""
        check_is_fitted(self, "classes_")
        if not self._results.has_posterior:
            raise AttributeError(
                f"inference={self.inference_!r} has no posterior; fit with inference='exact'."
            )
        return self.results_

    def to_arviz(
        self,
        groups: Sequence[str] = GROUPS,
        *,
        draws: int = 1000,
        random_state: Any = None,
    ) -> xr.DataTree:
        """
        Return `posterior_` with groups that ArviZ's loo, compare and predictive checks read.

        They are made anew at every call: a fit does not pay for them.

        Parameters
        ----------
        groups : sequence of {"log_likelihood", "prior", "posterior_predictive"}
            What to add. log_likelihood has the variable label, log P(y | s) of every document by
            every draw; prior the variables of the posterior, one chain; posterior_predictive
            replicates of label given each document's score and, of class densities, of score given
            its label.
        draws : int
            At most so many posterior draws, evenly chosen, in all groups. Each group of documents
            takes 8 bytes a draw and document: 160 MB for 1,000 draws of 20,000 documents.
        random_state : int, numpy Generator, RandomState or None
            Draws the prior and the replicates.

        Returns
        -------
        xarray.DataTree

        Raises
        ------
        AttributeError
            If there is no posterior.
        ValueError
            If an argument is not as described, or log_likelihood is asked for and documents were
            weighted, which leaving one out has no place for.

        Notes
        -----
        ``arviz_stats.loo`` of the tree is the log score of labels left out: sum over documents of
        log P(y_i | s_i, all others). A document left out keeps its score, which class densities
        have seen, and loses its label; so all families compare. Draws of a combination are of
        several posteriors. Their log likelihoods are moved, by one number for each part and
        document, so that a document left out does not weigh the parts anew; the expected log score
        is that of the mixture, its weights taken as given, as in
        `bayescal.comparison.leave_one_out`.

        Examples
        --------
        >>> import numpy as np
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
            check_choice("groups", group, GROUPS)
        settings = replace(read_settings(self), rng=generator(random_state))
        prior = partial(draw_prior, settings, tree)
        return with_arviz_groups(tree, groups, draws, settings.rng, prior)

    @property
    def score_problems_(self) -> tuple[str, ...]:
        """What is wrong with the scores fitted, and what to do."""
        check_is_fitted(self, "classes_")
        observed = self._results.groups["observed_data"]
        weight = self._results.groups["constant_data"]["weight"].values
        raw = replace(self._calibration, scores_are="scores")
        return score_problems(
            observed["score"].values,
            observed["label"].values == 1,
            weight,
            classes=self.classes_.tolist(),
            given=self.scores_are != AUTO,
            log_odds=lambda scores: raw.log_odds(scores, self._point),
        )

    @property
    def log_evidence_(self) -> dict[str, float]:
        """The log evidence of each class, by the labels' text."""
        return averages.log_evidence(self._evidence(), self.classes_)

    @property
    def family_weight_(self) -> pd.DataFrame:
        """The weight of each family, a row for each class."""
        return averages.family_weight(self._evidence(), self.classes_)

    @property
    def family_probability_(self) -> pd.DataFrame:
        """The posterior probability of each family, a row for each class."""
        return averages.family_probability(self._evidence(), self.classes_)

    @property
    def warp_weight_(self) -> pd.Series[float]:
        """The weight of each warp, by its c in score units."""
        return averages.warp_weight(self._evidence())

    @property
    def combination_(self) -> pd.DataFrame:
        """The parts of the combination: weight, and the log scores behind it."""
        check_is_fitted(self, "classes_")
        if COMBINATION not in self._results.groups:
            raise AttributeError(f"parts={self.parts!r} are not combined; use 'combined'.")
        return self._results.groups[COMBINATION].to_dataframe()

    @property
    def monotone_probability_(self) -> float:
        """P(log-odds never fall | data), the share of such draws before any condition."""
        return float(self._evidence()["monotone"])

    def fitted_problems(self) -> Problems:
        """
        Return the one problem fitted, as plots and reports read it, under the empty name.

        Raises
        ------
        sklearn.exceptions.NotFittedError
            If nothing was fitted yet.
        """
        check_is_fitted(self, "classes_")
        problem = read_score_problem(
            self.results_,
            self.classes_,
            self._calibration,
            point=self._point,
            inference=self.inference_,
            found=self.diagnostics_,
            # Not lambdas: problems are sent to other processes and kept in files.
            score_problems=partial(getattr, self, "score_problems_"),
            settings=partial(read_settings, self),
        )
        return Problems([problem.name], lambda _: problem, by_topic=False)

    def save(self, path: str | Path) -> Path:
        """
        Write the fitted calibrator to a netCDF file; `bayescal.load` reads it.

        Raises
        ------
        FileNotFoundError
            If the folder of `path` does not exist.
        """
        check_is_fitted(self, "classes_")
        return storage.write_tree(self.results_, path)

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """
        Read a fitted calibrator that `save` wrote; `bayescal.load` reads any file or folder.

        Raises
        ------
        FileNotFoundError
            If there is no such file.
        ValueError
            If it was not written by a ScoreCalibrator, or by a later version of bayescal.
        """
        results = storage.read_tree(path)
        provenance.check_made_by(NAME, results, path)
        return cls.from_results(results)

    @classmethod
    def from_results(cls, results: xr.DataTree) -> Self:
        """Return the calibrator that made a tree of results, `results_`."""
        parameters, classes = provenance.read(results)
        calibrator = cls(**parameters)
        calibrator._set_results(Results.of_tree(results), classes)
        return calibrator

    def report(
        self, path: str | Path, test: Any = None, *, level: float = 0.9, title: str | None = None
    ) -> Path:
        """
        Write a report: one HTML file with the curves, bands, decisions, model and provenance.

        Parameters
        ----------
        path : str or Path
            Of the file.
        test : DataFrame with columns score and label, or (scores, labels), optional
            Held-out documents, whose reliability it shows.
        level : float
            Posterior probability of the bands at each score.
        title : str, optional
            Of the page.

        Raises
        ------
        ValueError
            If an argument is not as described, or a held-out label is missing.
        FileNotFoundError, OSError
            If the file cannot be written; nothing stays then.
        """
        from bayescal.report import write_report

        return write_report(self, path, test=test, level=level, title=title)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.input_tags.one_d_array = True
        tags.input_tags.two_d_array = False
        return tags

    @property
    def _point(self) -> str:
        return self.point or ("mean" if self.monotone else "predictive")

    @property
    def _problems(self) -> tuple[str, ...]:
        checked = self.diagnostics_
        return (*self.score_problems_, *(() if checked is None else checked.problems))

    def _evidence(self) -> xr.Dataset:
        """Return what is known of the first part's draws."""
        check_is_fitted(self, "classes_")
        groups = self._results.groups
        paths = [place.evidence for place in places(groups)]
        if not paths or paths[0] not in groups:
            raise AttributeError(
                f"inference={self.inference_!r} has no evidence; fit with inference='exact'."
            )
        return groups[paths[0]]

    def _parameters(self) -> dict[str, Any]:
        """Return the parameters under their names of today, as files keep them."""
        now: dict[str, Any] = self.get_params(deep=False)
        old = now.pop("guard")
        return now if old == DEPRECATED else now | {"scale_floor": old}

    def _set_results(self, results: Results, classes: NDArray[Any]) -> None:
        calibration = read_calibration(results.groups)
        checked = diagnostics.diagnose(results.groups) if results.has_posterior else None
        self.classes_ = classes
        self.inference_ = resolve_inference(self.inference, self.program)
        self._results: Results = results
        self.mle_ = calibration.fits
        self.diagnostics_ = checked
        self._calibration = calibration

    def _fitted_html(self) -> str | None:
        if not hasattr(self, "classes_"):
            return None
        settings = model_name(self._results.groups), self.inference_, self._point
        return calibrator_html(
            self.results_, self._calibration, self._problems, self.classes_, settings
        )

    def _posterior_draws(self, method: str) -> int:
        check_is_fitted(self, "classes_")
        draws = self._calibration.draws
        if not self._results.has_posterior or draws is None:
            raise ValueError(
                f"{method} needs a posterior and inference={self.inference_!r} has none:"
                " fit with inference='exact'."
            )
        return draws.size

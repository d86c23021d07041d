"""ScoreCalibrator: from one classifier's raw scores to probabilities with posterior bands."""

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bayescal.calibrators.estimator import SharedKnowledge, chosen_draws, curves_html
from bayescal.calibrators.score_results import ScoreResults
from bayescal.fitting.curves.curves import Prior
from bayescal.fitting.fitted_scores import fit_scores
from bayescal.fitting.parts.part import model_name
from bayescal.fitting.problems.problem import Problems
from bayescal.fitting.results.calibration import KINDS, Calibration
from bayescal.support.condensing import from_counts
from bayescal.support.lazy import BAND, DRAW, KLASS, ROW, rowwise
from bayescal.support.numerics import log_probabilities, probabilities
from bayescal.support.validation import Floats, check_choice, check_fraction


class ScoreCalibrator(SharedKnowledge, ScoreResults):
    """Calibrate the raw scores of a binary classifier.

    A density p(s|class) is fitted to the scores s of each class, and Bayes' rule turns the two and
    the share of positives P(+) into log-odds(s) = logit P(+) + log p(s|+) - log p(s|-). Curves of
    log-odds that rise with the score are fitted to the labels directly. By default all of these
    are combined. With inference "exact" or "nuts" the parameters have a posterior, and so has
    every probability.

    Parameters
    ----------
    parts : str, part or sequence of these
        The models that the curve is made of: "densities", Bayes' rule with densities of both
        classes; "monotone", log-odds that rise in straight pieces, fitted to the labels directly;
        "logistic", log-odds in one straight line; "recalibrated", log-odds that rise with those of
        the densities; "learned", monotone log-odds around those of other problems, see
        `prior_knowledge`; "identity", scores that are log-odds already. Several can be given;
        "combined" is all of them, but the identity only if `scores_are` says so, and "learned" as
        `prior_knowledge` says. Several are averaged with the weights that best predict each label
        from all others (stacking). The name of a family (`bayescal.families.FAMILIES`, or
        "average") stands for densities of that family. To set options, give `bayescal.Densities`,
        `bayescal.Monotone` or `bayescal.Logistic` in place of a name, also beside "combined", as in
        ``["combined", Densities("gaussian"), Monotone(n_segments=3)]``. A grid's values are whole
        parts or lists; a single part also has ``parts__family`` and the like. "auto" is "combined"
        for inference "exact", else "densities".
    inference : {"auto", "exact", "nuts", "map", "mle"} or bayescal.NUTS
        How to fit: "exact" makes independent posterior draws without MCMC; "nuts" samples the
        densities, or a `Program` or `Density`, with PyMC; "map" finds their posterior mode; "mle"
        is Bennett's maximum likelihood. "auto" is "nuts" for a program alone, else "exact": beside
        other parts, which are drawn exactly, a program is sampled. `NUTS` has the sampler's
        options.
    scores_are : {"auto", "scores", "log_odds", "probabilities"}
        Meaning of the scores. Log-odds and probabilities may already be calibrated, so that the
        combination then includes the identity; probabilities are calibrated by their log-odds.
        "auto" is "scores"; if all lie in [0, 1], `fit` warns, and inference "exact" treats them as
        probabilities unless the evidence of the labels is against it. A later score outside [0, 1]
        is then clipped, with a warning; with scores_are="probabilities" it is an error.
    positive : label, optional
        The positive class, for which larger scores stand. By default the words of the labels say
        it, such as "yes" beside "no" and "died" beside "survived"; where they do not, as for 1 and
        2, it is the last in sorted order. The scores of scikit-learn's classifiers always stand for
        the last: give `positive=classifier.classes_[1]`. `fit` warns of scores that are lower for
        positives. Intervals, draws, priors, decisions and reports refer to this class. `classes_`,
        `predict_proba` and `decision_function` always keep scikit-learn's order, as its scorers and
        searches need.
    units : dict, optional
        Centre and spread of the scores, the units of the priors, such as `units_` of another
        calibrator; by default robust ones of the scores fitted.
    point : {"predictive", "mean", "median"}
        What `predict_proba` returns where there is a posterior: "predictive" is Bayes' rule with
        the posterior predictive densities, P(+ | s, data); the others are the posterior mean or
        median of the curve at s.
    lapse : "auto" or float
        The share lambda of documents whose label is unrelated to their score, such as wrong labels:
        P(+|s) = (1 - lambda) P_0(+|s) + lambda P(+), with P_0 the mixture of the parts. "auto"
        learns it from labels left out, with a prior mostly close to 0 and seldom above 0.05; a
        number fixes it, and 0 means no lapses. One part alone, and maximum likelihood, have none.
    prior_knowledge : "learned", "vague", TopicCalibrator, Population, str or Path
        What is known before the first label; docs/prior.md has examples. "learned" holds
        populations of log-odds from 18 data sets, for margins of linear SVMs, log-odds, naive Bayes
        and shares of votes, in the classifier's own units. With fewer than fifty documents of the
        rarer class, the combination has monotone log-odds around the likeliest of these, weighted
        by the posterior probability that the scores resemble one; if none fits, the result is that
        of "vague". "vague" uses only the centre and the spread of the scores, so probabilities do
        not depend on their units. The path of a .json file names populations of your own.
        A history of earlier problems makes this problem one more topic around its population, as in
        `TopicCalibrator.add_topics`: a `TopicCalibrator` fitted with pooling="partial", its
        `population_`, a `Population` of it, or the path of a file of either. The history must come
        from the same kind of classifier, trained in the same way, in the same raw units; labels may
        have other names. The population decides `parts`, `units`, `lapse` and `draws`. In the grid
        of a GridSearchCV give a `Population` or a path.
    draws, chains : int
        Number of posterior draws in each chain, and of chains; for "exact" all draws are
        independent. With a population, its number of draws is used.
    random_state : int, numpy Generator, RandomState or None
        Seeds the engines; the same seed gives the same bits.

    Attributes
    ----------
    classes_ : array of shape (2,)
        The labels in sorted order, as in the columns of `predict_proba`.
    score_problems_ : tuple of str
        Problems of the fitted scores and what to do: positives that lie below negatives,
        uninformative scores, scores that look like probabilities. `fit` also warns
        (`bayescal.ScoresWarning`).
    inference_ : str
        The inference, with "auto" resolved.
    mle_ : bayescal.fitting.engines.point_estimates.ClassFits
        The maximum-likelihood fits of both classes, for every inference.
    posterior_ : xarray.DataTree
        The posterior in ArviZ's schema, for "exact" and "nuts". The group posterior holds draws in
        raw score units: for one family its parameters; for warped densities and for several
        families mode, left_width and right_width, as in `summary`; for log-odds fits log_odds, the
        values at some scores. Each further part of a combination has its own group. Predictions use
        the groups whose names contain engine_draws, in the engines' coordinates. Other groups are
        observed_data, constant_data, maximum_likelihood, evidence (for "exact") and sample_stats
        (for "nuts").
    log_evidence_ : dict of str to float
        For "exact", the natural logarithm of the density of each class's scores under the family,
        all parameters integrated out; for several families or warps, under their mixture with
        equal weights.
    family_weight_ : pandas.DataFrame
        For "exact", the weight of each family in each class; see `averaging` of `Densities`.
    family_probability_ : pandas.DataFrame
        For "exact", the posterior probability of each family in each class, with equal prior
        probabilities.
    warp_weight_ : pandas.Series
        For "exact", the weight of each warp of the densities, named by its c in score units.
    monotone_probability_ : float
        P(log-odds of the class densities never fall | data), over all draws.
    lapse_ : array of shape (draws,)
        Posterior draws of the lapse rate; see `lapse`.
    combination_ : pandas.DataFrame
        For each of several parts its weight, its leave-one-out log score (elpd, in natural
        logarithms), the standard error of its difference from the best, and the largest Pareto k
        of its importance weights (above .7 the log score is unreliable; nan without any). Documents
        of larger k are refitted without each, at most thirty. Around a population the log scores
        are over its history, and the weights of the problem's own labels are added.
    design_effect_ : bayescal.inference.design_effect.DesignEffect or None
        The design effect of clusters; None for a fit without any.
    results_ : xarray.DataTree
        The tree of `posterior_`, for every inference; without posterior for "mle" and "map".
    units_ : dict of str to float
        Centre and spread of the scores first fitted, the units of the priors. Passed as `units`,
        they give another calibrator the same prior.
    prequential_ : pandas.DataFrame
        A row for each `update`: the number (or weight) of its documents, their mean log-loss in
        bits and mean Brier score under the earlier predictions, and its forgetting factor.
    diagnostics_ : bayescal.fitting.results.diagnostics.Diagnostics or None
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

    @from_counts("scores", "y")
    def fit(
        self,
        scores: ArrayLike,
        y: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        inclusion: ArrayLike | None = None,
        covariates: Any = None,
        *,
        clusters: ArrayLike | None = None,
    ) -> Self:
        """Fit the calibrator to scores and labels.

        Parameters
        ----------
        scores : array-like of shape (n,) or (n, 1)
            Raw scores, larger for likelier positives; from documents the classifier was not
            trained on (cross-validated scores).
        y : array-like of shape (n,)
            Labels, two classes, both present.
        sample_weight : array-like of shape (n,), optional
            A weight of 2 equals repeating the document, and 0 leaving it out: weights are powers of
            the likelihood. With "mle" that holds to rounding, else up to Monte Carlo error (a
            standard deviation of at most 0.005 in probability for the default).
        inclusion : array-like of shape (n,), optional
            The probability that each document had to be labelled, above 0 and at most 1, where it
            differs; P(+) is then that of the collection. If it is a function of the score, as in a
            plan of `bayescal.sampling`, log-odds given scores need no weights, and class densities
            get weights 1 / inclusion, scaled in each class to its effective sample size,
            (sum w)^2 / sum w^2. Otherwise all parts are weighted, and the document of the smallest
            probability in each class counts as one.
        covariates : DataFrame or mapping of columns, optional
            Further columns of the documents, such as their length or site, for a single `Program`
            that takes them: numbers, or text, coded as positions among its levels. Plots show the
            curve of a typical document, with medians and commonest levels. Predictions for a level
            that was not fitted need a program with `new_group`, and have the wider bands of a group
            drawn from the population; the same name has the same draws.
        clusters : array-like of shape (n,), optional
            Which documents belong together: the thread, patient, speaker or near duplicates of
            each, as text or whole numbers. Labels and scores of a cluster may depend on each other,
            given P(+ | score). The likelihood is raised to 1/k with the design effect k of
            `design_effect_`, so that bands, shares and weights of parts count k documents as one;
            with "mle" k changes nothing.

        Raises
        ------
        ValueError
            If an argument is not as described. The calibrator is then unchanged.
        FileNotFoundError
            If `prior_knowledge` is the path of a missing file.

        Warns
        -----
        ScoresWarning
            If the scores have problems; see `score_problems_`.
        ConvergenceWarning
            If posterior draws are unreliable; see `diagnostics_`.
        """
        data = scores, y, sample_weight, inclusion, covariates, clusters
        self._fitted = fit_scores(self._parameters(), *data)
        return self

    def update(
        self,
        scores: ArrayLike,
        labels: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        forgetting: float = 1.0,
        clusters: ArrayLike | None = None,
        covariates: Any = None,
    ) -> Self:
        """Learn from further labelled documents: yesterday's posterior is today's prior.

        Documents are independent given the parameters, so that posterior(all) is proportional to
        likelihood(new) posterior(old): after any number of updates, in any order, the posterior is
        that of one fit to all documents with the prior's `units_` of the first. The calibrator and
        its file keep the documents and recompute their posterior. Before that the new documents are
        predicted, and `prequential_` gets a row.

        Parameters
        ----------
        scores, labels, sample_weight
            New documents of the same classifier, as in `fit`; one class may be missing.
        forgetting : float
            A power in (0, 1] to which the likelihood of all earlier documents is raised (a power
            prior): every update multiplies their weights by it. With g below 1 and n documents an
            update, the total weight tends to n/(1 - g). Documents of weight below 1e-12 are
            dropped, except the last of a class.
        clusters : array-like of shape (n,), optional
            The clusters of the new documents, needed if the fit had clusters: names that occurred
            before are the same cluster. The design effect is estimated again from all documents.
        covariates : DataFrame or mapping of columns, optional
            The columns of the new documents, needed if the fit had covariates.

        Raises
        ------
        ValueError
            If an argument is not as described. The calibrator is then unchanged.

        Warns
        -----
        ConvergenceWarning
            If posterior draws are unreliable; see `diagnostics_`.

        Notes
        -----
        The posterior of each part is exact given its knots. The knots of "monotone", the weights of
        stacked parts and families, and lapses are learned again from all documents, as is maximum
        likelihood; "map" and "nuts" search or sample again. The first fit decides whether scores
        are probabilities if `scores_are` is "auto". A population stays the one first fitted with,
        even if its file changes, and does not learn from updates. Updates do not warn of scores;
        `score_problems_` covers all documents.

        References
        ----------
        A. P. Dawid, *Statistical theory: the prequential approach*, JRSS A 1984. J. G. Ibrahim and
        M.-H. Chen, *Power prior distributions for regression models*, Statistical Science 2000.

        Examples
        --------
        >>> import numpy as np
        >>> from bayescal import ScoreCalibrator
        >>> rng = np.random.default_rng(0)
        >>> y = rng.random(300) < 0.3
        >>> s = rng.normal(2.0 * y)
        >>> today = ScoreCalibrator("gaussian", random_state=0).fit(s[:200], y[:200])
        >>> today = today.update(s[200:], y[200:])
        >>> at_once = ScoreCalibrator("gaussian", units=today.units_, random_state=0)
        >>> at_once = at_once.fit(s, y)
        >>> np.allclose(today.predict_proba([0.0, 2.0]), at_once.predict_proba([0.0, 2.0]))
        True
        >>> today.prequential_["documents"].tolist()
        [100.0]
        """
        data = scores, labels, sample_weight, forgetting, clusters, covariates
        self._fitted = self._fit.updated(self._parameters(), *data)
        return self

    @rowwise(ROW)
    def decision_function(
        self, scores: ArrayLike, prior: Prior | None = None, *, covariates: Any = None
    ) -> Floats:
        """Return calibrated natural log-odds of `classes_[1]`, shape (n,).

        That is the positive class, unless `positive` is the first in sorted order: scikit-learn's
        scorers take larger values for the second class. `sample_proba`, `predict_interval` and
        `prior` always refer to the positive class.

        More than 32 scores are interpolated in a table of the posterior's curve, within 1e-4 in
        probability; with "mle" and "map" all are evaluated.

        Parameters
        ----------
        scores : array-like of shape (n,) or (n, 1)
            Raw scores.
        prior : float, array-like or frozen scipy.stats distribution, optional
            The share of positives P(+) among the documents to predict, if it differs from the
            fitted one: a number, or draws or a distribution on (0, 1), whose uncertainty then
            widens the band. It assumes label shift: scores of each class are distributed as before.
            If the case mix changed and P(positive | score) is as it was, pass none;
            `bayescal.monitoring.foresee` has both readings.
        covariates : DataFrame or mapping of columns, optional
            The columns fitted, with a row for each score; see `fit`.

        Raises
        ------
        ValueError
            If `prior` is not inside (0, 1), or covariates are missing or were not fitted.
        """
        log_odds = self._log_odds(scores, prior, covariates)
        return -log_odds if self._fit.turned else log_odds

    @rowwise(ROW, KLASS)
    def predict_proba(
        self, scores: ArrayLike, prior: Prior | None = None, *, covariates: Any = None
    ) -> Floats:
        """Return probabilities, shape (n, 2), ordered as `classes_`; see `decision_function`."""
        return probabilities(self.decision_function(scores, prior, covariates=covariates))

    @rowwise(ROW, KLASS)
    def predict_log_proba(
        self, scores: ArrayLike, prior: Prior | None = None, *, covariates: Any = None
    ) -> Floats:
        """Return natural logarithms of `predict_proba`, finite also where it rounds to 0."""
        return log_probabilities(self.decision_function(scores, prior, covariates=covariates))

    @rowwise(ROW)
    def predict(
        self, scores: ArrayLike, prior: Prior | None = None, *, covariates: Any = None
    ) -> NDArray[Any]:
        """Return the likelier class of each score; of equally likely classes the negative one."""
        log_odds = self.decision_function(scores, prior, covariates=covariates)
        second = log_odds >= 0.0 if self._fit.turned else log_odds > 0.0
        return np.asarray(self.classes_[second.astype(np.intp)])

    @rowwise(ROW, BAND)
    def predict_interval(
        self,
        scores: ArrayLike,
        level: float = 0.9,
        kind: str = "pointwise",
        prior: Prior | None = None,
        *,
        covariates: Any = None,
    ) -> Floats:
        """Return the posterior interval of P(+|s); shape (n, 2), lower and upper.

        For more than 256 scores the ends are interpolated in a table, within a tenth of the Monte
        Carlo error: 1e-3 in probability for 4,000 draws ("hdi": all scores are evaluated).

        Parameters
        ----------
        scores, prior, covariates
            See `decision_function`.
        level : float
            Posterior probability of the interval at each score, between 0 and 1; for
            "simultaneous", the probability that the whole curve lies within the band.
        kind : {"pointwise", "hdi", "simultaneous"}
            "pointwise" is the interval with equal tails at each score; "hdi" the shortest one at
            each score; "simultaneous" a band for the whole curve between the smallest and the
            largest score fitted.

        Raises
        ------
        ValueError
            If an argument is out of range, or inference is "mle" or "map", without a posterior.
        """
        check_fraction(level=level)
        check_choice("kind", kind, KINDS)
        self._posterior_draws("predict_interval")
        return self._calibration(scores, prior, covariates).interval(scores, level, kind)

    @rowwise(DRAW, ROW)
    def sample_proba(
        self,
        scores: ArrayLike,
        draws: int | None = None,
        random_state: Any = None,
        prior: Prior | None = None,
        *,
        covariates: Any = None,
    ) -> Floats:
        """Return P_k(+|s) of posterior draws k; shape (draws, n).

        More than 2,048 scores and 5 a draw are interpolated, within 1e-4 in probability.

        Parameters
        ----------
        scores, prior, covariates
            See `decision_function`.
        draws : int, optional
            Number of draws to choose at random, without replacement; by default all, in order.
        random_state : int, Generator, RandomState or None
            Chooses the draws.

        Raises
        ------
        ValueError
            If `draws` is not between 1 and the number of draws, or there is no posterior.
        """
        size = self._posterior_draws("sample_proba")
        calibration = self._calibration(scores, prior, covariates)
        index = chosen_draws(draws, size, random_state)
        return (calibration if index is None else calibration.take(index)).sample(scores)

    def fitted_problems(self) -> Problems:
        """Return the fitted problem, under the empty name, for plots and reports."""
        return self._fit.fitted_problems()

    def _log_odds(self, scores: ArrayLike, prior: Prior | None, covariates: Any = None) -> Floats:
        """Return log-odds of the positive class."""
        return self._calibration(scores, prior, covariates).log_odds(scores, self.point)

    def _calibration(self, scores: ArrayLike, prior: Prior | None, covariates: Any) -> Calibration:
        """Return the calibration for a class prior and for documents with covariates."""
        return self._fit.calibration.with_prior(prior).of_documents(scores, covariates)

    def _fitted_html(self) -> str | None:
        fitted = self._fit
        groups = fitted.results.groups
        label, (negative, positive) = groups["observed_data"]["label"].values, fitted.classes
        counts = f"{np.sum(label == 0):,} of class {negative} and {np.sum(label == 1):,} of"
        notes = f"{counts} class {positive}", f"Model: {model_name(groups)}; {fitted.inference}."
        return curves_html(self, label.size, (*notes, *fitted.problems))

    def _posterior_draws(self, method: str) -> int:
        fitted = self._fit
        draws = fitted.calibration.draws
        if not fitted.results.has_posterior or draws is None:
            raise ValueError(
                f"{method} needs a posterior and inference={fitted.inference!r} has none:"
                " fit with inference='exact'."
            )
        return draws.size

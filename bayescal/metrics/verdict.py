"""Verdict on probabilities from held-out labels: right or off, by how much, and what to do."""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from bayescal.inference.design_effect import DesignEffect
from bayescal.metrics import changes, inputs
from bayescal.metrics.calibration_error import smooth_error
from bayescal.metrics.changes import LINEAR
from bayescal.metrics.evidence import LinearChange, Verdict, with_clusters
from bayescal.support.condensing import from_counts
from bayescal.support.intervals import counted, p_words, percent, readable, tails
from bayescal.support.validation import Floats, check_fraction, probabilities_of_shape

SAMPLES = 999
STEP, WEIGHT_STEP = 0.02, 0.05  # rounding of log-odds and log weights in groups of documents
MOST_GROUPS = 20_000  # more groups have the normal limit of the scores
BLOCK_ELEMENTS = 1 << 22
POWER = 0.8
TINY = 1e-9
CHANCE, QUANTILES = 10_000, 200  # of the second term of the statistic in its limit


@dataclass(frozen=True)
class CalibrationVerdict(Verdict):
    """The verdict of held-out labels on probabilities.

    Attributes
    ----------
    documents : float
        The number of documents, or the sum of their weights.
    observed, expected : float
        The number of positives, and the sum of the probabilities.
    lower, upper : float
        Interval of the number of positives, with probability `level`, if the probabilities are
        right; with `draws`, if the posterior is.
    pvalue : float
        The p-value of the test that the probabilities are right; with `draws`, the posterior
        predictive p-value. 0 after an impossible event.
    pvalue_of_point : float
        The p-value without `draws`.
    level : float
        One minus the probability of rejecting right probabilities.
    intercept, slope : float
        The likeliest change of the log-odds, intercept + slope log-odds, under a prior around
        (0, 1) worth one document.
    shift : float
        The likeliest constant change of the log-odds.
    cause : {"none", "base rate", "slope", "bend", "impossible"}
        The error: none; a constant of all log-odds ("base rate"), as by a change of the shares of
        the classes alone (label shift) or of a case mix that the scores do not show; their slope;
        a bend beyond intercept and slope; or an event of probability 0.
    error : float
        The smooth calibration error.
    detectable : float
        Smallest error of all odds, as a factor, that the test finds with probability .8; infinite
        if the documents are uninformative.
    impossible : str
        The documents whose class had probability 0, in words.
    with_bands : bool
        Whether the test had posterior draws.
    design_effect : bayescal.inference.design_effect.DesignEffect or None
        How many documents of clusters count as one.
    """

    documents: float
    observed: float
    expected: float
    lower: float
    upper: float
    pvalue: float
    pvalue_of_point: float
    level: float
    intercept: float
    slope: float
    shift: float
    cause: str
    error: float
    detectable: float
    impossible: str
    with_bands: bool
    design_effect: DesignEffect | None = None
    _if_impossible: ClassVar[str] = (
        "Probabilities of 0 and 1 admit no exception: calibrate them, or keep them away from 0 and"
        " 1."
    )

    @property
    def test(self) -> str:
        """Return the test and its numbers in words."""
        pvalue = f"p {p_words(self.pvalue)}"
        if self.outcome == "uncertain":
            of_point = p_words(self.pvalue_of_point)
            pvalue = f"p {of_point} without the bands, {p_words(self.pvalue)} with them"
        source = "bands" if self.with_bands else "probabilities"
        return (
            f"Probabilities against held-out labels: {self._outcome_words} ({pvalue}, tested at"
            f" {percent(1.0 - self.level)}). {counted(self.observed, 'positive')} of"
            f" {counted(self.documents, 'document')} where {readable(self.expected)} were"
            f" expected, {readable(self.lower)} to {readable(self.upper)} with probability"
            f" {self.level:g} if the {source} are right; smooth calibration error {self.error:.2g}."
            f"{'' if self.design_effect is None else f' {self.design_effect}.'}"
        )

    @property
    def finding(self) -> str:
        """Describe the error and its size; without one, the smallest detectable error."""
        if self.cause == "impossible":
            return self.impossible
        if self.cause == "none":
            few = "few, or the bands too wide," if self.with_bands else "few"
            return self._smallest_error("odds", "off", few)
        if self.cause == "base rate":
            size, factor = "small" if self.shift > 0.0 else "large", math.exp(abs(self.shift))
            return (
                f"All odds are too {size} by about the same factor, {readable(factor)}, as when"
                " only the shares of the classes change (label shift)."
            )
        slope, intercept = readable(self.slope), readable(self.intercept)
        if self.cause == "bend":
            return (
                "The log-odds follow a curve that bends: no shift and slope correct them (the"
                f" likeliest are intercept {intercept} and slope {slope})."
            )
        how = "far apart" if self.slope < 1.0 else "close together"
        return (
            f"The log-odds are too {how}: slope {slope}, intercept {intercept} in place of 1 and 0."
        )

    @property
    def _new_prior(self) -> str:
        share = self.observed / self.documents
        if self.cause != "base rate" or not 0.0 < share < 1.0:
            return ""
        return (
            f"If it is label shift, predict with prior={share:.3g}, the share of positives here; if"
            " the case mix changed in what the scores do not show, which looks the same, or"
            " topics were pooled, fit again with more labels."
        )


@from_counts("y_prob", "y_true")
def calibration_verdict(
    y_true: ArrayLike,
    y_prob: ArrayLike,
    *,
    draws: ArrayLike | None = None,
    level: float = 0.95,
    sample_weight: ArrayLike | None = None,
    inclusion: ArrayLike | None = None,
    clusters: ArrayLike | None = None,
) -> CalibrationVerdict:
    """Test whether probabilities are right by held-out labels, and advise on corrections.

    The test sees shifts, slopes and bends of the log-odds l = logit(p). Its statistic is

        T = U' I^-1 U + s B' B,

    with U = sum (y - p) (1, l) and I its covariance if p is right, Rao's score test of Cox's
    intercept and slope, and B = sum (y - p) z, where z are ten features of a Gaussian process along
    l without their projections on (1, l) in the metric p (1 - p). The factor s gives the second
    term the variance of a chi-squared one with one degree of freedom. The p-value is the share of
    999 samples of labels drawn from p that reach T, with a fixed seed, so that it holds for few and
    rare positives too. If it is below 1 - level, bends are tested alone, given the best intercept
    and slope, and the slope given the best intercept: if neither is significant, the cause is
    "base rate".

    With `draws` each sample of labels is from one posterior draw of the probabilities, and the mean
    and covariance of scores are posterior predictive. Errors beyond chance that the posterior
    allows are "uncertain", not "off".

    Parameters
    ----------
    y_true, y_prob : array-like of shape (n,)
        As in `log_loss`, of documents that neither classifier nor calibrator was fitted to.
    draws : array-like of shape (draws, n), optional
        Posterior draws of the same probabilities, as from `ScoreCalibrator.sample_proba`.
    level : float
        One minus the size of the test; also the probability of intervals.
    sample_weight, inclusion : array-like of shape (n,), optional
        As in `log_loss`. Inclusion may depend on the score and the class.
    clusters : array-like of shape (n,), optional
        Which documents belong together: the thread, patient, speaker or near duplicates of each, as
        text or whole numbers. The test counts k documents as one, with their `design_effect`.

    Notes
    -----
    With sampling weights, labels are drawn given inclusion: P(positive | included) is proportional
    to p / w, where w is the document's weight if positive. The ratio of the weights of both classes
    at one probability is estimated as a constant. Weights that are not whole numbers, and more than
    20,000 groups of similar documents, are tested by the normal limit of the scores.

    References
    ----------
    D. R. Cox, *Two further applications of a model for binary regression*, Biometrika 1958.
    M. E. Miller, S. L. Hui and W. M. Tierney, *Validation techniques for logistic regression
    models*, Statistics in Medicine 1991. D. B. Rubin, *Bayesianly justifiable and relevant
    frequency calculations for the applied statistician*, Annals of Statistics 1984.

    Examples
    --------
    >>> import numpy as np
    >>> p = np.linspace(0.01, 0.5, 400)
    >>> y = np.random.default_rng(0).random(400) < p
    >>> calibration_verdict(y, p).outcome
    'right'
    >>> low = p / (p + 3.0 * (1.0 - p))  # fitted where positives are rarer
    >>> rare = calibration_verdict(y, low)
    >>> rare.outcome, rare.cause, round(rare.shift, 1)
    ('off', 'base rate', 1.0)
    >>> shift = np.random.default_rng(1).normal(size=(500, 1))
    >>> draws = 1.0 / (1.0 + (1.0 - low) / low * np.exp(shift))
    >>> calibration_verdict(y, low, draws=draws).outcome
    'uncertain'
    """
    check_fraction(level=level)
    outcomes = inputs.read_outcomes(y_true, y_prob, sample_weight, inclusion, as_evidence=True)
    outcomes = with_clusters(outcomes, clusters)
    if draws is None:
        return verdict_of(outcomes, None, level)
    drawn = probabilities_of_shape(draws, "draws", "draws", outcomes.p.size)
    return verdict_of(outcomes, drawn, level)


def verdict_of(
    outcomes: inputs.Forecasts, drawn: Floats | None = None, level: float = 0.95
) -> CalibrationVerdict:
    """Return the verdict of checked outcomes; see `calibration_verdict`."""
    tested = outcomes.independent
    scale = float(outcomes.counts.sum() / tested.counts.sum())
    change = LinearChange.of(tested)
    intercept, slope = change.maximise(change.unit_information())
    documents = _GroupedDocuments(tested, change.columns[:, 1], drawn)
    of_point = _ScoreTest(documents)
    test = of_point if drawn is None else _ScoreTest(documents, drawn=True)
    pvalue, pvalue_of_point = test.pvalue, of_point.pvalue
    shift, expected = documents.shift(change.weight), float(outcomes.counts @ outcomes.p)
    rows = outcomes.impossible
    impossible = bool(rows.size)
    if impossible and drawn is not None:  # by every draw too
        own = np.where(outcomes.truth[rows], drawn[:, rows], 1.0 - drawn[:, rows])
        impossible = bool((own == 0.0).all(axis=0).any())
    if impossible:
        cause, pvalue, pvalue_of_point = "impossible", 0.0, 0.0
    elif min(pvalue, pvalue_of_point) > 1.0 - level:
        cause = "none"
    else:
        worst = test if pvalue <= 1.0 - level else of_point
        cause = worst.cause(shift, (intercept, slope), level)
    lower, upper = test.interval(level)
    return CalibrationVerdict(
        documents=float(outcomes.counts.sum()),
        observed=float(outcomes.counts @ outcomes.truth),
        expected=expected,
        lower=max(round(expected + scale * lower, 9), 0.0),
        upper=round(expected + scale * upper, 9),
        pvalue=pvalue,
        pvalue_of_point=pvalue_of_point,
        level=level,
        intercept=float(intercept),
        slope=float(slope),
        shift=shift,
        cause=cause,
        error=smooth_error(outcomes),
        detectable=test.detectable(level),
        impossible=inputs.name_impossible(outcomes) if cause == "impossible" else "",
        with_bands=drawn is not None,
        design_effect=outcomes.effect,
    )


class _GroupedDocuments:
    """Forecasts, and groups of similar documents whose labels are drawn together."""

    def __init__(self, outcomes: inputs.Forecasts, log_odds: Floats, draws: Floats | None) -> None:
        self.outcomes, self.log_odds = outcomes, log_odds
        one, other = outcomes.by_class
        keys = np.rint(log_odds / STEP)
        if outcomes.sampled:
            positive = one > 0.0
            keys = np.stack([keys, np.log(np.where(positive, one, 1.0)), positive])
            keys[1] = np.rint(keys[1] / WEIGHT_STEP)
        _, self.group = np.unique(keys, axis=-1, return_inverse=True)
        # Documents of a group, and their mean weights if positive and if negative.
        self.size = self._sum(np.ones(one.size) if outcomes.sampled else one)
        self.some = np.bincount(self.group)
        self.one = self.other = np.ones(self.size.size)
        if outcomes.sampled:
            self.one, self.other = self._sum(one) / self.some, self._sum(other) / self.some
        weight = self._sum(outcomes.counts)
        full = np.where(weight > 0.0, weight, 1.0)
        self.p = self._sum(outcomes.counts * outcomes.p) / full
        z = self._sum(outcomes.counts * log_odds) / full
        within = np.clip(z, -changes.FARTHEST, changes.FARTHEST)
        bends = changes.LogOddsFrame.of(within, weight).bends(within)
        self.directions = np.column_stack([np.ones(z.size), z, bends])
        self.draws = None if draws is None else _group_means(draws, self.group, self.some)
        whole = bool((self.size == np.rint(self.size)).all())
        self.exact = whole and self.size.size <= MOST_GROUPS

    def _sum(self, values: Floats) -> Floats:
        return np.bincount(self.group, values).astype(np.float64)

    @cached_property
    def score(self) -> Floats:
        """Return sum w (y - p) (1, logit p, bends), shape (12,)."""
        return self.score_at(special.logit(self.outcomes.p))

    def score_at(self, log_odds: Floats) -> Floats:
        """Return the scores of the labels at other log-odds of the documents, shape (12,)."""
        residual = self.outcomes.counts * (self.outcomes.truth - special.expit(log_odds))
        score: Floats = self._sum(residual) @ self.directions
        score[1] = residual @ self.log_odds
        return score

    def included(self, p: Floats) -> Floats:
        """Return P(positive | included) of documents of probability p."""
        return inputs.given_included(p, self.one, self.other)

    def scores_of(self, positives: Floats) -> Floats:
        """Return scores of numbers of positives by group, shape (..., 12)."""
        up, down = self.one * (1.0 - self.p), self.other * self.p
        return np.asarray((positives * (up + down) - self.size * down) @ self.directions)

    def at(self, p: Floats) -> tuple[Floats, Floats]:
        """Return the covariance of the scores, and their gain per unit along each direction."""
        odd = self.included(p)
        spread = self.size * odd * (1.0 - odd)
        step = self.one * (1.0 - p) + self.other * p
        x = self.directions
        return (x * (spread * step**2)[:, None]).T @ x, (x * (spread * step)[:, None]).T @ x

    def shift(self, weight: Floats) -> float:
        """Return the shift of all log-odds that makes the expected number of positives right."""
        from scipy import optimize  # takes as long to import as a fit

        size, total = self._sum(weight), float(weight.sum())
        # Half a document keeps it finite with a single class.
        half = min(0.5, 0.5 * total)
        target = min(max(float(weight @ self.outcomes.truth), half), total - half)

        def excess(shift: float) -> float:
            return float(size @ special.expit(self.directions[:, 1] + shift)) - target

        return float(optimize.brentq(excess, -80.0, 80.0))


def _group_means(draws: Floats, group: NDArray[np.intp], some: NDArray[np.intp]) -> Floats:
    """Return each draw's mean probability in each group, shape (draws, groups)."""
    order = np.argsort(group, kind="stable")
    starts = np.concatenate([[0], np.cumsum(some)[:-1]])
    block = max(BLOCK_ELEMENTS // max(group.size, 1), 1)
    parts = [
        np.add.reduceat(draws[k : k + block, order], starts, axis=1, dtype=np.float64)
        for k in range(0, len(draws), block)
    ]
    return np.concatenate(parts) / some


class _ScoreTest:
    """The test that the probabilities are right, against a linear change and bends of log-odds."""

    def __init__(self, documents: _GroupedDocuments, *, drawn: bool = False) -> None:
        self.documents = documents
        rng = np.random.default_rng(0)
        groups, sides = documents.directions.shape
        p = documents.draws if drawn and documents.draws is not None else documents.p[None]
        p = documents.included(p)
        mean = documents.scores_of(documents.size * p)
        covariance, self.gain = documents.at(documents.p)
        chosen = rng.integers(len(p), size=SAMPLES)
        self.samples: Floats | None = None
        if documents.exact:
            sizes, block = documents.size.astype(np.intp), max(BLOCK_ELEMENTS // groups, 1)
            parts = [chosen[k : k + block] for k in range(0, SAMPLES, block)]
            labels = [rng.binomial(sizes, p[part]).astype(np.float64) for part in parts]
            self.samples = np.concatenate([documents.scores_of(each) for each in labels])
        elif drawn:
            noise = rng.multivariate_normal(np.zeros(sides), covariance, SAMPLES, method="eigh")
            self.samples = mean[chosen] + noise
        self.of_draws = np.cov(mean.T) if len(p) > 1 else np.zeros((sides, sides))
        self.centre = mean.mean(axis=0) if drawn else np.zeros(sides)
        self.covariance = covariance + self.of_draws
        linear = self.covariance[:LINEAR, :LINEAR]
        # Equal probabilities have no slope: there is one direction to test.
        self.freedom = max(int(np.linalg.matrix_rank(linear, hermitian=True)), 1)
        self.inverse = np.linalg.pinv(linear, hermitian=True)
        self.explained, of_bends = _without(self.covariance, self.covariance)
        size = float((of_bends**2).sum())  # the sum of the squared eigenvalues
        # Equal probabilities have no bends.
        none = size <= (TINY * np.trace(self.covariance)) ** 2
        # With twice this factor bends cost a tenth of the power against slopes.
        self.factor = 0.0 if none else 1.0 / math.sqrt(size)
        spread = self.factor * np.clip(np.linalg.eigvalsh(of_bends), 0.0, None)
        # Quantiles of the second term of T for many documents with right probabilities.
        chance = np.random.default_rng(0).chisquare(1.0, (CHANCE, spread.size)) @ spread
        self.of_bends = np.quantile(chance, (np.arange(QUANTILES) + 0.5) / QUANTILES)

    def statistic(self, score: Floats) -> Floats:
        """Return T of scores (..., 12)."""
        away = score - self.centre
        linear, bends = away[..., :LINEAR], away @ self.explained.T
        of_line = ((linear @ self.inverse) * linear).sum(axis=-1)
        return np.asarray(of_line + self.factor * (bends**2).sum(axis=-1))

    @cached_property
    def pvalue(self) -> float:
        """Return the share of samples whose statistic is as large, or the limit for many."""
        own = float(self.statistic(self.documents.score))
        if self.samples is None:
            return self.tail(own)
        return share_above(self.statistic(self.samples), own)

    def tail(self, limit: float, noncentrality: float = 0.0) -> float:
        """Return P(T > limit) for many documents, with a shift of some noncentrality."""
        rest = np.maximum(limit - self.of_bends, 0.0)
        if noncentrality == 0.0:
            return float(special.chdtrc(self.freedom, rest).mean())
        return float(1.0 - special.chndtr(rest, self.freedom, noncentrality).mean())

    def interval(self, level: float) -> tuple[float, float]:
        """Return the interval of the number of positives minus its expectation."""
        if self.samples is None:
            half = float(special.ndtri(0.5 + level / 2.0)) * math.sqrt(self.covariance[0, 0])
            return -half, half
        lower, upper = np.quantile(self.samples[:, 0], tails(level), method="inverted_cdf")
        return float(lower), float(upper)

    def cause(self, shift: float, line: tuple[float, float], level: float) -> str:
        """Return the error of probabilities that are off: bend, slope or base rate."""
        if self.pvalue_of_bend(line) < 1.0 - level:
            return "bend"
        return "slope" if self.pvalue_of_slope(shift) < 1.0 - level else "base rate"

    def pvalue_of_bend(self, line: tuple[float, float]) -> float:
        """Return the p-value of no bend given the best intercept and slope."""
        documents, (intercept, slope) = self.documents, line
        moved = special.expit(intercept + slope * documents.directions[:, 1])
        covariance, gain = documents.at(moved)
        left, of_bends = _without(covariance + self.of_draws, gain)
        score = left @ documents.score_at(intercept + slope * documents.log_odds)
        weight = np.clip(np.linalg.eigvalsh(of_bends), 0.0, None)
        if self.factor == 0.0 or weight.sum() <= 0.0:
            return 1.0
        chance = np.random.default_rng(0).chisquare(1.0, (SAMPLES, weight.size)) @ weight
        return share_above(chance, float(score @ score))

    def pvalue_of_slope(self, shift: float) -> float:
        """Return the p-value of slope 1 given the best intercept, chi-squared."""
        documents = self.documents
        moved = special.expit(documents.directions[:, 1] + shift)
        covariance, gain = (each[:LINEAR, :LINEAR] for each in documents.at(moved))
        # The score of the slope without its projection on the intercept.
        by = np.array([-gain[1, 0] / gain[0, 0] if gain[0, 0] > 0.0 else 0.0, 1.0])
        variance = float(by @ covariance @ by)
        if variance <= 1e-9 * covariance[1, 1]:  # equal probabilities have no slope
            return 1.0
        variance += float(by @ self.of_draws[:LINEAR, :LINEAR] @ by)
        slope = by @ documents.score_at(documents.log_odds + shift)[:LINEAR]
        return float(special.chdtrc(1, slope**2 / variance))

    def detectable(self, level: float) -> float:
        """Return the odds ratio at which the test has power POWER, by its limit distribution."""
        from scipy import optimize  # takes as long to import as a fit

        gain = self.gain[:LINEAR, 0]
        of_one = float(gain @ self.inverse @ gain)
        if of_one <= 0.0:
            return math.inf
        limit = optimize.brentq(lambda t: self.tail(t) - (1.0 - level), 0.0, 1e3)
        wanted = optimize.brentq(lambda nc: self.tail(limit, nc) - POWER, 1e-6, 1e3)
        shift = math.sqrt(wanted / of_one)
        return math.exp(shift) if shift < 50.0 else math.inf


def _without(covariance: Floats, gain: Floats) -> tuple[Floats, Floats]:
    """Return the projection on bends without the linear part, (10, 12), and its covariance."""
    explained = gain[LINEAR:, :LINEAR] @ np.linalg.pinv(gain[:LINEAR, :LINEAR])
    left = np.concatenate([-explained, np.eye(len(explained))], axis=1)
    return left, left @ covariance @ left.T


def share_above(samples: Floats, own: float) -> float:
    """Return the p-value of a statistic among samples of it."""
    reached = int((samples >= own * (1.0 - 1e-9)).sum())
    return (1.0 + reached) / (samples.size + 1.0)

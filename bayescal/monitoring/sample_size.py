"""The number of labels that an audit needs for intervals of a given width."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from bayescal.metrics.changes import LogOddsCells, clipped_log_odds, fit_changes
from bayescal.metrics.inputs import as_probabilities
from bayescal.monitoring.audit_numbers import AuditCurves, Decision, rank_dependence
from bayescal.support import validation
from bayescal.support.intervals import Interval
from bayescal.support.validation import Floats, generator

SIZES, REPEATS, DRAWS = (250, 500, 1000, 2000), 6, 300  # of simulated audits
MOST = 10**9


def labels_needed(
    p: ArrayLike,
    *,
    slope_width: float | None = None,
    ratio_width: float | None = None,
    auc_width: float | None = None,
    error_width: float | None = None,
    saving_width: float | None = None,
    threshold: float | None = None,
    prevalence: float | None = None,
    auc: float | None = None,
    level: float = 0.95,
    random_state: Any = None,
) -> dict[str, int]:
    r"""Return the number of labels for which intervals of an audit have a given width.

    With z the normal quantile of the level, for documents with right probabilities like `p`:

    - slope: width w needs I00 / ((I00 I11 - I01^2) (w / 2z)^2) labels, with Ijk the means of
      v l^(j+k), l = logit(p) and v = p (1 - p);
    - ratio observed / expected: (1 - prevalence) / (prevalence s^2), with s from
      exp(z s) - exp(-z s) = w;
    - AUC: the standard error of Newcombe (2006) of an AUC, at a prevalence;
    - mean error (ICI) and saving: simulated audits of 250 to 2,000 documents drawn from `p`, whose
      widths are extended by a power of the number of documents.

    Parameters
    ----------
    p : array-like of shape (n,)
        Probabilities of documents like those to be labelled.
    slope_width, ratio_width, auc_width, error_width : float, optional
        Widths of the intervals of slope, observed / expected, AUC (C-statistic) and mean error.
    saving_width, threshold : float, optional
        Width of the interval of the saving by recalibrating, in true positives per document, at a
        threshold.
    prevalence : float, optional
        The share of positives, for the ratio and the AUC; by default the mean of `p`.
    auc : float, optional
        The AUC to expect; by default that of `p` if they are right.
    level : float
        Probability of the intervals.
    random_state : int, Generator, RandomState or None
        Seeds the simulated audits.

    Returns
    -------
    dict of str to int
        The number of labels for each width: keys "slope", "ratio", "auc", "error", "saving".

    Raises
    ------
    ValueError
        If no width is given, a width is not positive, or p are no probabilities.

    References
    ----------
    R. D. Riley et al., *Minimum sample size for external validation of a clinical prediction model
    with a binary outcome*, Statistics in Medicine 2021; their package is pmvalsampsize.

    R. G. Newcombe, *Confidence intervals for an effect size measure based on the Mann-Whitney
    statistic. Part 2*, Statistics in Medicine 2006.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy import special, stats
    >>> p = special.expit(stats.norm(-5, 2.5).ppf((np.arange(10_000) + 0.5) / 10_000))
    >>> labels_needed(p, slope_width=0.2, ratio_width=1.0, auc_width=0.1, prevalence=0.018, auc=0.8)
    {'slope': 4554, 'ratio': 906, 'auc': 4252}
    """
    validation.check_fraction(level=level)
    values = as_probabilities(p, "p")
    widths = {
        "slope_width": slope_width,
        "ratio_width": ratio_width,
        "auc_width": auc_width,
        "error_width": error_width,
        "saving_width": saving_width,
    }
    asked = {name: width for name, width in widths.items() if width is not None}
    if not asked:
        raise ValueError(f"give at least one of {', '.join(widths)}, got none.")
    validation.check_positive(**asked)
    if (saving_width is None) != (threshold is None):
        raise ValueError("saving_width and threshold must be given together.")
    z = float(special.ndtri(0.5 + level / 2.0))
    share = float(special.expit(clipped_log_odds(values.mean())))
    if prevalence is not None:
        validation.check_fraction(prevalence=prevalence)
        share = prevalence
    needed = {}
    if slope_width is not None:
        needed["slope"] = _of_slope(values, slope_width, z)
    if ratio_width is not None:
        needed["ratio"] = (1.0 - share) / (share * (math.asinh(ratio_width / 2.0) / z) ** 2)
    if auc_width is not None:
        expected = auc
        if expected is None:  # that of probabilities that are right
            from sklearn.metrics import roc_auc_score

            truth, weight = np.repeat([1, 0], values.size), np.concatenate([values, 1.0 - values])
            expected = float(roc_auc_score(truth, np.tile(values, 2), sample_weight=weight))
        validation.check_fraction(auc=expected)
        needed["auc"] = _of_auc(expected, share, auc_width, z)
    rng = generator(random_state)
    if error_width is not None:

        def error(drawn: AuditCurves) -> Floats:
            return np.asarray(np.abs(drawn.averaged - drawn.given) @ drawn.share)

        needed["error"] = _simulated(values, error, error_width, level, rng)
    if saving_width is not None and threshold is not None:
        validation.check_fraction(threshold=threshold)
        cost = Decision(threshold)

        def saving(drawn: AuditCurves) -> Floats:
            treated = drawn.recalibrated >= cost.threshold, drawn.given >= cost.threshold
            again, as_is = (drawn.benefit(each, cost.odds) for each in treated)
            return np.asarray(again - as_is)

        needed["saving"] = _simulated(values, saving, saving_width, level, rng)
    return {name: math.ceil(min(n, MOST)) for name, n in needed.items()}


def _of_slope(p: Floats, width: float, z: float) -> float:
    log_odds = clipped_log_odds(p)
    v = special.expit(log_odds) * special.expit(-log_odds)
    one, first, second = (float((v * log_odds**k).mean()) for k in range(3))
    determinant = one * second - first**2
    if determinant <= 1e-12 * one * second:
        raise ValueError("p must hold probabilities that differ for a slope: it has none.")
    return one / (determinant * (width / (2.0 * z)) ** 2)


def _of_auc(auc: float, share: float, width: float, z: float) -> float:
    """Return the number of documents at which Newcombe's standard error gives a width."""
    half = rank_dependence(auc)
    # The standard error s has scale n^2 = 1 + (n - 2) half.
    scale = (width / (2.0 * z)) ** 2 * share * (1.0 - share) / (auc * (1.0 - auc))
    return (half + math.sqrt(half**2 + 4.0 * scale * (1.0 - 2.0 * half))) / (2.0 * scale)


def _simulated(
    p: Floats,
    measure: Callable[[AuditCurves], Floats],
    width: float,
    level: float,
    rng: np.random.Generator,
) -> float:
    """Return the number of documents at which a number's interval has a width, on average."""
    seen = []
    for n in SIZES:
        widths = []
        for _ in range(REPEATS):
            drawn = rng.choice(p, n)
            cells = LogOddsCells.of(clipped_log_odds(drawn), rng.random(n) < drawn)
            curves = AuditCurves.of(fit_changes(cells), cells, DRAWS, rng)
            widths.append(Interval.of_draws(measure(curves), level).width)
        seen.append(float(np.mean(widths)))
    # Without any saving the smallest size suffices.
    if min(seen) <= 0.0:
        return float(SIZES[0])
    power, constant = np.polyfit(np.log(SIZES), np.log(seen), 1)
    return math.exp((math.log(width) - constant) / min(float(power), -0.1))

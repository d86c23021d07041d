"""Leave-one-out log scores of calibrators by PSIS, and paired bootstraps of losses."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike, NDArray
from scipy import special

from bayescal.fitting.curves.part_draws import CombinedDraws
from bayescal.fitting.fitted_classes import FittedClasses
from bayescal.fitting.parts.part import POSTERIOR, Groups, flat
from bayescal.fitting.posterior import Posterior
from bayescal.fitting.problems.problem import problems_of
from bayescal.fitting.results.arviz_groups import UNWEIGHTED, log_score_draws, read_unweighted
from bayescal.fitting.results.calibration import read_calibration
from bayescal.fitting.results.diagnostics import diagnose, warn_of_problems
from bayescal.fitting.scores import BinaryScores
from bayescal.inference.importance import smooth
from bayescal.inference.newton import log_scores
from bayescal.support import validation, weighting
from bayescal.support.intervals import tails
from bayescal.support.labels import read_groups
from bayescal.support.validation import Floats

if TYPE_CHECKING:
    from bayescal.calibrators.multiclass_calibrator import MulticlassCalibrator
    from bayescal.calibrators.score_calibrator import ScoreCalibrator

    AnyCalibrator = ScoreCalibrator | MulticlassCalibrator


class _Part(NamedTuple):
    """The posterior of one part of a calibrator."""

    log_score: Floats  # (draws, documents): log P_k(y_i|s_i)
    seen: Floats | None  # Same shape: terms of the fitted log likelihood; None without a fit
    weight: float


def leave_one_out(calibrator: AnyCalibrator, *, draws: int = 1000) -> Any:
    """Return the leave-one-out log score of a calibrator: sum_i log P(y_i | s_i, all others).

    Draws predict each label from its score with the inverse of the document's likelihood as
    weight: p(s_i, y_i) for class densities, P(y_i|s_i) for log-odds fits. Only labels are scored,
    so both kinds compare. A combination is scored as a mixture with its weights taken as given.

    Parameters
    ----------
    calibrator : ScoreCalibrator or MulticlassCalibrator
        Fitted with a posterior, without sample weights.
    draws : int
        Largest number of posterior draws, evenly chosen.

    Returns
    -------
    arviz_stats.ELPDData
        elpd, its standard error se, elpd_i, pareto_k, for `arviz_stats.compare` and plots. Scores
        of documents whose Pareto k exceeds `good_k` are unreliable; arviz-stats warns.

    Raises
    ------
    ValueError
        If there is no posterior, or documents were weighted, which PSIS-LOO does not support.

    Warns
    -----
    ConvergenceWarning
        If the draws of any part are unreliable; see `diagnostics_`.

    Notes
    -----
    Calibrators fitted to the same documents are compared by
    ``arviz_stats.compare({name: leave_one_out(each) for name, each in calibrators.items()})``.

    References
    ----------
    A. Vehtari, A. Gelman and J. Gabry, *Practical Bayesian model evaluation using leave-one-out
    cross-validation and WAIC*, Statistics and Computing 2017.

    Examples
    --------
    >>> import numpy as np
    >>> from bayescal import ScoreCalibrator
    >>> rng = np.random.default_rng(0)
    >>> y = rng.random(100) < 0.5
    >>> fitted = ScoreCalibrator("gaussian", random_state=0).fit(rng.normal(2.0 * y), y)
    >>> leave_one_out(fitted).elpd_i.size
    100
    """
    import arviz_stats

    validation.check_count("draws", draws)
    if getattr(calibrator, "several_classes", False):
        fitted: Any = calibrator._fit
        parts = [_part_of_classes(fitted, draws)]
    else:
        problems_of(calibrator)
        parts = _parts_of_scores(flat(calibrator.results_), draws)
    smoothed = [_smooth(part) for part in parts]
    log_weight = xr.concat([each[0] for each in smoothed], "draw")
    k = xr.concat([each[1] for each in smoothed], "part").max("part")
    log_score = xr.concat([_labelled(part.log_score) for part in parts], "draw")
    tree = xr.DataTree.from_dict({"log_likelihood": xr.Dataset({"label": log_score})})
    estimate = arviz_stats.loo(
        tree, pointwise=True, var_name="label", reff=1.0, log_weights=log_weight, pareto_k=k
    )
    # arviz-stats ignores the weights of the parts.
    each = [special.logsumexp(part.log_score, axis=0) for part in parts]
    share = [[part.weight / part.log_score.shape[0]] for part in parts]
    estimate.p = float(special.logsumexp(each, axis=0, b=share).sum() - estimate.elpd)
    return estimate


def _part_of_classes(fitted: FittedClasses, draws: int) -> _Part:
    """Return the posterior of a map of several classes; its predictions are its likelihood."""
    data = fitted.documents()
    if data.weight is not None:
        raise ValueError(f"leave_one_out {UNWEIGHTED}")
    warn_of_problems(fitted.problems)
    kept = _evenly(fitted.map.size, draws)
    chance = [
        p[:, data.label[part], np.arange(p.shape[2])]
        for part, p in fitted.map.blocks(data.scores.log_p, draws=kept)
    ]
    log_score = np.log(np.concatenate(chance, axis=1))
    return _Part(log_score, log_score, 1.0)


def _parts_of_scores(groups: Groups, draws: int) -> list[_Part]:
    """Return the posteriors of the parts of a calibrator of one score."""
    data = read_unweighted(groups, "leave_one_out")
    curves = read_calibration(groups).draws
    if curves is None or POSTERIOR not in groups:
        raise ValueError("leave_one_out needs a posterior: fit with inference='exact' or 'nuts'.")
    warn_of_problems(diagnose(groups).problems)
    return _parts(curves.take(_evenly(curves.size, draws)), data)


def _evenly(size: int, draws: int) -> NDArray[np.intp]:
    """Return the positions of at most `draws` of `size` draws, evenly chosen."""
    return np.linspace(0, size - 1, min(draws, size)).astype(np.intp)


def _parts(curves: Posterior, data: BinaryScores) -> list[_Part]:
    if not isinstance(curves, CombinedDraws):
        return [_part(curves, data, 1.0)]
    weighed = zip(curves.parts, curves.weight, strict=True)
    rate, base = curves.mean_lapse
    parts = [_part(part, data, (1.0 - rate) * float(w)) for part, w in weighed if w > 0.0]
    if rate > 0.0:
        # Lapses are a further member of the mixture: the base rate, independent of any label.
        of_label = log_scores(special.logit(base), data.positive)
        parts.append(_Part(np.tile(of_label, (curves.size, 1)), None, rate))
    return parts


def _part(curves: Posterior, data: BinaryScores, weight: float) -> _Part:
    log_score = log_score_draws(curves, data)
    return _Part(log_score, curves.seen(data, log_score), weight)


def _smooth(part: _Part) -> tuple[xr.DataArray, xr.DataArray]:
    """Return the log weights of a part's draws, which sum to the part's weight, and Pareto k."""
    if part.seen is None:
        log_weight = np.full_like(part.log_score, -np.log(part.log_score.shape[0]))
        k = np.full(part.log_score.shape[1], -np.inf)
    else:
        # arviz-stats's psislw, for all documents at once.
        rows, k = smooth(-part.seen.T)
        log_weight = rows.T
    return _labelled(log_weight + np.log(part.weight)), xr.DataArray(k, dims="document")


def _labelled(values: Floats) -> xr.DataArray:
    return xr.DataArray(values[None], dims=["chain", "draw", "document"])


# Paired comparison of the losses of two methods on the same documents.


@dataclass(frozen=True)
class PairedDifference:
    """The difference of two mean losses.

    Attributes
    ----------
    difference : float
        Mean loss of A less that of B: negative where A is better.
    lower, upper : float
        Bootstrap interval of the difference.
    level : float
        Probability of the interval.
    share_better : float
        Share of resamples in which A loses less; ties count half.
    method : str
        "bootstrap of documents" or "bootstrap of groups".
    """

    difference: float
    lower: float
    upper: float
    level: float
    share_better: float
    method: str


def paired_bootstrap(
    loss_a: ArrayLike,
    loss_b: ArrayLike,
    *,
    level: float = 0.9,
    resamples: int = 2000,
    groups: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    inclusion: ArrayLike | None = None,
    rng: Any = None,
) -> PairedDifference:
    """Return the difference of the mean losses of two methods, with its bootstrap interval.

    Parameters
    ----------
    loss_a, loss_b : array-like of shape (n,)
        Losses of the same documents.
    level : float
        Between 0 and 1.
    resamples : int
        How often documents are drawn with replacement.
    groups : array-like of shape (n,), optional
        The group of each loss, such as a document with many topics, or the cluster of dependent
        documents: losses within a group are dependent, so that groups are drawn whole.
    sample_weight : array-like of shape (n,), optional
        Number of documents that each counts for, as if repeated; a group stays one group.
    inclusion : array-like of shape (n,), optional
        The probability that the document was labelled; it still counts as one document.
    rng : int, Generator, RandomState or None
        Chooses the documents.

    Raises
    ------
    ValueError
        If there are fewer than two groups.

    References
    ----------
    B. Efron and R. J. Tibshirani, *An introduction to the bootstrap*, 1993, chapters 8 and 13.

    Examples
    --------
    >>> interval = paired_bootstrap([0.1, 0.2, 0.1, 0.3] * 9, [0.2, 0.4, 0.1, 0.4] * 9, rng=0)
    >>> round(interval.difference, 3), interval.upper < 0
    (-0.1, True)
    """
    validation.check_fraction(level=level)
    validation.check_count("resamples", resamples)
    a, b = validation.as_scores(loss_a, "loss_a"), validation.as_scores(loss_b, "loss_b")
    validation.check_same_length("loss_a", a.size, "loss_b", b.size)
    difference, size = np.asarray(a - b), a.size
    own = weighting.either_weights(sample_weight, inclusion, size, as_evidence=True)
    weight = np.ones(size) if own is None else own
    total = weight * difference
    if groups is not None:
        _, group = read_groups(groups, "groups", "group", size, "losses")
        total = np.bincount(group, weights=total).astype(np.float64)
        weight = np.bincount(group, weights=weight).astype(np.float64)
    if total.size < 2:
        raise ValueError("a bootstrap needs at least two documents or groups, got one.")
    rng = validation.generator(rng)
    if sample_weight is not None and groups is None:
        documents, share = max(round(weight.sum()), 1), weight / weight.sum()
        counts = (rng.multinomial(documents, share) for _ in range(resamples))
        means = np.array([each @ difference / documents for each in counts])
    else:
        chosen = (_choose(rng, weight) for _ in range(resamples))
        means = np.array([total[each].sum() / weight[each].sum() for each in chosen])
    lower, upper = np.quantile(means, tails(level))
    return PairedDifference(
        difference=float(total.sum() / weight.sum()),
        lower=float(lower),
        upper=float(upper),
        level=level,
        share_better=float(np.mean(means < 0.0) + 0.5 * np.mean(means == 0.0)),
        method=f"bootstrap of {'documents' if groups is None else 'groups'}",
    )


def _choose(rng: np.random.Generator, weight: Floats) -> Any:
    """Return positions drawn with replacement, some of them of positive weight."""
    while True:
        chosen = rng.integers(weight.size, size=weight.size)
        if weight[chosen].any():
            return chosen

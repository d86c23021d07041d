"""Leave-one-out log scores of fitted calibrators, by PSIS through arviz-stats."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np
import xarray as xr
from scipy import special

from bayescal.curves.combined_draws import CombinedDraws, ModelCurves
from bayescal.curves.curves import PartCurves
from bayescal.engines import combined
from bayescal.engines.data import BinaryScores
from bayescal.engines.pareto import smooth
from bayescal.parts.places import POSTERIOR, flat
from bayescal.results.calibration import read_calibration
from bayescal.results.diagnostics import diagnose, warn_of_problems
from bayescal.results.label_scores import log_scores, read_unweighted
from bayescal.validation import Floats, check_count

if TYPE_CHECKING:
    import pandas as pd


class HasResults(Protocol):
    """A fitted `ScoreCalibrator`."""

    @property
    def results_(self) -> xr.DataTree:
        """Return the tree of results."""
        ...


class _Part(NamedTuple):
    """
    One posterior: log P_k(y_i|s_i) and the log likelihood that its draws have seen of document i.

    Both of shape (draws, documents); `seen` is None where nothing was fitted.
    """

    log_score: Floats
    seen: Floats | None
    weight: float


def leave_one_out(calibrator: HasResults, *, draws: int = 1000) -> Any:
    """
    Return the leave-one-out log score of a calibrator: sum_i log P(y_i | s_i, all others).

    Every label is predicted from its score without itself, by weighing draws with the inverse of
    what they saw of the document: of class densities p(s_i, y_i), of log-odds fits P(y_i|s_i).
    The score is that of the label alone, so families of either kind compare.

    Parameters
    ----------
    calibrator : ScoreCalibrator
        Fitted with a posterior, without sample weights.
    draws : int
        At most so many posterior draws, evenly chosen.

    Returns
    -------
    arviz_stats.ELPDData
        elpd, its standard error se, elpd_i, pareto_k, for `arviz_stats.compare` and plots. Pareto k
        above `good_k` means that a document's score is not to be trusted; arviz-stats warns.

    Raises
    ------
    ValueError
        If there is no posterior, or documents were weighted, which PSIS-LOO has no place for.

    Warns
    -----
    ConvergenceWarning
        If the draws of any part are not to be trusted; see `ScoreCalibrator.diagnostics_`.

    Notes
    -----
    The combination is scored as the mixture that it is, its weights taken as given.

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

    check_count("draws", draws)
    groups = flat(calibrator.results_)
    data = read_unweighted(groups, "leave_one_out")
    curves = read_calibration(groups).draws
    if curves is None or POSTERIOR not in groups:
        raise ValueError("leave_one_out needs a posterior: fit with inference='exact' or 'nuts'.")
    warn_of_problems(diagnose(groups))
    parts = _parts(_thin(curves, draws), data)
    smoothed = [_smooth(part) for part in parts]
    log_weight = xr.concat([each[0] for each in smoothed], "draw")
    k = xr.concat([each[1] for each in smoothed], "part").max("part")
    log_score = xr.concat([_labelled(part.log_score) for part in parts], "draw")
    tree = xr.DataTree.from_dict({"log_likelihood": xr.Dataset({"label": log_score})})
    found = arviz_stats.loo(
        tree, pointwise=True, var_name="label", reff=1.0, log_weights=log_weight, pareto_k=k
    )
    # arviz-stats would count all draws alike, whatever the weight of their part.
    each = [special.logsumexp(part.log_score, axis=0) for part in parts]
    share = [[part.weight / part.log_score.shape[0]] for part in parts]
    found.p = float(special.logsumexp(each, axis=0, b=share).sum() - found.elpd)
    return found


def compare_calibrators(
    calibrators: Mapping[str, HasResults], *, draws: int = 1000
) -> pd.DataFrame:
    """
    Compare calibrators fitted to the same documents by their leave-one-out log scores.

    Parameters
    ----------
    calibrators : mapping of str to ScoreCalibrator
        Fitted with a posterior.
    draws : int
        See `leave_one_out`.

    Returns
    -------
    pandas.DataFrame
        `arviz_stats.compare`: a row a calibrator, best first, with elpd, the difference to the
        best, its standard error and stacking weights.

    Raises
    ------
    TypeError
        If they have no names.
    ValueError
        If there are fewer than two, or they were fitted to different documents.
    """
    import arviz_stats

    if not isinstance(calibrators, Mapping):
        raise TypeError(
            "calibrators must be a dict of fitted calibrators by name, got an object of type"
            f" {type(calibrators).__name__}."
        )

    if len(calibrators) < 2:
        raise ValueError(f"calibrators must be at least two to compare, got {len(calibrators)}.")
    first, *others = (
        read_unweighted(flat(each.results_), "leave_one_out") for each in calibrators.values()
    )
    for name, data in zip(list(calibrators)[1:], others, strict=True):
        if data.score.size != first.score.size or (data.positive != first.positive).any():
            raise ValueError(
                f"calibrators must be fitted to the same documents: {name!r} was fitted to others"
                f" than {next(iter(calibrators))!r}."
            )
    scores = {name: leave_one_out(each, draws=draws) for name, each in calibrators.items()}
    with warnings.catch_warnings():
        # 2026-11: arviz-stats 0.8 sorts in place, which pandas 3.1 announces the end of.
        warnings.filterwarnings("ignore", message="The inplace keyword")
        table: pd.DataFrame = arviz_stats.compare(scores)
    return table


def _thin(curves: ModelCurves, draws: int) -> ModelCurves:
    return curves.take(np.linspace(0, curves.size - 1, min(draws, curves.size)).astype(np.intp))


def _parts(curves: ModelCurves, data: BinaryScores) -> list[_Part]:
    if not isinstance(curves, CombinedDraws):
        return [_part(curves, data, 1.0)]
    weighed = zip(curves.parts, curves.weight, strict=True)
    rate, base = curves.mean_lapse
    found = [_part(part, data, (1.0 - rate) * float(w)) for part, w in weighed if w > 0.0]
    if rate > 0.0:
        # Lapses are one more member of the mixture: the base rate, which no label sways.
        of_label = combined.log_scores(special.logit(base), data.positive)
        found.append(_Part(np.tile(of_label, (curves.size, 1)), None, rate))
    return found


def _part(curves: PartCurves, data: BinaryScores, weight: float) -> _Part:
    log_score = log_scores(curves, data)
    return _Part(log_score, curves.seen(data, log_score), weight)


def _smooth(part: _Part) -> tuple[xr.DataArray, xr.DataArray]:
    """Return the log weights of a part's draws, their sum its weight, and Pareto k."""
    if part.seen is None:
        log_weight = np.full_like(part.log_score, -np.log(part.log_score.shape[0]))
        k = np.full(part.log_score.shape[1], -np.inf)
    else:
        # The same as arviz-stats's psislw, all documents at once.
        rows, k = smooth(-part.seen.T)
        log_weight = rows.T
    return _labelled(log_weight + np.log(part.weight)), xr.DataArray(k, dims="document")


def _labelled(values: Floats) -> xr.DataArray:
    return xr.DataArray(values[None], dims=["chain", "draw", "document"])

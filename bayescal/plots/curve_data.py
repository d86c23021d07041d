"""The curve of a calibrator over the scores, for all displays that draw it."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike

from bayescal.fitted.problem import FittedProblem
from bayescal.plots.binning import empirical_log_odds
from bayescal.results.calibration import EQUAL_TAILED
from bayescal.validation import check_choice, check_count, check_fraction


def curve_data(
    problem: FittedProblem,
    *,
    grid: ArrayLike | None = None,
    level: float = 0.9,
    band: str = "pointwise",
    bins: int | None = None,
) -> xr.Dataset:
    """
    Compute log-odds, their band, those of maximum likelihood, and the documents.

    Parameters
    ----------
    problem : FittedProblem
        What is drawn.
    grid : array-like, optional
        Scores at which to evaluate the curves; by default 400 over all scores and a little beyond.
    level : float
        Posterior probability of the band, and confidence of the bins' intervals.
    band : {"pointwise", "simultaneous"}
        Whether `level` holds at each score or for the whole curve.
    bins : int, optional
        How many bins of documents at most; by default what the rarer class is enough for.

    Returns
    -------
    xarray.Dataset
        log_odds, lower, upper, mle (score), natural logarithms; document_score, label, weight
        (document); and, by bin, what `empirical_log_odds` returns. Scores are in the user's units.
    """
    check_fraction(level=level)
    check_choice("band", band, EQUAL_TAILED)
    if bins is not None:
        check_count("bins", bins)
    calibration, documents, x = problem.calibration, problem.documents, problem.grid(grid)
    variables: dict[str, Any] = {"log_odds": ("score", calibration.log_odds(x, problem.point))}
    if problem.has_posterior:
        lower, upper = calibration.log_odds_interval(x, level, band).T
        variables |= {"lower": ("score", lower), "upper": ("score", upper)}
    if problem.has_mle:
        variables["mle"] = ("score", calibration.fits.log_odds(x))
    empirical = empirical_log_odds(
        documents.score, documents.positive, documents.weight, level, bins
    )
    empirical["bin_score"] = ("bin", problem.shown(empirical["bin_score"].values))
    shown = {
        "document_score": ("document", problem.shown(documents.score)),
        "label": ("document", documents.positive.astype(np.int64)),
        "weight": ("document", documents.weight),
    }
    attrs = problem.attrs | {
        "level": level,
        "band": band,
        "held_out": int(documents.held_out),
    }
    data = xr.Dataset(variables | shown, {"score": problem.shown(x)}, attrs)
    return data.merge(empirical)

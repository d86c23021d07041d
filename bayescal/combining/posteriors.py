"""What a fitted Bayesian combination says of itself: coefficients, diagnostics, a problem."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from bayescal.combining.combiners.bayesian import Bayesian
from bayescal.engines.data import BinaryScores
from bayescal.engines.maximum_likelihood import without_densities
from bayescal.fitted.combination_problem import CombinationProblem
from bayescal.fitted.documents import Documents
from bayescal.results.calibration import Calibration
from bayescal.results.diagnostics import Diagnostics

if TYPE_CHECKING:
    import pandas as pd

    from bayescal.formulas.block import Block

SCORE_NAME = "combined log-odds"


def coefficient_table(found: Bayesian, classifiers: Sequence[str], level: float) -> pd.DataFrame:
    """
    Return the posterior of all coefficients.

    Parameters
    ----------
    found : Bayesian
        Of one problem.
    classifiers : sequence of str
        Their names.
    level : float
        Probability of the equal-tailed interval.

    Returns
    -------
    pandas.DataFrame
        Rows "bias", the classifiers, indicators as "indicator 0", ..., and what moderators add to
        weights as "svm, moderator 0", ...; columns mean, lower, upper.
    """
    import pandas as pd

    draws = found.weights.draws
    lower, upper = np.quantile(draws, [0.5 - level / 2.0, 0.5 + level / 2.0], axis=0)
    return pd.DataFrame(
        {"mean": draws.mean(axis=0), "lower": lower, "upper": upper},
        index=pd.Index(_names(found, classifiers), name="coefficient"),
    )


def diagnose(found: Bayesian, classifiers: Sequence[str]) -> Diagnostics:
    """Return how well the draws of the weights, and those of the calibration curves, were made."""
    weights, size = found.weights, float(len(found.weights.draws))
    of_curves = [
        f"calibrator of {name!r}: {problem}"
        for name, calibrator in zip(classifiers, found.calibrated.calibrators, strict=True)
        if calibrator.diagnostics_ is not None
        for problem in calibrator.diagnostics_.problems
    ]
    return Diagnostics(
        rhat=None,
        ess_bulk=min(size, weights.effective),
        ess_tail=min(size, weights.effective),
        divergences=0,
        draws=int(size),
        efficiency=weights.efficiency,
        pareto_k=weights.pareto_k,
        problems=(*found.problems, *of_curves),
    )


def tree_of(found: Bayesian, classifiers: Sequence[str], attrs: dict[str, str]) -> xr.DataTree:
    """
    Return the posterior as ArviZ takes it.

    Parameters
    ----------
    found : Bayesian
        Of one problem.
    classifiers : sequence of str
        Their names.
    attrs : dict of str
        Where it comes from, see `results.provenance.describe`.

    Returns
    -------
    xarray.DataTree
        The group posterior has bias (chain, draw), weight (..., classifier), and where there are
        indicators shift (..., indicator) and weight_shift (..., classifier, moderator).
    """
    # Independent draws are one chain.
    draws, m = found.weights.draws[None], len(classifiers)
    indicators, moderators = found.shifts.axes.shape
    tail = 1 + m + indicators
    variables: dict[str, Any] = {
        "bias": (("chain", "draw"), draws[:, :, 0]),
        "weight": (("chain", "draw", "classifier"), draws[:, :, 1 : 1 + m]),
    }
    if indicators:
        variables["shift"] = (("chain", "draw", "indicator"), draws[:, :, 1 + m : tail])
    if moderators:
        shifts = draws[:, :, tail:].reshape(1, draws.shape[1], m, moderators)
        variables["weight_shift"] = (("chain", "draw", "classifier", "moderator"), shifts)
    dataset = xr.Dataset(variables, {"classifier": list(classifiers)})
    tree = xr.DataTree.from_dict({"posterior": dataset})
    tree.attrs = attrs
    return tree


def problem_of(
    found: Bayesian,
    classifiers: Sequence[str],
    *,
    name: str,
    labels: NDArray[Any],
    combiner: str,
    attrs: dict[str, str],
) -> CombinationProblem:
    """
    Return the combination as plots and reports read it.

    Parameters
    ----------
    found : Bayesian
        Of one problem.
    classifiers : sequence of str
        Their names.
    name : str
        Of the class or label; empty where there are two classes.
    labels : array of shape (2,)
        The negative and the positive class.
    combiner : str
        Its name.
    attrs : dict of str
        Where it comes from, see `results.provenance.describe`.
    """
    labelled = found.labelled
    data = BinaryScores(found.held_out, labelled.positive, labelled.weight, "log_odds")
    centre, spread = data.centre_and_spread
    documents = Documents.of(found.held_out, labelled.positive, labelled.weight)
    return CombinationProblem(
        name=name,
        labels=labels,
        tree=tree_of(found, classifiers, attrs),
        calibration=Calibration(
            fits=without_densities(data),
            draws=found.curves,
            centre=centre,
            spread=spread,
            score_range=data.score_range,
            scores_are="scores",
        ),
        point="predictive",
        documents=documents,
        counts=(documents.count(False), documents.count(True)),
        score_name=SCORE_NAME,
        scores_are="log_odds",
        inference="exact",
        combiner=combiner,
        found=diagnose(found, classifiers),
        table=partial(_parameters, found, classifiers, str(labels[1])),
        blocks=partial(_blocks, found),
    )


def _names(found: Bayesian, classifiers: Sequence[str]) -> list[str]:
    indicators, moderators = found.shifts.axes.shape
    return [
        "bias",
        *classifiers,
        *(f"indicator {j}" for j in range(indicators)),
        *(f"{name}, moderator {j}" for name in classifiers for j in range(moderators)),
    ]


def _parameters(
    found: Bayesian, classifiers: Sequence[str], label: str, level: float
) -> pd.DataFrame:
    import pandas as pd

    table = coefficient_table(found, classifiers, level)
    pairs = [(label, name) for name in table.index]
    table.index = pd.MultiIndex.from_tuples(pairs, names=["class", "parameter"])
    return table


def _blocks(found: Bayesian) -> list[Block]:
    from bayescal.formulas.classifier_weights import blocks

    indicators, moderators = found.shifts.axes.shape
    return blocks(found.prior, indicators=indicators, moderators=moderators)

"""Groups for ArviZ's functions beside the posterior, made on request."""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace
from importlib.metadata import version
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray
from scipy import special

from bayescal.fitting.curves.part_draws import CombinedDraws
from bayescal.fitting.parts.part import Groups, all_paths, flat, has_parameters
from bayescal.fitting.posterior import DRAWS, Posterior
from bayescal.fitting.results.calibration import read_calibration
from bayescal.fitting.results.tree import read_documents
from bayescal.fitting.scores import BinaryScores
from bayescal.inference.newton import log_scores
from bayescal.support.numerics import probability
from bayescal.support.validation import Floats

# Log scores of the fitted labels: log P_k(y_i | s_i).


UNWEIGHTED = (
    "has no place for sample_weight: repeat the documents, or compare losses on test documents."
)


def read_unweighted(groups: Groups, what: str) -> BinaryScores:
    """Return the documents fitted."""
    documents = read_documents(groups)
    if np.any(documents.weight != 1.0):
        raise ValueError(f"{what} {UNWEIGHTED}")
    return replace(documents, weight=None)


def log_score_draws(curves: Posterior, data: BinaryScores) -> Floats:
    """Return natural logs of P_k(y_i | s_i), shape (draws, documents)."""
    return log_scores(curves.label_log_odds(data), data.positive)


def log_likelihood(curves: Posterior, data: BinaryScores) -> Floats:
    r"""Return log likelihoods for ArviZ's leave-one-out prediction of labels, (draws, documents).

    They are log P_k(y_i | s_i), also for class densities, whose likelihood is p(s_i, y_i | k): a
    document then keeps its score and loses its label only, and

        1 / mean_k 1/P_k(y_i | s_i) = P(y_i | s_i, all other documents)

    exactly. Draws of a combination come from several posteriors, whose weights must not depend on
    the document left out: with P_m(i) the left side for the draws of part m, and w_m its weight,
    log (sum_n w_n P_n(i) / P_m(i)) is added to the values of part m. The left side for all draws is
    then the mixture's probability. Lapses are one more member, the base rate, of weight lambda.
    """
    if not isinstance(curves, CombinedDraws):
        return log_score_draws(curves, data)
    out, drawn = np.empty((curves.size, data.score.size)), np.unique(curves.which)
    left_out = np.empty((drawn.size, data.score.size))
    for k, m in enumerate(drawn):
        rows = np.flatnonzero(curves.which == m)
        out[rows] = log_score_draws(curves.parts[m].take(rows), data)
        left_out[k] = np.log(rows.size) - special.logsumexp(-out[rows], axis=0)
    # A part of negligible weight may have no draw.
    weight = curves.weight[drawn, None] / curves.weight[drawn].sum()
    mixture = special.logsumexp(left_out, axis=0, b=weight)
    rate, base = curves.mean_lapse
    of_base = log_scores(special.logit(base), data.positive)
    mixture = special.logsumexp([mixture, of_base], axis=0, b=np.array([[1.0 - rate], [rate]]))
    for m, own in zip(drawn, left_out, strict=True):
        out[curves.which == m] += mixture - own
    return out


# ArviZ's smoothing fails for exactly equal weights, as in documents that all draws predict with
# certainty: differences of this many nats avoid ties.
TIE_BREAK = 1e-9
GROUPS = ("log_likelihood", "prior", "posterior_predictive")
PRIOR_PREDICTIVE = "prior_predictive"


def with_arviz_groups(
    tree: xr.DataTree,
    groups: Sequence[str],
    draws: int,
    rng: np.random.Generator,
    draw_prior: Callable[[int], tuple[xr.Dataset, Posterior]],
) -> Any:
    """Return the groups of at most `draws` draws, with further groups; see `to_arviz`."""
    chains, size = (tree["posterior"].sizes[name] for name in DRAWS)
    # The same positions of every chain, evenly spaced.
    kept = np.linspace(0, size - 1, min(size, max(draws // chains, 1))).astype(np.intp)
    index = (np.arange(chains)[:, None] * size + kept).ravel()
    flattened = flat(tree)
    curves = read_calibration(flattened).take(index).draws
    assert curves is not None  # noqa: S101
    out = {path: group.isel(draw=kept, missing_dims="ignore") for path, group in flattened.items()}
    observed = tree["observed_data"].to_dataset()
    of_documents = {name: each.variable for name, each in observed.coords.items()}
    coords = {name: out["posterior"][name].variable for name in DRAWS} | of_documents
    if "log_likelihood" in groups:
        pointwise = log_likelihood(curves, read_unweighted(flattened, "log_likelihood"))
        pointwise -= TIE_BREAK * np.linspace(0.0, 1.0, index.size)[:, None]
        out["log_likelihood"] = _of_documents({"label": pointwise}, coords)
    if {"prior", PRIOR_PREDICTIVE} & set(groups):
        prior, of_prior = draw_prior(index.size)
        if "prior" in groups:
            out["prior"] = prior
        if PRIOR_PREDICTIVE in groups:
            if not has_parameters(flattened):
                names = ", ".join(repr(each.name) for each in all_paths(flattened))
                raise ValueError(
                    "prior_predictive needs a model of one family or program, whose prior is one of"
                    f" parameters, got the parts {names}: fit ScoreCalibrator('gaussian'), say, or"
                    " leave it out of groups."
                )
            drawn = {name: prior[name].variable for name in DRAWS} | of_documents
            out[PRIOR_PREDICTIVE] = _of_documents(_replicates(of_prior, observed, rng), drawn)
    if "posterior_predictive" in groups:
        replicates = _replicates(curves, observed, rng)
        out["posterior_predictive"] = _of_documents(replicates, coords)
    return _as_installed_arviz_takes(out, tree.attrs)


def _as_installed_arviz_takes(groups: dict[str, Any], attrs: dict[Hashable, Any]) -> Any:
    """Return a DataTree, or for ArviZ before 1.0 InferenceData, whose groups' names are paths."""
    if int(version("arviz").split(".")[0]) < 1:
        from arviz import InferenceData

        return InferenceData(attrs=attrs, **groups)
    extended = xr.DataTree.from_dict(groups)
    extended.attrs.update(attrs)
    return extended


def _of_documents(values: dict[str, NDArray[Any]], coords: dict[Any, xr.Variable]) -> xr.Dataset:
    shape = tuple(coords[name].size for name in DRAWS)
    variables = {
        name: ((*DRAWS, "document"), each.reshape(*shape, -1)) for name, each in values.items()
    }
    return xr.Dataset(variables, coords)


def _replicates(
    curves: Posterior, observed: xr.Dataset, rng: np.random.Generator
) -> dict[str, NDArray[Any]]:
    """Return labels given the scores and, for densities, scores given the labels, by every draw."""
    score, positive = observed["score"].values, observed["label"].values == 1
    chance = probability(curves.log_odds(score))
    out: dict[str, NDArray[Any]] = {"label": (rng.random(chance.shape) < chance).astype(np.int64)}
    densities = curves.densities
    if densities is not None:
        out["score"] = np.empty(chance.shape)
        for klass, each in enumerate(densities.both):
            which = np.flatnonzero(positive == klass)
            out["score"][:, which] = each.sample(which.size, rng)
    return out

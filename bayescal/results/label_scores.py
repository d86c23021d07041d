"""What draws of a curve say of the labels that were fitted: log P_k(y_i | s_i)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy import special

from bayescal.curves.combined_draws import CombinedDraws, ModelCurves
from bayescal.curves.curves import PartCurves
from bayescal.engines import combined
from bayescal.engines.data import BinaryScores
from bayescal.parts.places import Groups
from bayescal.results.tree import read_documents
from bayescal.validation import Floats


def read_unweighted(groups: Groups, what: str) -> BinaryScores:
    """
    Return the documents fitted.

    Raises
    ------
    ValueError
        If they were weighted, which leaving one out has no place for; `what` asked for them.
    """
    documents = read_documents(groups)
    if np.any(documents.weight != 1.0):
        raise ValueError(
            f"{what} has no place for sample_weight: repeat the documents, or compare losses on"
            " test documents."
        )
    return replace(documents, weight=None)


def log_scores(curves: PartCurves, data: BinaryScores) -> Floats:
    """
    Return natural logs of P_k(y_i | s_i), shape (draws, documents).

    Parameters
    ----------
    curves : PartCurves
        Of one part.
    data : BinaryScores
        The documents fitted.
    """
    return combined.log_scores(curves.label_log_odds(data), data.positive)


def log_likelihood(curves: ModelCurves, data: BinaryScores) -> Floats:
    r"""
    Return log likelihoods by which ArviZ's leave-one-out is that of the label, (draws, documents).

    They are log P_k(y_i | s_i), also of class densities, whose draws have seen p(s_i, y_i | k): a
    document then keeps its score and loses its label alone, and

        1 / mean_k 1/P_k(y_i | s_i) = P(y_i | s_i, all other documents)

    exactly. Of a combination the draws are of several posteriors, which a document left out must
    not weigh anew: with P_m(i) the left side of that for the draws of part m, and w_m its weight,
    log (sum_m w_m P_m(i) / P_m(i)) is added to the values of part m, with the mixture above and
    its own part below. The left side for all draws is then the mixture's probability. Lapses are
    one more member of the mixture, the base rate, of weight lambda.
    """
    if not isinstance(curves, CombinedDraws):
        return log_scores(curves, data)
    out, drawn = np.empty((curves.size, data.score.size)), np.unique(curves.which)
    left_out = np.empty((drawn.size, data.score.size))
    for k, m in enumerate(drawn):
        rows = np.flatnonzero(curves.which == m)
        out[rows] = log_scores(curves.parts[m].take(rows), data)
        left_out[k] = np.log(rows.size) - special.logsumexp(-out[rows], axis=0)
    # A part of next to no weight may have no draw.
    weight = curves.weight[drawn, None] / curves.weight[drawn].sum()
    mixture = special.logsumexp(left_out, axis=0, b=weight)
    rate, base = curves.mean_lapse
    of_base = combined.log_scores(special.logit(base), data.positive)
    mixture = special.logsumexp([mixture, of_base], axis=0, b=np.array([[1.0 - rate], [rate]]))
    for m, own in zip(drawn, left_out, strict=True):
        out[curves.which == m] += mixture - own
    return out

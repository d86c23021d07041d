"""Weights of documents that were labelled with unequal probabilities of inclusion."""

import numpy as np
from numpy.typing import NDArray

from bayescal.support import weighting
from bayescal.support.validation import Floats

# Weights of neighbours that differ by less are those of a smooth function of the score.
SMOOTH = 1.25


def chosen_by_score(weight: Floats, positive: NDArray[np.bool_], score: Floats) -> bool:
    """
    Return whether inclusion probabilities are a function of the score.

    Between the weights of the documents of the other class with the next lower and the next higher
    score lie those of most documents of the rarer class, up to a factor of 1.25.
    """
    rarer, other = sorted((np.flatnonzero(positive), np.flatnonzero(~positive)), key=len)
    other = other[np.argsort(score[other], kind="stable")]
    above = np.searchsorted(score[other], score[rarer])
    around = weight[other][np.clip([above - 1, above], 0, other.size - 1)]
    own = weight[rarer]
    inside = (around.min(axis=0) / SMOOTH <= own) & (own <= around.max(axis=0) * SMOOTH)
    # Beyond all scores of the other class there is a neighbour on one side alone.
    inside |= (above == 0) | (above == other.size)
    return bool(inside.mean() > 0.8)


def sampled(
    weight: Floats, positive: NDArray[np.bool_], score: Floats, *, by_score: bool = False
) -> tuple[Floats, tuple[float, float]]:
    """
    Return likelihood weights for w = 1 / inclusion, and the counts that P(+) is known from.

    Chosen by score, the documents of each class weigh as many as their effective sample size.
    Otherwise the largest that a document of a class may have weighs one: with weights v of at most
    1, sum v^2 I <= sum v I for the informations I of the documents, so that the posterior is never
    narrower than the weighted estimate varies. The share of positives, p = sum w y / sum w, is
    known from as many documents as a binomial share is whose variance is that of p,
    sum w^2 (y - p)^2 / (sum w)^2; from Kish's effective sample size where all labels agree.
    """
    out = weight / weight.max()
    share = float(out[positive].sum() / out.sum())
    if not 0.0 < share < 1.0:
        size = weighting.effective_size(weight)
        return out, (size * share, size * (1.0 - share))
    variance = float((out**2 @ (positive - share) ** 2) / out.sum() ** 2)
    size = share * (1.0 - share) / variance
    if by_score:
        for mine in (positive, ~positive):
            out[mine] *= weighting.effective_size(out[mine]) / out[mine].sum()
        return out, (size * share, size * (1.0 - share))
    of_positive, of_negative = out[positive].max(), out[~positive].max()
    ratio = weighting.ratio_of_weights(out, positive, score)
    out[positive] /= max(of_positive, of_negative * ratio)
    out[~positive] /= max(of_negative, of_positive / ratio)
    return out, (size * share, size * (1.0 - share))

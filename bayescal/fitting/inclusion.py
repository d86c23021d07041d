"""Weights of documents that were labelled with unequal probabilities of inclusion."""

import numpy as np
from numpy.typing import NDArray

from bayescal.support import weighting
from bayescal.support.validation import Floats

# Neighbouring weights within this factor count as a smooth function of the score.
SMOOTH = 1.25


def chosen_by_score(weight: Floats, positive: NDArray[np.bool_], score: Floats) -> bool:
    """
    Return whether inclusion probabilities are a function of the score.

    They are if the weights of most documents of the rarer class lie between the weights of their
    neighbours in the other class (by score), up to a factor of 1.25.
    """
    rarer, other = sorted((np.flatnonzero(positive), np.flatnonzero(~positive)), key=len)
    other = other[np.argsort(score[other], kind="stable")]
    above = np.searchsorted(score[other], score[rarer])
    around = weight[other][np.clip([above - 1, above], 0, other.size - 1)]
    own = weight[rarer]
    inside = (around.min(axis=0) / SMOOTH <= own) & (own <= around.max(axis=0) * SMOOTH)
    # Documents beyond all scores of the other class have one neighbour only.
    inside |= (above == 0) | (above == other.size)
    return bool(inside.mean() > 0.8)


def sampled(
    weight: Floats, positive: NDArray[np.bool_], score: Floats, *, by_score: bool = False
) -> tuple[Floats, tuple[float, float]]:
    """
    Return likelihood weights for w = 1 / inclusion, and effective counts that determine P(+).

    If documents were chosen by score, the weights of each class sum to its effective sample size.
    Otherwise the largest weight of a class is one: with weights v of at most 1, sum v^2 I <= sum
    v I for the informations I of the documents, so that the posterior is not narrower than the
    sampling distribution of the weighted estimate. The counts are those of a binomial share with
    the variance of p = sum w y / sum w, sum w^2 (y - p)^2 / (sum w)^2; Kish's effective sample size
    if all labels agree.
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

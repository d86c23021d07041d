"""Weights that are counts, and weights that are inverse inclusion probabilities."""

import numpy as np
from numpy.typing import ArrayLike

from bayescal.support.validation import Floats, as_weights, warn_user

# Weights look like sampling weights if they are not whole numbers and sum to this many times the
# number of documents, or if no more than a few values, one of them large, weigh many documents.
EXCESS = 1.5
FEW_VALUES, LARGE_COUNT, MANY_DOCUMENTS = 3, 10.0, 20


def effective_weights(
    sample_weight: ArrayLike | None, sampling_weight: ArrayLike | None, n: int
) -> Floats | None:
    """
    Return weights that sum to the number of documents that they are worth, or None for equal ones.

    Counts stay as they are. Inverse inclusion probabilities w are scaled to the effective sample
    size (sum w)^2 / sum w^2 (Kish, *Survey Sampling*, 1965).
    """
    weight = either_weights(sample_weight, sampling_weight, n)
    if weight is None:
        return None
    if sampling_weight is not None:
        return np.asarray(weight * (effective_size(weight) / weight.sum()))
    warn_unless_counts(weight)
    return weight


def either_weights(
    sample_weight: ArrayLike | None, sampling_weight: ArrayLike | None, n: int
) -> Floats | None:
    """Return the weights of either kind as they are; one of the two at most may be given."""
    if sampling_weight is None:
        return as_weights(sample_weight, n)
    if sample_weight is not None:
        raise ValueError(
            "either sample_weight or sampling_weight must be None, got both: sample_weight is how"
            " many documents each counts for, sampling_weight is 1 / its inclusion probability."
        )
    return as_weights(sampling_weight, n, "sampling_weight")


def effective_size(weight: Floats) -> float:
    """Return Kish's effective sample size, (sum w)^2 / sum w^2."""
    share = weight / weight.max()
    return float(share.sum() ** 2 / (share @ share))


def warn_unless_counts(weight: Floats) -> None:
    """Warn if weights given as counts look like inverse inclusion probabilities."""
    if not look_like_counts(weight):
        warn_user(
            f"sample_weight counts documents: these weights make {np.count_nonzero(weight)}"
            f" documents count as {weight.sum():,.0f}. If they are inverse inclusion"
            " probabilities, pass them as sampling_weight."
        )


def look_like_counts(weight: Floats) -> bool:
    """Return whether weights may be numbers of documents."""
    weight = weight[weight > 0.0]
    if (weight != np.rint(weight)).any():
        # Class weights, and weights scaled to a mean of 1, sum to the number of documents.
        return bool(weight.sum() <= EXCESS * weight.size)
    many = weight.size >= MANY_DOCUMENTS and weight.max() >= LARGE_COUNT
    return not (many and np.unique(weight).size <= FEW_VALUES)

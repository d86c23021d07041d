"""Weights of documents: counts, or inverse probabilities of inclusion in the labelled sample."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bayescal.support import validation
from bayescal.support.labels import read_groups
from bayescal.support.validation import Floats, Integers

# Weights look like 1 / inclusion if they are not whole numbers and sum to this many times the
# number of documents, or if many documents have one of few values, among them a large one.
EXCESS = 2.0
LEAST_INCLUSION = 1e-12
# This many documents determine a curve to six digits; in larger sums the prior is lost to rounding.
MOST_COUNTED = 1e12
FEW_VALUES, LARGE_COUNT, MANY_DOCUMENTS = 3, 10.0, 20


def as_weights(
    sample_weight: ArrayLike | None, n: int, name: str = "sample_weight"
) -> Floats | None:
    """Return weights as a float64 array of shape (n,), or None for equal weights."""
    if sample_weight is None:
        return None
    weight = _of_documents(sample_weight, n, name, "one weight a score")
    validation.check_finite(weight, name)
    if weight.min() < 0.0:
        raise ValueError(f"{name} must not be negative, got {weight.min():g}.")
    if not weight.any():
        raise ValueError(f"{name} must not be all zero: give at least one score a positive weight.")
    return weight


def _of_documents(values: ArrayLike, n: int, name: str, expected: str) -> Floats:
    """Return a number for each document, (n,); a scalar is repeated."""
    array = validation.as_reals(values, name)
    array = np.full(n, array) if array.ndim == 0 else array
    if array.shape != (n,):
        raise ValueError(f"{name} must have shape ({n},), {expected}, got {array.shape}.")
    return array


def effective_weights(
    sample_weight: ArrayLike | None, inclusion: ArrayLike | None, n: int
) -> Floats | None:
    """Return counts, or 1 / inclusion scaled to Kish's effective size; None for equal weights."""
    weight = either_weights(sample_weight, inclusion, n, as_evidence=True)
    if weight is None or inclusion is None:
        return weight
    return scaled_to_effective_size(weight)


def either_weights(
    sample_weight: ArrayLike | None,
    inclusion: ArrayLike | None,
    n: int,
    *,
    as_evidence: bool = False,
) -> Floats | None:
    """Return counts or 1 / inclusion; as evidence, warn of counts like the latter."""
    if inclusion is None:
        weight = as_weights(sample_weight, n)
        if as_evidence and weight is not None:
            warn_unless_counts(weight)
        return None if weight is None else bounded_weights(weight)
    check_one_kind(sample_weight, inclusion)
    return 1.0 / as_inclusion(inclusion, n)


def bounded_weights(weight: Floats) -> Floats:
    """Return weights, scaled down if they sum to more than MOST_COUNTED."""
    share = weight / weight.max()
    largest = MOST_COUNTED / share.sum()
    return weight if weight.max() <= largest else share * largest


def as_inclusion(inclusion: ArrayLike, n: int, name: str = "inclusion") -> Floats:
    """Return inclusion probabilities as a float64 array of shape (n,)."""
    p = _of_documents(inclusion, n, name, "one probability a document")
    # Written so that nan fails too.
    good = (p >= LEAST_INCLUSION) & (p <= 1.0)
    if not good.all():
        hint = " Of weights 1 / probability give inclusion=1 / weights." * bool(np.nanmax(p) > 1.0)
        raise ValueError(
            f"{name} must hold the probability that each document had to be labelled, above 0 and"
            f" at most 1, got {p[~good].flat[0]:g}.{hint}"
        )
    return p


def check_one_kind(sample_weight: Any, inclusion: Any) -> None:
    """Raise ValueError if both kinds of weights are given."""
    if sample_weight is not None and inclusion is not None:
        raise ValueError(
            "either sample_weight or inclusion must be None, got both: sample_weight is how"
            " many documents each counts for, inclusion the probability that it was labelled."
        )


def read_clusters(clusters: ArrayLike, n: int, other: str) -> tuple[NDArray[Any], Integers]:
    """Return the sorted names of clusters, and the position of each document's cluster."""
    return read_groups(clusters, "clusters", "cluster", n, other)


def cluster_names(clusters: ArrayLike | None, n: int, other: str) -> NDArray[np.str_] | None:
    """Return the name of each document's cluster, for results; None without clusters."""
    if clusters is None:
        return None
    names, code = read_clusters(clusters, n, other)
    return names[code].astype(np.str_)


def by_appearance(code: Integers) -> Integers:
    """Return codes of groups in the order of their first documents."""
    _, first, code = np.unique(code, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[code]


def representatives(values: Floats, weight: Floats, most: int) -> tuple[Integers, Floats]:
    """Return positions of at most so many values, each in the middle of a cell, and its weight."""
    # Cells have equal weights. Sums over a random sample have errors of its size, those over the
    # middles of cells errors of their width.
    if values.size <= most:
        return np.arange(values.size), weight
    order = np.argsort(values, kind="stable")
    order = order[weight[order] > 0.0]
    own = weight[order]
    passed = np.cumsum(own)
    cell = np.minimum((passed - own / 2.0) * (most / passed[-1]), most - 1).astype(np.intp)
    _, start, size = np.unique(cell, return_index=True, return_counts=True)
    return order[start + size // 2], np.add.reduceat(own, start)


def effective_size(weight: Floats) -> float:
    """Return Kish's effective sample size, (sum w)^2 / sum w^2."""
    share = weight / weight.max()
    return float(share.sum() ** 2 / (share @ share))


def scaled_to_effective_size(weight: Floats) -> Floats:
    """Return weights in proportion that sum to Kish's effective sample size."""
    return np.asarray(weight * (effective_size(weight) / weight.sum()))


def ratio_of_weights(weight: Floats, positive: NDArray[np.bool_], score: Floats) -> float:
    """Return the weight of a positive over that of a negative of the same score."""
    # The median, over the rarer class, of the weight over the other class's geometric mean at the
    # nearest score: 1 if documents were sampled by their scores.
    mine, others = (np.flatnonzero((positive == k) & (weight > 0.0)) for k in (True, False))
    rarer, other = sorted((mine, others), key=len)
    if not rarer.size:
        return 1.0
    distinct, of, tied = np.unique(score[other], return_inverse=True, return_counts=True)
    log_weight = np.bincount(of, weights=np.log(weight[other])) / tied
    nearest = np.searchsorted((distinct[1:] + distinct[:-1]) / 2.0, score[rarer])
    ratio = float(np.exp(np.median(np.log(weight[rarer]) - log_weight[nearest])))
    return ratio if rarer is mine else 1.0 / ratio


def warn_unless_counts(weight: Floats) -> None:
    """Warn if weights given as counts look like inverse inclusion probabilities."""
    if not look_like_counts(weight):
        validation.warn_user(
            f"sample_weight counts documents: these weights make {np.count_nonzero(weight)}"
            f" documents count as {weight.sum():,.0f}. If they are 1 / the probability that a"
            " document was labelled, pass inclusion=1 / weights."
        )


def whole_counts(weight: Floats) -> NDArray[np.intp]:
    """Return weights as numbers of documents whose labels are drawn; ValueError for fractions."""
    odd = weight[weight != np.rint(weight)]
    if odd.size:
        raise ValueError(
            "sample_weight must hold whole numbers, how many documents each counts for; got"
            f" {odd[0]:g}: round them, or leave them out."
        )
    return weight.astype(np.intp)


def look_like_counts(weight: Floats) -> bool:
    """Return True if weights may be numbers of documents."""
    weight = weight[weight > 0.0]
    if (weight != np.rint(weight)).any():
        # Class weights, and weights scaled to a mean of 1, sum to the number of documents.
        return bool(weight.sum() <= EXCESS * weight.size)
    many = weight.size >= MANY_DOCUMENTS and weight.max() >= LARGE_COUNT
    return not (many and np.unique(weight).size <= FEW_VALUES)


# Neighbouring weights within this factor count as a smooth function of the score.
SMOOTH = 1.25


def chosen_by_score(weight: Floats, positive: NDArray[np.bool_], score: Floats) -> bool:
    """Return whether inclusion probabilities are a function of the score."""
    # Most weights of the rarer class then lie between those of neighbours in the other class.
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
    """Return likelihood weights for w = 1 / inclusion, and effective counts that determine P(+)."""
    # The largest weight of a class is one, or their sum its effective size if documents were chosen
    # by score: with weights v <= 1, sum v^2 I <= sum v I for informations I, so that the posterior
    # is no narrower than the weighted estimate's sampling distribution. Counts are those of a share
    # with the variance of p = sum w y / sum w; Kish's effective sample size if all labels agree.
    out = weight / weight.max()
    share = float(out[positive].sum() / out.sum())
    if not 0.0 < share < 1.0:
        size = effective_size(weight)
        return out, (size * share, size * (1.0 - share))
    variance = float((out**2 @ (positive - share) ** 2) / out.sum() ** 2)
    size = share * (1.0 - share) / variance
    if by_score:
        for mine in (positive, ~positive):
            out[mine] *= effective_size(out[mine]) / out[mine].sum()
        return out, (size * share, size * (1.0 - share))
    of_positive, of_negative = out[positive].max(), out[~positive].max()
    ratio = ratio_of_weights(out, positive, score)
    out[positive] /= max(of_positive, of_negative * ratio)
    out[~positive] /= max(of_negative, of_positive / ratio)
    return out, (size * share, size * (1.0 - share))

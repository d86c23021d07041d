"""Stack-S and STRIVE-S: a linear SVM with the defaults of SVM-light."""

from __future__ import annotations

from sklearn.svm import SVC

from bayescal.combining.combiners.stacking import Stacking

CACHE = 500.0  # megabytes of kernel values
# libsvm takes smaller inner products for none at all, and with a C to match it does not end. Inputs
# that differ by rounding alone have such.
SHORTEST = 1e-12


def linear_svc(length: float, seed: int) -> SVC:
    """
    Return an unfitted linear SVM whose C is 1 / mean <x, x>, as SVM-light chooses it.

    The bias has no penalty there, as it would have in `LinearSVC`.

    Examples
    --------
    >>> linear_svc(5.0, 0).C
    0.2
    """
    cost = 1.0 / length if length > SHORTEST else 1.0
    return SVC(kernel="linear", C=cost, cache_size=CACHE, random_state=seed)


def _make(length: float, scores: int, seed: int) -> SVC:
    return linear_svc(length, seed)


def combiner(*, normalise: bool = True) -> Stacking:
    """Return stacking by a linear SVM; its scores are margins."""
    return Stacking(_make, normalise)

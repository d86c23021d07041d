"""Ways to combine, one a file: a further one is a file with a function, and its entry below."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from bayescal.combining.combiners import (
    bayes,
    best_by_class,
    boosting,
    linear_svm,
    local_kernel,
    logistic,
    majority,
    stacking,
    tree,
)
from bayescal.combining.combiners.combiner import Combiner
from bayescal.validation import check_choice

# What `combiner` may be: each makes a combiner, whose inputs are to be normalised or not.
COMBINERS: dict[str, Callable[..., Combiner]] = {
    "majority": majority.combiner,
    "best_by_class": best_by_class.combiner,
    "tree": tree.combiner,
    "linear_svm": linear_svm.combiner,
    "logistic": logistic.combiner,
    "boosting": boosting.combiner,
    "local_kernel": local_kernel.combiner,
    "selected_kernel": local_kernel.selecting,
    "bayes": bayes.combiner,
    "local_bayes": bayes.local,
}


def read_combiner(combiner: Any, *, normalise: bool, weighted: bool) -> Combiner:
    """
    Return the combiner that parameters mean.

    Parameters
    ----------
    combiner : str or classifier
        A key of `COMBINERS`, or a scikit-learn classifier to stack with.
    normalise : bool
        Whether it gets standardised inputs.
    weighted : bool
        Whether documents have weights.

    Raises
    ------
    ValueError
        If it is neither, or takes no weights and there are some.

    Examples
    --------
    >>> read_combiner("average", normalise=True, weighted=False)
    Traceback (most recent call last):
    ...
    ValueError: combiner must be one of 'majority', 'best_by_class', 'tree', 'linear_svm', ...
    """
    if isinstance(combiner, str):
        check_choice("combiner", combiner, tuple(COMBINERS))
        found = COMBINERS[combiner](normalise=normalise)
    else:
        found = stacking.of_classifier(combiner, normalise=normalise)
    if weighted and not found.takes_weights:
        raise ValueError(
            f"combiner {combiner!r} takes no sample_weight: choose one that does, such as 'bayes',"
            " or give no weights."
        )
    return found

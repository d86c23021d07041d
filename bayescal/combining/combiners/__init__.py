"""Ways to combine, one a file: a further one is a file with a function, and its entry below."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from bayescal.combining.combiners.bayes import bayes
from bayescal.combining.combiners.best_by_class import BestByClass
from bayescal.combining.combiners.boosting import boosting
from bayescal.combining.combiners.combiner import Combiner
from bayescal.combining.combiners.linear_svm import linear_svm
from bayescal.combining.combiners.local_kernel import local_kernel, selected_kernel
from bayescal.combining.combiners.logistic import logistic
from bayescal.combining.combiners.majority import Majority
from bayescal.combining.combiners.stacking import of_classifier
from bayescal.combining.combiners.tree import tree
from bayescal.validation import check_choice

# What `combiner` may be; each is made with `normalise`, which those of the first two do not need.
COMBINERS: dict[str, Callable[..., Combiner]] = {
    "majority": lambda normalise: Majority(),
    "best_by_class": lambda normalise: BestByClass(),
    "tree": tree,
    "linear_svm": linear_svm,
    "logistic": logistic,
    "boosting": boosting,
    "local_kernel": local_kernel,
    "selected_kernel": selected_kernel,
    "bayes": bayes,
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
        found = of_classifier(combiner, normalise=normalise)
    if weighted and not found.takes_weights:
        raise ValueError(
            f"combiner {combiner!r} takes no sample_weight: choose one that does, such as 'bayes',"
            " or give no weights."
        )
    return found

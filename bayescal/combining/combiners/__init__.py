"""The combiners by name; a further one needs a function that returns it, and an entry here."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from bayescal.combining.combiners import bayes, stacking, voting
from bayescal.combining.combiners.voting import Combiner
from bayescal.support.validation import check_choice, check_flag

# The values of `combiner`; each makes a combiner, with or without normalised inputs.
COMBINERS: dict[str, Callable[..., Combiner]] = {
    "majority": voting.majority,
    "best_by_class": voting.best_by_class,
    "tree": stacking.tree,
    "linear_svm": stacking.linear_svm,
    "logistic": stacking.logistic,
    "boosting": stacking.boosting,
    "local_kernel": stacking.local_kernel,
    "selected_kernel": stacking.selected_kernel,
    "bayes": bayes.combiner,
    "local_bayes": bayes.local,
}


def read_combiner(combiner: Any, *, normalise: bool, weighted: bool) -> Combiner:
    """
    Return the combiner that parameters mean.

    Examples
    --------
    >>> read_combiner("average", normalise=True, weighted=False)
    Traceback (most recent call last):
    ...
    ValueError: combiner must be one of 'majority', 'best_by_class', 'tree', 'linear_svm', ...
    """
    check_flag(normalise=normalise)
    if isinstance(combiner, str):
        check_choice("combiner", combiner, tuple(COMBINERS))
        kind = COMBINERS[combiner](normalise=normalise)
    else:
        kind = stacking.of_classifier(combiner, normalise=normalise)
    if weighted and not kind.takes_weights:
        raise ValueError(
            f"combiner {combiner!r} takes no sample_weight: choose one that does, such as 'bayes',"
            " or give no weights."
        )
    return kind

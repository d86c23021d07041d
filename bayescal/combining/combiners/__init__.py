"""The combiners by name; a further one needs a function that returns it, and an entry here."""

from collections.abc import Callable
from functools import partial
from typing import Any

from sklearn.linear_model import LogisticRegression

from bayescal.combining.combiners import bayes, stacking
from bayescal.combining.combiners.measures import Combiner
from bayescal.support.validation import check_choice, check_flag, check_instance

# The values of `combiner`; each makes a combiner, with or without normalised inputs.
COMBINERS: dict[str, Callable[..., Combiner]] = {
    "logistic": partial(stacking.of_classifier, LogisticRegression(max_iter=2000)),
    "bayes": lambda normalise: bayes.Bayes(),
}


def read_combiner(combiner: Any, *, normalise: bool, weighted: bool) -> Combiner:
    """Return the combiner that the parameters name."""
    check_flag(normalise=normalise)
    if isinstance(combiner, str):
        check_choice("combiner", combiner, tuple(COMBINERS))
        method = COMBINERS[combiner](normalise=normalise)
    else:
        check_instance("combiner", combiner, f"a classifier or in {[*COMBINERS]}", "fit")
        method = stacking.of_classifier(combiner, normalise=normalise)
    if weighted and not method.takes_weights:
        raise ValueError(
            f"combiner {combiner!r} takes no sample_weight: choose one that does, such as 'bayes',"
            " or give no weights."
        )
    return method

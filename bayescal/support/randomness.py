"""Random states: whatever a user passes becomes a numpy Generator."""

from typing import Any

import numpy as np


def generator(random_state: Any) -> np.random.Generator:
    """Return a Generator from an int, a Generator, a RandomState, a SeedSequence or None."""
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(random_state.randint(2**31))
    try:
        return np.random.default_rng(random_state)
    except (TypeError, ValueError):
        raise ValueError(
            "random_state must be a whole number from 0 on, a numpy Generator, RandomState or"
            f" SeedSequence, or None; got {random_state!r}."
        ) from None

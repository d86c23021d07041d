"""Stack-D and STRIVE-D: a decision tree whose leaves give smoothed log-odds."""

from __future__ import annotations

from bayescal.combining.combiners.stacking import Stacking
from bayescal.text.decision_tree import DecisionTree


def _make(length: float, scores: int, seed: int) -> DecisionTree:
    return DecisionTree(random_state=seed)


def combiner(*, normalise: bool = True) -> Stacking:
    """Return stacking by a tree, which the scale of inputs does not matter to."""
    return Stacking(_make, normalise, gives_log_odds=True, takes_weights=False)

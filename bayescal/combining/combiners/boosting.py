"""Stacking by gradient-boosted trees: regions as a tree has them, without its coarse scores."""

from __future__ import annotations

from sklearn.ensemble import HistGradientBoostingClassifier

from bayescal.combining.combiners.stacking import Stacking


def _make(length: float, scores: int, seed: int) -> HistGradientBoostingClassifier:
    # Early stopping would set documents aside, of which there may be few.
    return HistGradientBoostingClassifier(
        max_iter=100, learning_rate=0.05, max_leaf_nodes=8, early_stopping=False, random_state=seed
    )


def combiner(*, normalise: bool = True) -> Stacking:
    """Return stacking by scikit-learn's boosted trees, which scales do not matter to."""
    return Stacking(_make, normalise, gives_log_odds=True)

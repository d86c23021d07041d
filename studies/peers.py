"""Calibration methods that studies compare, by the names of their tables: `bayescal.methods`."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from bayescal import ScoreCalibrator
from bayescal.methods import METHODS, Labels
from bayescal.methods import OneTopic as Method
from bayescal.methods.posteriors import posterior
from studies.logistic import posterior_mean_log_odds

Settings = dict[str, Any]

PEERS: dict[str, Method] = {
    "Platt": METHODS["LR+Noise"],
    **{name: METHODS[name] for name in ("isotonic", "beta", "Venn-Abers", "temperature")},
    "Bayes logistic": posterior_mean_log_odds,
}
"""The methods of others."""
ON_LOG_ODDS = ("beta", "temperature")
"""What takes scores for log-odds gets those of probabilities: beta calibration is made for them."""


def calibrator(**settings: Any) -> Method:
    """Return ours: a ScoreCalibrator with the settings."""
    return partial(posterior, **settings)


def accepted(settings: Mapping[str, Settings]) -> dict[str, Settings]:
    """Return those settings that this version of ScoreCalibrator knows."""
    return {name: each for name, each in settings.items() if _known(each)}


def _known(settings: Settings) -> bool:
    try:
        ScoreCalibrator(**settings).fit([0.0, 1.0, 2.0, 3.0], [0, 1, 0, 1])
    except (TypeError, ValueError):
        return False
    return True


__all__ = ["ON_LOG_ODDS", "PEERS", "Labels", "Method", "Settings", "accepted", "calibrator"]

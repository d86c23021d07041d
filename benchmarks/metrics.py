"""Metrics of 1e6 probabilities against scikit-learn, where it has them."""

import numpy as np
from sklearn.calibration import calibration_curve
from sklearn.isotonic import IsotonicRegression
from sklearn.metrics import brier_score_loss
from sklearn.metrics import log_loss as sklearn_log_loss

from bayescal import metrics
from benchmarks.timing import report

BAR = 2.0


def main():
    """Print times and ratios."""
    rng = np.random.default_rng(0)
    p = rng.random(1_000_000)
    y = (rng.random(p.size) < p).astype(int)

    def isotonic():
        return IsotonicRegression().fit(p, y).predict(p)

    def curve(method, n_bins=10):
        return lambda: metrics.reliability_curve(y, p, method=method, n_bins=n_bins, band=None)

    def peer_curve(strategy, n_bins=10):
        return lambda: calibration_curve(y, p, n_bins=n_bins, strategy=strategy)

    for name, candidate, peer, peer_name in (
        ("log_loss", lambda: metrics.log_loss(y, p), lambda: sklearn_log_loss(y, p), "log_loss"),
        (
            "brier_score",
            lambda: metrics.brier_score(y, p),
            lambda: brier_score_loss(y, p),
            "brier_score_loss",
        ),
        (
            "reliability_curve, uniform",
            curve("uniform"),
            peer_curve("uniform"),
            "calibration_curve",
        ),
        (
            "reliability_curve, quantile",
            curve("quantile"),
            peer_curve("quantile"),
            "calibration_curve",
        ),
        (
            "calibration_error",
            lambda: metrics.calibration_error(y, p),
            peer_curve("quantile", 15),
            "calibration_curve",
        ),
        ("reliability_curve, corp", curve("corp"), isotonic, "IsotonicRegression"),
        (
            "score_decomposition",
            lambda: metrics.score_decomposition(y, p),
            isotonic,
            "IsotonicRegression",
        ),
    ):
        report(f"{name}, 1e6", candidate, peer, f"sklearn {peer_name}", BAR)


if __name__ == "__main__":
    main()

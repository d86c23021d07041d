"""MulticlassCalibrator of ten classes: a fit with posterior, and 10,000 predictions with bands."""

import time

import numpy as np
from scipy import special

from bayescal import MulticlassCalibrator, ScoreCalibrator
from benchmarks.timing import report

CLASSES, DRAWS = 10, 400


def documents(n):
    """Return over-confident logits of the classes, and labels."""
    rng = np.random.default_rng(0)
    labels = rng.integers(CLASSES, size=n)
    logits = rng.normal(size=(n, CLASSES)) + 2.0 * np.eye(CLASSES)[labels]
    return 3.0 * logits, labels


def main():
    """Print processor seconds and ratios."""
    logits, labels = documents(1000)
    new, _ = documents(10_000)
    calibrator = MulticlassCalibrator("scores", random_state=0)
    log_p = special.log_softmax(logits, axis=1)
    log_odds = log_p - np.log(-np.expm1(log_p))
    single = ScoreCalibrator(random_state=0)

    def one_against_the_rest():
        for k in range(CLASSES):
            single.fit(log_odds[:, k], labels == k)

    report(
        "MulticlassCalibrator.fit, 10 x 1,000",
        lambda: calibrator.fit(logits, labels),
        one_against_the_rest,
        "10 fits of ScoreCalibrator",
        2.5,
        runs=3,
        clock=time.process_time,
    )
    rng = np.random.default_rng(0)
    weights = np.eye(CLASSES) / 3.0 + 0.01 * rng.normal(size=(DRAWS, CLASSES, CLASSES))

    def matrix_scaling():
        # Blocks of documents whose numbers fit into a cache, as the calibrator takes them.
        for part in np.array_split(new, 10):
            p = special.softmax(part @ weights, axis=2)
            np.quantile(p, (0.05, 0.95), axis=0)

    report(
        "predict_interval, 10 x 10,000",
        lambda: calibrator.predict_interval(new),
        matrix_scaling,
        "400 draws of matrix scaling",
        1.5,
        runs=3,
        clock=time.process_time,
    )


if __name__ == "__main__":
    main()

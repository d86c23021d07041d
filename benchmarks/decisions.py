"""Thresholds of many documents: counted together between thresholds against each by itself.

python -m benchmarks.decisions
"""

import numpy as np

from bayescal import ScoreCalibrator
from bayescal.decisions import by_topic, rates_by_topic, thresholds_by_topic
from benchmarks.timing import report

FITTED, DOCUMENTS = 531, 200_000
BAR = 0.2  # times the time of documents each by itself; both grow with their number


def scores(n, rng):
    """Return scores and labels, a tenth of them positive."""
    labels = rng.random(n) < 0.1
    return rng.normal(2.0 * labels), labels


def main():
    """Print the ratios for a wanted recall and at a probability."""
    rng = np.random.default_rng(0)
    calibrator = ScoreCalibrator(random_state=0).fit(*scores(FITTED, rng))
    new, _ = scores(DOCUMENTS, rng)
    limit = by_topic.COUNTED_ALONE

    def with_limit(limit, call, **asked):
        by_topic.COUNTED_ALONE = limit
        call(calibrator, new, random_state=0, **asked)

    for name, call, asked in (
        ("--recall", thresholds_by_topic, {"recall": 0.9}),
        ("--at", rates_by_topic, {"probability": 0.5}),
    ):
        report(
            f"decide {name}, {DOCUMENTS:,} documents",
            lambda call=call, asked=asked: with_limit(limit, call, **asked),
            lambda call=call, asked=asked: with_limit(DOCUMENTS, call, **asked),
            "each by itself",
            BAR,
            runs=1,
        )


if __name__ == "__main__":
    main()

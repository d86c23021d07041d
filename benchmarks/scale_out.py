"""Topics fitted by two workers of a Dask cluster against one: a ratio near a half.

python -m benchmarks.scale_out
"""

import numpy as np

from bayescal import TopicCalibrator
from benchmarks.timing import report

TOPICS, SIZE = 1000, 30
BAR = 0.65  # times the time of one worker; half, and what the cluster and the parent cost


def topics():
    """Return long scores, labels and topics, a fifth of each positive."""
    labels = np.tile(np.arange(SIZE) >= SIZE * 4 // 5, TOPICS).astype(int)
    scores = np.random.default_rng(0).normal(3.0 * labels, 1.0)
    return scores, labels, np.repeat(np.arange(TOPICS), SIZE)


def main():
    """Print the ratio of two workers to one."""
    import joblib
    from distributed import Client, LocalCluster

    data = topics()

    def fit_on(client):
        with joblib.parallel_config("dask", client=client):
            TopicCalibrator("none", draws=50, random_state=0).fit(*data)

    options = {"threads_per_worker": 1, "dashboard_address": ":0"}
    with (
        LocalCluster(n_workers=2, **options) as two,
        LocalCluster(n_workers=1, **options) as one,
        Client(two, set_as_default=False) as of_two,
        Client(one, set_as_default=False) as of_one,
    ):
        report(
            f"{TOPICS:,} topics apart, 2 workers",
            lambda: fit_on(of_two),
            lambda: fit_on(of_one),
            "1 worker",
            BAR,
            runs=3,
        )


if __name__ == "__main__":
    main()

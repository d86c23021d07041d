"""Performance against peers, as ratios in one run: python -m benchmarks."""

from benchmarks import (
    calibrated_classifier,
    imports,
    maximum_likelihood,
    metrics,
    plots,
    posterior,
    prediction,
    ranking,
    updates,
)

for benchmark in (
    maximum_likelihood,
    prediction,
    posterior,
    calibrated_classifier,
    metrics,
    plots,
    ranking,
    updates,
    imports,
):
    benchmark.main()

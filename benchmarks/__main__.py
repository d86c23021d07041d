"""Performance against peers, as ratios in one run: python -m benchmarks."""

from benchmarks import (
    calibrated_classifier,
    decisions,
    experts,
    imports,
    maximum_likelihood,
    metrics,
    multiclass,
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
    multiclass,
    decisions,
    plots,
    ranking,
    experts,
    updates,
    imports,
):
    benchmark.main()

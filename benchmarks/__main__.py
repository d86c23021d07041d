"""Performance against peers, as ratios in one run: python -m benchmarks."""

from benchmarks import imports, maximum_likelihood, metrics, plots, posterior, prediction

for benchmark in (maximum_likelihood, prediction, posterior, metrics, plots, imports):
    benchmark.main()

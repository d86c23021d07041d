"""Performance against peers, as ratios in one run: python -m benchmarks."""

from benchmarks import imports, maximum_likelihood, metrics, posterior, prediction

for benchmark in (maximum_likelihood, prediction, posterior, metrics, imports):
    benchmark.main()

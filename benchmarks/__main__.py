"""Performance against peers, as ratios in one run: python -m benchmarks."""

from benchmarks import imports, maximum_likelihood, posterior, prediction

for benchmark in (maximum_likelihood, prediction, posterior, imports):
    benchmark.main()

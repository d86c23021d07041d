"""Performance against peers, as ratios in one run: python -m benchmarks."""

from benchmarks import imports, maximum_likelihood, prediction

for benchmark in (maximum_likelihood, prediction, imports):
    benchmark.main()

"""Performance against peers, as ratios in one run: python -m benchmarks."""

from benchmarks import calibrated_classifier, imports, maximum_likelihood, posterior, prediction

for benchmark in (maximum_likelihood, prediction, posterior, calibrated_classifier, imports):
    benchmark.main()

"""Benchmarks and the comparisons that chose defaults. Not tests: the figures are for reading."""

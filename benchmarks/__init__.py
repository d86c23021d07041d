"""Benchmarks against peers. Not tests: the figures are for reading."""

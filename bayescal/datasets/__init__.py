"""Data sets: real scores to try things on."""

from bayescal.datasets.reuters_scores import load_reuters_scores

__all__ = ["load_reuters_scores"]

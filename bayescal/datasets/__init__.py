"""Data sets: real scores to try things on, and the corpus that they come from."""

from bayescal.datasets.reuters21578 import CorpusError, DownloadError, fetch_reuters21578
from bayescal.datasets.reuters_scores import load_reuters_scores

__all__ = ["CorpusError", "DownloadError", "fetch_reuters21578", "load_reuters_scores"]

"""Data sets: real scores to try things on, and the corpora that they come from."""

from bayescal.datasets.mulan import LabelledWords, read_mulan
from bayescal.datasets.reuters21578 import CorpusError, DownloadError, fetch_reuters21578
from bayescal.datasets.reuters_scores import load_reuters_scores

__all__ = [
    "CorpusError",
    "DownloadError",
    "LabelledWords",
    "fetch_reuters21578",
    "load_reuters_scores",
    "read_mulan",
]

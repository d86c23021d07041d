"""The experiment of Yue, Finley, Radlinski and Joachims (SIGIR 2007) on data that can be had.

Theirs were the documents and submitted runs of TREC 9 and 10, which are licensed. `collections` has
what stands in their place, `roles` and `trials` their protocol, `table` their tables.
"""

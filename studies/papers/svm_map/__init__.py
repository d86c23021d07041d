"""Rankers for average precision (Yue, Finley, Radlinski and Joachims, SIGIR 2007)."""

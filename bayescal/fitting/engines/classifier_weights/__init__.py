"""Weights of several classifiers' log-odds, around those of a population of problems."""

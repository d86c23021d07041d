"""Weights of several classifiers' log-odds, with a population of problems."""

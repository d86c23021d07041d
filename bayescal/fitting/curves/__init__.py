"""Kinds of posterior draws of log-odds as a function of the score, and their summaries."""

"""Posterior draws of log-odds as a function of the score, and what they say of many scores."""

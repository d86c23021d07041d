"""Monotone piecewise-linear log-odds, fitted to labels: independent draws without MCMC."""

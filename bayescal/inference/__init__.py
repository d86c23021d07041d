"""Bayesian computation that knows nothing of calibration: samplers, maxima, grids, stacking."""

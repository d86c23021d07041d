"""Plots: each function draws on matplotlib axes and returns them; none shows or saves."""

from bayescal.plots.curve import plot_probability_curve

__all__ = ["plot_probability_curve"]

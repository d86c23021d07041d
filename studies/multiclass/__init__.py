"""Calibration of several classes: priors learned, and methods compared."""

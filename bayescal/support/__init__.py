"""Helpers that know nothing about calibration: argument checks, seeds, parallel work, files."""

"""Combine several classifiers' scores, and indicators of their reliability, into one score."""

"""Calls whose numbers `tests/test_recorded.py` compares with those of the version before.

A file for each folder of the package. Each of its functions is a case: it returns results by name,
on small data and with options that are not the defaults. Keep a case under half a second.
"""

"""Sizes of slow tests: smaller in every check, full in `make validate`."""

import os

FULL = "BAYESCAL_FULL_SIZE"


def size(checked, full):
    """Return the size of a check, or the full one where the environment asks for it."""
    return full if os.environ.get(FULL) else checked

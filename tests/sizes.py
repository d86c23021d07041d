"""How large slow tests are: smaller in every check, at their full size in `make validate`."""

import os

FULL = "BAYESCAL_FULL_SIZE"


def size(checked, full):
    """Return the size of a check, or the full one where the environment asks for it."""
    return full if os.environ.get(FULL) else checked

"""Write the references of some rooms, or of all: python -m tests.same_numbers ROOM..."""

import sys
import warnings

from tests.same_numbers import ROOMS, write_references

if __name__ == "__main__":
    warnings.simplefilter("ignore", UserWarning)
    write_references(sys.argv[1:] or ROOMS)

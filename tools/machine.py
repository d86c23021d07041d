"""Say in one line what this machine lacks: python tools/machine.py [browser].

It runs before anything is installed, on whatever Python there is: no syntax here is newer than it.
"""

import os
import shutil
import sys

SECOND_ERA = (3, 12)


def missing(wanted):
    """Return a message on missing software and the remedy, or None."""
    if sys.version_info < (3, 11):
        needed = "bayescal needs Python 3.11 or later, and this is %d.%d: " % sys.version_info[:2]
        return needed + "name another, as in make test PYTHON=python3.12"
    # Until Python 3.12 PyMC compiles its models with a C++ compiler; from then on with numba.
    if sys.version_info < SECOND_ERA and not shutil.which(os.environ.get("CXX", "g++")):
        return "there is no C++ compiler, which PyMC needs on Python 3.11: apt-get install g++"
    if "browser" in wanted and not shutil.which("chromium"):
        return "there is no chromium, which tests of reports need: apt-get install chromium"
    return None


if __name__ == "__main__":
    sys.exit(missing(sys.argv[1:]))

"""Time imports, each in a process of its own."""

import subprocess
import sys

from benchmarks.timing import compile_package, report


def process(*arguments):
    """Return a function that runs python with the arguments."""

    def run():
        subprocess.run([sys.executable, *arguments], check=True, capture_output=True)

    return run


def main():
    """Print times and ratios."""
    compile_package()
    base = process("-c", "import numpy, scipy.special")
    report(
        "import bayescal",
        process("-c", "import bayescal"),
        base,
        "import numpy, scipy.special",
        1.5,
    )
    report(
        "bayescal --help", process("-m", "bayescal", "--help"), base, "(under 1 s)", float("inf")
    )


if __name__ == "__main__":
    main()

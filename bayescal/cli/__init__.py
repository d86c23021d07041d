"""The command line; `cli.commands` has a file for each command.

`bayescal --help` answers at once: pandas, scikit-learn, matplotlib and PyMC are imported by the
functions that need them, never by these modules.
"""

import atexit
import gc


def main() -> None:
    """Run the command line on sys.argv."""
    from bayescal.cli.app import app

    # All that was imported goes with the process: to look for garbage in it then takes as long as
    # a fit.
    atexit.register(gc.freeze)
    app(prog_name="bayescal")
